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


def some_page(bench, rng):
    """A context and a page: at the edges of an allocation, as its context or as another; or anywhere."""
    if bench.live and rng.random() < 0.8:
        a = rng.choice(list(bench.live.values()))
        at = rng.choice((0, a.pages - 1, a.pages, a.high - 1, a.capacity - 1, rng.randrange(a.capacity)))
        return rng.choice((a.ctx, a.ctx, rng.randrange(CONTEXTS))), a.first + at
    return rng.randrange(CONTEXTS), rng.getrandbits(45)


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
            for _ in range(2):
                await bench.check_page(*some_page(bench, rng))
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


@cocotb.test()
async def a_lookup_beside_a_command_finds_what_was_or_what_is(dut):
    """In every cycle of a malloc, a shrink, the end of its job, a free and the end of that: also the one that writes the entry."""
    bench, _ = await begin(dut)
    for size in (3 * PAGE, 16 * GIB):
        last = -(-size // PAGE) - 1
        for delay in range(16):
            await bench.idle(SETTLED)
            for page in (0, last):
                _, pointer, _ = await bench.command(MALLOC, 1, size=size, granule=2)
                vpn = pointer // PAGE + page
                for op, values in ((REALLOC, {"size": PAGE}), (FREE, {})):
                    bench.serve_jobs = False
                    before = bench.truth(1, vpn)
                    bench.ask(1, vpn, delay)
                    await bench.command(op, 1, pointer=pointer, **values)
                    while bench.found is None:
                        await bench.idle(1)
                    bench.check_found(vpn, before, bench.truth(1, vpn))
                    # The job begins, and ends a few cycles later.
                    while bench.job_end is None:
                        await bench.idle(1)
                    bench.serve_jobs, bench.job_end = True, bench.now + 1
                    bench.ask(1, vpn, delay)
                    before = bench.truth(1, vpn)
                    while bench.found is None or bench.job is not None:
                        await bench.idle(1)
                    bench.check_found(vpn, before, bench.truth(1, vpn))
                    await bench.idle(50)


@cocotb.test()
async def lookups_run_beside_commands_under_random_stalls(dut):
    bench, rng = await begin(dut, stall=0.3)
    for _ in range(800):
        own = [a for a in bench.live.values() if not a.freed and bench.now - a.ended > SETTLED]
        ctx, vpn = some_page(bench, rng)
        before = bench.truth(ctx, vpn)
        bench.ask(ctx, vpn, rng.randrange(12))
        if len(own) < 12:
            compact = rng.randrange(2)
            await bench.command(
                MALLOC, rng.randrange(CONTEXTS), size=some_size(rng, compact), compact=compact
            )
        else:
            a = rng.choice(own)
            if rng.random() < 0.7:
                size = rng.randrange(1, a.pages * PAGE + 1)
                await bench.command(REALLOC, a.ctx, pointer=a.first * PAGE, size=size)
            else:
                await bench.command(FREE, a.ctx, pointer=a.first * PAGE)
        while bench.found is None:
            await bench.idle(1)
        bench.check_found(vpn, before, bench.truth(ctx, vpn))
