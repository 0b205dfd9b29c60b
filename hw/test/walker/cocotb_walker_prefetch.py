# SPDX-License-Identifier: Apache-2.0
"""gw_walker: the next line of a stream is there before it is asked for; what is not worth it ends by itself."""

import os
import random

import cocotb
from page_tables import SV48, Memory, pte
from walker_bench import EVERYTHING, KEPT, READ, STEP, Bench, Request
from walker_bench import WARM as WARM_BASE

LATENCY = 20
WARM = WARM_BASE + LATENCY
COLD = WARM + 3 * (STEP + LATENCY)
BASE = 1 << 20
LINES = int(os.environ["BENCH_LINES"])
PROBE_INTERVAL = 16


async def bench(dut, latency=LATENCY, tables=1):
    memory = Memory()
    root = memory.frame()
    for vpn in range(BASE, BASE + 512 * tables):
        memory.map(root, 4, vpn, pte(vpn ^ 0xAAAAA))
    b = Bench(dut, memory, latency=latency, rng=random.Random(3))
    b.memory_root = root
    await b.start({0: (SV48, root)})
    return b


async def one_by_one(b, pages, pause=0):
    """Cycles of each page's walk, each asked for when the one before is answered."""
    found = []
    for vpn in pages:
        [r] = await b.run([Request(0, vpn)])
        assert r.answer.ppn == vpn ^ 0xAAAAA and r.cacheable
        found.append(r.cycles)
        await b.idle(pause)
    return found


@cocotb.test()
async def a_stream_waits_for_its_first_two_lines_only(dut):
    b = await bench(dut)
    found = await one_by_one(b, range(BASE, BASE + 512))
    assert found[:9] == [COLD, *[KEPT] * 7, WARM]
    assert set(found[9:]) == {KEPT}
    assert len(b.reads) == 3 + 64, "no line twice, none beyond the table"
    e = b.events
    assert (e.prefetch, e.prefetch_used, e.prefetch_useless) == (62, 62, 0)
    assert e.pte_read == len(b.reads)


@cocotb.test()
async def four_streams_at_a_time(dut):
    b = await bench(dut, tables=4)
    starts = [BASE + 512 * i for i in range(4)]
    found = await one_by_one(b, [start + i for i in range(64) for start in starts])
    assert all(cycles == KEPT for cycles in found[4 * 9 :])
    assert b.events.prefetch_useless == 0


@cocotb.test()
async def a_line_on_its_way_is_joined(dut):
    """Pages eight apart use a line each, so each prefetch is younger than it takes."""
    b = await bench(dut)
    found = await one_by_one(b, range(BASE, BASE + 512, 8))
    assert found[1] == WARM and found[2] < WARM
    assert b.events.prefetch_used == 62 and b.events.merge >= 60
    assert sum(found[2:]) < 62 * WARM
    assert len(b.reads) == 3 + 64


@cocotb.test()
async def what_is_never_used_is_hardly_tried(dut):
    """Two lines that follow each other, then somewhere else: a stream that ends whenever it has begun."""
    b = await bench(dut, latency=2, tables=16)
    pairs = [BASE + 8 * line for line in range(0, 64 * 16, 4)]
    for _ in range(4):
        await one_by_one(b, [vpn for first in pairs for vpn in (first, first + 8)], pause=3)
    e = b.events
    opportunities = 4 * len(pairs)
    assert e.prefetch_used == 0
    assert e.prefetch_useless >= e.prefetch - LINES
    at_first = 2 * LINES  # until the first of them are replaced
    assert 0 < e.prefetch <= at_first + opportunities / PROBE_INTERVAL
    # And it is found out when it is worth it again.
    before = e.prefetch_used
    for _ in range(6):
        await one_by_one(b, range(BASE, BASE + 512 * 4), pause=3)
    assert e.prefetch_used - before > 0.5 * (6 * 4 * 62)


@cocotb.test()
async def an_invalidation_drops_what_was_prefetched(dut):
    for wait in (0, 2, LATENCY + 6):  # wanted, on its way, there
        b = await bench(dut)
        await one_by_one(b, [BASE, BASE + 8])
        await b.idle(wait)
        b.invalidate = EVERYTHING
        await b.idle(1)
        b.memory.map(b.memory_root, 4, BASE + 16, pte(77))
        [r] = await b.run([Request(0, BASE + 16)])
        assert (r.answer.ppn, r.cycles) == (77, COLD)
        assert (b.events.prefetch_used, b.events.prefetch_useless) == (0, 0)


@cocotb.test()
async def an_error_while_prefetching_is_nobodys(dut):
    b = await bench(dut)
    entry = b.memory.table(b.memory_root, 4, BASE, 0) << 12
    broken = entry + 2 * 64
    b.error_at = lambda addr: addr == broken
    await one_by_one(b, [BASE, BASE + 8])
    await b.idle(40)
    b.error_at = lambda addr: False
    assert await one_by_one(b, [BASE + 16, BASE + 17]) == [WARM, KEPT]
    assert b.reads[-1][1] == broken or b.reads[-2][1] == broken


@cocotb.test()
async def demand_reads_go_out_as_if_nothing_was_prefetched(dut):
    """Streams and other pages at random times: no read that a walk needs is held up."""
    b = await bench(dut, tables=8)
    await one_by_one(b, [BASE + 512 * i for i in range(8)])
    stream = iter(range(BASE, BASE + 512))
    for _ in range(300):
        vpn = next(stream) if b.rng.random() < 0.6 else BASE + 512 + b.rng.randrange(512 * 7)
        before = len(b.reads)
        b.submit(request := Request(0, vpn))
        while request.answered < 0:
            await b.step()
        assert request.cycles <= WARM
        if request.cycles == WARM:
            assert request.accepted + READ in [cycle for cycle, _ in b.reads[before:]]
        await b.idle(b.rng.randrange(8))
