# SPDX-License-Identifier: Apache-2.0
"""gw_touch: one frame a page however many walks saw it missing, entries before links, parking and waking, its cycles."""

import os
import random

import cocotb
from touch_bench import PARK, ZERO, Area, Bench

SMALL = Area(ctx=1, first=0x4_0000_0000, pages=300, write=1, region=0, granule=0)
LARGE = Area(ctx=1, first=0x4_0020_0000, pages=3000, write=1, region=1, granule=4)
FIXED = Area(ctx=2, first=0x4_0040_0000, pages=50, write=0, region=0, granule=9)
AREAS = [SMALL, LARGE, FIXED]
GRANULES = [
    Area(ctx=2, first=0x4_8000_0000 + (g << 21), pages=1500 if g < 9 else 20000, write=1, region=1, granule=g)
    for g in range(10)
]
"""An allocation of each granule, in regions of different tables."""


async def begin(dut, stall=0.0):
    rng = random.Random(int(os.environ["GODWIT_SEED"]))
    bench = await Bench(dut, rng, [*AREAS, *GRANULES]).start()
    bench.stall = stall
    for _ in range(10 if not stall else 60):
        await bench.cycle()
    return bench, rng


@cocotb.test()
async def cycles_are_those_of_the_contract(dut):
    bench, _ = await begin(dut)
    for latency in (0, 1, 10, 30):
        bench.latency = latency
        vpn = SMALL.first + latency
        answer, cycles = await bench.touch(1, vpn)
        # Asked in the cycle after the acceptance; the entry's look takes 3 and the latency, that of gw_slots 5.
        assert answer["perm"] == 0b111 and cycles == 1 + max(3 + latency, 5) + 4, (latency, cycles)
        assert bench.mapped(1, vpn) == answer["ppn"]


@cocotb.test()
async def tables_are_made_once_and_linked_last(dut):
    bench, _ = await begin(dut)
    assert bench.walk(1, SMALL.first)[0] == 3
    await bench.touch(1, SMALL.first)
    assert bench.stores == 4 and bench.walk(1, SMALL.first + 1)[0] == 0
    await bench.touch(1, SMALL.first + 1)
    assert bench.stores == 5
    # Another gigabyte of the same table of such: two tables and a group of 16.
    group = 16 // bench.together
    await bench.touch(1, LARGE.first + 37)
    assert bench.stores == 5 + group + 2
    # The next block of 2 MiB: one table.
    await bench.touch(1, LARGE.first + 512)
    assert bench.stores == 5 + group + 2 + group + 1
    bench.check_all()
    assert bench.taken == {(0, 0): 3 + 2 + 3 + 3, (1, 4): 2}, bench.taken


def entries(bench, order):
    """Commands that store the entries of a group."""
    pages = 1 << order if order < 9 else 1
    return pages // bench.together if pages >= bench.together else pages


@cocotb.test()
async def each_granule_has_the_largest_order_that_fits(dut):
    bench, _ = await begin(dut)
    bench.latency = 10
    rows = []
    for area in GRANULES:
        order = max(k for k in bench.orders if k <= area.granule)
        # The first one makes tables: of 2 MiB none of level 0.
        size = 1 << order
        answer, cycles = await bench.touch(2, area.first + 5 % size)
        assert answer["order"] == order and cycles == 18
        before = bench.stores
        answer, cycles = await bench.touch(2, area.first + size + 5 % size)
        assert answer["order"] == order and cycles == 18
        assert bench.stores - before == entries(bench, order)
        assert bench.taken[1, order] >= 2
        rows.append((area.granule, order, cycles, bench.stored))
    bench.check_all()
    for granule, order, cycles, stored in rows:
        cocotb.log.info(
            "granule %d: order %d, answered after %d cycles, stored after %d", granule, order, cycles, stored
        )


@cocotb.test()
async def without_a_group_it_is_a_smaller_one(dut):
    bench, _ = await begin(dut)
    order = max(k for k in bench.orders if k < 9)
    smaller = max(k for k in bench.orders if k < order)
    area = GRANULES[order]
    bench.stock[1, order] = False
    # Until it is known that there will be none.
    answer, _ = await bench.touch(2, area.first + 3)
    assert answer["parked"] and bench.get("lack_o") == 1 << 10 + order
    bench.soon[1, order] = False
    for _ in range(20):
        await bench.cycle()
    assert not any(bench.parked.values()) and not bench.get("lacks_o")
    answer, _ = await bench.touch(2, area.first + 3)
    assert (answer["order"], answer["parked"]) == (smaller, 0)
    bench.stock[1, order] = bench.soon[1, order] = True
    # Where there is something no group is given; next to it there is, when it was looked at.
    size = 1 << order
    answer, cycles = await bench.touch(2, area.first + (3 ^ 1 << smaller))
    assert answer["order"] == smaller and cycles > 14
    answer, cycles = await bench.touch(2, area.first + size)
    assert answer["order"] == order
    # Asked in the cycle after the acceptance; looks of 3 cycles, 1 more each.
    assert cycles == 1 + 5 + 4 + 4 * entries(bench, order), cycles
    # A new table needs no look.
    answer, cycles = await bench.touch(2, area.first + 512)
    assert answer["order"] == order and cycles == 10
    bench.check_all()


@cocotb.test()
async def where_a_table_is_there_no_page_is_of_2_mib(dut):
    bench, _ = await begin(dut)
    if 9 not in bench.orders:
        return
    area = GRANULES[9]
    answer, _ = await bench.touch(2, area.first + 7)
    assert answer["order"] == 9 and bench.walk(2, area.first)[0] == 1
    bench.stock[1, 9] = bench.soon[1, 9] = False
    below = max(k for k in bench.orders if k < 9)
    assert (await bench.touch(2, area.first + 512))[0]["order"] == below
    bench.stock[1, 9] = bench.soon[1, 9] = True
    assert (await bench.touch(2, area.first + 1023))[0]["order"] == below
    assert (await bench.touch(2, area.first + 1024))[0]["order"] == 9
    bench.check_all()


@cocotb.test()
async def a_read_costs_nothing_and_what_is_not_allowed_is_a_fault(dut):
    bench, _ = await begin(dut)
    taken = sum(bench.taken.values())
    assert (await bench.touch(1, SMALL.first, 0))[0]["ppn"] == ZERO
    assert (await bench.touch(2, FIXED.first, 0))[0]["ppn"] == ZERO
    for ctx, vpn, write in (
        *((2, FIXED.first, 1), (2, SMALL.first, 0), (2, SMALL.first, 1)),
        *((1, SMALL.first + SMALL.pages, 1), (1, LARGE.first - 1, 0)),
    ):
        assert (await bench.touch(ctx, vpn, write))[0]["fault"]
    assert bench.stores == 0 and sum(bench.taken.values()) == taken


@cocotb.test()
async def who_comes_behind_has_what_was_given(dut):
    bench, _ = await begin(dut)
    bench.latency = 5
    # Five walks that all saw the page, or its granule, missing, the last one by a read.
    for page, write in ((3, 1), (3, 1), (7, 1), (3, 1), (15, 0)):
        bench.ask(1, LARGE.first + page, write)
    await bench.settle()
    assert [r.same for r, _, _ in bench.answers] == [0, 5, 5, 5, 5]
    assert all(cycles == 1 for r, _, cycles in bench.answers if r.same)
    assert bench.taken[1, 4] == 1 and not any(bench.parked.values())
    bench.check_all()


@cocotb.test()
async def who_comes_behind_what_is_forgotten_asks_again_and_finds_the_entry(dut):
    bench, _ = await begin(dut)
    bench.latency, bench.forget = 5, True
    for page in (3, 3, 7, 3, 15):
        bench.ask(1, LARGE.first + page, 1)
    await bench.settle()
    assert [a["parked"] for _, a, _ in bench.answers] == [0, 1, 1, 1, 1]
    assert bench.taken[1, 4] == 1 and not any(bench.parked.values())
    bench.check_all()


@cocotb.test()
async def without_a_frame_it_parks_until_there_is_one(dut):
    bench, _ = await begin(dut)
    for lacking, vpn, park in (((1, 4), LARGE.first, PARK + 1), ((0, 0), SMALL.first, PARK)):
        bench.stock[lacking] = False
        while True:
            vpn += 1 << lacking[1]
            answer, _ = await bench.touch(1, vpn)
            if answer["parked"]:
                break
        assert answer["park"] == park and bench.parked[park] == 1
        assert bench.get("lacks_o")
        # Others go on.
        other = SMALL.first + 200 if lacking == (1, 4) else LARGE.first + 1000
        assert not (await bench.touch(1, other))[0]["parked"]
        assert bench.parked[park] == 1
        # A context is written: whoever waits asks again.
        bench.end = True
        await bench.settle()
        assert bench.parked[park] == 0
        assert (await bench.touch(1, vpn))[0]["parked"]
        await bench.settle()
        assert bench.get("lacks_o")
        bench.stock[lacking] = True
        for _ in range(20):
            await bench.cycle()
        assert bench.parked[park] == 0
        assert not bench.get("lacks_o")
        assert not (await bench.touch(1, vpn))[0]["parked"]
    bench.check_all()


@cocotb.test()
async def memory_that_refuses_an_entry_is_told(dut):
    bench, _ = await begin(dut)
    bench.refuse = 1.0
    assert (await bench.touch(1, SMALL.first))[0]["fault"] and not bench.get("broken_o")
    bench.refuse = 0.0
    bench.ask(1, SMALL.first, 1)
    while not bench.answers[-1][1]["ppn"] or bench.answers[-1][1]["fault"]:
        await bench.cycle()
    bench.refuse = 1.0
    await bench.settle()
    assert bench.get("broken_o")


@cocotb.test()
async def every_page_has_one_frame_under_random_stalls(dut):
    bench, rng = await begin(dut, stall=0.3)
    kinds = {"given": 0, "same": 0, "parked": 0, "fault": 0, "zero": 0}
    for number in range(int(os.environ.get("BENCH_OPERATIONS", "600"))):
        bench.stall = rng.choice((0.0, 0.3))
        bench.latency = rng.choice((0, 2, 10))
        bench.spurious = rng.choice((0.0, 0.2))
        if number % 20 == 0:
            bench.steady = False
            for region, k in bench.stock:
                bench.stock[region, k] = rng.random() < 0.8
                bench.soon[region, k] = bench.stock[region, k] or rng.random() < 0.5
        bench.end = rng.random() < 0.05
        bench.forget = rng.random() < 0.2
        a = rng.choice(bench.areas)
        page = rng.randrange(a.pages)
        for _ in range(rng.choice((1, 1, 4))):
            # Walks wait before they come here, so some saw what is no longer so; many are of neighbours.
            page = rng.choice((0, page, page ^ 1, rng.randrange(20), rng.randrange(a.pages + 2)))
            bench.ask(a.ctx if rng.random() < 0.95 else 3 - a.ctx, a.first + page, rng.random() < 0.8)
        for _ in range(rng.randrange(60)):
            await bench.cycle()
    bench.stall, bench.forget = 0.0, False
    for kind in bench.stock:
        bench.stock[kind] = bench.soon[kind] = True
    await bench.settle(200000)
    for _ in range(100):
        await bench.cycle()
    assert not any(bench.parked.values()), "somebody waits for ever"
    bench.check_all()
    for r, answer, _ in bench.answers:
        given = "same" if r.same else "given" if r.write else "zero"
        kinds["fault" if answer["fault"] else "parked" if answer["parked"] else given] += 1
    cocotb.log.info("%s; stores %d; by order %s", kinds, bench.stores, dict(bench.given))
    assert all(kinds.values()), kinds
    assert all(bench.given[k] for k in bench.orders), bench.given
