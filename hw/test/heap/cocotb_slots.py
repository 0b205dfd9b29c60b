# SPDX-License-Identifier: Apache-2.0
"""gw_slots: every answer against its rules, its cycles, errors that change nothing, jobs, slots until there are none."""

import os
import random

import cocotb
from slots_bench import (
    CONTEXTS,
    FREE,
    LARGE_BASE,
    MALLOC,
    PAGE,
    REALLOC,
    SETTLED,
    SLOT_ORDER,
    SMALL_BASE,
    SMALL_ORDER,
    Bench,
)

SLOTS = int(os.environ["BENCH_SLOTS"])
GIB = 1 << 30


async def begin(dut, stall=0.0):
    rng = random.Random(int(os.environ["GODWIT_SEED"]))
    bench = await Bench(dut, rng, SLOTS).start()
    bench.stall = stall
    # The table is cleared, and the first slots are ready.
    await bench.idle(2 * SLOTS + 500)
    return bench, rng


async def pages_around(bench, rng, count):
    """Lookups at the edges of allocations, as their context and as another."""
    for _ in range(count):
        if bench.live and rng.random() < 0.8:
            a = rng.choice(list(bench.live.values()))
            at = rng.choice((0, a.pages - 1, a.pages, a.high - 1, a.capacity - 1, rng.randrange(a.capacity)))
            await bench.check_page(rng.choice((a.ctx, a.ctx, rng.randrange(CONTEXTS))), a.first + at)
        else:
            await bench.check_page(rng.randrange(CONTEXTS), rng.getrandbits(45))


def some_size(rng, compact):
    most = 1 << (SMALL_ORDER if compact else SLOT_ORDER)
    pages = rng.choice((1, 2, most // 2, most, rng.randrange(1, most + 1)))
    if not compact and rng.random() < 0.05:
        pages *= rng.choice((2, 3, 4, 8))
    return rng.randrange((pages - 1) * PAGE + 1, pages * PAGE + 1)


@cocotb.test()
async def cycles_do_not_depend_on_the_size(dut):
    bench, _ = await begin(dut)
    await bench.command(MALLOC, 0, size=1)
    for fill in range(2):
        pages = 1
        while pages <= 1 << SLOT_ORDER:
            await bench.idle(500)
            status, pointer, cycles = await bench.command(MALLOC, 1, size=pages * PAGE, granule=4)
            assert (status, cycles, bench.waited) == ("ok", 5, 0)
            status, _, cycles = await bench.command(REALLOC, 1, pointer=pointer, size=8 * GIB)
            assert (status, cycles, bench.waited) == ("ok", 9, 0)
            status, _, cycles = await bench.command(FREE, 1, pointer=pointer)
            assert (status, cycles, bench.waited) == ("ok", 8, 0)
            pages *= 8
        if fill == 0:
            # The same on a heap that is nearly full.
            for _ in range(SLOTS - 20):
                status, _, cycles = await bench.command(MALLOC, 2, size=8 * GIB)
                assert status == "ok" and cycles + bench.waited <= 64, cycles
    await bench.idle(2000)
    # Neighbours: those whose slots are not in the stock, or held.
    for count in (2, 4, 8):
        status, pointer, cycles = await bench.command(MALLOC, 3, size=count * 8 * GIB - 5000)
        cocotb.log.info("%d slots: %s, %d cycles", count, status, cycles)
        if status == "ok":
            await bench.check_page(3, pointer // PAGE + (count << SLOT_ORDER) - 3)


@cocotb.test()
async def every_answer_follows_the_rules_under_random_stalls(dut):
    bench, rng = await begin(dut)
    statuses = {}
    for number in range(int(os.environ.get("BENCH_OPERATIONS", "3000"))):
        bench.stall = 0.3 if number % 500 < 250 else 0.0
        bench.quota = 60 if number % 1000 < 900 else rng.randrange(40)
        bench.free_pages = rng.choice((1 << 30, 1 << 20, 3))
        kind = rng.random()
        own = [a for a in bench.live.values() if bench.now - a.ended > SETTLED]
        if kind < 0.35 or not own:
            compact = rng.random() < 0.5
            granule = rng.choice((0, 4, 4, 9, 10, 5))
            size = rng.choice((some_size(rng, compact),) * 9 + (0, rng.getrandbits(64)))
            region = rng.choice((0, 0, 0, 1, 1, rng.randrange(8)))
            status, *_ = await bench.command(
                MALLOC,
                rng.randrange(CONTEXTS + 1),
                size=size,
                region=region,
                granule=granule,
                compact=compact,
                write=rng.randrange(2),
            )
        else:
            a = rng.choice(own)
            # What is being taken back, now and then: it cannot grow.
            if bench.job is not None and not bench.job.freed and rng.random() < 0.5:
                a = bench.job
            ctx = a.ctx if rng.random() < 0.9 else rng.randrange(CONTEXTS)
            pointer = a.first * PAGE
            if rng.random() < 0.08:
                pointer = rng.choice(
                    (
                        pointer + 1,
                        pointer + PAGE,
                        rng.getrandbits(64),
                        pointer | 1 << 63,
                        SMALL_BASE * PAGE - PAGE,
                    )
                )
            elif rng.random() < 0.05:
                pointer = (LARGE_BASE + (rng.randrange(SLOTS) << SLOT_ORDER)) * PAGE
            if kind < 0.8:
                size = rng.choice(
                    (
                        some_size(rng, a.first >= SMALL_BASE),
                        a.pages * PAGE,
                        a.pages * PAGE + 1,
                        0,
                        a.capacity * PAGE + 1,
                    )
                )
                status, *_ = await bench.command(REALLOC, ctx, pointer=pointer, size=size)
            elif kind < 0.95 or len(own) > 200:
                status, *_ = await bench.command(FREE, ctx, pointer=pointer)
            else:
                status = "none"
        statuses[status] = statuses.get(status, 0) + 1
        if rng.random() < 0.3:
            await pages_around(bench, rng, 2)
        if rng.random() < 0.05:
            await bench.idle(rng.randrange(200))
    cocotb.log.info("answers: %s; jobs: %d", statuses, bench.jobs)
    wanted = (
        "ok",
        "size_zero",
        "too_large",
        "argument",
        "no_frame",
        "foreign",
        "not_live",
        "other_context",
        "quota",
        "busy",
    )
    assert all(statuses.get(name) for name in wanted), statuses
    # In the end everything comes back.
    bench.stall = 0.0
    for a in list(bench.live.values()):
        if not a.freed:
            assert (await bench.command(FREE, a.ctx, pointer=a.first * PAGE))[0] == "ok"
    for _ in range(400):
        await bench.idle(100)
        if not bench.live:
            break
    assert not bench.live


@cocotb.test()
async def slots_are_given_until_there_are_none_and_again(dut):
    bench, _ = await begin(dut)
    bench.serve_jobs = False
    held = []
    while (answer := await bench.command(MALLOC, 0, size=100, compact=1))[0] == "ok":
        held.append(answer[1])
        assert answer[2] + bench.waited <= 64
    assert answer[0] == "no_slot" and len(held) == SLOTS and len(set(held)) == SLOTS
    # The other class has its own; freed slots are not given before the job is done.
    bench.quota = SLOTS
    assert (await bench.command(MALLOC, 0, size=100))[0] == "quota"
    assert (await bench.command(FREE, 0, pointer=held[5]))[0] == "ok"
    assert (await bench.command(FREE, 0, pointer=held[5]))[0] == "not_live"
    assert (await bench.command(MALLOC, 0, size=100))[0] == "ok"
    assert (await bench.command(MALLOC, 1, size=100, compact=1))[0] == "no_slot"
    bench.serve_jobs = True
    await bench.idle(2 * SETTLED)
    status, pointer, _ = await bench.command(MALLOC, 1, size=100, compact=1)
    assert (status, pointer) == ("ok", held[5])


@cocotb.test()
async def an_allocation_that_was_shrunk_grows_when_its_pages_are_back(dut):
    bench, _ = await begin(dut)
    _, pointer, _ = await bench.command(MALLOC, 0, size=100 * PAGE)
    bench.serve_jobs = False
    assert (await bench.command(REALLOC, 0, pointer=pointer, size=PAGE))[0] == "ok"
    await bench.idle(50)
    assert bench.job is not None
    assert (await bench.command(REALLOC, 0, pointer=pointer, size=2 * PAGE))[0] == "busy"
    await bench.check_page(0, pointer // PAGE)
    await bench.check_page(0, pointer // PAGE + 1)
    bench.serve_jobs = True
    await bench.idle(2 * SETTLED)
    assert (await bench.command(REALLOC, 0, pointer=pointer, size=2 * PAGE))[0] == "ok"
    await bench.check_page(0, pointer // PAGE + 1)
    assert bench.jobs == 1
