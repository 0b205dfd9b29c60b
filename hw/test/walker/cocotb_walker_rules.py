# SPDX-License-Identifier: Apache-2.0
"""gw_walker: every page size in every mode, every cause of a fault by an entry of its own, memory errors."""

import os

import cocotb
from page_tables import (
    CONTEXT_BAD,
    CONTEXT_OFF,
    LEAF,
    LEVELS,
    LOAD_ACCESS,
    LOAD_PAGE,
    OFF,
    STORE_ACCESS,
    STORE_PAGE,
    A,
    Answer,
    D,
    G,
    Memory,
    N,
    R,
    U,
    V,
    W,
    X,
    napot,
    pte,
)
from walker_bench import EVERYTHING, Bench, Request

MAX_LEVELS = int(os.environ["BENCH_LEVELS"])
MODES = [mode for mode, levels in LEVELS.items() if levels <= MAX_LEVELS]
PAGE = 0x12345


async def bench(dut, mode):
    memory = Memory()
    b = Bench(dut, memory, latency=3)
    root = memory.frame()
    b.root, b.levels = root, LEVELS[mode]
    await b.start({0: (mode, root)})
    return b


async def ask(b, *vpns, write=False, ctx=0):
    return [r.answer for r in await b.run([Request(ctx, vpn, write) for vpn in vpns])]


@cocotb.test()
async def every_page_size_in_every_mode(dut):
    for mode in MODES:
        b = await bench(dut, mode)
        top = 1 << 9 * b.levels - 1  # pages of the lower half
        for base in (0, top - (1 << 20), (1 << 45) - (1 << 20)):
            m = b.memory
            m.map(b.root, b.levels, base, pte(0x7_0000_0001))
            for i in range(16):
                m.map(b.root, b.levels, base + 32 + i, napot(0x7_1234_5670))
            m.map(b.root, b.levels, base + (1 << 9), pte(0x7_FFFF_FE00), level=1)
            m.map(b.root, b.levels, base + (1 << 18), pte(0xFFF_C000_0000 | 1 << 18), level=2)
            for write in (False, True):
                assert await ask(b, base, write=write) == [Answer(None, 0x7_0000_0001, 0, 3)]
                frames = [Answer(None, 0x7_1234_5670 + i, 4, 3) for i in (0, 8, 15)]
                assert await ask(b, base + 32, base + 40, base + 47, write=write) == frames
                offsets = (0, 0x155, 511)
                frames = [Answer(None, 0x7_FFFF_FE00 + i, 9, 3) for i in offsets]
                assert await ask(b, *(base + 512 + i for i in offsets), write=write) == frames
                offsets = (0, 0x2AAAA, (1 << 18) - 1)
                frames = [Answer(None, 0xFFF_C004_0000 + i, 18, 3) for i in offsets]
                assert await ask(b, *(base + (1 << 18) + i for i in offsets), write=write) == frames


@cocotb.test()
async def larger_leaves_are_given_as_one_gib_of_them(dut):
    for mode in MODES:
        b = await bench(dut, mode)
        if b.levels < 4:
            continue
        b.memory.map(b.root, b.levels, 1 << 27, pte(5 << 27), level=3)
        vpn = (1 << 27) + 0x7654321
        assert await ask(b, vpn) == [Answer(None, (5 << 27) + 0x7654321, 18, 3)]
        b.memory.map(b.root, b.levels, 2 << 27, pte((5 << 27) + (1 << 26)), level=3)
        assert await ask(b, 2 << 27) == [Answer(LOAD_PAGE)]


@cocotb.test()
async def addresses_that_are_not_canonical_fault_without_a_read(dut):
    for mode in MODES:
        b = await bench(dut, mode)
        top = 1 << 9 * b.levels - 1
        bad = [top, (1 << 45) - top - 1] if b.levels < 5 else []
        bad += [1 << bit for bit in range(9 * b.levels, 45)]
        for vpn in bad:
            assert await ask(b, vpn) == [Answer(LOAD_PAGE)]
            assert await ask(b, vpn, write=True) == [Answer(STORE_PAGE)]
        assert not b.reads
        for vpn in (top - 1, (1 << 45) - top):
            b.memory.map(b.root, b.levels, vpn, pte(7))
            assert await ask(b, vpn) == [Answer(None, 7, 0, 3)]


@cocotb.test()
async def contexts_that_are_off_or_not_supported_fault_without_a_read(dut):
    b = await bench(dut, MODES[0])
    count = len(dut.ctx_i)
    for mode in range(16):
        b.set_context(0, mode, b.root)
        expected = Answer(CONTEXT_OFF if mode == OFF else CONTEXT_BAD)
        if mode not in MODES:
            for write in (False, True):
                assert await ask(b, 0, write=write) == [expected]
    # Ids beyond the table are contexts that are off.
    for ctx in (count, 255):
        if count <= ctx:
            assert await ask(b, 0, ctx=ctx) == [Answer(CONTEXT_OFF)]
    assert not b.reads and b.events.cache_hit == 0
    assert b.events.fault == b.events.done == b.events.start > 0


# entry, level, faults on reads, faults on writes
RULES = {
    "zero": (0, 0, True, True),
    "not valid": (pte(5, LEAF & ~V), 0, True, True),
    "good": (pte(5), 0, False, False),
    "global": (pte(5, LEAF | G), 0, False, False),
    "software bits": (pte(5, LEAF | 3 << 8), 0, False, False),
    "executable too": (pte(5, LEAF | X), 0, False, False),
    "write without read": (pte(5, LEAF & ~R), 0, True, True),
    "write without read, executable": (pte(5, LEAF & ~R | X), 0, True, True),
    "execute only": (pte(5, V | X | U | A | D), 0, True, True),
    "read only": (pte(5, LEAF & ~W), 0, False, True),
    "supervisor": (pte(5, LEAF & ~U), 0, True, True),
    "not accessed": (pte(5, LEAF & ~A), 0, True, True),
    "not dirty": (pte(5, LEAF & ~D), 0, False, True),
    "pointer at the last level": (pte(5, V), 0, True, True),
    **{f"reserved bit {bit}": (pte(5) | 1 << bit, 0, True, True) for bit in range(54, 61)},
    **{f"memory type {t}": (pte(5) | t << 61, 0, True, True) for t in (1, 2, 3)},
    **{f"napot pattern {p}": (N | pte(0x50 | p), 0, p != 8, p != 8) for p in range(16)},
    "napot read only": (napot(0x50, LEAF & ~W), 0, False, True),
    "2 MiB": (pte(512), 1, False, False),
    "2 MiB napot": (N | pte(512), 1, True, True),
    "2 MiB napot with the pattern": (N | pte(512 + 8), 1, True, True),
    "2 MiB misaligned by one page": (pte(513), 1, True, True),
    "2 MiB misaligned by half": (pte(512 + 256), 1, True, True),
    "2 MiB not dirty": (pte(512, LEAF & ~D), 1, False, True),
    "2 MiB supervisor": (pte(512, LEAF & ~U), 1, True, True),
    "1 GiB": (pte(1 << 18), 2, False, False),
    "1 GiB misaligned by one page": (pte((1 << 18) + 1), 2, True, True),
    "1 GiB misaligned by 2 MiB": (pte((1 << 18) + 512), 2, True, True),
    "1 GiB misaligned by half": (pte(3 << 17), 2, True, True),
    "pointer, napot": (N | pte(0x999, V), 1, True, True),
    "pointer, accessed": (pte(0x999, V | A), 1, True, True),
    "pointer, dirty": (pte(0x999, V | D), 1, True, True),
    "pointer, user": (pte(0x999, V | U), 1, True, True),
    "pointer, reserved": (pte(0x999, V) | 1 << 54, 1, True, True),
    "pointer, memory type": (pte(0x999, V) | 1 << 61, 1, True, True),
    "pointer, write only": (pte(0x999, V | W), 2, True, True),
    "pointer, not valid": (pte(0x999, 0), 2, True, True),
    "pointer, global": (pte(0x999, V | G), 1, False, False),
}


@cocotb.test()
async def every_rule_of_the_entries(dut):
    for mode in MODES:
        b = await bench(dut, mode)
        b.memory.write(0x999, PAGE & 511, pte(5))  # where the pointers lead
        vpn = PAGE
        for name, (entry, level, read_faults, write_faults) in RULES.items():
            # Each rule has tables of its own, so that none is known from the rule before.
            vpn += 1 << 18
            b.memory.map(b.root, b.levels, vpn, entry, level)
            for write, faults in ((False, read_faults), (True, write_faults)):
                before = len(b.reads)
                [answer] = await ask(b, vpn, write=write)
                expected = Answer(STORE_PAGE if write else LOAD_PAGE) if faults else None
                assert (answer.cause is not None) == faults, f"{name}, write {write}: {answer}"
                assert not faults or answer == expected, f"{name}, write {write}: {answer}"
                assert answer == b.memory.walk(mode, b.root, MAX_LEVELS, vpn, write)
                if faults:
                    assert len(b.reads) > before, f"{name}: decided without a fresh read"


# Entries of a line (frame, flags; None: nothing mapped), and for pages of it {page: (order, pages covered)}.
RUNS = {
    "aligned": ([(64 + i, LEAF) for i in range(8)], {p: (3, range(8)) for p in range(8)}),
    "off by one frame": ([(65 + i, LEAF) for i in range(8)], {0: (0, range(8)), 7: (0, range(8))}),
    "off by two frames": ([(66 + i, LEAF) for i in range(8)], {0: (1, range(8)), 5: (1, range(8))}),
    "off by four frames": ([(60 + i, LEAF) for i in range(8)], {3: (2, range(8)), 4: (2, range(8))}),
    "frames fall": ([(64 - i, LEAF) for i in range(8)], {0: (0, [0]), 4: (0, [4])}),
    "a hole": (
        [(64 + i, LEAF) if i != 2 else None for i in range(8)],
        {0: (1, [0, 1, 3, 4, 5, 6, 7]), 3: (0, [0, 1, 3, 4, 5, 6, 7]), 5: (2, [0, 1, 3, 4, 5, 6, 7])},
    ),
    "rights differ": (
        [(64 + i, LEAF if i < 4 else LEAF & ~W) for i in range(8)],
        {1: (2, range(4)), 6: (2, range(4, 8))},
    ),
    "one not written yet": (
        [(64 + i, LEAF if i else LEAF & ~D) for i in range(8)],
        {0: (0, [0]), 1: (0, range(1, 8))},
    ),
    "one not accessed": ([(64 + i, LEAF if i else LEAF & ~A) for i in range(8)], {1: (0, range(1, 8))}),
    "one of the supervisor": ([(64 + i, LEAF if i < 7 else LEAF & ~U) for i in range(8)], {0: (2, range(7))}),
    "one global": (
        [(64 + i, LEAF if i < 7 else LEAF | G) for i in range(8)],
        {6: (0, range(7)), 7: (0, [7])},
    ),
    "executable or not": ([(64 + i, LEAF | X if i & 1 else LEAF) for i in range(8)], {0: (3, range(8))}),
    "another run between": ([(64 + i if i & 1 else 800 + i, LEAF) for i in range(8)], {1: (0, [1, 3, 5, 7])}),
    # Its frame is where a 4 KiB page's would be, and it has the pattern of a 64 KiB page.
    "one of a 64 KiB page": (
        [(0x44 + i, LEAF | N if i == 4 else LEAF) for i in range(8)],
        {0: (2, [0, 1, 2, 3, 5, 6, 7]), 5: (0, [0, 1, 2, 3, 5, 6, 7]), 7: (1, [0, 1, 2, 3, 5, 6, 7])},
    ),
    "frames wrap at the end of all addresses": (
        [((1 << 44) - 4 + i & (1 << 44) - 1, LEAF) for i in range(8)],
        {0: (2, range(8)), 4: (2, range(8))},
    ),
}


@cocotb.test()
async def answers_cover_the_neighbours_that_are_mapped_alike(dut):
    b = await bench(dut, MODES[0])
    vpn = PAGE & ~15
    for name, (entries, pages) in RUNS.items():
        for half in (0, 8):
            vpn += 16
            for i, entry in enumerate(entries):
                b.memory.map(b.root, b.levels, vpn + half + i, pte(*entry) if entry else 0)
            for page, (order, covered) in pages.items():
                [r] = await b.run([Request(0, vpn + half + page)])
                assert r.answer.ppn == entries[page][0]
                expected = order, sum(1 << half + q for q in covered)
                assert (r.order, r.cluster) == expected, (
                    f"{name}, page {page}: order {r.order}, {r.cluster:#06x}"
                )
    # Beside a larger page nothing is added.
    for i in range(16):
        b.memory.map(b.root, b.levels, vpn + 16 + i, napot(0x50))
    [r] = await b.run([Request(0, vpn + 18)])
    assert (r.order, r.cluster) == (4, 1 << 2)


@cocotb.test()
async def global_is_what_a_leaf_or_a_table_above_says(dut):
    for mode in MODES:
        b = await bench(dut, mode)
        vpn = 1 << 20
        for level in range(b.levels):
            vpn += 1 << 9 * (b.levels - 1) if b.levels < 5 else 1 << 27
            b.memory.map(b.root, b.levels, vpn, pte(5))
            b.memory.map(b.root, b.levels, vpn + 1, pte(6))
            table = b.memory.table(b.root, b.levels, vpn, level)
            index = vpn >> 9 * level & 511
            b.memory.write(table, index, b.memory.read(table, index) | G)
            b.invalidate = EVERYTHING
            for _ in range(2):  # by the tables, then by what was kept of them
                [first, second] = await ask(b, vpn, vpn + 1)
                assert first == Answer(None, 5, 0, 3, True)
                assert second == Answer(None, 6, 0, 3, level > 0), level
        assert b.events.cache_hit > 0


@cocotb.test()
async def errors_of_page_table_reads_are_access_faults(dut):
    for mode in MODES:
        b = await bench(dut, mode)
        b.memory.map(b.root, b.levels, PAGE, pte(5))
        for level in range(b.levels - 1, -1, -1):
            table = b.memory.table(b.root, b.levels, PAGE, level)
            broken = (table << 12 | (PAGE >> 9 * level & 511) << 3) & -64
            b.error_at = lambda addr, broken=broken: addr == broken
            b.invalidate = EVERYTHING
            await b.idle(1)
            assert await ask(b, PAGE) == [Answer(LOAD_ACCESS)]
            assert await ask(b, PAGE, write=True) == [Answer(STORE_ACCESS)]
            # A line with a beat that failed is not kept: the next request reads it again, and gets what is there now.
            b.error_at = lambda addr: False
            assert await ask(b, PAGE) == [Answer(None, 5, 0, 3)]


@cocotb.test()
async def a_mapping_added_after_its_line_was_kept_is_found(dut):
    for mode in MODES:
        b = await bench(dut, mode)
        page = PAGE & ~7
        b.memory.map(b.root, b.levels, page, pte(5))
        b.memory.map(b.root, b.levels, page + 3, pte(6, LEAF & ~D))
        assert await ask(b, page) == [Answer(None, 5, 0, 3)]
        reads = len(b.reads)
        assert await ask(b, page + 1) == [Answer(LOAD_PAGE)], "the neighbour in the kept line is not mapped"
        assert len(b.reads) == reads + 1, "decided by one fresh read"
        b.memory.map(b.root, b.levels, page + 1, pte(7))
        assert await ask(b, page + 1) == [Answer(None, 7, 0, 3)]
        # A permission added.
        assert await ask(b, page + 3, write=True) == [Answer(STORE_PAGE)]
        b.memory.map(b.root, b.levels, page + 3, pte(6))
        assert await ask(b, page + 3, write=True) == [Answer(None, 6, 0, 3)]
        # A table added below a line of pointers that is kept, in the walk cache too.
        assert await ask(b, page + 512) == [Answer(LOAD_PAGE)]
        b.memory.map(b.root, b.levels, page + 512, pte(8))
        assert await ask(b, page + 512) == [Answer(None, 8, 0, 3)]


@cocotb.test()
async def one_fresh_read_decides_for_all_that_wait(dut):
    """Faults of merged requests: whoever began the read is final, the others share one more."""
    b = await bench(dut, MODES[0])
    b.memory.map(b.root, b.levels, PAGE, pte(5))
    await ask(b, PAGE)
    bad = PAGE & ~7 | (PAGE + 1) & 7
    b.invalidate = EVERYTHING
    await b.idle(2)
    await ask(b, PAGE ^ 256)  # warms the upper levels; another leaf line
    reads = len(b.reads)
    waiting = min(8, int(os.environ["BENCH_REQUESTS"]))
    answers = await ask(b, *([bad] * waiting))
    assert answers == [Answer(LOAD_PAGE)] * waiting
    assert len(b.reads) == reads + 2


@cocotb.test()
async def events_tell_whose_they_are(dut):
    """A cold walk's reads, a second walk that joins the first and one that finds all lines kept: source and context of each."""
    mode = MODES[-1]
    b = await bench(dut, mode)
    b.latency = 5
    b.memory.map(b.root, b.levels, PAGE, pte(77))
    ctxs = [min(i, len(dut.ctx_i) - 1) for i in range(3)]
    for ctx in ctxs:
        b.set_context(ctx, mode, b.root)
    b.ids.extendleft((3 << 8, 2 << 8, 1 << 8))
    first, second, third = (Request(ctx, PAGE) for ctx in ctxs)
    await b.run([first, second])
    await b.run([third])
    by = {
        source: [event for event, s, ctx in b.owners if (s, ctx) == (source, ctxs[source - 1])]
        for source in (1, 2, 3)
    }
    assert sum(map(len, by.values())) == len(b.owners)
    assert by[1] == ["read"] * b.levels
    assert by[2][0] == "merge" and len(by[2]) == b.levels and set(by[2]) <= {"merge", "line_hit"}
    if (
        len(dut.ctx_i) > 2 and int(os.environ["BENCH_LINES"]) >= b.levels
    ):  # else lines or pointers are not kept
        assert set(by[3]) == {"line_hit"}


REFUSED, UNTOUCHED, AWAY = 0, 1, 2


@cocotb.test()
async def a_fault_says_why_and_where(dut):
    """At each level, on both contexts: an entry of 0, one that is not valid, one that does not allow it; and those without an entry."""
    for mode in MODES:
        b = await bench(dut, mode)
        contexts = min(len(dut.ctx_i), 2)
        for ctx in range(contexts):
            b.set_context(ctx, mode, b.root)
        found = []
        for level in range(b.levels):
            for i, (why, entry) in enumerate(
                ((UNTOUCHED, 0), (AWAY, 0x1234 << 10), (REFUSED, pte(0x8_0000, V | R | W | D | U)))
            ):
                vpn = (3 * level + i + 1 << 9 * level) + (level << 30 if b.levels > 4 else 0)
                b.memory.map(b.root, b.levels, vpn, entry, level)
                found.append((vpn, (why, level, b.memory.path(b.root, b.levels, vpn)[-1])))
        for ctx in range(contexts):
            for write in (False, True):
                requests = await b.run([Request(ctx, vpn, write) for vpn, _ in found])
                assert [r.miss for r in requests] == [miss for _, miss in found]
        for vpn in ((1 << 45) - 1 >> 1,) if b.levels < 5 else ():
            (request,) = await b.run([Request(0, vpn)])
            assert request.miss[0] == REFUSED
        b.error_at = lambda addr: True
        b.invalidate = EVERYTHING
        (request,) = await b.run([Request(0, 0x155)])
        assert request.answer == Answer(LOAD_ACCESS) and request.miss[0] == REFUSED
