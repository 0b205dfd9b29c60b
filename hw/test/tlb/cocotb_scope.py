# SPDX-License-Identifier: Apache-2.0
"""gw_translator: what an invalidation of each scope drops, what it spares, and pulses in any cycle."""

import os
import random

import cocotb
from model import Bench
from tables import (
    ALL,
    CONTEXT,
    ORDER_1G,
    ORDER_2M,
    ORDER_4K,
    ORDER_64K,
    RANGE,
    READ,
    WRITE,
    Invalidation,
)

SEED = int(os.environ["GODWIT_SEED"])
LEVELS = int(os.environ.get("BENCH_LEVELS", "4"))
COUNT = int(os.environ.get("BENCH_ACCESSES", "1500"))
TOP = 9 * LEVELS - 1  # highest page-number bit that is compared
UPPER = ((1 << 52) - 1) >> TOP << TOP  # pages of the upper half, as a 64-bit address has them

# Mapping (base page, order), page accessed, what is dropped of context 1, and whether that hits the mapping.
CASES = [
    ((0x100, ORDER_4K), 0x100, (RANGE, 1, 0x100, 0), True),
    ((0x100, ORDER_4K), 0x100, (RANGE, 1, 0x101, 0), False),
    ((0x100, ORDER_4K), 0x100, (RANGE, 2, 0x100, 0), False),
    ((0x107, ORDER_4K), 0x107, (RANGE, 1, 0x100, 3), True),
    ((0x108, ORDER_4K), 0x108, (RANGE, 1, 0x100, 3), False),
    ((0x108, ORDER_4K), 0x108, (RANGE, 1, 0x000, 18), True),
    ((1 << 18, ORDER_4K), 1 << 18, (RANGE, 1, 0x000, 18), False),
    ((0x40, ORDER_64K), 0x4F, (RANGE, 1, 0x43, 0), True),
    ((0x40, ORDER_64K), 0x40, (RANGE, 1, 0x50, 0), False),
    ((0x40, ORDER_64K), 0x40, (RANGE, 1, 0x40, 5), True),
    ((0x200, ORDER_2M), 0x201, (RANGE, 1, 0x3FF, 0), True),
    ((0x200, ORDER_2M), 0x201, (RANGE, 1, 0x1FF, 0), False),
    ((1 << 18, ORDER_1G), 1 << 18, (RANGE, 1, (2 << 18) - 16, 4), True),
    ((1 << 18, ORDER_1G), 1 << 18, (RANGE, 1, 2 << 18, 4), False),
    ((UPPER | 0x33, ORDER_4K), UPPER | 0x33, (RANGE, 1, UPPER | 0x33, 0), True),
    ((UPPER | 0x33, ORDER_4K), UPPER | 0x33, (RANGE, 1, 0x33, 0), False),
    ((0x100, ORDER_4K), 0x100, (CONTEXT, 1, 0, 0), True),
    ((0x100, ORDER_4K), 0x100, (CONTEXT, 2, 0, 0), False),
    ((0x100, ORDER_4K), 0x100, (ALL, 0, 0, 0), True),
]


async def bench(dut, **kwargs):
    b = Bench(dut, kwargs.pop("rng", None), levels=LEVELS, **kwargs)
    await b.start()
    return b


async def access(b, write, vpn):
    """One access, its answer kept by the L1 if that is allowed; returns the lookups it took."""
    before = len(b.requests[write])
    b.submit(write, 0, vpn << 12 & (1 << 64) - 1)
    await b.run()
    for _ in range(3):
        await b.step()
    return len(b.requests[write]) - before


@cocotb.test()
async def a_pulse_drops_what_it_covers_and_nothing_else(dut):
    b = await bench(dut)
    for write in (READ, WRITE):
        for (base, order), vpn, scope, dropped in CASES:
            for is_global in (False, True):
                table = b.change_tables()
                table.maps.clear()
                key = (1, base & (1 << 45) - 1)
                table.map(*key, 1 << 20, order)
                table.global_maps = {key} if is_global else set()
                await b.invalidate()
                scope_ = (*scope[:2], scope[2] & (1 << 45) - 1, scope[3])
                assert await access(b, write, vpn) == 1
                assert await access(b, write, vpn) == 0
                assert await b.invalidate(Invalidation(*scope_)) == 0
                # Global mappings go with everything only.
                gone = dropped and not (is_global and scope[0] != ALL)
                assert await access(b, write, vpn) == int(gone), f"{base:#x}/{order} {scope} {is_global}"


@cocotb.test()
async def spared_pages_hit_every_cycle_under_a_pulse_every_cycle(dut):
    b = await bench(dut)
    b.table.map(1, 0x10, 0x99)
    for write in (READ, WRITE):
        await access(b, write, 0x10)
        before = len(b.requests[write])
        hits = [b.submit(write, i % 5, 0x10000 + 8 * i) for i in range(200)]
        while not b.idle:
            b.inval_request, b.what = True, Invalidation(RANGE, 1, 0x11 + b.now % 7, 0)
            await b.step()
        assert [a.sent - a.accepted for a in hits] == [2] * 200
        assert hits[-1].sent - hits[0].sent == 199
        assert len(b.requests[write]) == before
    await b.run(until=lambda: not b.busy)


@cocotb.test()
async def what_is_sent_after_a_turn_is_waited_for_by_the_next(dut):
    b = await bench(dut)
    b.table.map(1, 1, 0x11)
    for write, held in ((READ, b.memory_hold), (WRITE, b.write_hold)):
        held.update((3, 4))
        old = b.submit(write, 3, 0x1000)
        await b.run(until=lambda a=old: a.sent is not None)
        b.inval_request, b.what = True, Invalidation(RANGE, 1, 1, 0)
        await b.turn()
        new = b.submit(write, 4, 0x1000)
        await b.run(until=lambda a=new: a.sent is not None)
        assert b.busy
        # A pulse in every cycle makes nothing older.
        held.remove(3)
        for _ in range(20):
            b.inval_request, b.what = True, Invalidation(RANGE, 1, 1, 0)
            await b.step()
        assert old.done is not None and new.done is None and not b.busy
        await b.turn()
        for _ in range(10):
            await b.step()
            assert b.busy
        held.clear()
        await b.run(until=lambda: not b.busy, limit=20)
        assert new.done is not None
        await b.run()


@cocotb.test()
async def an_epoch_ends_under_misses_and_a_pulse_in_every_cycle(dut):
    """Traffic without end that misses at every pulse: what began before a turn has ended soon after."""
    b = await bench(dut, walk_latency=lambda r: 12, memory_latency=lambda r: 6)
    for page in range(64):
        b.table.map(1, page, 0x100 + page)
    for cycle in range(1500):
        for write in (READ, WRITE):
            if len(b.offer[write]) < 4:
                b.submit(write, cycle % 8, (cycle * 7 & 63) << 12, cycle % 3)
        b.inval_request, b.what = cycle % 16 != 0, Invalidation(RANGE, 1, cycle & 63, 0)
        if b.settled:
            b.turn_request = True
        await b.step()
        assert not b.busy or b.now - b.turned < 500
    await b.run()


def remap(table, rng, ctx, first, pages):
    """New frames and permissions for every page and group that touches [first, first + pages)."""
    for vpn in range(64):
        order = ORDER_64K if vpn >= 32 else ORDER_4K
        if vpn % (1 << order) or vpn + (1 << order) <= first or vpn >= first + pages:
            continue
        table.maps.pop((ctx, vpn), None)
        if rng.random() < 0.85:
            frame = rng.getrandbits(30) << order
            table.map(ctx, vpn, frame, order, r=rng.random() < 0.95, w=rng.random() < 0.9)


@cocotb.test()
async def pulses_of_every_scope_during_traffic(dut):
    """Pages change, then a pulse covers them, often while another is busy: no old frame is used by anything
    accepted after it, and none is under way when busy is low."""
    rng = random.Random(SEED)
    b = await bench(
        dut,
        rng=rng,
        stall=0.2,
        shuffle=True,
        stale_walks=True,
        walk_latency=lambda r: r.choice((1, 3, 10, 40)),
        memory_latency=lambda r: r.choice((0, 3, 60)),
    )
    for ctx in (1, 2):
        remap(b.table, rng, ctx, 0, 64)
    quiet = pulses_while_busy = 0
    for _ in range(COUNT // 10):
        for _ in range(10):
            vpn = rng.randrange(64)
            b.submit(
                rng.randrange(2),
                rng.randrange(8),
                vpn << 12 | rng.randrange(0, 3840, 8),
                rng.choice((0, 0, 3)),
            )
        for _ in range(rng.choice((0, 1, 2, 20))):
            await b.step()
        if rng.random() < 0.1:
            # Another binding, which takes an idle port.
            await b.run(limit=60 * COUNT)
            b.ctx = 3 - b.ctx
            await b.step()
        order = rng.choice((0, 0, 1, 3, 4, 6))
        ctx, vpn = rng.choice((1, 2)), rng.randrange(64) >> order << order
        scope = rng.choice((RANGE, RANGE, RANGE, CONTEXT, ALL))
        table = b.change_tables()
        for c in (1, 2) if scope == ALL else (ctx,):
            remap(table, rng, c, *((vpn, 1 << order) if scope == RANGE else (0, 64)))
        pulses_while_busy += b.busy
        b.inval_request, b.what = True, Invalidation(scope, ctx, vpn, order)
        if b.settled and rng.random() < 0.5:
            b.turn_request = True
        await b.step()
        if rng.random() < 0.3:
            await b.run(until=lambda: b.settled)
            await b.turn()
            await b.run(until=lambda: b.settled)
            quiet += 1
            b.check_under_way()
    await b.run(limit=60 * COUNT)
    await b.drain_events()
    b.check_events()
    assert quiet and pulses_while_busy
