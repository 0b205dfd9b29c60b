# SPDX-License-Identifier: Apache-2.0
"""gw_walker with lines of several beats: cycles, numbers of reads, every beat in its place."""

import random

import cocotb
from page_tables import LOAD_ACCESS, LOAD_PAGE, SV48, Memory, pte
from walker_bench import KEPT, LINE_BEATS, LINE_BYTES, STEP, WARM, Bench, Request

LINE_PAGES = LINE_BYTES // 8
BASE = 0x7_F123_4400  # first page of a line
APART = BASE + 2 * LINE_PAGES  # first page of a line that nothing reads ahead of its walk
LEVELS = 4


async def bench(dut, latency, pages, **rest):
    """A walker whose context 0 maps `pages`, none beside the frame of a neighbour."""
    memory = Memory()
    root = memory.frame()
    for vpn in pages:
        memory.map(root, LEVELS, vpn, pte(frame(vpn)))
    b = Bench(dut, memory, latency=latency, rng=random.Random(5), looks_again=False, **rest)
    await b.start({0: (SV48, root)})
    b.root = root
    return b


async def warm(b, page=BASE):
    """Upper levels known, nothing on its way."""
    await b.run([Request(0, page)])
    await b.idle(b.latency + 2 * LINE_BEATS)


def frame(vpn):
    return (vpn & 0xFFFF) * 7 + 3


def check(requests):
    for r in requests:
        assert r.answer.cause is None and r.answer.ppn == frame(r.vpn) and r.latency == r.cycles


@cocotb.test()
async def a_walk_goes_on_with_its_own_beat(dut):
    """However long the line, and wherever in it the entry: a walk waits for one beat, and for the bus to be free."""
    for latency in (0, max(0, LINE_BEATS - STEP), 10, 40):
        b = await bench(dut, latency, range(BASE, BASE + (2 + LINE_BEATS) * LINE_PAGES))
        [cold] = await b.run([Request(0, BASE + LINE_PAGES - 1)])
        assert cold.cycles == WARM + latency + 3 * max(STEP + latency, LINE_BEATS) and len(b.reads) == 4
        await b.idle(LINE_BEATS)
        for beat in reversed(range(LINE_BEATS)):  # downwards: nothing is prefetched
            await b.idle(latency + LINE_BEATS)  # beats still to come would be in the way of this one's
            [r] = await b.run([Request(0, APART + beat * LINE_PAGES + 8 * beat + 5)])
            assert r.cycles == WARM + latency
            check([cold, r])
        await b.idle(latency + 2 * LINE_BEATS)
        reads = len(b.reads)
        for beat in range(LINE_BEATS):
            [kept] = await b.run([Request(0, APART + 8 * beat + 3)])
            assert kept.cycles == KEPT and len(b.reads) == reads
            check([kept])


@cocotb.test()
async def a_waiter_of_another_beat_waits_for_that_beat(dut):
    """Two walks of one line, `apart` beats from one another: the second is answered as much later, or with the beat."""
    latency, start = 10, LINE_BEATS // 3
    for apart in range(1, LINE_BEATS):
        b = await bench(dut, latency, range(BASE, APART + LINE_PAGES))
        await warm(b)
        reads = len(b.reads)
        line = APART
        pages = [line + 8 * ((start + n) % LINE_BEATS) for n in (0, apart)]
        first, second = await b.run([Request(0, page) for page in pages])
        assert (first.cycles, second.answered - first.answered) == (WARM + latency, apart)
        assert len(b.reads) == reads + 1
        check([first, second])


@cocotb.test()
async def an_error_in_another_beat_is_nobodys(dut):
    """A walk whose own beat is good goes on; the line is read again for the next one."""
    for bad in range(LINE_BEATS):
        b = await bench(dut, 2, range(BASE, APART + LINE_PAGES))
        b.looks_again = True
        await warm(b)
        line = APART
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
async def a_line_is_read_again_while_its_rest_comes(dut):
    """A fault decided by the second of two reads of one line, both on their way: each waiter gets its own beat's answer."""
    latency = 10
    for first in range(LINE_BEATS):
        line = APART
        order = [line + 8 * ((first + n) % LINE_BEATS) for n in range(LINE_BEATS)]
        missing = order[0] + 1
        b = await bench(dut, latency, {*range(BASE, APART + LINE_PAGES)} - {missing})
        b.looks_again = True
        await warm(b)
        # The walk that begins the read, one that joins it for an entry that is missing, one for the last beat.
        asked = [Request(0, page) for page in (order[0], missing, order[-1])]
        reads = len(b.reads)
        await b.run(asked)
        await b.idle(latency + 3 * LINE_BEATS)
        began, fault, last = asked
        lines = [(cycle, address & -LINE_BYTES) for cycle, address in b.reads[reads:]]
        assert len(lines) == 2 and lines[0][1] == lines[1][1]
        if LINE_BEATS > 4:
            assert lines[1][0] < last.answered, "while the last beat is to come"
        assert fault.answer.cause == LOAD_PAGE
        # One waiter is selected a cycle: two wait for the first beat.
        assert (began.cycles, last.answered - began.answered) == (WARM + latency, max(2, LINE_BEATS - 1))
        check([began, last])


@cocotb.test()
async def what_is_read_ahead_begins_with_its_first_beat(dut):
    b = await bench(dut, 10, range(BASE, BASE + 3 * LINE_PAGES))
    await warm(b, BASE + LINE_PAGES - 1)
    await warm(b, BASE + LINE_PAGES + 8)
    assert b.events.prefetch == 1
    leaf = b.memory.table(b.root, LEVELS, BASE, 0) << 12 | (BASE & 511) << 3
    assert b.reads[-1][1] == leaf + 2 * LINE_BYTES
    check(await b.run([Request(0, BASE + 2 * LINE_PAGES + 8 * (LINE_BEATS - 1))]))
    assert b.events.prefetch_used == 1


@cocotb.test()
async def the_clock_waits_for_the_rest_of_a_line(dut):
    """Beats that come long after the walk was answered are still taken, and of use."""
    b = await bench(dut, 2, range(BASE, APART + LINE_PAGES))
    await warm(b)
    line = APART
    [r] = await b.run([Request(0, line)])
    answered = b.cycle
    b.r_go = lambda: (b.cycle - answered) % 40 == 39
    await b.idle(40 * LINE_BEATS)
    reads = len(b.reads)
    check([r, *await b.run([Request(0, line + 8 * beat) for beat in range(LINE_BEATS)])])
    assert len(b.reads) == reads


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
