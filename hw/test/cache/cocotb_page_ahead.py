# SPDX-License-Identifier: Apache-2.0
"""gw_page_cache that reads ahead: what comes before it is asked for and what that is worth, what is never read, and that nothing of it is stale."""

import os
import random

import cocotb
from cache_bench import LINE, PAGE, Bench, Burst
from cache_walker import HOST, NAPOT, R, U, V, Walker, entry

SEED = int(os.environ["GODWIT_SEED"])
PAGES, AHEAD, REST_LINES = (int(os.environ[f"BENCH_{name}"]) for name in ("PAGES", "AHEAD", "REST_LINES"))
BASE = HOST * PAGE
# Latency, and cycles a line, in cycles of the card's clock.
FAST = (("default", 225, 2.42), ("fletcher", 225, 1.33))
SLOW = (("tapasco", 180, 8.89), ("ng", 56, 172.5))
LINKS = FAST if REST_LINES == 64 else SLOW
FIRST, LAST = 0, (1 << 50) - 1
FULL = (1 << LINE) - 1


async def bench(dut, frames=(), **options):
    """A bench, and a walker whose table has these frames."""
    b = await Bench(dut, random.Random(options.pop("seed", SEED)), **options).begin()
    return b, Walker(b, frames)


def lines(frame, first=0, count=64, beats=1, ids=1):
    """Reads of a page's lines in order."""
    return [
        Burst(False, i % ids, BASE + frame * PAGE + line * LINE, beats)
        for i, line in enumerate(range(first, first + count, beats))
    ]


def store(b, frame, line, strb=FULL):
    return Burst(True, 15, BASE + frame * PAGE + line * LINE, words=[(b.rng.getrandbits(512), strb)])


async def idle(b, cycles):
    for _ in range(cycles):
        await b.step()


def read_pages(b, since=0):
    """Pages read over the link, in order, each once."""
    return list(dict.fromkeys((addr // PAGE) & ~HOST for _, addr, _ in b.host.read_log[since:]))


async def walk(b, frames, **how):
    """Reads pages in this order; returns cycles a line."""
    begin = b.now
    for frame in frames:
        b.put(*lines(frame, **how))
    await b.run(400_000)
    return (b.now - begin) / (64 * len(frames))


@cocotb.test()
async def a_linear_reader_finds_the_next_page(dut):
    """Pages that lie anywhere in memory, in the order of a table; with and without, over the links of named configurations."""
    for name, latency, line_cycles in LINKS:
        frames = random.Random(SEED).sample(range(1000), PAGES if line_cycles > 20 else 3 * PAGES)
        b, walker = await bench(dut, frames, latency=lambda r, n=latency: n, line_cycles=line_cycles)
        without = await walk(b, frames, beats=4, ids=4)
        assert read_pages(b) == frames and b.aheads == 0, "nothing is known of what is behind a page"
        await b.maintain(FIRST, LAST, clean=False)
        await walker.taught()
        since = len(b.host.read_log)
        taken = await walk(b, frames, beats=4, ids=4)
        assert read_pages(b, since) == frames, "every page once"
        share = line_cycles / taken
        dut._log.info(
            f"link of `{name}`, {latency} cycles, {line_cycles} a line: {without:.2f} cycles a line without, {taken:.2f} with {AHEAD} pages ahead "
            f"({100 * share:.0f} % of the link); {b.aheads} read ahead, {b.aheads_used} met, {b.aheads_unused} not"
        )
        assert b.aheads >= len(frames) - 2 * AHEAD and b.aheads_used >= b.aheads - AHEAD
        # What is on the way is the pages ahead and what is left of the one that is read.
        pieces = (latency + 12) / (2 * REST_LINES) if REST_LINES < 64 else 0
        best = max(line_cycles, (latency + 12 + 64 * line_cycles) / (64 * (AHEAD + 1)), pieces, 1.1)
        assert taken < without or without < 1.01 * line_cycles, (
            "where the link is at work all the time nothing is won"
        )
        assert taken < 1.1 * best + 0.3


@cocotb.test()
async def a_random_reader_is_not_slower(dut):
    """Lines here and there, and pieces of a quarter of a page: to the cycle, for nothing of it looks like a page in order."""
    name, latency, line_cycles = LINKS[0]
    frames = list(range(3 * PAGES))
    for beats in (1, 16):
        rng = random.Random(SEED)
        reads = [(rng.choice(frames), rng.randrange(64 // beats) * beats) for _ in range(200 // beats)]
        took = []
        for taught in (False, True):
            b, walker = await bench(dut, frames, latency=lambda r, n=latency: n, line_cycles=line_cycles)
            await idle(b, 100)
            if taught:
                await walker.taught()
            begin = b.now
            for i, (frame, line) in enumerate(reads):
                b.put(Burst(False, i % 4, BASE + frame * PAGE + line * LINE, beats))
            await b.run(400_000)
            took.append(b.now - begin)
        dut._log.info(
            f"link of `{name}`, reads of {beats} lines here and there: {took[0]} cycles without, {took[1]} with; {b.aheads} pages read ahead"
        )
        assert took[1] <= 1.02 * took[0]


@cocotb.test()
async def only_what_was_given_is_read(dut):
    """Behind the end of a table, an entry that is none, one of device memory, one that nobody may read or that was not accessed: nothing."""
    b, walker = await bench(dut, range(10, 18), latency=lambda r: 60)
    bad = (
        0,
        entry(40),
        entry(HOST | 41, V | U | 64 | 8),
        entry(HOST | 42, V | R | 64),
        entry(HOST | 43, V | R | U),
        entry(HOST | 44) | 1 << 60,
        entry(HOST | 45, V),
        entry(HOST | 46) | NAPOT,
    )
    for pte in bad:
        walker.entries[3] = pte
        await walker.taught()
        b.put(*lines(12))
        await b.run()
        await idle(b, 300)
        assert read_pages(b)[-1] == 12
        await b.maintain(FIRST, LAST)
    # The last one of its table; the walker has checked the rest.
    await walker.taught()
    b.put(*lines(17))
    await b.run()
    await idle(b, 300)
    assert read_pages(b)[-1] == 17


@cocotb.test()
async def pages_of_64_kib_go_on_within_them(dut):
    frames = [32] * 16
    b, walker = await bench(dut, frames, latency=lambda r: 60)
    walker.entries = [entry(HOST | 32 | 8) | NAPOT for _ in range(16)]
    await walker.taught()
    await walk(b, range(35, 43))
    assert read_pages(b)[:8] == list(range(35, 43)) and b.aheads_used >= 6


@cocotb.test()
async def after_an_acknowledged_drop_nothing_of_it_is_read(dut):
    """At any moment of a page that is read ahead: before it is asked for, on its way, here. The reader has gone."""
    frames = list(range(100, 124))
    for wait in range(0, 400, 29):
        b, walker = await bench(dut, frames, latency=lambda r: 90, line_cycles=1.5)
        await walker.taught()
        b.put(*lines(frames[0], count=40))
        await b.run()
        await idle(b, wait)
        walker.teach(1)
        drop = b.rng.random() < 0.7
        some = b.rng.choice(frames)
        line = (BASE + some * PAGE) // LINE
        await b.maintain(*((FIRST, LAST) if drop else (line, line)), clean=not drop, drop=drop)
        assert not any(b.host.reads.values()) or frames[0] == read_pages(b)[-1]
        if drop:
            since = len(b.host.read_log)
            await idle(b, 100)
            assert len(b.host.read_log) == since
            # What the walker had asked for before is not what the tables say now.
            b.put(*lines(frames[8], count=40))
            await b.run()
            await idle(b, 100)
            assert read_pages(b, since) == [frames[8]]
            await b.maintain(FIRST, LAST)
        # Even a command that was not about them leaves no page that no access has met.
        for frame in frames[1:]:
            number = (BASE + frame * PAGE) // LINE
            b.host.memory[number] = b.rng.getrandbits(512)
            b.versions[number] = [b.host.memory[number]]
            b.put(Burst(False, 1, BASE + frame * PAGE))
        await b.run()


@cocotb.test()
async def a_wanted_line_waits_for_two_pieces_at_most(dut):
    """Of another page, while pages are read ahead; and of a page ahead, whose line comes before the rest of it."""
    if REST_LINES == 64:
        return
    line_cycles = 40
    frames = list(range(200, 216))
    b, walker = await bench(dut, frames, latency=lambda r: 50, line_cycles=line_cycles)
    await walker.taught()
    b.put(*lines(frames[0]))
    await b.run(100_000)
    for where in (7000, frames[1]):
        await idle(b, b.rng.randrange(200))
        assert b.aheads > 0 and any(b.host.reads.values()), "a page is on its way"
        miss = b.put(Burst(False, 9, BASE + where * PAGE + 60 * LINE))
        await b.run(20_000)
        waited = miss.ended - miss.asked
        dut._log.info(f"a wanted line took {waited} cycles, {line_cycles} a line")
        assert waited <= 50 + (2 * REST_LINES + 2) * line_cycles + 20


@cocotb.test()
async def what_is_used_does_not_leave_for_a_page_ahead(dut):
    """Lines of some pages are used again and again, in no order, beside a stream through many: they miss once."""
    frames = list(range(300, 348))
    b, walker = await bench(dut, frames, latency=lambda r: 60, line_cycles=1.5)
    await walker.taught()
    keep = range(5000, 5000 + PAGES // 2)
    for frame in keep:
        b.put(*lines(frame, beats=64))
    await b.run()
    since = len(b.host.read_log)
    for frame in frames:
        for line in range(64):
            b.put(Burst(False, 1, BASE + frame * PAGE + line * LINE))
            b.put(Burst(False, 2, BASE + b.rng.choice(keep) * PAGE + b.rng.randrange(64) * LINE))
    await b.run(400_000)
    assert read_pages(b, since) == frames
    assert b.aheads_used > len(frames) * 2 // 3


@cocotb.test()
async def a_dirty_page_does_not_leave_for_a_page_ahead(dut):
    frames = list(range(400, 404))
    b, walker = await bench(dut, frames, latency=lambda r: 30)
    for frame in range(6000, 6000 + PAGES):
        b.put(*(store(b, frame, line) for line in range(64)))
    await b.run(40_000)
    await walker.taught()
    written = len(b.host.bursts)
    b.put(*lines(frames[0], count=63))
    await b.run()
    await idle(b, 600)
    assert b.aheads == 0 and len(b.host.bursts) - written <= 1


@cocotb.test()
async def it_stops_where_it_does_not_pay(dut):
    """Pages of which the first half is read in order, then others: after some of it few are read ahead; a linear reader is believed again."""
    frames = random.Random(SEED).sample(range(8000, 9000), 96)
    b, walker = await bench(dut, frames, latency=lambda r: 40)
    every = [8 * i for i in range(12)]
    counts = []
    for _ in range(12):
        await walker.taught()
        for at in every:
            b.put(*lines(frames[at], count=34, beats=2))
            await b.run()
            await idle(b, 60)
        counts.append(b.aheads)
        await b.maintain(FIRST, LAST)
    dut._log.info(f"read ahead and never met, after each round of {len(every)} pages: {counts}")
    assert counts[-1] - counts[5] <= 6 * len(every) // 16 + 2
    await walker.taught()
    for _ in range(6):
        await walk(b, frames[:24])
        await walk(b, frames[24:48])
    before = b.aheads_used
    await walk(b, frames[48:88])
    assert b.aheads_used - before > 20


@cocotb.test()
async def no_write_is_lost_and_nothing_stale_is_read(dut):
    """Linear readers, random accesses of both kinds, maintenance and a host that writes what it has dropped, with stalls."""
    for stall, most in ((0.0, 30), (0.3, 60), (0.5, 20)):
        rng = random.Random(SEED + int(10 * stall))
        frames = rng.sample(range(3 * PAGES), 2 * PAGES)
        b, walker = await bench(
            dut, frames, seed=SEED + int(10 * stall), stall=stall, latency=lambda r, n=most: r.randrange(1, n)
        )
        for _ in range(14):
            walker.teach()
            begin = rng.randrange(len(frames))
            run = [frames[(begin + i) % len(frames)] for i in range(rng.randrange(3, 9))]
            beats = rng.choice((2, 4, 8))
            ids = rng.choice((1, 3))
            walks = [burst for frame in run for burst in lines(frame, beats=beats, ids=ids)]
            for burst in walks:
                b.put(burst)
                if rng.random() < 0.2:
                    frame, line = rng.choice([*run, rng.randrange(3 * PAGES)]), rng.randrange(64)
                    if rng.random() < 0.5:
                        b.put(store(b, frame, line, FULL if rng.random() < 0.5 else rng.getrandbits(64)))
                    else:
                        b.put(Burst(False, rng.randrange(4, 8), BASE + frame * PAGE + line * LINE))
            await b.until(lambda b=b: len(b.ar) + len(b.aw) < 40, 200_000)
            frame = rng.choice(run)
            number = (BASE + frame * PAGE) // LINE
            if rng.random() < 0.4:
                await b.maintain(number, number + rng.choice((0, 63, 200)), drop=rng.random() < 0.5)
            if rng.random() < 0.3:
                # What nobody uses is the host's to write, if it says so.
                await b.run(200_000)
                await b.maintain(FIRST, LAST)
                await idle(b, 40)
                for frame in rng.sample(frames, 4):
                    number = (BASE + frame * PAGE) // LINE + rng.randrange(64)
                    b.line(number).append(b.rng.getrandbits(512))
                    b.host.memory[number] = b.line(number)[-1]
                    b.answered[number] = len(b.line(number)) - 1
        await b.run(200_000)
        await b.maintain(FIRST, LAST)
        for number, versions in b.versions.items():
            assert b.host.memory[number] == versions[-1], f"line {number:#x} lost a write"
        dut._log.info(f"{b.aheads} pages read ahead, {b.aheads_used} met, {b.aheads_unused} not")
        assert b.aheads_used > 0
