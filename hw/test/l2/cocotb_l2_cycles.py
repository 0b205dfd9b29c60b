# SPDX-License-Identifier: Apache-2.0
"""gw_second_level: exact cycles of hits, misses and invalidations; which pages stay, by policy."""

from __future__ import annotations

import os

import cocotb
from l2_bench import Bench, Request
from world import ALL, CONTEXT, RANGE

SETS, WAYS = int(os.environ["BENCH_SETS"]), int(os.environ["BENCH_WAYS"])
POLICY = os.environ["BENCH_POLICY"]
CLUSTERS = os.environ["BENCH_CLUSTERS"] == "1"
ENTRIES = SETS * WAYS
SCATTER = 7919
"""Frames so far apart lie in no row."""

HIT = 5
"""Cycles from a request's handshake to a hit's answer, both included."""

SWEEP = 5
"""Cycles of a sweep beside one for each set, counted from the fence after its pulse."""

SIZES = {0: 0x1_2345_6780, 4: 0x2_0000_0010, 9: 0x3_0000_0200, 18: 0x0_0014_0000}
"""A page of every size, by order."""


async def warm(bench: Bench, requests: list[Request]) -> None:
    """Walks, and waits until the answers are kept."""
    await bench.run(requests)
    await bench.idle(40 * len(requests) if len(requests) < 8 else 400)


async def each_size(dut) -> Bench:
    bench = await Bench(dut).start()
    for order, vpn in SIZES.items():
        bench.world.map(0, 1, vpn, 0x4_0000_0000 + vpn, order)
    await warm(bench, [Request(1, vpn) for vpn in SIZES.values()])
    assert bench.counts["fill"] == len(SIZES)
    return bench


def hits(requests: list[Request]) -> int:
    return sum(request.walked < 0 for request in requests)


@cocotb.test()
async def a_hit_takes_five_cycles_at_every_size(dut):
    bench = await each_size(dut)
    for order, vpn in SIZES.items():
        for page in (vpn, vpn + (1 << order) - 1):
            (request,) = await bench.run([Request(1, page)])
            assert (request.cycles, request.walked, request.order) == (HIT, -1, order)


@cocotb.test()
async def hits_of_mixed_sizes_flow_one_a_cycle(dut):
    bench = await each_size(dut)
    stream = [
        Request(1, vpn + bench.rng.randrange(1 << order), bool(i & 1))
        for i in range(64)
        for order, vpn in bench.rng.sample(sorted(SIZES.items()), 4)
    ]
    await bench.run(stream)
    assert hits(stream) == len(stream)
    assert stream[-1].answered - stream[0].accepted + 1 == len(stream) + HIT - 1


@cocotb.test()
async def the_walker_begins_with_a_miss_in_its_second_cycle(dut):
    bench = await Bench(dut).start()
    bench.world.map(0, 2, 5, 50)
    bench.walk_latency = lambda: 10
    (request,) = await bench.run([Request(2, 5)])
    assert request.walked == request.accepted + 1
    assert request.cycles == 12


@cocotb.test()
async def a_miss_that_the_walker_did_not_take_at_once_is_offered_from_its_fourth_cycle_on(dut):
    bench = await Bench(dut).start()
    bench.world.map(0, 2, 5, 50)
    bench.walk_ready = lambda: bench.cycle > begin + 1
    begin = bench.cycle
    (request,) = await bench.run([Request(2, 5)])
    assert (request.accepted, request.walked) == (begin, begin + 3)


@cocotb.test()
async def hits_pass_misses_that_wait_for_the_walker(dut):
    bench = await each_size(dut)
    busy = True
    bench.walk_ready = lambda: not busy
    misses = [Request(2, 100 + i) for i in range(4)]
    stream = [Request(1, SIZES[4] + i % 16) for i in range(32)]
    bench.queue.extend([*misses, *stream])
    await bench.idle(len(misses) + len(stream) + HIT)
    assert stream[-1].answered - stream[0].accepted + 1 == len(stream) + HIT - 1
    busy = False
    await bench.run()
    assert all(request.fault for request in misses)


@cocotb.test()
async def answers_of_the_walker_go_before_hits(dut):
    bench = await each_size(dut)
    misses = [Request(2, 100 + i) for i in range(4)]
    bench.walk_latency = lambda: HIT + 2
    stream = [Request(1, SIZES[0]) for _ in range(24)]
    await bench.run([*misses, *stream])
    # A walker's answer a cycle for four cycles costs the hits these four.
    assert stream[-1].answered - stream[0].accepted + 1 == len(stream) + HIT - 1 + len(misses)


@cocotb.test()
async def traffic_goes_on_at_full_speed_while_an_invalidation_sweeps(dut):
    bench = await each_size(dut)
    for order, vpn in SIZES.items():
        bench.world.map(bench.cycle, 2, vpn, 0x5_0000_0000 + vpn, order)
    await warm(bench, [Request(2, vpn) for vpn in SIZES.values()])
    bench.counts["invalidated"] = 0
    bench.invalidate(CONTEXT, 1)
    stream = [Request(2, list(SIZES.values())[i % 4]) for i in range(SETS)]
    bench.queue.extend(stream)
    await bench.step()
    # Every set is read once, written two cycles later, and hidden for one more; the sweep begins two cycles after the pulse.
    assert await bench.fence() == SETS + SWEEP
    await bench.run()
    assert hits(stream) == len(stream)
    assert stream[-1].answered - stream[0].accepted + 1 == len(stream) + HIT - 1
    assert bench.counts["invalidated"] == len(SIZES)
    assert hits(await bench.run([Request(1, vpn) for vpn in SIZES.values()])) == 0


@cocotb.test()
async def an_invalidation_drops_what_overlaps_and_no_more(dut):
    bench = await each_size(dut)
    order, vpn = 9, SIZES[9]
    bench.invalidate(RANGE, 2, vpn, order)
    await bench.idle(SETS + 8)
    assert hits(await bench.run([Request(1, page) for page in SIZES.values()])) == 4
    # One page in the middle of the 2 MiB page.
    bench.invalidate(RANGE, 1, vpn + 77, 0)
    await bench.step()
    assert hits(await bench.run([Request(1, page) for page in SIZES.values()])) == 3
    # What is filled during a sweep may go with it.
    await bench.idle(SETS + 60)
    await warm(bench, [Request(1, vpn)])
    # A range around the 64 KiB page.
    bench.invalidate(RANGE, 1, SIZES[4], 12)
    await bench.step()
    assert hits(await bench.run([Request(1, page) for page in SIZES.values()])) == 3


@cocotb.test()
async def pulses_during_a_sweep_hide_at_once_and_are_swept_after_it(dut):
    bench = await Bench(dut).start()
    world = bench.world
    for ctx in (1, 2, 3):
        for order, vpn in SIZES.items():
            world.map(0, ctx, vpn, (ctx << 40) + vpn, order)
    await warm(bench, [Request(ctx, vpn) for ctx in (1, 2, 3) for vpn in SIZES.values()])

    async def take_away(scope: int, ctx: int, orders: list[int], inside: int = 0) -> None:
        for order in orders:
            world.unmap(bench.cycle, ctx, SIZES[order], order)
        bench.invalidate(scope, ctx, SIZES[orders[0]] + inside, 0)
        await bench.step()
        gone = await bench.run([Request(ctx, SIZES[order]) for order in orders])
        assert all(request.fault for request in gone)

    await take_away(RANGE, 1, [4])
    # Another context, early; and late a page far inside 2 MiB, when the first sweep is nearly over.
    await take_away(CONTEXT, 2, list(SIZES))
    await bench.idle(max(0, SETS - 12))
    await take_away(RANGE, 3, [9], inside=300)
    assert await bench.fence() <= 2 * (SETS + SWEEP)
    after = [Request(1, SIZES[4]), Request(3, SIZES[9]), *(Request(2, vpn) for vpn in SIZES.values())]
    assert all(request.fault for request in await bench.run(after))


@cocotb.test()
async def all_that_waits_for_a_sweep_is_swept_after_it(dut):
    """Pulses in a row: the first is swept, the others wait together, wherever they lie from one another."""
    bench = await Bench(dut).start()
    world, base = bench.world, 0x7_0000_0000
    inside, giga = base + 5 * 16, base + (3 << 18)
    large = SIZES[18]
    pages = [(1, base, 0), (1, inside, 0), (1, giga, 0), (2, base, 0), (1, large, 18)]
    cases = (
        [(1, base, 9), (1, base, 0)],  # one page of the range before
        [(1, inside, 0), (1, base, 0)],
        [(1, giga, 0), (1, base, 0)],
        [(2, base, 0), (1, giga, 0)],
        [(2, base, 0), (1, base, 9)],
        [(1, inside, 0), (1, base, 0), (1, giga, 0)],
        [(1, large + (77 << 9) + 5, 0)],  # far inside 1 GiB
    )
    for named in cases:
        for i, (ctx, vpn, order) in enumerate(pages):
            world.map(bench.cycle, ctx, vpn, SCATTER * (bench.cycle + i) << order, order)
        await warm(bench, [Request(ctx, vpn) for ctx, vpn, _ in pages])
        assert hits(await bench.run([Request(ctx, vpn) for ctx, vpn, _ in pages])) == len(pages)
        gone = [
            page
            for page in pages
            if any(
                page[0] == ctx and page[1] >> max(order, page[2]) == vpn >> max(order, page[2])
                for ctx, vpn, order in named
            )
        ]
        assert len(gone) >= len(named), named
        for page in gone:
            world.unmap(bench.cycle, *page)
        for ctx, vpn, order in [(3, base, 0), *named]:
            bench.invalidate(RANGE, ctx, vpn, order)
            await bench.step()
        assert await bench.fence() <= 2 * (SETS + SWEEP)
        assert all(r.fault for r in await bench.run([Request(ctx, vpn) for ctx, vpn, _ in gone])), named
        bench.invalidate(ALL)
        await bench.idle(2 * SETS + 60)


@cocotb.test()
async def pulses_in_a_row_in_one_context_spare_the_others(dut):
    bench = await each_size(dut)
    bench.counts["invalidated"] = 0
    for page in range(40):
        bench.invalidate(RANGE, 2, SIZES[0] + 16 * page, 4)
        await bench.step()
    assert hits(await bench.run([Request(1, vpn) for vpn in SIZES.values()])) == len(SIZES)
    await bench.fence()
    assert bench.counts["invalidated"] == 0


@cocotb.test()
async def a_fence_is_bounded_under_a_pulse_in_every_cycle(dut):
    bench = await each_size(dut)
    bench.fences = True
    for _ in range(12 * SETS):
        bench.invalidate(RANGE, 1 + bench.rng.randrange(3), bench.rng.randrange(1 << 30), 0)
        await bench.step()
    # What was swept when the fence began, and what came before it and was swept next.
    assert len(bench.grace) >= 4 and max(bench.grace) <= 2 * (SETS + SWEEP)


@cocotb.test()
async def of_a_full_set_the_way_used_longest_ago_goes(dut):
    """As the tree has it: of the half that was not used last, the one that was not used last there."""
    bench = await Bench(dut).start()

    def page(k: int) -> int:
        """2 MiB pages of one set."""
        return (k * SETS + (k if POLICY == "hashed" else 0)) << 9

    for k in range(1, 7):
        bench.world.map(0, 1, page(k), k << 9, 9)
    for k in range(1, WAYS + 1):
        await warm(bench, [Request(1, page(k))])
    # The oldest is used again, so of the four the third goes; then, of what is left of the half used longer ago, the second.
    for used, new, gone in ((1, 5, 3), (5, 6, 2)):
        assert hits(await bench.run([Request(1, page(used))])) == 1
        await warm(bench, [Request(1, page(new))])
        evicted = bench.counts["evict"]
        kept = [k for k in range(1, 7) if k != gone and k <= new]
        if gone == 2:
            kept.remove(3)
        # Looked up from the oldest to the newest, so that what is used last stays what it was.
        assert (
            hits(await bench.run([Request(1, page(k)) for k in kept if k != used] + [Request(1, page(used))]))
            == 4
        )
        assert bench.counts["evict"] == evicted == (1 if new == 5 else 2)


@cocotb.test()
async def a_pulse_counts_for_the_request_of_its_own_cycle(dut):
    bench = await each_size(dut)
    vpn = SIZES[0]
    before, same = Request(1, vpn), Request(1, vpn)
    bench.queue.extend([before, same])
    await bench.step()
    bench.invalidate(ALL)
    await bench.run()
    assert same.accepted == bench.pulses[-1] == before.accepted + 1
    assert before.walked < 0 and not before.cacheable
    assert same.walked >= 0


@cocotb.test()
async def a_write_to_a_page_for_reading_is_looked_up_again(dut):
    bench = await Bench(dut).start()
    vpn = SIZES[0]
    bench.world.map(0, 1, vpn, 9, perm=2)
    await warm(bench, [Request(1, vpn)])
    (request,) = await bench.run([Request(1, vpn, True)])
    assert request.fault and request.walked >= 0
    # More permission needs no invalidation.
    bench.world.map(bench.cycle, 1, vpn, 9, perm=3)
    await warm(bench, [Request(1, vpn, True)])
    again = await bench.run([Request(1, vpn, True), Request(1, vpn)])
    assert hits(again) == 2


@cocotb.test()
async def global_pages_are_found_from_every_context(dut):
    bench = await Bench(dut).start()
    bench.world.map(0, None, 0x777, 0x999)
    await warm(bench, [Request(1, 0x777)])
    assert hits(await bench.run([Request(ctx, 0x777) for ctx in range(4)])) == 4
    bench.invalidate(CONTEXT, 1)
    await bench.idle(SETS + 8)
    assert hits(await bench.run([Request(1, 0x777)])) == 1
    bench.invalidate(ALL)
    await bench.step()
    assert hits(await bench.run([Request(1, 0x777)])) == 0


@cocotb.test()
async def scattered_pages_in_a_row_fill_all_entries(dut):
    """4 KiB pages with frames far apart, as many as there are entries: `partition` keeps few, the others all."""
    bench = await Bench(dut).start()
    base = 0x5_0000_0000
    pages = [base + i for i in range(ENTRIES)]
    for i, page in enumerate(pages):
        bench.world.map(0, 1, page, SCATTER * (i + 1))
    for _ in range(2):
        for at in range(0, ENTRIES, 16):
            await warm(bench, [Request(1, page) for page in pages[at : at + 16]])
    kept = hits(await bench.run([Request(1, page) for page in pages]))
    if POLICY == "partition":
        # All pages of a cluster share one set.
        assert kept <= ENTRIES // 16 * WAYS
    else:
        assert kept == ENTRIES


@cocotb.test()
async def pages_in_a_row_with_frames_in_a_row_share_an_entry(dut):
    bench = await Bench(dut).start()
    base = 0x6_0000_0000
    bench.world.map(0, 1, base - 16, 1)
    for i in range(32):
        # Any alignment: the frames are odd where pages are even.
        bench.world.map(0, 1, base + i, 0x1001 + i)
    await warm(bench, [Request(1, base + i) for i in (3, 12, 16)])
    found = hits(await bench.run([Request(1, base + i) for i in range(24)]))
    if CLUSTERS:
        # The walker sees the 8 entries of a line; two lines of a cluster are merged.
        assert found == 24
        assert bench.counts["merge"] == 1 and bench.counts["fill"] == 2
    else:
        assert bench.counts["merge"] == 0


@cocotb.test()
async def a_page_moves_from_its_own_entry_into_its_clusters(dut):
    bench = await Bench(dut).start()
    base = 0x7_0000_0000
    bench.world.map(0, 1, base + 2, 0x2002)
    await warm(bench, [Request(1, base + 2)])
    for i in (0, 1, 3):
        bench.world.map(bench.cycle, 1, base + i, 0x2000 + i)
    await warm(bench, [Request(1, base + 1)])
    found = await bench.run([Request(1, base + i) for i in range(4)])
    assert hits(found) == (4 if CLUSTERS else 2)


@cocotb.test()
async def a_range_entry_translates_a_whole_buffer(dut):
    bench = await Bench(dut).start()
    base, limit, ppn = 0x100, 0x1_0900, 0x40_0100
    bench.put_range(1, 3, base, limit, ppn, perm=2)
    await bench.step()
    stream = [Request(3, base + i * 97 % (limit - base + 1)) for i in range(64)] + [Request(3, limit)]
    await bench.run(stream)
    assert hits(stream) == len(stream) == bench.counts["range_hit"]
    assert stream[-1].answered - stream[0].accepted + 1 == len(stream) + HIT - 1
    for page, order in ((0x100, 4), (0x1FF, 4), (0x200, 9), (0x1_08FF, 4), (0x1_0900, 0)):
        (request,) = await bench.run([Request(3, page)])
        assert request.order == order
    outside = await bench.run(
        [Request(3, base - 1), Request(3, limit + 1), Request(2, base), Request(3, base, True)]
    )
    assert hits(outside) == 0
    bench.invalidate(RANGE, 3, limit + 1, 0)
    await bench.step()
    assert int(dut.range_valid_o.value) == 2
    bench.invalidate(RANGE, 3, limit, 0)
    late = Request(3, base)
    await bench.run([late])
    assert late.walked >= 0 and int(dut.range_valid_o.value) == 0
