# SPDX-License-Identifier: Apache-2.0
"""gw_reclaim: all that a free or a shrink leaves comes back, once, and nothing that somebody may still reach; its cycles."""

import os
import random

import cocotb
from reclaim_bench import Bench

LARGE, SMALL = 0x4_0000_0000, 0x6_0000_0000
SLOT, SMALL_SLOT = 1 << 21, 16


async def begin(dut, stall=0.0):
    rng = random.Random(int(os.environ["GODWIT_SEED"]))
    bench = await Bench(dut, rng).start()
    bench.stall = stall
    return bench, rng


@cocotb.test()
async def cycles_are_those_of_the_contract(dut):
    bench, _ = await begin(dut)
    for latency in (0, 10):
        bench.latency = latency
        # Nothing was ever touched: the walk ends at the root's entry.
        assert await bench.check(2, LARGE, 0, SLOT) == 10 + latency
        # A page of a small slot: four reads, one entry, an invalidation, a give.
        bench.map(1, SMALL + 3)
        found = [await bench.check(1, SMALL, 3, 4) - 5 * latency]
        # A large slot with one page: an entry, and two tables of 64 beats.
        bench.map(1, LARGE + 3)
        found.append(await bench.check(1, LARGE, 0, SLOT) - 132 * latency)
        assert found == [40, 849]
        assert not bench.get("broken_o")


@cocotb.test()
async def a_shrink_leaves_groups_that_are_needed(dut):
    bench, _ = await begin(dut)
    for page in range(0, 64, 16):
        bench.map(1, LARGE + page, order=4)
    await bench.check(1, LARGE, 17, SLOT, granule=4)
    assert bench.walk(1, LARGE + 31) is not None and bench.walk(1, LARGE + 32) is None
    await bench.check(1, LARGE, 0, SLOT, granule=9)
    assert not bench.pages


@cocotb.test()
async def groups_of_each_order_come_back_as_they_are(dut):
    bench, _ = await begin(dut, stall=0.2)
    for order in bench.orders:
        # Pages of two tables, or of 2 MiB as many; a shrink in the middle of a group leaves that one.
        size = 1 << order
        for page in (0, size, *range(2 * size, max(600, 4 * size), max(size, 64))):
            bench.map(1, LARGE + page, order)
        await bench.check(1, LARGE, size + (size > 1), SLOT, granule=order)
        assert order == 0 or bench.walk(1, LARGE + 2 * size - 1) is not None
        await bench.check(1, LARGE, 0, SLOT, granule=order)
        assert not bench.pages


@cocotb.test()
async def no_group_is_given_before_all_of_it_is_cleared(dut):
    bench, _ = await begin(dut)
    # More entries in a table than wait for a fence, with a large group in their midst.
    order = max(k for k in bench.orders if k < 9)
    bench.map(1, LARGE)
    for page in range(1, (1 << order) - 1):
        bench.map(1, LARGE + page)
    bench.map(1, LARGE + (1 << order), order)
    bench.map(1, LARGE + 511)
    await bench.check(1, LARGE, 1, 512)
    assert bench.walk(1, LARGE) is not None and len(bench.pages) == 1


@cocotb.test()
async def more_entries_than_wait_for_a_fence(dut):
    bench, _ = await begin(dut, stall=0.2)
    for page in range(400):
        bench.map(1, LARGE + 100 + page)
    for page in range(0, 20 * 512, 512):
        bench.map(1, LARGE + page)
    await bench.check(1, LARGE, 101, SLOT)
    assert bench.invals > 10 and bench.walk(1, LARGE + 100) is not None
    await bench.check(1, LARGE, 0, SLOT)
    # All of a context: its shared tables as well.
    bench.map(1, SMALL + 77)
    await bench.check(1, 0, 1 << 27, 1 << 36)
    assert not bench.pages and not bench.tables


@cocotb.test()
async def an_off_context_and_an_empty_range_take_nothing(dut):
    bench, _ = await begin(dut)
    bench.map(1, LARGE)
    dut.ctx_mode_i.value = 0
    await bench.job(1, LARGE, 0, SLOT)
    dut.ctx_mode_i.value = 9
    await bench.job(1, LARGE, 5, 16, granule=4)
    assert not bench.given and bench.walk(1, LARGE) is not None


@cocotb.test()
async def an_entry_that_cannot_be_cleared_keeps_its_frame(dut):
    bench, _ = await begin(dut, stall=0.2)
    bench.map(1, SMALL)
    bench.refuse = 1.0
    await bench.job(1, SMALL, 0, SMALL_SLOT)
    assert bench.get("broken_o") and not bench.given and bench.walk(1, SMALL) is not None


@cocotb.test()
async def tables_that_cannot_be_read_lead_nowhere(dut):
    bench, _ = await begin(dut, stall=0.2)
    for page in range(0, 4096, 100):
        bench.map(1, LARGE + page)
    bench.bad_read = 0.05
    await bench.job(1, LARGE, 0, SLOT)
    bench.bad_read = 0.0
    assert bench.get("broken_o")


@cocotb.test()
async def entries_that_the_heap_does_not_write_lead_nowhere(dut):
    bench, _ = await begin(dut)
    bench.map(1, LARGE)
    bench.map(1, SMALL)
    table = bench.tables[1, 0, LARGE >> 9]
    bench.memory[table * 512 + 5] = 0x124
    table = bench.tables[1, 1, LARGE >> 18]
    bench.memory[table * 512 + 5] = 0x1234 << 10 | 7
    await bench.check(1, LARGE, 0, SLOT)
    assert bench.get("broken_o")


@cocotb.test()
async def random_allocations_come_back_whole(dut):
    bench, rng = await begin(dut, stall=0.2)
    for _ in range(int(os.environ.get("BENCH_OPERATIONS", "5"))):
        bench.stall = rng.choice((0.0, 0.2))
        bench.latency = rng.choice((0, 3, 10))
        bench.spurious, bench.aged = rng.choice((0.0, 0.2)), rng.choice((0.0, 0.2))
        ctx, granule = rng.randrange(2), rng.choice((0, 0, 4, rng.randrange(10), 9))
        orders = [k for k in bench.orders if k <= granule]
        slots = []
        for _ in range(rng.randrange(1, 4)):
            small = rng.random() < 0.4 and granule <= 4
            number = rng.randrange(3)
            first = SMALL + number * SMALL_SLOT if small else LARGE + number * SLOT
            size = SMALL_SLOT if small else SLOT
            top = rng.choice((16, 700, 1500, size)) if not small else size
            for _ in range(rng.randrange(60)):
                # Smaller ones where there was no group.
                order = orders[-1] if rng.random() < 0.8 else rng.choice(orders)
                bench.map(ctx, first + min(size - 1, rng.randrange(top)), order)
            slots.append((first, size, top))
        for first, size, top in slots:
            if rng.random() < 0.6:
                await bench.check(ctx, first, rng.randrange(min(top, size)), size, granule)
        for first, size, _ in slots:
            await bench.check(ctx, first, 0, size, granule)
    assert not bench.pages and not bench.get("broken_o")
    # What is left are tables that slots share.
    assert all(level == 2 or number >= SMALL >> 9 * (level + 1) for _, level, number in bench.tables)
