# SPDX-License-Identifier: Apache-2.0
"""gw_walker with lines of several beats: cycles, numbers of reads, every beat in its place."""

import random

import cocotb
from page_tables import SV48, Memory, pte
from walker_bench import LINE_BEATS, LINE_BYTES, Bench, Request

LINE_PAGES = LINE_BYTES // 8
BASE = 0x7_F123_4400  # first page of a line
LEVELS = 4


async def bench(dut, latency, pages, **rest):
    """A walker whose context 0 maps `pages`, none beside the frame of a neighbour."""
    memory = Memory()
    root = memory.frame()
    for vpn in pages:
        memory.map(root, LEVELS, vpn, pte(frame(vpn)))
    b = Bench(dut, memory, latency=latency, rng=random.Random(5), **rest)
    await b.start({0: (SV48, root)})
    return b


def frame(vpn):
    return (vpn & 0xFFFF) * 7 + 3


def check(requests):
    for r in requests:
        assert r.answer.cause is None and r.answer.ppn == frame(r.vpn) and r.latency == r.cycles


@cocotb.test()
async def a_line_is_there_with_its_last_beat(dut):
    far = BASE + 2 * LINE_PAGES
    for latency in (0, 10):
        b = await bench(dut, latency, range(BASE, BASE + 3 * LINE_PAGES))
        to_last = latency + LINE_BEATS - 1
        [cold] = await b.run([Request(0, BASE + LINE_PAGES - 1)])
        assert cold.cycles == 6 + to_last + 3 * (4 + to_last) and len(b.reads) == 4
        [warm] = await b.run([Request(0, far)])
        assert warm.cycles == 6 + to_last and len(b.reads) == 5
        for beat in range(LINE_BEATS):
            [kept] = await b.run([Request(0, far + 8 * beat + 5)])
            assert kept.cycles == 5 and len(b.reads) == 5
            check([kept])
        check([cold, warm])


@cocotb.test()
async def pages_of_all_beats_share_one_read(dut):
    pages = list(range(BASE, BASE + 4 * LINE_PAGES))
    b = await bench(dut, 20, pages)
    check(await b.run([Request(0, vpn) for vpn in pages]))
    lines = [address for _, address in b.reads]
    assert len(set(lines)) == len(lines) == 3 + 4 + b.events.prefetch - b.events.prefetch_used, (
        "each line once"
    )


@cocotb.test()
async def beats_of_lines_come_between_one_another(dut):
    lines = 40
    b = await bench(dut, 3, range(BASE, BASE + lines * LINE_PAGES), in_order=False)
    b.r_go = lambda: b.rng.random() < 0.7
    for _ in range(20):
        pages = [BASE + b.rng.randrange(lines * LINE_PAGES) for _ in range(60)]
        check(await b.run([Request(0, vpn) for vpn in pages]))
