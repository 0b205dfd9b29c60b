# SPDX-License-Identifier: Apache-2.0
"""gw_walker with lines of several beats: cycles, numbers of reads, every beat in its place."""

import random

import cocotb
from page_tables import LOAD_ACCESS, SV48, Memory, pte
from walker_bench import LINE_BEATS, LINE_BYTES, Bench, Request

LINE_PAGES = LINE_BYTES // 8
BASE = 0x7_F123_4400  # first page of a line
LEVELS = 4


async def bench(dut, latency, pages, **rest):
    """A walker whose context 0 maps `pages`, none beside the frame of a neighbour."""
    memory = Memory()
    root = memory.frame()
    for vpn in pages:
        memory.map(root, LEVELS, vpn, pte(frame(vpn)))
    b = Bench(dut, memory, latency=latency, rng=random.Random(5), **rest)
    await b.start({0: (SV48, root)})
    b.root = root
    return b


def frame(vpn):
    return (vpn & 0xFFFF) * 7 + 3


def check(requests):
    for r in requests:
        assert r.answer.cause is None and r.answer.ppn == frame(r.vpn) and r.latency == r.cycles


@cocotb.test()
async def a_walk_goes_on_with_its_own_beat(dut):
    """However long the line, and wherever in it the entry: a walk waits for one beat, and for the bus to be free."""
    far = BASE + 2 * LINE_PAGES
    for latency in (0, 10, LINE_BEATS - 4, 40):
        b = await bench(dut, latency, range(BASE, BASE + (2 + LINE_BEATS) * LINE_PAGES))
        [cold] = await b.run([Request(0, BASE + LINE_PAGES - 1)])
        assert cold.cycles == 6 + latency + 3 * max(4 + latency, LINE_BEATS) and len(b.reads) == 4
        await b.idle(LINE_BEATS)
        for beat in reversed(range(LINE_BEATS)):  # downwards: nothing is prefetched
            await b.idle(latency + LINE_BEATS)  # beats still to come would be in the way of this one's
            [warm] = await b.run([Request(0, far + beat * LINE_PAGES + 8 * beat + 5)])
            assert warm.cycles == 6 + latency
            check([cold, warm])
        await b.idle(latency + 2 * LINE_BEATS)
        reads = len(b.reads)
        for beat in range(LINE_BEATS):
            [kept] = await b.run([Request(0, far + 8 * beat + 3)])
            assert kept.cycles == 5 and len(b.reads) == reads
            check([kept])


@cocotb.test()
async def a_waiter_of_another_beat_waits_for_that_beat(dut):
    """Two walks of one line, `apart` beats from one another: the second is answered as much later, or with the beat."""
    latency, start = 10, 5
    for apart in range(1, LINE_BEATS):
        b = await bench(dut, latency, range(BASE, BASE + 2 * LINE_PAGES))
        await b.run([Request(0, BASE)])
        await b.idle(latency + 2 * LINE_BEATS)
        reads = len(b.reads)
        line = BASE + LINE_PAGES
        pages = [line + 8 * ((start + n) % LINE_BEATS) for n in (0, apart)]
        first, second = await b.run([Request(0, page) for page in pages])
        assert (first.cycles, second.answered - first.answered) == (6 + latency, apart)
        assert len(b.reads) == reads + 1 + b.events.prefetch
        check([first, second])


@cocotb.test()
async def an_error_in_another_beat_is_nobodys(dut):
    """A walk whose own beat is good goes on; the line is read again for the next one."""
    for bad in range(LINE_BEATS):
        b = await bench(dut, 2, range(BASE, BASE + 2 * LINE_PAGES))
        await b.run([Request(0, BASE)])
        await b.idle(2 * LINE_BEATS)
        line = BASE + LINE_PAGES
        leaf = b.memory.table(b.root, LEVELS, line, 0) << 12 | (line & 511) << 3
        b.error_at = lambda addr, bad=bad, leaf=leaf: addr == leaf + 64 * bad
        good, failed = ((bad + n) % LINE_BEATS for n in (1, 0))
        check(await b.run([Request(0, line + 8 * good)]))
        await b.idle(2 * LINE_BEATS)
        [fault] = await b.run([Request(0, line + 8 * failed)])
        assert fault.answer.cause == LOAD_ACCESS
        b.error_at = lambda addr: False
        reads = len(b.reads)
        check(await b.run([Request(0, line + 8 * failed)]))
        assert len(b.reads) == reads + 1


@cocotb.test()
async def pages_of_all_beats_share_one_read(dut):
    pages = list(range(BASE, BASE + 4 * LINE_PAGES))
    b = await bench(dut, 20, pages)
    check(await b.run([Request(0, vpn) for vpn in pages]))
    lines = [address & -LINE_BYTES for _, address in b.reads]
    assert len(set(lines)) == len(lines) == 3 + 4 + b.events.prefetch - b.events.prefetch_used, (
        "each line once"
    )


@cocotb.test()
async def beats_of_lines_come_between_one_another(dut):
    lines = 40
    b = await bench(dut, 3, range(BASE, BASE + lines * LINE_PAGES), in_order=False)
    b.r_go = lambda: b.rng.random() < 0.7
    for _ in range(20):
        pages = [BASE + b.rng.randrange(lines * LINE_PAGES) for _ in range(60)]
        check(await b.run([Request(0, vpn) for vpn in pages]))
