# SPDX-License-Identifier: Apache-2.0
"""gw_axi_adapt: random bursts of every kind, whose bytes, order, responses and pages are right."""

from __future__ import annotations

import os
import random

import cocotb
from adapt_bench import Bench
from bursts import EXOKAY, FIXED, INCR, OKAY, PAGE, SLVERR, WRAP, Burst
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiBus, AxiMaster, AxiRam

SEED = int(os.environ["GODWIT_SEED"])
BURSTS = int(os.environ.get("BENCH_BURSTS", "64"))
PAGES = 64


def random_burst(rng: random.Random, ids: int, bus_bytes: int, page: int) -> Burst:
    """A burst that AXI allows, in a page."""
    largest = bus_bytes.bit_length() - 1
    size = largest if rng.random() < 0.6 else rng.randrange(largest + 1)
    step = 1 << size
    kind = rng.choices((INCR, WRAP, FIXED), (6, 2, 1))[0]
    cache = 0b0011 if rng.random() < 0.85 else 0
    if kind == WRAP:
        length = rng.choice((1, 3, 7, 15))
        start = rng.randrange(PAGE // step) * step
    elif kind == FIXED:
        length = rng.randrange(16)
        start = rng.randrange(PAGE)
    else:
        start = rng.randrange(PAGE)
        if rng.random() < 0.5:
            start &= -step
        room = (PAGE - (start & -step)) // step
        length = min(room, 256, rng.choice((1, 2, 4, 16, 17, 64, 256, rng.randrange(1, 257)))) - 1
    return Burst(rng.randrange(ids), page * PAGE + start, length, size, kind, 0, cache)


def add_data(rng: random.Random, burst: Burst, bus_bytes: int) -> None:
    full = rng.random() < 0.6
    for index in range(burst.len + 1):
        span = burst.span(index)
        strb = 0
        for addr in span:
            strb |= (full or rng.random() < 0.6) << (addr % bus_bytes)
        burst.data.append((rng.getrandbits(8 * bus_bytes), strb))


def fails(bench: Bench, span: range) -> bool:
    """Whether a beat has something of a word that fails."""
    words = range(span.start // bench.master_bytes, (span.stop - 1) // bench.master_bytes + 1)
    return any(word in bench.error_words for word in words)


async def traffic(dut, seed: int, *, stall: float, latency: int, interleave: bool) -> None:
    rng = random.Random(seed)
    memory = bytearray(rng.randbytes(PAGES * PAGE))
    expected = bytearray(memory)
    bench = Bench(dut, rng, memory)
    bench.stall, bench.interleave = stall, interleave
    bench.latency = lambda: rng.randrange(latency + 1)
    ids = 1 << len(dut.s_axi_arid)
    # Pages below the middle are read, each of the others is written by one burst at a time.
    for _ in range(PAGES):
        bench.error_words.add(rng.randrange(len(memory) // bench.master_bytes))

    def beat(burst: Burst, data: int, resp: int) -> None:
        span = burst.span(burst.beat)
        base = span.start // bench.slave_bytes * bench.slave_bytes
        assert resp == (SLVERR if fails(bench, span) else OKAY), f"response of beat {burst.beat} of {burst}"
        got = data.to_bytes(bench.slave_bytes, "little")[span.start - base : span.stop - base]
        assert got == memory[span.start : span.stop], f"data of beat {burst.beat} of {burst}"

    def answer(burst: Burst, resp: int) -> None:
        error = any(fails(bench, burst.span(i)) for i in range(burst.len + 1))
        assert resp == (SLVERR if error else OKAY), f"answer of {burst}"

    bench.on_beat, bench.on_answer = beat, answer
    await bench.start()
    for number in range(BURSTS):
        bench.read(random_burst(rng, ids, bench.slave_bytes, rng.randrange(PAGES // 2)))
        burst = random_burst(rng, ids, bench.slave_bytes, PAGES // 2 + number % (PAGES // 2))
        add_data(rng, burst, bench.slave_bytes)
        bench.write(burst)
        for index, (data, strb) in enumerate(burst.data):
            for addr in burst.span(index):
                if strb >> (addr % bench.slave_bytes) & 1:
                    expected[addr] = data >> (8 * (addr % bench.slave_bytes)) & 0xFF
        if number % (PAGES // 2) == PAGES // 2 - 1:
            await bench.finish()
    await bench.finish()
    assert memory == expected
    assert bench.seen["ar"] and bench.seen["aw"]


@cocotb.test()
async def bytes_order_and_responses_are_right_without_stalls(dut):
    await traffic(dut, SEED, stall=0.0, latency=0, interleave=False)


@cocotb.test()
async def bytes_order_and_responses_are_right_with_stalls_and_interleaved_ids(dut):
    await traffic(dut, SEED + 1, stall=0.3, latency=30, interleave=True)


@cocotb.test()
async def what_is_exclusive_and_fits_stays_exclusive(dut):
    rng = random.Random(SEED + 2)
    memory = bytearray(rng.randbytes(PAGE))
    bench = Bench(dut, rng, memory)
    bench.exclusive = True
    answers: list[int] = []
    bench.on_beat = lambda burst, data, resp: answers.append(resp)
    bench.on_answer = lambda burst, resp: answers.append(resp)
    await bench.start()
    narrow = min(bench.slave_bytes, bench.master_bytes).bit_length() - 1
    wide = bench.slave_bytes.bit_length() - 1
    for size in (narrow, wide):
        step = 1 << size
        bench.read(Burst(0, 2 * step, 0, size, lock=1))
        await bench.finish()
        write = Burst(0, 2 * step, 0, size, lock=1)
        add_data(rng, write, bench.slave_bytes)
        bench.write(write)
        await bench.finish()
        assert answers == ([EXOKAY, EXOKAY] if step <= bench.master_bytes else [OKAY, OKAY])
        answers.clear()


@cocotb.test()
async def a_public_master_and_memory_agree(dut):
    rng = random.Random(SEED + 3)
    dut.rst_ni.value = 0
    for channel in ("ar", "aw"):
        getattr(dut, f"s_axi_{channel}lock").value = 0
    cocotb.start_soon(cocotb.clock.Clock(dut.clk_i, 2, unit="ns").start())
    master = AxiMaster(AxiBus.from_prefix(dut, "s_axi"), dut.clk_i, dut.rst_ni, reset_active_level=False)
    ram = AxiRam(
        AxiBus.from_prefix(dut, "m_axi"), dut.clk_i, dut.rst_ni, reset_active_level=False, size=16 * PAGE
    )

    def gaps():
        while True:
            yield rng.random() < 0.2

    for part in (master, ram):
        for channel in ("aw_channel", "w_channel", "b_channel"):
            getattr(part.write_if, channel).set_pause_generator(gaps())
        for channel in ("ar_channel", "r_channel"):
            getattr(part.read_if, channel).set_pause_generator(gaps())
    for _ in range(3):
        await RisingEdge(dut.clk_i)
    dut.rst_ni.value = 1
    await RisingEdge(dut.clk_i)
    for _ in range(12):
        start, data = rng.randrange(8 * PAGE), rng.randbytes(rng.randrange(1, 2000))
        assert (await master.write(start, data)).resp == OKAY
        assert ram.read(start, len(data)) == data
        answer = await master.read(start, len(data))
        assert answer.resp == OKAY and answer.data == data
