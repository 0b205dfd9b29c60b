# SPDX-License-Identifier: Apache-2.0
"""What gw_axi_adapt costs in cycles, and what it carries."""

from __future__ import annotations

import os
import random

import cocotb
from adapt_bench import Bench
from bursts import PAGE, Burst
from cocotb.triggers import RisingEdge

LATENCY = 100
NUMBER, BEATS = 32, 16
"""Bursts as an HLS kernel makes them, with its 16 in flight."""
# More cycles of AR, R, AW and W than with wires.
COST = {
    "up": {"ar": 1, "r": 2, "aw": 1, "w": 1},
    "down": {"ar": 1, "r": 2, "aw": 1, "w": 1},
    "ids": {"ar": 1, "r": 0, "aw": 1, "w": 0},
}


async def started(dut) -> Bench:
    rng = random.Random(1)
    bench = Bench(dut, rng, bytearray(64 * PAGE))
    await bench.start()
    return bench


def burst(bench: Bench, number: int, beats: int) -> Burst:
    size = bench.slave_bytes.bit_length() - 1
    made = Burst(0, number * beats * bench.slave_bytes, beats - 1, size)
    made.data = [(index, (1 << bench.slave_bytes) - 1) for index in range(beats)]
    return made


@cocotb.test()
async def each_channel_takes_the_cycles_its_contract_states(dut):
    bench = await started(dut)
    shape = os.environ["BENCH_SHAPE"]
    beats = max(1, bench.master_bytes // bench.slave_bytes)
    for number in range(3):
        bench.read(burst(bench, number, beats))
        bench.write(burst(bench, number, beats))
        await bench.finish()
    seen = bench.cycles
    ratio = max(1, bench.slave_bytes // bench.master_bytes)
    for number in range(3):
        assert seen["m_ar"][number] - seen["s_ar"][number] == COST[shape]["ar"]
        assert seen["m_aw"][number] - seen["s_aw"][number] == COST[shape]["aw"]
        # From the last beat that makes a word to the word: reads.
        first = seen["s_r"][number * beats]
        assert first - seen["m_r"][(number + 1) * ratio - 1] == COST[shape]["r"]
        assert first - seen["m_r"][number * ratio] == COST[shape]["r"] + ratio - 1
        # From the first beat to its first narrow beat, or from the last beat of a word to the word.
        assert seen["m_w"][number * ratio] - seen["s_w"][(number + 1) * beats - 1] == COST[shape]["w"] - (
            ratio - 1
        )


@cocotb.test()
async def nothing_is_lost_of_what_the_narrower_bus_carries(dut):
    """Bursts of 16 beats, a latency of 100 cycles: a beat of the narrower bus in every cycle once the first has come."""
    bench = await started(dut)
    bench.latency = lambda: LATENCY
    for number in range(NUMBER):
        bench.read(burst(bench, number, BEATS))
        bench.write(burst(bench, number, BEATS))
    await bench.finish()
    beats = NUMBER * BEATS
    ratio = max(1, bench.slave_bytes // bench.master_bytes)
    reads = bench.cycles["s_r"]
    writes = bench.cycles["s_w"]
    assert len(reads) == len(writes) == beats
    dut._log.info(
        "reads %d beats in %d cycles, writes in %d",
        beats,
        reads[-1] - reads[0] + 1,
        writes[-1] - writes[0] + 1,
    )
    assert reads[-1] - reads[0] + 1 <= beats * ratio
    assert writes[-1] - writes[0] + 1 <= beats * ratio


@cocotb.test()
async def packed_bursts_use_whole_words_only(dut):
    bench = await started(dut)
    for number in range(4):
        bench.read(burst(bench, number, 256))
        bench.write(burst(bench, number, 256))
    await bench.finish()
    words = -(-4 * 256 * bench.slave_bytes // bench.master_bytes)
    assert len(bench.cycles["m_r"]) == len(bench.cycles["m_w"]) == words


@cocotb.test()
async def data_before_its_address_waits_for_it(dut):
    bench = await started(dut)
    made = burst(bench, 1, 4)
    bench.todo["w"].extend((data, strb, index == 3) for index, (data, strb) in enumerate(made.data))
    for _ in range(20):
        await RisingEdge(dut.clk_i)
    assert not bench.cycles["m_aw"]
    bench.todo["aw"].append(made)
    await bench.finish()
    assert len(bench.cycles["s_b"]) == 1
