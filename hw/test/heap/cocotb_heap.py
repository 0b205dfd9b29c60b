# SPDX-License-Identifier: Apache-2.0
"""gw_heap: what is written stays and is nobody else's, what is freed comes back clean, whatever goes on at once; its cycles."""

import os
import random

import cocotb
from heap_bench import AGENTS, FREE, MALLOC, PAGE, READ, REALLOC, WRITE, Bench, later

WRITABLE = 1 << 8
COMPACT = 1 << 7


async def begin(dut, **settings):
    rng = random.Random(int(os.environ["GODWIT_SEED"]))
    bench = await Bench(dut, rng).start(**settings)
    return bench, rng


async def stocked(bench):
    """Frames of region 0 are clean, and in stock."""
    while bench.get("scrubbed_o") < 512:
        await later(100)
    await later(2000)


@cocotb.test()
async def cycles_are_those_of_the_contract(dut):
    bench, _ = await begin(dut)
    await stocked(bench)
    for size in (1, 1 << 20, 1 << 33):
        status, pointer, cycles = await bench.do(MALLOC, 1, size=size, how=WRITABLE)
        assert (status, cycles) == ("ok", 7)
        assert (await bench.do(REALLOC, 1, pointer, 12 * PAGE))[::2] == ("ok", 11)
        await bench.idle()
        assert (await bench.do(FREE, 1, pointer))[::2] == ("ok", 10)
        await bench.idle()
    # A write to an untouched page: its entry's look, 2 cycles in the port's multiplexer, and 4.
    for latency in (1, 10, 30):
        dut.latency_i.value = latency
        status, pointer, _ = await bench.do(MALLOC, 1, size=64 * PAGE, how=WRITABLE)
        for page in range(3):
            assert (await bench.do(WRITE, 1, pointer + page * PAGE, 1))[0] == "ok"
            await later(300)
        assert bench.get("touch_cycles_o") == 11 + latency, (latency, bench.get("touch_cycles_o"))


@cocotb.test()
async def a_page_never_touched_reads_zero_and_costs_nothing(dut):
    bench, _ = await begin(dut)
    await stocked(bench)
    touches = bench.get("touches_o")
    free = bench.get("free_o")
    _, pointer, _ = await bench.do(MALLOC, 2, size=1 << 33, how=WRITABLE)
    for page in (0, 5, (1 << 21) - 1):
        assert (await bench.do(READ, 2, pointer + page * PAGE))[:2] == ("ok", 0)
    assert bench.get("touches_o") == touches
    # Whatever the scrubber has in its hand at the moment: a group of 16, of either region.
    assert abs(bench.get("free_o") - free) in (0, 16, 16 << 14, (16 << 14) - 16, (16 << 14) + 16)
    assert (await bench.do(READ, 2, pointer + (1 << 33)))[0] == "fault"
    assert (await bench.do(READ, 1, pointer))[0] == "fault"
    assert (await bench.do(FREE, 2, pointer))[0] == "ok"
    assert (await bench.do(READ, 2, pointer))[0] == "fault"


@cocotb.test()
async def who_waits_for_a_frame_gets_what_another_frees(dut):
    bench, _ = await begin(dut)
    # Region 1 begins clean: two blocks of 512 frames.
    region = WRITABLE | 1
    await stocked(bench)
    status, first, _ = await bench.do(MALLOC, 0, size=1024 * PAGE, how=region)
    assert status == "ok"
    for page in range(1024):
        assert (await bench.do(WRITE, 0, first + page * PAGE, page + 1))[0] == "ok"
    # Strict: there is not a page left, and it says so.
    assert (await bench.do(MALLOC, 0, size=PAGE, how=region))[0] == "no_frame"
    assert (await bench.do(REALLOC, 0, first, 1000 * PAGE))[0] == "ok"
    await bench.idle()
    while (await bench.do(MALLOC, 0, size=PAGE, how=region))[0] == "no_frame":
        await bench.idle()
    bench.live.clear()
    await bench.do(FREE, 0, first)


@cocotb.test()
async def in_pieces_of_memory_a_granule_gets_what_there_is(dut):
    bench, _ = await begin(dut)
    region = WRITABLE | 1
    await stocked(bench)
    # Two allocations share region 1 page by page, and one of them goes: there is not a group left.
    pair = [(await bench.do(MALLOC, 0, size=500 * PAGE, how=region))[1] for _ in range(2)]
    for page in range(500):
        for pointer in pair:
            assert (await bench.do(WRITE, 0, pointer + page * PAGE, page + 1))[0] == "ok"
    assert (await bench.do(FREE, 0, pair[0]))[0] == "ok"
    await bench.idle()
    for granule in (4, 9):
        status, pointer, _ = await bench.do(MALLOC, 0, size=400 * PAGE, how=region | granule << 3)
        assert status == "ok"
        for page in range(60):
            assert (await bench.do(WRITE, 0, pointer + page * PAGE, page + 2))[0] == "ok"
        for page in range(60):
            assert (await bench.do(READ, 0, pointer + page * PAGE))[:2] == ("ok", page + 2)
        assert (await bench.do(FREE, 0, pointer))[0] == "ok"
        await bench.idle()
    assert (await bench.do(FREE, 0, pair[1]))[0] == "ok"
    await bench.finish()


@cocotb.test()
async def a_context_that_ends_leaves_nothing(dut):
    bench, rng = await begin(dut)
    await stocked(bench)
    for ctx in (0, 1):
        for _ in range(6):
            compact = COMPACT if rng.random() < 0.5 else 0
            _, pointer, _ = await bench.do(MALLOC, ctx, size=16 * PAGE, how=WRITABLE | compact)
            for page in range(0, 16, 5):
                await bench.do(WRITE, ctx, pointer + page * PAGE, 7)
    for ctx in range(2):
        await bench.end(ctx)
    await bench.finish(ends=False)


@cocotb.test()
async def what_a_kernel_frees_waits_for_the_host(dut):
    bench, _ = await begin(dut)
    await stocked(bench)
    host, kernel = 0, 2
    dut.kernels_i.value, dut.hold_i.value, dut.see_i.value = 1 << kernel, 1, 0

    async def written():
        _, pointer, _ = await bench.do(MALLOC, 1, size=32 * PAGE, how=WRITABLE)
        for page in range(32):
            assert (await bench.do(WRITE, 1, pointer + page * PAGE, page))[0] == "ok"
        return pointer

    first, second, third = [await written() for _ in range(3)]
    # The host's own are taken back at once, and a kernel's malloc counts as little as they do.
    assert (await bench.do(FREE, 1, first, agent=host))[0] == "ok"
    await bench.idle()
    assert (await bench.do(MALLOC, 1, size=PAGE, how=WRITABLE, agent=kernel))[0] == "ok"
    assert (bench.get("frees_o"), bench.get("held_o")) == (0, 0)
    taken = bench.get("reclaimed_o")
    assert (await bench.do(FREE, 1, second, agent=kernel))[0] == "ok"
    # Nobody else gets its frames, and who comes behind it waits with it.
    assert (await bench.do(FREE, 1, third, agent=host))[0] == "ok"
    await later(3000)
    assert (bench.get("held_o"), bench.get("frees_o"), bench.get("reclaimed_o")) == (1, 1, taken)
    dut.see_i.value = 1
    await later(1)
    dut.see_i.value = 0
    await bench.idle()
    assert bench.get("reclaimed_o") >= taken + 64
    assert (await bench.do(READ, 1, second))[0] == "fault"
    # A command that is refused counts too; without `hold` nobody is waited for.
    assert (await bench.do(FREE, 1, second, agent=kernel))[0] == "not_live"
    assert bench.get("frees_o") == 2
    dut.hold_i.value = 0
    bench.live.clear()
    await bench.finish()


async def sees(dut, bench):
    """A host that looks now and then."""
    while True:
        await later(bench.rng.choice((1, 50, 700)))
        dut.see_i.value = 1
        await later(1)
        dut.see_i.value = 0


@cocotb.test()
async def everybody_gets_what_he_wrote_and_nobody_elses(dut):
    bench, rng = await begin(dut)
    total = int(os.environ.get("BENCH_OPERATIONS", "1500"))
    host = cocotb.start_soon(sees(dut, bench))
    for part in range(5):
        dut.stall_i.value = rng.choice((0, 20, 80)) if part else 0
        dut.latency_i.value = rng.choice((1, 10, 30))
        dut.room_i.value = int(rng.random() < 0.7)
        dut.kernels_i.value, dut.hold_i.value = rng.randrange(1 << AGENTS), part & 1
        await bench.work(total // 5)
    dut.stall_i.value, dut.room_i.value = 0, 1
    await bench.check_all()
    await bench.finish()
    host.cancel()
    cocotb.log.info("%s; longest commands: %s", dict(bench.counts), dict(bench.worst))
    names = ("touches_o", "parks_o", "reclaimed_o", "scrubbed_o")
    cocotb.log.info("%s", {n: bench.get(n) for n in names})
    assert bench.counts[REALLOC, "ok"] and bench.counts[READ, "ok"] and bench.get("reclaimed_o") > 50
