# SPDX-License-Identifier: Apache-2.0
"""gw_translator under random traffic and stalls, against the reference; and invalidation during it."""

import os
import random

import cocotb
from model import Bench
from tables import FIXED, INCR, ORDER_2M, ORDER_64K, READ, WRAP, WRITE

SEED = int(os.environ["GODWIT_SEED"])
LEVELS = int(os.environ.get("BENCH_LEVELS", "4"))
COUNT = int(os.environ.get("BENCH_ACCESSES", "1500"))


def fill_tables(table, rng, salt=0):
    """A small address space: 4 KiB pages with holes and mixed permissions, 64 KiB pages, one 2 MiB page."""
    for page in range(24):
        if rng.random() < 0.85:
            table.map(
                1,
                page,
                rng.getrandbits(30) | 1 << 31 | salt << 32,
                r=rng.random() < 0.95,
                w=rng.random() < 0.9,
            )
    for group in (2, 3):
        table.map(1, group << 4, (rng.getrandbits(20) << 4) | salt << 32, ORDER_64K)
    table.map(1, 1 << 9, (rng.getrandbits(16) << 9) | salt << 32, ORDER_2M)


def random_access(b, rng, ids=8):
    region = rng.random()
    vpn = (
        rng.randrange(24)
        if region < 0.6
        else rng.randrange(32, 64)
        if region < 0.8
        else (1 << 9) + rng.randrange(1 << 9)
    )
    if rng.random() < 0.01:
        vpn |= 1 << 44
    size = rng.choice((3, 3, 3, 2, 0))
    burst = rng.choice((INCR, INCR, INCR, INCR, FIXED, WRAP))
    length = rng.choice((1, 3, 7)) if burst == WRAP else rng.choice((0, 0, 0, 1, 3, 7, 30))
    offset = rng.randrange(0, 4096) if rng.random() < 0.03 else rng.randrange(0, 4096 - 256, 8)
    b.submit(rng.randrange(2), rng.randrange(ids), vpn << 12 | offset, length, size=size, burst=burst)


@cocotb.test()
async def mixed_traffic(dut):
    rng = random.Random(SEED)
    for stall, ids in ((0.0, 8), (0.3, 8), (0.6, 3), (0.1, 1)):
        b = Bench(
            dut,
            rng,
            levels=LEVELS,
            stall=stall,
            shuffle=True,
            walk_latency=lambda r: r.choice((1, 2, 5, 20)),
            memory_latency=lambda r: r.choice((0, 1, 5, 30)),
        )
        await b.start()
        fill_tables(b.table, rng)
        for name in b.stall:
            b.stall[name] = stall * rng.random() * 1.5
        for _ in range(COUNT // 4):
            random_access(b, rng, ids)
        await b.run(limit=60 * COUNT)
        await b.drain_events()
        b.check_events()
        assert any(a.cause for a in b.accesses) and any(a.cause is None for a in b.accesses)


@cocotb.test()
async def invalidation_during_traffic(dut):
    """Every mapping moves; once busy has fallen nothing that used an old frame is left, nor is one used."""
    rng = random.Random(SEED + 1)
    b = Bench(
        dut,
        rng,
        levels=LEVELS,
        stall=0.2,
        shuffle=True,
        stale_walks=True,
        walk_latency=lambda r: r.choice((1, 3, 10, 40)),
        memory_latency=lambda r: r.choice((0, 3, 60)),
    )
    await b.start()
    fill_tables(b.table, rng)
    for round_ in range(1, 13):
        for _ in range(COUNT // 12):
            random_access(b, rng)
        for _ in range(rng.randrange(20, 150)):
            await b.step()
        table = b.change_tables()
        table.maps.clear()
        fill_tables(table, random.Random(SEED + round_), round_)
        for _ in range(rng.choice((0, 0, 1, 5, 30))):
            await b.step()
        pulse = b.now
        await b.invalidate()
        version = len(b.tables) - 1
        for access in b.accesses:
            if access.sent is not None and not access.served:
                # Only accesses translated by the new tables may be under way. Salted frames tell them apart.
                assert access.pa >> 44 == version, f"{access} is under way after the invalidation at {pulse}"
    await b.run(limit=60 * COUNT)
    await b.drain_events()
    b.check_events()


@cocotb.test()
async def invalidation_ends_although_old_writes_wait_for_new_reads(dut):
    """The accelerator has its writes' data only when reads issued after the invalidation have returned."""
    b = Bench(dut, random.Random(SEED), levels=LEVELS)
    await b.start()
    b.table.map(1, 1, 0x11)
    b.table.map(1, 2, 0x22)
    reads = []
    b.w_allowed = lambda access: len(reads) == 5 and all(a.done is not None for a in reads)
    writes = [b.submit(WRITE, i, 0x1000 + 64 * i, 1) for i in range(5)]
    for _ in range(30):
        await b.step()
    assert all(a.sent is not None and a.done is None for a in writes)
    b.inval_request = b.turn_request = True
    await b.step()
    reads += [b.submit(READ, i, 0x2000 + 64 * i, 1) for i in range(5)]
    await b.step()
    await b.step()
    assert b.busy
    await b.run(until=lambda: not b.busy, limit=200)
    assert all(a.done is not None for a in reads + writes)
    await b.run()


@cocotb.test()
async def an_epoch_ends_although_its_id_is_never_idle(dut):
    """What began in it is answered; of what came since with the same ID there is always some under way."""
    b = Bench(dut, random.Random(SEED), levels=LEVELS, memory_latency=lambda r: 30)
    await b.start()
    b.table.map(1, 1, 0x11)
    b.submit(READ, 3, 0x1000)
    await b.run()
    for write in (READ, WRITE):
        for cycle in range(240):
            if cycle % 6 == 0:
                b.submit(write, 3, 0x1000 + 8 * (cycle % 64))
            if cycle in (60, 150):
                assert not b.busy
                b.turn_request = True
            await b.step()
            assert not b.busy or b.now - b.turned < 60
        await b.run()


@cocotb.test()
async def new_traffic_runs_at_full_speed_while_old_is_drained(dut):
    b = Bench(dut, random.Random(SEED), levels=LEVELS)
    await b.start()
    b.table.map(1, 1, 0x11)
    b.submit(READ, 0, 0x1000)
    await b.run()
    b.memory_hold = {7}
    b.submit(READ, 7, 0x1000)
    for _ in range(5):
        await b.step()
    b.inval_request = b.turn_request = True
    await b.step()
    hits = [b.submit(READ, 1 + i % 4, 0x1000 + 8 * i) for i in range(150)]
    await b.run(until=lambda: all(a.done for a in hits))
    assert b.busy
    # The first miss again, others wait behind them; from the first steps on one leaves in every cycle until no more come.
    sent = sorted(a.sent for a in hits)
    assert sent[-1] - sent[0] <= 149 + 5
    assert sent[-8] - sent[24] == 149 - 7 - 24
    assert max(a.sent - a.accepted for a in hits) <= 14
    b.memory_hold = set()
    await b.run(until=lambda: not b.busy, limit=20)
    await b.run()


@cocotb.test()
async def busy_is_high_behind_a_turn_and_only_while_needed(dut):
    b = Bench(dut, random.Random(SEED), levels=LEVELS)
    await b.start()
    b.table.map(1, 1, 0x11)
    assert await b.invalidate() == 0  # nothing under way
    for write, held in ((READ, b.memory_hold), (WRITE, b.write_hold)):
        held.add(3)
        old = b.submit(write, 3, 0x1000)
        bad = b.submit(write, 3, 0x99000)
        for _ in range(20):
            await b.step()
        b.inval_request = b.turn_request = True
        for _ in range(3):
            await b.step()
        for _ in range(20):
            await b.step()
            assert b.busy
        held.clear()
        await b.run(until=lambda: not b.busy, limit=20)
        # A faulted access has no frame: its answer is not waited for.
        assert old.done is not None and bad.cause is not None
        await b.run()


@cocotb.test()
async def answer_around_the_invalidation_is_used_and_not_kept(dut):
    """The lookup began before the pulse; the answer comes shortly before, in or after it and says cacheable."""
    latency = 12
    b = Bench(dut, random.Random(SEED), levels=LEVELS, walk_latency=lambda r: latency)
    b.late = lambda: 100
    await b.start()
    for write in (READ, WRITE):
        for offset in range(-3, 5):
            vpn = 16 * (1 + write) + offset
            b.table.map(1, vpn, 0x500 + vpn)
            old = b.submit(write, 1, vpn << 12)
            before = len(b.requests[write])
            while len(b.requests[write]) == before:
                await b.step()
            answer = b.requests[write][-1][0] + latency
            while b.now < answer - offset:
                await b.step()
            await b.invalidate()
            await b.run()
            assert old.pa == (0x500 + vpn) << 12
            b.submit(write, 1, vpn << 12)
            await b.run()
            assert len(b.requests[write]) == before + 2
