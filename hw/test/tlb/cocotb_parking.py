# SPDX-License-Identifier: Apache-2.0
"""Accesses that are parked: they ask again at a wake-up, hold up no fence, and end with their port or context."""

import os
import random

import cocotb
from cocotb_random import COUNT, fill_tables, random_access
from model import Bench
from tables import CONTEXT_OFF, MODE_OFF, MODE_TRANSLATE, PAGE_FAULT, PORT_OFF, READ, WRITE

SEED = int(os.environ["GODWIT_SEED"])
LEVELS = int(os.environ.get("BENCH_LEVELS", "4"))
MISS = int(os.environ.get("BENCH_MISS", "8"))
OUTSTANDING = int(os.environ.get("BENCH_OUTSTANDING", "16"))


async def small(dut, **kwargs):
    b = Bench(dut, random.Random(SEED), levels=LEVELS, **kwargs)
    await b.start()
    for page in range(1, 9):
        b.table.map(1, page, 0x10 + page)
    return b


async def parked(b, *accesses):
    """Submits accesses as (write, id, page), all parked."""
    b.park = lambda rng: True
    before = b.parks
    made = [b.submit(write, id_, page << 12 | 8 * i) for i, (write, id_, page) in enumerate(accesses)]
    await b.run(until=lambda: b.parks == before + len(made))
    b.park = lambda rng: False
    return made


async def wake(b, number, ok):
    b.wake_request = (number, ok)
    await b.step()


async def wake_all(b, ok=True):
    while b.parked:
        await wake(b, next(iter(b.parked)), ok)


@cocotb.test()
async def a_wake_up_makes_its_accesses_ask_again_or_fault(dut):
    b = await small(dut)
    for write in (READ, WRITE):
        one = await parked(b, (write, 1, 1))
        (number,) = b.parked
        for _ in range(20):
            await b.step()
        await wake(b, (number + 1) % 64, True)  # somebody else's
        for _ in range(2 * MISS + 10):
            await b.step()
        assert one[0].sent is None and one[0].cause is None
        before, start = len(b.requests[write]), b.now
        await wake(b, number, True)
        await b.run(limit=300)
        assert one[0].pa == 0x11 << 12 | 0 and len(b.requests[write]) == before + 1
        assert b.requests[write][-1][0] - start <= 2 * MISS + 6
        two = await parked(b, (write, 1, 2), (write, 2, 3))
        await wake_all(b, ok=False)
        await b.run(limit=300)
        assert {a.cause for a in two} == {PAGE_FAULT[write]}
    assert not any(b.failed.values())


@cocotb.test()
async def a_fence_ends_although_nobody_wakes(dut):
    """Accesses wait parked, behind parked ones, with lookups under way: the fence ends soon, and no old frame is used after it."""
    b = await small(dut, walk_latency=lambda r: r.choice((1, 5, 20)))
    for write in (READ, WRITE):
        for round_ in range(6):
            await b.invalidate()
            b.submit(write, 5, 0x8000)  # into the L1
            await b.run()
            waiting = await parked(b, (write, 1, 1))
            waiting += [b.submit(write, 1, 0x8000 + 8 * i) for i in range(2)]
            waiting += [b.submit(write, 1, (2 + i) << 12) for i in range(min(MISS, 8) - 4)]
            for _ in range(4 * round_):
                await b.step()
            table = b.change_tables()
            for page in range(1, 9):
                table.map(1, page, 0x1000 * (round_ + 1) + 0x100 * (write + 1) + page)
            assert await b.invalidate(limit=80) < 80
            b.check_under_way()
            assert not any(a.sent for a in waiting if a.write or a.id == 1)
            await b.invalidate(limit=80)
            b.submit(1 - write, 1, 0x8000)
            await b.run(until=lambda: b.accesses[-1].done)
            await wake_all(b)
            await b.run(limit=1000)


@cocotb.test()
async def others_go_on_while_accesses_are_parked(dut):
    """Reads: as many bursts of other IDs as ever are under way beside the parked ones; hits, and misses in the slots left."""
    b = await small(dut)
    places = MISS // 4
    b.submit(READ, 7, 0x8000)
    await b.run()
    await parked(b, *((READ, i % 3, 1 + i % 7) for i in range(places)))
    b.memory_hold = set(range(8))
    hits = [b.submit(READ, 3 + i % 4, 0x8000 + 8 * i) for i in range(OUTSTANDING)]
    await b.run(until=lambda: all(a.sent for a in hits), limit=200)
    b.memory_hold = set()
    await b.run(until=lambda: all(a.done for a in hits), limit=2000)
    misses = [b.submit(READ, 3 + i % 4, (2 + i % 6) << 12) for i in range(MISS - places)]
    await b.run(until=lambda: all(a.done for a in misses), limit=500)
    await wake_all(b)
    await b.run(limit=500)


@cocotb.test()
async def what_waits_ends_with_its_port_or_context(dut):
    b = await small(dut)
    for cause in (PORT_OFF, CONTEXT_OFF):
        for write in (READ, WRITE):
            b.submit(write, 5, 0x8000)
            await b.run()
            waiting = await parked(b, (write, 1, 1), (write, 1, 2))
            behind = [b.submit(write, 1, 0x8000 + 8 * i) for i in range(2)]
            for _ in range(10):
                await b.step()
            if cause == PORT_OFF:
                b.mode = MODE_OFF
                b.end(PORT_OFF)
            else:
                b.ctx_write = 1
            asked = len(b.requests[write])
            await b.step()
            await b.invalidate(limit=4 * MISS + 80)
            await b.run(limit=500)
            # Those behind had a translation, which may still be good.
            assert {a.cause for a in waiting} == {cause} and {a.cause for a in behind} <= {cause, None}
            assert len(b.requests[write]) == asked
            b.mode = MODE_TRANSLATE
            b.parked = {}


@cocotb.test()
async def random_parking(dut):
    """Traffic with parking, wake-ups of every kind, pulses, fences and ends of the context; fences end in bounded time."""
    rng = random.Random(SEED + 7)
    for stall, ids, share, flood in (
        (0.0, 8, 0.3, 0.02),
        (0.3, 8, 0.5, 0.02),
        (0.1, 1, 0.1, 1.0),
        (0.2, 3, 0.8, 0.5),
    ):
        b = Bench(
            dut,
            rng,
            levels=LEVELS,
            stall=stall,
            shuffle=True,
            stale_walks=True,
            walk_latency=lambda r: r.choice((1, 3, 10)),
            memory_latency=lambda r: r.choice((0, 3, 20)),
        )
        await b.start()
        fill_tables(b.table, rng)
        b.park = lambda r, share=share: r.random() < share
        for round_ in range(1, 9):
            for _ in range(COUNT // 48):
                random_access(b, rng, ids)
            for _ in range(rng.randrange(10, 200)):
                if rng.random() < 0.05 and b.parked:
                    b.wake_request = (rng.choice(list(b.parked)), rng.random() < 0.8)
                elif rng.random() < flood:
                    b.wake_request = (rng.randrange(64), rng.random() < 0.5)
                await b.step()
            table = b.change_tables()
            table.maps.clear()
            fill_tables(table, random.Random(SEED + round_), round_)
            written = rng.random() < 0.4
            if written:
                # Whoever was taken before the last two addresses has been looked at.
                old = [a for a in b.accesses if a.accepted is not None and a.sent is None and a.cause is None]
                late = [q[-1] for q in b.unsent.values() if q]
                b.ctx_write = 1
                await b.step()
            await b.invalidate(limit=3000)
            b.check_under_way()
            if written:
                crossed = [a for a in old if a.sent is None and a.cause is None and a not in late]
                await b.run(
                    limit=40 * COUNT, until=lambda crossed=crossed: all(a.sent or a.cause for a in crossed)
                )
                assert all(a.sent is None for a in crossed), "asked again in the name of a context that was"
        b.park = lambda r, share=share: r.random() < share / 2

        async def waking(b=b):
            if b.parked and rng.random() < 0.3:
                b.wake_request = (rng.choice(list(b.parked)), rng.random() < 0.8)
            await b.step()

        for _ in range(60 * COUNT):
            if b.idle:
                break
            await waking()
        assert b.idle, b.stuck()
        await b.drain_events()
        b.check_events()
        assert b.parks > 8
