# SPDX-License-Identifier: Apache-2.0
"""gw_fault: each page asked for once and told once, under stalls, wrong responses, ends, timeouts, and a ring without room."""

import os
import random

import cocotb
from fault_bench import Bench


def rng(offset):
    return random.Random(int(os.environ["GODWIT_SEED"]) + offset)


@cocotb.test()
async def each_page_is_asked_for_once_and_told_once(dut):
    bench = Bench(dut, rng(0))
    bench.contexts, bench.vpns, bench.irq = 4, bench.pages // 2, (3, 200)
    await bench.start(log2=3)
    for stall, read, reply, wrong, refuse in (
        (0, 1, 1, 0, 0),
        (0.5, 0.1, 0.02, 0.02, 0),
        (0.2, 0.03, 0.3, 0.3, 0.2),
    ):
        bench.stall, bench.read, bench.reply, bench.wrong, bench.refuse = stall, read, reply, wrong, refuse
        bench.ask, bench.fail = 0.5, 0.3
        await bench.steps(6000)
        if not stall:
            assert bench.bound - 12 <= bench.longest <= bench.bound, bench.longest
        # A full table: requests meet a page that is there, or no place.
        bench.reply = 0.0
        await bench.steps(3000 + 30 * bench.pages)
        assert bench.live
        await bench.drain()
    assert bench.stale == bench.wrong_sent
    assert not bench.timeouts
    assert bench.merged > 50 and bench.upgraded > 3 and bench.refusals > 20 and bench.faults > 3
    assert {ok for _, ok, _ in bench.wakes} == {0, 1}


@cocotb.test()
async def contexts_end_and_times_are_over(dut):
    bench = Bench(dut, rng(1))
    bench.contexts, bench.vpns, bench.unsent, bench.sent = 4, bench.pages, 900, 700
    await bench.start(log2=2)
    for turn in range(4):
        bench.ask, bench.stall, bench.fail, bench.wrong = 0.4, (0, 0.4)[turn % 2], 0.2, 0.1
        bench.ends, bench.reply, bench.read = (0.05, 0.002)[turn // 2], 0.02, (0.2, 0.005)[turn % 2]
        for _ in range(10):
            await bench.steps(400)
            if not bench.request and not bench.accepted:
                ctx = bench.rng.randrange(bench.contexts)
                bench.generation[ctx] = (bench.generation[ctx] + 1) % 8
        await bench.drain()
    assert bench.timeouts > 3
    # Every place can be had again.
    bench.reply, bench.read = 0.0, 1.0
    bench.sent = bench.unsent = 0
    places = {await bench.get((9, 0, 100 + i, False)) for i in range(bench.pages)}
    assert places == set(range(bench.pages))
    assert await bench.get((9, 0, 99, False)) is None
    await bench.drain()


@cocotb.test()
async def a_host_that_never_answers(dut):
    """A sent page and those that find no room in the ring are given up after their own times, and nothing is lost after it."""
    bench = Bench(dut, rng(2))
    bench.unsent, bench.sent = 5000, 2000
    await bench.start(log2=1)
    bench.reply = bench.read = 0.0
    first = await bench.get((1, 0, 10, True))
    second = await bench.get((1, 0, 11, True))
    start = bench.now
    turn = 10 * bench.pages  # every place is looked at, with nothing else to do
    await bench.steps(2000 + turn)
    assert [(place, ok) for place, ok, _ in bench.wakes] == [(first, 0)]
    await bench.steps(3000)
    assert [(place, ok) for place, ok, _ in bench.wakes] == [(first, 0), (second, 0)]
    assert bench.wakes[0][2] - start >= 1950 and bench.wakes[1][2] - start >= 4950
    assert bench.wakes[1][2] - start <= 5000 + turn
    bench.records.clear()
    bench.reply = bench.read = 1.0
    await bench.get((1, 0, 12, False))
    await bench.drain()
    assert bench.wakes[-1][1] == 1


@cocotb.test()
async def a_read_that_becomes_a_write(dut):
    """Before it is sent one record says write; after it, a second one does, and nobody is told in between."""
    bench = Bench(dut, rng(3))
    await bench.start(log2=3)
    bench.reply = 0.0
    place = await bench.get((1, 0, 10, False))
    await bench.steps(50)
    assert await bench.get((1, 0, 10, True)) == place
    await bench.steps(50)
    assert [write for _, _, page, _ in bench.records for write, _ in page.records] == [0]
    bench.reply = 1.0
    await bench.steps(100)
    assert bench.upgraded == 1 and [(p, ok) for p, ok, _ in bench.wakes] == [(place, 1)]
    await bench.drain()


@cocotb.test()
async def busy_until_they_are_told(dut):
    """busy falls when the accesses of the context that ended were told, though the host does nothing."""
    bench = Bench(dut, rng(4))
    await bench.start(log2=1)
    bench.reply = bench.read = 0.0
    for i in range(bench.pages // 2):
        await bench.get((i % 2, 0, i, False))
    bench.contexts, bench.ends = 1, 1.0
    await bench.step()
    bench.ends = 0.0
    await bench.step()
    cycles = 0
    while int(dut.busy_o.value):
        await bench.step()
        cycles += 1
        assert cycles < 4 * bench.pages * bench.bound
    assert sorted({page.key[0] for page in bench.live.values()}) == [1]
    assert len(bench.wakes) == bench.pages // 4
    await bench.drain()
    cocotb.log.info(f"busy for {cycles} cycles")


@cocotb.test()
async def a_ring_that_is_turned_off_loses_nothing(dut):
    """A record that memory refused, and pages that were not sent yet, are in the next ring, once and in order."""
    bench = Bench(dut, rng(5))
    await bench.start(log2=2)
    await bench.get((1, 0, 9, False))
    await bench.drain()
    bench.refuse, bench.hold = 1.0, True
    places = [await bench.get((1, 0, 10 + i, True)) for i in range(3)]
    while not bench.stopped:
        await bench.step()
    await bench.steps(100)
    assert bench.faults == 1 and bench.seen == 1, "it went on before software had seen the fault"
    bench.enable = 0
    await bench.steps(10)
    assert not int(dut.on_o.value)
    bench.enable, bench.refuse, bench.hold, bench.stopped, bench.head, bench.seen = 1, 0.0, False, 0, 0, 0
    bench.restart = 2
    await bench.drain()
    assert sorted(place for place, ok, _ in bench.wakes[1:] if ok) == sorted(places)
    assert all(len(page.records) == 1 for page in bench.dead)


@cocotb.test()
async def a_new_generation_ends_the_old_one(dut):
    """A request with another generation: those of its context that wait are told, though the host does nothing; other contexts wait."""
    bench = Bench(dut, rng(6))
    await bench.start(log2=3)
    bench.reply = 0.0
    # Two of one page, and a write of another.
    old = {await bench.get((1, 0, page, write)) for page, write in ((10, False), (10, False), (11, True))}
    await bench.get((2, 0, 10, False))
    await bench.steps(4 * bench.pages * bench.bound)
    assert not bench.wakes
    new = await bench.get((1, 1, 10, False))
    assert new not in old
    await bench.steps(4 * bench.pages * bench.bound)
    assert sorted((place, ok) for place, ok, _ in bench.wakes) == sorted((place, 0) for place in old)
    await bench.drain()
