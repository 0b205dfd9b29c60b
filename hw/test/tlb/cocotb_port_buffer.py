# SPDX-License-Identifier: Apache-2.0
"""A translator behind gw_port_buffer: what reaches the memory ends without the accelerator; data flows at full rate."""

import os
import random

import cocotb
from cocotb_random import fill_tables, random_access
from model import Bench
from tables import READ, WRITE

SEED = int(os.environ["GODWIT_SEED"])


async def small(dut, **kwargs):
    b = Bench(dut, random.Random(SEED), **kwargs)
    await b.start()
    for page in range(1, 9):
        b.table.map(1, page, 0x10 + page)
    return b


@cocotb.test()
async def a_fence_ends_with_an_accelerator_that_does_nothing_any_more(dut):
    """It stops at any moment of random traffic: takes no R and no B, gives no W. Parked accesses stay parked, too."""
    rng = random.Random(SEED)
    for round_ in range(12):
        b = Bench(
            dut,
            rng,
            stall=0.1,
            shuffle=True,
            walk_latency=lambda r: r.choice((1, 5, 20)),
            memory_latency=lambda r: r.choice((0, 5, 30)),
        )
        b.park = lambda r, share=0.2 * (round_ % 3): r.random() < share
        await b.start()
        fill_tables(b.table, rng)
        for _ in range(120):
            random_access(b, rng)
        for _ in range(rng.randrange(20, 400)):
            await b.step()
        stalls = dict(b.stall)
        b.stall |= {"s_r": 1.0, "s_b": 1.0, "s_w": 1.0}
        for _ in range(rng.choice((0, 5, 300))):
            await b.step()
        table = b.change_tables()
        table.maps.clear()
        fill_tables(table, random.Random(SEED + round_), 1)
        await b.invalidate(limit=1500)
        b.check_under_way()
        b.stall = stalls
        b.park = lambda r: False
        for _ in range(40000):
            if b.idle:
                break
            if b.parked:
                b.wake_request = (next(iter(b.parked)), True)
            await b.step()
        assert b.idle, b.stuck()


@cocotb.test()
async def an_address_waits_for_its_room_and_its_data(dut):
    b = await small(dut)
    b.stall["s_r"] = 1.0
    reads = [b.submit(READ, i % 4, 0x1000, 63) for i in range(6)]
    for _ in range(600):
        await b.step()
    assert [a.sent is not None for a in reads] == [True] * 4 + [False] * 2  # 256 beats
    b.stall["s_r"] = 0.0
    await b.run(limit=2000)
    go = [False]
    b.w_allowed = lambda access: go[0]
    write = b.submit(WRITE, 1, 0x2000, 7)
    for _ in range(50):
        await b.step()
    assert write.accepted is not None and write.sent is None
    go[0] = True
    await b.run(limit=200)
    b.stall["s_b"] = 1.0
    writes = [b.submit(WRITE, i % 4, 0x3000 + 64 * i) for i in range(7)]
    for _ in range(100):
        await b.step()
    assert sum(a.sent is not None for a in writes) == 4  # Writes
    b.stall["s_b"] = 0.0
    await b.run(limit=200)


@cocotb.test()
async def one_beat_a_cycle(dut):
    b = await small(dut)
    b.submit(READ, 0, 0x1000)
    b.submit(WRITE, 0, 0x1000)
    await b.run()
    for write in (READ, WRITE):
        start = b.now
        bursts = [b.submit(write, i % 4, 0x1000 + 64 * i, 7) for i in range(24)]
        await b.run(limit=1000)
        assert max(a.done for a in bursts) - start <= 24 * 8 + 25
