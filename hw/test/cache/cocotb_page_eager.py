# SPDX-License-Identifier: Apache-2.0
"""gw_page_cache that writes pages before they leave: which, when, what that is worth, who waits; and that no write is lost and nothing stale is read."""

import os
import random

import cocotb
from cache_bench import LINE, PAGE, Bench, Burst

SEED = int(os.environ["GODWIT_SEED"])
PAGES, REST_LINES, SPARE = (int(os.environ[f"BENCH_{name}"]) for name in ("PAGES", "REST_LINES", "SPARE"))
BASE = 1 << 40
FULL = (1 << LINE) - 1
FIRST, LAST = 0, (1 << 50) - 1
# Latency, and cycles a line, of a link: `ng` over PCIe gen1 x1, and `default`.
LATENCY, LINE_CYCLES = (225, 2.42) if REST_LINES == 64 else (56, 20.0)


async def bench(dut, **options):
    return await Bench(dut, random.Random(options.pop("seed", SEED)), eager=True, **options).begin()


def store(b, frame, line, strb=FULL, number=15):
    return Burst(True, number, BASE + frame * PAGE + line * LINE, words=[(b.rng.getrandbits(512), strb)])


def read(frame, line=0, beats=1, number=0):
    return Burst(False, number, BASE + frame * PAGE + line * LINE, beats)


async def write_page(b, frame, lines=range(64)):
    b.put(*(store(b, frame, line) for line in lines))
    await b.run(60_000)


async def idle(b, cycles):
    for _ in range(cycles):
        await b.step()


def written(b, since=0):
    """Lines written over the link, as (frame, line)."""
    return [
        (addr // PAGE - BASE // PAGE, addr // LINE % 64 + i)
        for _, addr, length in b.host.bursts[since:]
        for i in range(length)
    ]


async def settle(b):
    """Until nothing is on its way to the host."""
    last = -1
    while last != len(b.host.bursts):
        last = len(b.host.bursts)
        await idle(b, int(64 * b.line_cycles) + 400)
    assert not b.host.writes and not b.host.answers


def in_memory(b):
    for number, versions in b.versions.items():
        assert b.host.memory[number] == versions[-1], f"line {number:#x} lost a write"


@cocotb.test()
async def a_page_written_through_is_written_and_stays(dut):
    b = await bench(dut, latency=lambda r: 30, line_cycles=2.0)
    await write_page(b, 0)
    assert not b.host.bursts, "nothing is written before the writer is done"
    await settle(b)
    assert written(b) == [(0, line) for line in range(64)] and b.eagers == 1
    assert all(length <= REST_LINES for _, _, length in b.host.bursts)
    in_memory(b)
    # It is here, and its lines are clean.
    b.put(read(0, beats=64))
    await b.run()
    assert not b.host.read_log
    since = len(b.host.bursts)
    b.put(store(b, 0, 5), store(b, 0, 6, strb=0xFF))
    await b.run()
    await b.maintain(FIRST, LAST, drop=False)
    assert written(b, since) == [(0, 5), (0, 6)] and b.eagers_again == 1
    # Written through once more, it is written once more; and it leaves with nothing to write.
    await write_page(b, 0)
    await settle(b)
    assert b.eagers == 2
    since = len(b.host.bursts)
    for frame in range(1, PAGES + 2):
        b.put(read(frame))
        await b.run()
    await settle(b)
    assert len(b.host.bursts) == since
    b.put(read(0, beats=64))
    await b.run()


@cocotb.test()
async def only_what_was_written_in_order_to_its_end(dut):
    """Half of a page at least, without a hole, its last line the latest."""
    cases = {
        tuple(range(33, 64)): [],
        tuple(range(32, 64)): list(range(32, 64)),
        (*range(1, 64), 0): [],
        tuple(range(63)): [],
        (63,): [],
        tuple(range(63, -1, -1)): [],
        (*range(32), *range(40, 64)): [],
    }
    for lines, expected in cases.items():
        b = await bench(dut, latency=lambda r: 10)
        await write_page(b, 3, lines)
        await settle(b)
        assert [line for _, line in written(b)] == expected, f"{lines}"
        await b.maintain(FIRST, LAST)
        in_memory(b)


@cocotb.test()
async def no_store_to_a_page_that_is_being_written_is_lost(dut):
    """At any moment of it, to any line, whole or in part, with readers beside it."""
    for wait in range(0, 260, 13):
        b = await bench(dut, seed=SEED + wait, latency=lambda r: r.randrange(1, 40), line_cycles=2.0)
        await write_page(b, 1)
        await idle(b, wait)
        for _ in range(12):
            line = b.rng.randrange(64)
            b.put(store(b, 1, line, FULL if b.rng.random() < 0.5 else b.rng.getrandbits(64)))
            b.put(read(1, b.rng.randrange(64), number=b.rng.randrange(4)))
            await idle(b, b.rng.randrange(5))
        await b.run()
        await b.maintain(FIRST, LAST, drop=b.rng.random() < 0.5)
        in_memory(b)


@cocotb.test()
async def after_an_acknowledge_nothing_is_on_its_way(dut):
    """At any moment of a page that is being written: what the host writes then stays."""
    for wait in range(0, 400, 19):
        b = await bench(dut, seed=SEED + wait, latency=lambda r: r.randrange(20, 90), line_cycles=1.5)
        await write_page(b, 2)
        b.put(read(5), store(b, 6, 3, strb=0xF))
        await idle(b, wait)
        await b.run()
        clean = b.rng.random() < 0.6
        await b.maintain(FIRST, LAST, clean=clean)
        assert not b.host.writes and not b.host.answers
        if clean:
            in_memory(b)
        for number in list(b.versions):
            b.host.memory[number] = b.rng.getrandbits(512)
            b.versions[number].append(b.host.memory[number])
            b.answered[number] = len(b.versions[number]) - 1
        await idle(b, 300)
        in_memory(b)
        b.put(read(2, beats=64))
        await b.run()


@cocotb.test()
async def an_error_is_told(dut):
    """The access is long over: the event; of maintenance that is under way its acknowledge."""
    b = await bench(dut, check=False, latency=lambda r: 20)
    b.host.bad_writes = {BASE // LINE + 40}
    await write_page(b, 0)
    await settle(b)
    assert b.write_errors == 1 and b.eagers == 1
    # The line is clean, and lost, as when it had been cleaned by command.
    assert await b.maintain(FIRST, LAST) == 0
    await write_page(b, 0)
    await b.until(lambda: b.host.bursts[-1][0] > b.now - 3)
    told = await b.maintain(FIRST, LAST)
    assert b.write_errors == 2 and told == 1


@cocotb.test()
async def a_victim_waits_for_two_pieces_at_most(dut):
    """One with dirty lines of its own; a clean one does not wait at all."""
    if SPARE:
        return
    line_cycles = 20.0
    for dirty in (True, False):
        for wait in range(0, 1000, 170):
            b = await bench(dut, latency=lambda r: 50, line_cycles=line_cycles)
            b.put(store(b, 10, 3) if dirty else read(10, 3))
            await b.run()
            for frame in range(11, 10 + PAGES - 1):
                b.put(read(frame))
                await b.run()
            # All of them have come.
            await idle(b, int(PAGES * 64 * line_cycles))
            await write_page(b, 0)
            await b.until(lambda b=b: b.host.bursts and b.host.bursts[-1][0] == b.now - 1)
            await idle(b, wait)
            assert b.eagers == 0, "it is being written"
            miss = b.put(read(20))
            await b.run()
            waited = miss.ended - miss.asked
            own = 50 + line_cycles if dirty else 0
            pieces = 2 * REST_LINES * line_cycles if dirty else 0
            assert waited <= 50 + line_cycles + own + pieces + 40, f"{waited} cycles, dirty {dirty}"


@cocotb.test()
async def a_page_that_is_being_written_goes_behind_those_that_have_nothing_to_write(dut):
    """Although it is the one that was used the longest ago."""
    if SPARE:
        return
    line_cycles = 20.0
    for wait in range(0, 600, 110):
        b = await bench(dut, latency=lambda r: 50, line_cycles=line_cycles)
        for frame in range(11, 10 + PAGES):
            b.put(read(frame))
            await b.run()
        await idle(b, int(PAGES * 64 * line_cycles))
        await write_page(b, 0)
        for frame in range(11, 10 + PAGES):
            b.put(read(frame))
            await b.run()
        await b.until(lambda b=b: b.host.bursts)
        await idle(b, wait)
        assert b.eagers == 0, "it is being written"
        miss = b.put(read(20))
        await b.run()
        assert miss.ended - miss.asked <= 50 + line_cycles + 40
        b.put(read(0))
        await b.run()
        assert not any(addr // PAGE == BASE // PAGE for _, addr, _ in b.host.read_log), "it is here still"


async def copies(dut, pages, rounds, lag=4):
    """Pages read in order, and written as they come to as many others, and back: cycles."""
    b = await bench(dut, latency=lambda r: LATENCY, line_cycles=LINE_CYCLES)
    await idle(b, 50)
    begin = b.now
    for turn in range(rounds):
        source, target = (0, pages) if turn % 2 == 0 else (pages, 0)
        bursts = [read(source + page, beats=64) for page in range(pages)]
        b.put(*bursts)
        put = 0
        while put < 64 * pages:
            came = sum(len(burst.data) for burst in bursts)
            while put < (came if came == 64 * pages else came - lag):
                b.put(store(b, target + put // 64, put % 64))
                put += 1
            await b.step()
            assert b.now < begin + 400_000
        await b.run(100_000)
    took = b.now - begin
    await b.maintain(FIRST, LAST)
    in_memory(b)
    return b, took


@cocotb.test()
async def reads_and_writes_of_the_link_go_side_by_side(dut):
    """Copies of more pages than there are, there and back: the link's time for one direction, and little more.

    A fast link's latency is longer than a page's lines take, and one page is asked for ahead: so a page takes its latency and half of its
    lines at most.
    """
    rounds = 4
    b, took = await copies(dut, PAGES, rounds)
    page = max(64 * LINE_CYCLES, LATENCY + 32 * LINE_CYCLES)
    least = rounds * PAGES * 64 * LINE_CYCLES
    dut._log.info(
        f"{rounds} copies of {PAGES} pages, link of {LATENCY} cycles, {LINE_CYCLES} a line: {took} cycles, {took / least:.3f} of what the link "
        f"takes for one direction; {b.eagers} pages written before they left, {b.eagers_again} again"
    )
    # The last page of a round may leave, or be read, first.
    assert b.eagers >= rounds * (PAGES - 1) - 1 and b.eagers_again == 0
    assert took <= 1.1 * rounds * PAGES * page + rounds * 2 * LATENCY


@cocotb.test()
async def it_stops_where_it_does_not_pay(dut):
    """Pages that are written through over and over while they are here; then a stream again."""
    b = await bench(dut, latency=lambda r: 20)
    for _ in range(40):
        await write_page(b, 1)
        await idle(b, 120)
    assert b.eagers <= 4 + 40 // 16 + 1 and b.eagers_again >= b.eagers - 1
    before = b.eagers
    for frame in range(2, 82):
        await write_page(b, frame)
        await idle(b, 120)
    assert b.eagers - before > 40


@cocotb.test()
async def no_write_is_lost_and_nothing_stale_is_read(dut):
    """Writers through pages, random accesses of both kinds, maintenance and a host that writes what it has dropped, with stalls."""
    for stall, most in ((0.0, 30), (0.3, 60), (0.5, 20)):
        rng_seed = SEED + int(10 * stall)
        b = await bench(
            dut, seed=rng_seed, stall=stall, latency=lambda r, n=most: r.randrange(1, n), line_cycles=1.0
        )
        rng = b.rng
        for _ in range(16):
            run = rng.sample(range(3 * PAGES), rng.randrange(1, 4))
            for frame in run:
                for line in range(rng.choice((0, 0, 20)), 64):
                    b.put(store(b, frame, line, number=rng.randrange(2)))
                    if rng.random() < 0.1:
                        where = rng.choice([*run, rng.randrange(3 * PAGES)])
                        if rng.random() < 0.4:
                            b.put(store(b, where, rng.randrange(64), rng.getrandbits(64)))
                        else:
                            b.put(read(where, rng.randrange(60), rng.randrange(1, 5), rng.randrange(4, 8)))
            await b.until(lambda b=b: len(b.ar) + len(b.aw) < 4, 200_000)
            if rng.random() < 0.5:
                await b.run(200_000)
                await idle(b, rng.randrange(200))
            if rng.random() < 0.5:
                number = (BASE + rng.choice(run) * PAGE) // LINE + rng.choice((0, 17))
                await b.maintain(number, number + rng.choice((0, 40, 63, 200)), drop=rng.random() < 0.5)
            if rng.random() < 0.3:
                await b.run(200_000)
                await b.maintain(FIRST, LAST)
                for frame in rng.sample(range(3 * PAGES), 3):
                    number = (BASE + frame * PAGE) // LINE + rng.randrange(64)
                    b.line(number).append(rng.getrandbits(512))
                    b.host.memory[number] = b.line(number)[-1]
                    b.answered[number] = len(b.line(number)) - 1
        await b.run(200_000)
        await b.maintain(FIRST, LAST)
        in_memory(b)
        dut._log.info(f"{b.eagers} pages written before they left, {b.eagers_again} of them stored to again")
        assert b.eagers > 0
