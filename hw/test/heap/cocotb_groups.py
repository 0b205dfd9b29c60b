# SPDX-License-Identifier: Apache-2.0
"""gw_groups against one bit a unit: every answer, the way it chooses, its cycles, its memory."""

import os
import random

import cocotb
from group_model import Pool
from groups_bench import GIVE, RESET, TAKE, Bench

BLOCKS = int(os.environ["BENCH_BLOCKS"])
BLOCK_BITS = int(os.environ["BENCH_BLOCK_BITS"])
POOLS = int(os.environ["BENCH_POOLS"])
LINES = int(os.environ["BENCH_LINES"])


async def begin(dut, stall=0.0, latency=1):
    rng = random.Random(int(os.environ["GODWIT_SEED"]))
    bench = await Bench(dut, rng).start()
    bench.stall, bench.latency = stall, latency
    return bench, rng, [Pool(BLOCKS, BLOCK_BITS) for _ in range(POOLS)]


async def reset(bench, pools, pool, count):
    ok, *_ = await bench.command(RESET, pool, count=count)
    assert ok
    pools[pool].reset(count)


def some(pools):
    """some_o: a bit for every order that a pool has a free group of."""
    return sum(((1 << int(p.states.max())) - 1) << (BLOCK_BITS + 1) * i for i, p in enumerate(pools))


async def take(bench, pools, pool, order):
    ok, unit, cycles, waited = await bench.command(TAKE, pool, order)
    assert bench.some == some(pools)
    wanted = pools[pool].take(order)
    assert (unit if ok else None) == wanted, (
        f"pool {pool}, order {order}: {unit if ok else None}, expected {wanted}"
    )
    return wanted, cycles, waited


async def give(bench, pools, pool, unit, order):
    ok, _, cycles, waited = await bench.command(GIVE, pool, order, unit)
    assert bench.some == some(pools)
    assert ok == pools[pool].give(unit, order), f"give of {unit:#x}, order {order}"
    return bool(ok), cycles, waited


@cocotb.test()
async def nothing_is_given_before_a_reset_or_without_blocks(dut):
    bench, _, pools = await begin(dut)
    assert (await take(bench, pools, 0, 0))[0] is None
    await reset(bench, pools, 0, 0)
    assert (await take(bench, pools, 0, 0))[0] is None
    await reset(bench, pools, 0, 1)
    assert (await take(bench, pools, 0, BLOCK_BITS))[0] == 0
    assert (await take(bench, pools, 0, 0))[0] is None


@cocotb.test()
async def every_answer_is_the_models_under_random_stalls(dut):
    bench, rng, pools = await begin(dut, stall=0.3, latency=5)
    # More blocks than lines, so that some have to go.
    for pool in range(POOLS):
        await reset(bench, pools, pool, BLOCKS if pool else rng.randrange(LINES + 1, BLOCKS + 1))
    held = []
    refused = doubles = 0
    for _ in range(int(os.environ.get("BENCH_OPERATIONS", "2500"))):
        bench.stall = rng.choice((0.0, 0.3))
        full = len(held) > 600 or (held and rng.random() < 0.45)
        if full and rng.random() < 0.95:
            pool, order, unit = held.pop(rng.randrange(len(held)))
            assert (await give(bench, pools, pool, unit, order))[0]
        elif full:
            # Once more: what is free, or partly free, is refused.
            pool, order = rng.randrange(POOLS), rng.randrange(BLOCK_BITS + 1)
            unit = rng.randrange(BLOCKS << BLOCK_BITS) >> order << order
            if pools[pool].free.any() and rng.random() < 0.5:
                unit = int(rng.choice(pools[pool].free.reshape(-1).nonzero()[0])) >> order << order
            if not (~pools[pool].free.reshape(-1)[unit : unit + (1 << order)]).all():
                doubles += not (await give(bench, pools, pool, unit, order))[0]
        else:
            pool, order = rng.randrange(POOLS), min(BLOCK_BITS, int(rng.expovariate(0.4)))
            unit, *_ = await take(bench, pools, pool, order)
            if unit is None:
                refused += 1
            else:
                held.append((pool, order, unit))
    for pool, order, unit in held:
        assert (await give(bench, pools, pool, unit, order))[0]
        if pool == held[0][0]:
            doubles += not (await give(bench, pools, pool, unit, order))[0]
    assert doubles
    assert LINES == 0 or (bench.reads and bench.writes)
    for pool in range(POOLS):
        # None lost: everything is one free piece again.
        assert (pools[pool].states % (BLOCK_BITS + 1) == 0).all()


@cocotb.test(skip=LINES == 0)
async def a_block_that_has_to_go_is_found_again(dut):
    """One block more than lines, half taken each: the bits are written when another block comes, and read when they are needed."""
    bench, _, pools = await begin(dut, latency=3)
    await reset(bench, pools, 0, BLOCKS)
    halves = [(await take(bench, pools, 0, BLOCK_BITS - 1))[0] for _ in range(2 * LINES + 2)]
    assert not bench.reads and not bench.writes
    for unit in halves[::2]:
        assert (await give(bench, pools, 0, unit, BLOCK_BITS - 1))[0]
    assert bench.writes
    for unit in halves[::2]:
        assert not (await give(bench, pools, 0, unit, 0))[0]
    assert bench.reads
    for unit in halves[1::2]:
        assert (await give(bench, pools, 0, unit, BLOCK_BITS - 1))[0]


@cocotb.test()
async def a_small_pool_is_given_to_the_last_unit_and_back(dut):
    bench, rng, pools = await begin(dut)
    await reset(bench, pools, 0, 2)
    for order in (0, rng.randrange(1, BLOCK_BITS)):
        units = []
        while (unit := (await take(bench, pools, 0, order))[0]) is not None:
            units.append(unit)
        assert sorted(units) == list(range(0, 2 << BLOCK_BITS, 1 << order))
        rng.shuffle(units)
        for unit in units:
            assert (await give(bench, pools, 0, unit, order))[0]
            assert not (await give(bench, pools, 0, unit, order))[0]


@cocotb.test()
async def cycles_are_those_of_the_contract(dut):
    bench, _, pools = await begin(dut)
    await reset(bench, pools, 0, BLOCKS)
    words = 1 << (BLOCK_BITS - 6)
    waits, refusals = set(), set()
    for _ in range(3):
        for order in [0, *range(BLOCK_BITS + 1)]:
            for _ in range(2):
                evicted, states = bench.writes, pools[0].states.copy()
                unit, cycles, waited = await take(bench, pools, 0, order)
                several = 1 << order - 6 if order > 6 else 0
                was = states[unit >> BLOCK_BITS]
                # A block in which all is free is made, not read; one that has to go takes the lines' time.
                made = words + 4 if was == BLOCK_BITS + 1 else 0
                if bench.writes == evicted:
                    assert cycles == (24 + several if several else 31) + made, (order, was, cycles)
                waits.add(waited)
        states = pools[0].states.copy()
        evicted, reads = bench.writes, bench.reads
        made = words + 4 if states[unit >> BLOCK_BITS] == 0 else 0
        _, cycles, waited = await give(bench, pools, 0, unit, order)
        if (bench.writes, bench.reads) == (evicted, reads):
            assert cycles == (17 + several if several else 20) + made, (order, cycles)
        waits.add(waited)
    assert max(waits) <= 18
    await reset(bench, pools, 0, 0)
    for order in range(BLOCK_BITS + 1):
        refusals.add((await take(bench, pools, 0, order))[1])
    assert refusals == {4}


@cocotb.test(skip=LINES == 0)
async def an_error_of_memory_ends_everything(dut):
    bench, _, pools = await begin(dut)
    await reset(bench, pools, 0, BLOCKS)
    held = []
    for _ in range(LINES * 3):
        first = (await take(bench, pools, 0, BLOCK_BITS))[0]
        await give(bench, pools, 0, first, BLOCK_BITS)
        # One unit of each block: none is all free, or all taken.
        held.append((await take(bench, pools, 0, BLOCK_BITS - 1))[0])
        held.append((await take(bench, pools, 0, BLOCK_BITS - 1))[0])
    for unit in held[::2]:
        await give(bench, pools, 0, unit, BLOCK_BITS - 1)
    assert bench.writes
    bench.bad = True
    refused = [not (await bench.command(GIVE, 0, BLOCK_BITS - 1, unit))[0] for unit in held[1::2]]
    assert refused[-1] and bench.get("broken_o")
    bench.bad = False
    assert not (await bench.command(TAKE, 0, 0))[0]
    assert not (await bench.command(GIVE, 0, 0, held[0]))[0]
