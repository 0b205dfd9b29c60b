# SPDX-License-Identifier: Apache-2.0
"""gw_page_cache: what it promises, with random stalls against versions of lines, and to the cycle where it says so."""

import os
import random

import cocotb
from cache_bench import BASE, FIXED, INCR, LINE, OKAY, PAGE, SLVERR, WRAP, Bench, Burst
from cocotb.triggers import ReadOnly, RisingEdge

SEED = int(os.environ["GODWIT_SEED"])
SHAPE = os.environ["BENCH_SHAPE"]
PAGES = {"small": 2, "default": 16, "eager": 4, "large_pages": 4}[SHAPE]
PAGE_BYTES = 65536 if SHAPE == "large_pages" else PAGE
MODE = {"small": 0, "default": 1, "eager": 1, "large_pages": 2}[SHAPE]
SPARE = {"small": 0, "default": 1, "eager": 0, "large_pages": 2}[SHAPE]
REST_LINES = {"eager": 4, "large_pages": 6}.get(SHAPE, 64)
FULL = (1 << LINE) - 1
FIRST, LAST = 0, (1 << 50) - 1


def random_burst(rng, write, pages, spread):
    """Any legal burst within 4 KiB of one of the pages; few lines of each, so that they meet."""
    block = BASE + rng.choice(pages) * PAGE_BYTES + rng.randrange(PAGE_BYTES // PAGE) % 2 * PAGE
    kind = rng.choice((INCR, INCR, INCR, INCR, WRAP, FIXED))
    size = rng.choice((6, 6, 6, 5, 3, 2))
    addr = block + rng.randrange(spread) * LINE
    if kind == WRAP:
        length = rng.choice((2, 4, 8))
        addr += rng.randrange(LINE >> size) << size
        window = length << size
        if addr // window * window + window > block + PAGE:
            addr = block
    elif kind == FIXED:
        length = rng.randrange(1, 5)
    else:
        addr += rng.randrange(LINE)
        length = rng.randrange(1, 9)
        while (addr >> size) + length > (block + PAGE) >> size:
            length -= 1
        length = max(1, length)
    burst = Burst(write, rng.randrange(16 if rng.random() < 0.5 else 2), addr, length, size, kind)
    if write:
        for at in burst.addrs:
            lane = at % LINE
            low = lane >> size << size
            legal = ((1 << (low + (1 << size))) - 1) & ~((1 << lane) - 1)
            strb = legal if rng.random() < 0.7 else legal & rng.getrandbits(64)
            burst.words.append((rng.getrandbits(512), strb))
    return burst


async def bench(dut, **options):
    seed = options.pop("seed", SEED)
    return await Bench(dut, random.Random(seed), eager=SHAPE == "eager", **options).begin()


def store(bench, number, addr, strb=FULL, count=1):
    words = [(bench.rng.getrandbits(512), strb) for _ in range(count)]
    return Burst(True, number, addr, count, words=words)


@cocotb.test()
async def reads_in_any_pattern_give_what_memory_holds(dut):
    for stall, spread in ((0.0, 64), (0.4, 8)):
        b = await bench(dut, stall=stall, latency=lambda r: r.randrange(2, 60))
        for _ in range(250):
            b.put(random_burst(b.rng, False, range(PAGES + 2), spread))
        await b.run(60_000)


@cocotb.test()
async def a_line_that_is_on_its_way_is_not_asked_for_again(dut):
    """However many cycles later it is wanted, alone or as one of several."""
    for before, behind in ((0, 0), (0, 2), (2, 0)):
        for gap in range(12):
            b = await bench(dut)
            b.put(Burst(False, 0, BASE, 1))  # The page is there, and its other lines are not.
            await b.run()
            line = 8 + gap
            addr = BASE + line * LINE
            b.put(Burst(False, 0, addr - before * LINE, before + 1 + behind))
            for _ in range(gap):
                await b.step()
            b.put(Burst(False, 1, addr, 1))
            await b.run()
            asked = [at + i * LINE for _, at, length in b.host.read_log for i in range(length)]
            assert asked.count(addr) == 1, f"asked for {asked.count(addr)} times, {gap} cycles apart"


@cocotb.test()
async def no_write_is_lost_and_nothing_stale_is_read(dut):
    for stall, spread, most in ((0.0, 3, 5), (0.3, 8, 40), (0.6, 2, 90)):
        b = await bench(
            dut, seed=SEED + int(stall * 10), stall=stall, latency=lambda r, n=most: r.randrange(1, n)
        )
        for _ in range(12):
            pages = b.rng.sample(range(3 * PAGES), PAGES if b.rng.random() < 0.5 else PAGES + 2)
            for _ in range(b.rng.randrange(5, 40)):
                b.put(random_burst(b.rng, b.rng.random() < 0.5, pages, spread))
            if b.rng.random() < 0.5:
                await b.until(lambda b=b: len(b.ar) + len(b.aw) < 10)
            else:
                await b.run()
        await b.run()
        await b.maintain(FIRST, LAST)
        for number, versions in b.versions.items():
            assert b.host.memory[number] == versions[-1], f"line {number:#x} lost a write"


@cocotb.test()
async def maintenance_under_traffic(dut):
    """Clean with or without drop, whole pages or parts of them, while others go on."""
    b = await bench(dut, seed=SEED + 7, stall=0.2, latency=lambda r: r.randrange(1, 50))
    for _ in range(20):
        for _ in range(20):
            b.put(random_burst(b.rng, b.rng.random() < 0.5, range(PAGES + 1), 6))
        await b.until(lambda: len(b.ar) + len(b.aw) < 20)
        page = (BASE + b.rng.randrange(PAGES + 1) * PAGE_BYTES) // LINE
        first = page + b.rng.randrange(8)
        await b.maintain(first, first + b.rng.choice((0, 3, 64, 200)), drop=b.rng.random() < 0.6)
    await b.run()
    await b.maintain(FIRST, LAST, drop=False)
    for number, versions in b.versions.items():
        assert b.host.memory[number] == versions[-1]


@cocotb.test()
async def hits_take_two_cycles_and_come_every_cycle(dut):
    if SHAPE in ("small", "eager"):
        return  # two bursts at a time are less than a burst a cycle
    b = await bench(dut)
    b.put(Burst(False, 0, BASE, 64))
    await b.run()
    burst = b.put(Burst(False, 0, BASE, 64))
    await b.run()
    assert burst.came == list(range(burst.asked + 2, burst.asked + 66))
    singles = [Burst(False, i % 16, BASE + i * LINE) for i in range(32)]
    b.put(*singles)
    await b.run()
    assert [s.came[0] for s in singles] == list(range(singles[0].asked + 2, singles[0].asked + 34))
    write = b.put(store(b, 1, BASE, count=16))
    await b.run()
    assert write.ended == write.asked + 20


def pieces(first, last):
    """Bursts of a rest: offset, lines."""
    return [(line * LINE, min(REST_LINES, last + 1 - line)) for line in range(first, last + 1, REST_LINES)]


@cocotb.test()
async def the_wanted_line_comes_first(dut):
    latency = 100
    b = await bench(dut, latency=lambda r: latency)
    for _ in range(100):
        await b.step()
    miss = b.put(Burst(False, 0, BASE + 37 * LINE))
    await b.run()
    wait = miss.came[0] - miss.asked
    dut._log.info(f"miss: {wait} cycles with a link of {latency}")
    assert wait == latency + 10
    for _ in range(80 + latency * (1 + (60 // REST_LINES if MODE == 1 else 0))):
        await b.step()
    lengths = [(addr - BASE, length) for _, addr, length in b.host.read_log]
    rest = [*pieces(38, 63), *pieces(0, 36)] if MODE == 1 else []
    assert lengths == [(37 * LINE, 1), *rest]
    # The second miss of a page: with FillMode 2, the rest.
    b.put(Burst(False, 0, BASE + 60 * LINE))
    await b.run()
    # In pieces that wait for the ones before, and none is longer.
    for _ in range(80 + latency * (60 // REST_LINES + 2)):
        await b.step()
    more = {0: [(60 * LINE, 1)], 1: [], 2: [(60 * LINE, 1), *pieces(61, 63), *pieces(0, 59)]}[MODE]
    assert [(addr - BASE, length) for _, addr, length in b.host.read_log][len(lengths) :] == more


@cocotb.test()
async def a_rest_never_has_more_than_two_pieces_on_the_way(dut):
    if MODE != 2:
        return
    latency = 100
    b = await bench(dut, latency=lambda r: latency)
    for line in (0, 3):
        b.put(Burst(False, 0, BASE + line * LINE))
        await b.run()
    most = 0
    for _ in range(latency * (64 // REST_LINES + 4)):
        await b.step()
        most = max(most, sum(len(queue) for queue in b.host.reads.values()))
    assert most == 2 * REST_LINES
    lines = [addr // LINE + i for _, addr, length in b.host.read_log for i in range(length)]
    assert set(lines) == set(range(BASE // LINE, BASE // LINE + 64))


@cocotb.test()
async def hits_pass_misses_of_other_ids(dut):
    if SHAPE in ("small", "eager"):
        return  # the misses take all places
    b = await bench(dut, latency=lambda r: 500)
    b.put(Burst(False, 3, BASE, 64))
    await b.run()
    slow = b.put(Burst(False, 5, BASE + PAGE_BYTES))
    behind = b.put(Burst(False, 5, BASE))
    merged = b.put(store(b, 2, BASE + PAGE_BYTES + LINE, strb=1))
    hits = [Burst(False, 7, BASE + i * LINE, 4) for i in range(10)]
    stores = [store(b, 8, BASE + i * LINE) for i in range(4)]
    for _ in range(20):
        await b.step()
    b.put(*hits, *stores)
    await b.until(lambda: all(burst.ended >= 0 for burst in (*hits, *stores)), 150)
    assert slow.ended < 0 and behind.ended < 0 and merged.ended < 0
    await b.run()
    assert behind.ended > slow.ended


@cocotb.test()
async def dirty_lines_only_go_back_in_long_bursts(dut):
    b = await bench(dut)
    for line, count in ((3, 5), (20, 1), (40, 24)):
        b.put(store(b, 0, BASE + line * LINE, count=count))
    await b.run()
    assert not b.host.bursts and not b.host.read_log, "whole lines are not read"
    await b.maintain(FIRST, LAST)
    assert [(addr - BASE, length) for _, addr, length in b.host.bursts] == [
        (3 * LINE, 5),
        (20 * LINE, 1),
        (40 * LINE, 24),
    ]


@cocotb.test()
async def write_backs_of_several_pages_are_under_way(dut):
    """A flush of dirty pages takes a cycle a line and the link's latency once; of lines apart from each other, two cycles and a half a line."""
    latency = 200
    pages = PAGES - SPARE
    for lines, count, most in ((range(1), 64, 64), (range(0, 64, 2), 1, 32 * 5 // 2)):
        b = await bench(dut, latency=lambda r: latency)
        for page in range(pages):
            b.put(*(store(b, 0, BASE + page * PAGE_BYTES + line * LINE, count=count) for line in lines))
        await b.run()
        asked = b.now
        assert await b.maintain(FIRST, LAST) == 0
        cycles = b.acks[-1][0] - asked
        dut._log.info(f"flush of {pages} pages, {len(lines) * count} lines each: {cycles} cycles")
        assert cycles <= pages * (most + 4) + PAGES * 2 * PAGE_BYTES // PAGE + latency + 30


@cocotb.test()
async def clean_keeps_and_drop_forgets(dut):
    b = await bench(dut)
    b.put(Burst(False, 0, BASE), store(b, 0, BASE + LINE))
    await b.run()
    line = BASE // LINE
    assert await b.maintain(line, line + 1, drop=False) == 0
    reads = len(b.host.read_log)
    b.put(Burst(False, 0, BASE), Burst(False, 0, BASE + LINE))
    await b.run()
    assert len(b.host.read_log) == reads, "what was cleaned is still there"
    # What the host writes is seen after a drop, of that line only.
    b.host.memory[line] ^= 1
    b.versions[line].append(b.host.memory[line])
    b.answered[line] = len(b.versions[line]) - 1
    await b.maintain(line, line, clean=False)
    b.put(Burst(False, 0, BASE + LINE))
    await b.run()
    assert len(b.host.read_log) == reads
    b.put(Burst(False, 0, BASE))
    await b.run()
    assert len(b.host.read_log) > reads
    # Dropped without a clean, a store is gone.
    b.put(store(b, 0, BASE))
    await b.run()
    b.versions[line].append(b.host.memory[line])
    b.answered[line] = len(b.versions[line]) - 1
    await b.maintain(line, line, clean=False)
    b.put(Burst(False, 0, BASE))
    await b.run()


@cocotb.test()
async def link_errors_reach_the_accesses_that_wait(dut):
    b = await bench(dut, check=False)
    line = BASE // LINE
    b.host.bad_reads = {line + 2}
    read = b.put(Burst(False, 1, BASE, 4))
    other = b.put(Burst(False, 2, BASE + LINE))
    await b.run()
    assert read.resp == [OKAY, OKAY, SLVERR, OKAY] and other.resp == [OKAY]
    part = b.put(store(b, 3, BASE + 2 * LINE, strb=0xF0))
    fine = b.put(store(b, 4, BASE + 3 * LINE, strb=0xF0))
    await b.run()
    assert part.resp == [SLVERR] and fine.resp == [OKAY]
    # Nothing of it stays: the next access asks again.
    b.host.bad_reads = set()
    again = b.put(Burst(False, 1, BASE + 2 * LINE))
    await b.run()
    assert again.resp == [OKAY] and again.data == [b.host.memory[line + 2]]
    # A line that cannot be written is told with the acknowledge.
    b.host.bad_writes = {line + 3}
    assert await b.maintain(line, line + 63) == 1
    assert b.write_errors == 1
    assert await b.maintain(line, line + 63) == 0


@cocotb.test()
async def many_fills_are_under_way(dut):
    if SHAPE != "default":
        return
    b = await bench(dut, latency=lambda r: 300)
    reads = [Burst(False, 0, BASE + i * PAGE) for i in range(8)]
    for _ in range(30):
        await b.step()
    b.put(*reads)
    await b.run()
    assert reads[-1].ended - reads[0].asked < 2 * 300, "one ID, eight misses side by side"


@cocotb.test()
async def reset_in_the_middle_of_anything(dut):
    """In reset nothing is offered, whatever was under way; what comes afterwards is answered as after any other."""
    offered = set()
    for turn in range(6):
        b = await bench(dut, seed=SEED + turn, stall=0.2, latency=lambda r: r.randrange(1, 30))
        for _ in range(60):
            b.put(random_burst(b.rng, b.rng.random() < 0.5, range(PAGES + 2), 4))
        until = b.rng.randrange(50, 800)
        b.ready_rate = 0.05
        await b.until(lambda b=b, until=until: b.now >= until)
        outputs = [(dut.u_up, f"axi_{name}") for name in ("rvalid", "bvalid")]
        outputs += [(dut.u_link, f"axi_{name}") for name in ("arvalid", "awvalid", "wvalid")]
        outputs.append((dut, "ack_o"))
        offered |= {name for where, name in outputs if int(getattr(where, name).value)}
        dut.rst_ni.value = 0
        for _ in range(2):
            await RisingEdge(dut.clk_i)
            await ReadOnly()
            assert not [name for where, name in outputs if int(getattr(where, name).value)]
        await RisingEdge(dut.clk_i)
        b = await bench(dut, seed=SEED + turn)
        for _ in range(40):
            b.put(random_burst(b.rng, b.rng.random() < 0.5, range(PAGES), 4))
        await b.run()
    assert {"axi_rvalid", "axi_bvalid"} <= offered
