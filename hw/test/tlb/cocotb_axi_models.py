# SPDX-License-Identifier: Apache-2.0
"""gw_translator between cocotbext-axi's master and memory: what is written is read, through two mappings."""

import os
import random
from itertools import cycle

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from cocotbext.axi import AxiBus, AxiMaster, AxiRam
from model import Bench

SEED = int(os.environ["GODWIT_SEED"])
PAGES = 12


async def walker(bench):
    """Only the walker of the reference runs; the models drive the rest."""
    while True:
        bench._drive_walker()
        bench.drive("inval_valid_i", 0)
        await bench_edge(bench)


async def bench_edge(bench):
    await ReadOnly()
    bench._sample_walker()
    bench.now += 1
    await RisingEdge(bench.dut.clk_i)


def stalls(rng, share):
    return cycle([rng.random() < share for _ in range(997)])


@cocotb.test()
async def memory_looks_the_same_through_two_mappings(dut):
    rng = random.Random(SEED)
    b = Bench(
        dut,
        rng,
        levels=int(os.environ.get("BENCH_LEVELS", "4")),
        walk_latency=lambda r: r.choice((1, 4, 12)),
        shuffle=True,
    )
    frames = rng.sample(range(64), PAGES)
    for page, frame in enumerate(frames):
        b.table.map(1, 0x100 + page, frame)
        b.table.map(1, 0x900 + PAGES - page, frame)
    await b.start()
    dut.s_ar_attr.value = 0
    dut.s_aw_attr.value = 0
    master = AxiMaster(AxiBus.from_prefix(dut, "s_axi"), dut.clk_i, dut.rst_ni, reset_active_level=False)
    ram = AxiRam(
        AxiBus.from_prefix(dut, "m_axi"), dut.clk_i, dut.rst_ni, reset_active_level=False, size=64 * 4096
    )
    for channel in (
        ram.write_if.aw_channel,
        ram.write_if.w_channel,
        ram.read_if.ar_channel,
        master.write_if.b_channel,
        master.read_if.r_channel,
    ):
        channel.set_pause_generator(stalls(rng, 0.2))
    cocotb.start_soon(walker(b))
    image = bytearray(PAGES * 4096)
    for _ in range(40):
        length = rng.randrange(1, 600)
        start = rng.randrange(len(image) - length)
        data = rng.randbytes(length)
        image[start : start + length] = data
        answer = await master.write(0x100 * 4096 + start, data)
        assert answer.resp == 0
    for _ in range(40):
        page = rng.randrange(PAGES)
        length = rng.randrange(1, 600)
        offset = rng.randrange(4096 - length)
        answer = await master.read((0x900 + PAGES - page) * 4096 + offset, length)
        assert answer.resp == 0 and answer.data == image[page * 4096 + offset :][:length]
    for page, frame in enumerate(frames):
        assert ram.read(frame * 4096, 4096) == image[page * 4096 : (page + 1) * 4096]
    assert (await master.read(0x55000, 8)).resp != 0
    assert (await master.write(0x55000, b"12345678")).resp != 0
