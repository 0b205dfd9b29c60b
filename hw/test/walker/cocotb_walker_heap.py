# SPDX-License-Identifier: Apache-2.0
"""gw_walker beside a gw_touch: pages of the heap that nobody touched are told without a second read, and no page is told so for ever."""

import os
import random

import cocotb
from page_tables import LEVELS, Memory, pte
from walker_bench import EVERYTHING, KEPT, Bench, Request

MODE = next(mode for mode, levels in LEVELS.items() if levels == 4)
FIRST, BEHIND = 0x4_0000_0000, 0x4_1000_0000
"""The window, and the first page behind it."""
UNTOUCHED = 1


async def begin(dut, seed=0):
    b = Bench(dut, Memory(), latency=10, rng=random.Random(seed))
    b.root = b.memory.frame()
    await b.start({0: (MODE, b.root)})
    # The tables are there: their last page is mapped.
    for first in (FIRST, BEHIND):
        b.memory.map(b.root, 4, first + 511, pte(0x9_0000))
        await b.run([Request(0, first + 511)])
    return b


async def ask(b, vpn, write=True):
    """One page: what the answer says, its cycles, and lines read for it."""
    reads = len(b.reads)
    (request,) = await b.run([Request(0, vpn, write)])
    await b.settle()
    return request, len(b.reads) - reads


@cocotb.test()
async def ascending_pages_are_told_without_a_read(dut):
    b = await begin(dut)
    request, reads = await ask(b, FIRST)
    assert request.miss[:2] == (UNTOUCHED, 0) and reads == 1, "its line is not here yet"
    for page in (1, 2, 5, 7):
        request, reads = await ask(b, FIRST + page)
        assert request.miss[:2] == (UNTOUCHED, 0) and (reads, request.cycles) == (0, KEPT), page
    # Behind the window, and entries that are not 0: read again.
    for vpn, entry in ((BEHIND, 0), (FIRST + 64, 2)):
        b.memory.map(b.root, 4, vpn + 1, entry)
        assert (await ask(b, vpn))[1] == 1
        request, reads = await ask(b, vpn + 1)
        assert request.answer.cause is not None and reads == 1, hex(vpn)


@cocotb.test()
async def who_asks_once_more_sees_what_was_filled_since(dut):
    b = await begin(dut)
    await ask(b, FIRST)
    for page in (3, 4):
        request, reads = await ask(b, FIRST + page)
        assert request.miss is not None and reads == 0
        b.memory.map(b.root, 4, FIRST + page, pte(0x5_0000 + page))
    for page in (3, 4):
        request, reads = await ask(b, FIRST + page)
        assert request.answer.ppn == 0x5_0000 + page and reads == (page == 3), "the line is read again, once"


@cocotb.test()
async def a_failed_beat_is_no_untouched_page(dut):
    b = await begin(dut)
    b.error_at = lambda addr: True
    request, _ = await ask(b, FIRST + 8)
    assert request.miss is None or request.miss[0] != UNTOUCHED


@cocotb.test()
async def no_page_is_told_untouched_for_ever(dut):
    """A gw_touch that fills what it is told of, now and then; who asks again has the page soon, and nobody a frame of another's."""
    rng = random.Random(int(os.environ["GODWIT_SEED"]))
    b = await begin(dut, rng.random())
    b.in_order = False
    b.ar_ready = lambda: rng.random() < 0.8
    filled, told, longest = {}, {}, 0
    for _ in range(int(os.environ.get("BENCH_OPERATIONS", "1500"))):
        b.latency = rng.choice((0, 3, 10))
        if rng.random() < 0.02:
            b.invalidate = EVERYTHING
        pages = [FIRST + rng.randrange(40) for _ in range(rng.choice((1, 1, 6)))]
        before = dict(filled)
        requests = await b.run([Request(0, vpn, True) for vpn in pages])
        for request in requests:
            vpn = request.vpn
            if request.miss is None:
                assert request.answer.ppn == filled[vpn]
                told[vpn] = 0
                continue
            assert request.miss[:2] == (UNTOUCHED, 0)
            if vpn in before:
                told[vpn] = told.get(vpn, 0) + 1
                longest = max(longest, told[vpn])
            elif vpn not in filled and rng.random() < 0.6:
                filled[vpn] = 0x6_0000 + len(filled)
                b.memory.map(b.root, 4, vpn, pte(filled[vpn]))
        if len(filled) == 40:
            for vpn in filled:
                b.memory.map(b.root, 4, vpn, 0)
            filled.clear()
            told.clear()
            b.invalidate = EVERYTHING
            await b.idle(2)
    # One beat of eight entries can be told of eight times between two reads.
    assert 0 < longest <= 8, longest
