# SPDX-License-Identifier: Apache-2.0
"""gw_walker with pages of any power of two: each size at each level, what is none, and that neighbours stay as they are."""

import itertools
import random

import cocotb
from page_tables import (
    LEAF,
    LEVELS,
    LOAD_PAGE,
    MAX_RUN_ORDER,
    STORE_PAGE,
    A,
    Answer,
    D,
    Memory,
    N,
    V,
    W,
    pages_of_several,
    pte,
)
from walker_bench import Bench, Request

MODES = {levels: mode for mode, levels in LEVELS.items()}


def levels_of(dut) -> int:
    return int(dut.Levels.value)


async def started(dut) -> tuple[Bench, int, int]:
    levels = levels_of(dut)
    memory = Memory(any_napot=True)
    bench = Bench(dut, memory, latency=3)
    root = memory.frame()
    await bench.start({0: (MODES[levels], root)})
    return bench, root, levels


@cocotb.test()
async def each_size_is_found_at_its_level(dut):
    levels = levels_of(dut)
    b = Bench(dut, Memory(any_napot=True), latency=3)
    # A context a level.
    roots = [b.memory.frame() for _ in range(levels - 1)]
    await b.start({level: (MODES[levels], root) for level, root in enumerate(roots)})
    rng = random.Random(5)
    asked, expected = [], []
    for level, root in enumerate(roots):
        for k in range(1, 9):
            order = 9 * level + k
            # A table of its own for each.
            base = (k + 1) << 9 * (level + 1)
            frame = rng.getrandbits(44) >> order << order
            flags = rng.choice((LEAF, LEAF & ~W))
            for i in range(1 << k):
                entry = pages_of_several(frame, order, flags)
                b.memory.map(root, levels, base + (i << 9 * level), entry, level)
            pages = {base, base + (1 << order) - 1, *(base + rng.getrandbits(order) for _ in range(3))}
            for vpn, write in itertools.product(sorted(pages), (False, True)):
                asked.append(Request(level, vpn, write))
                told = min(order, 18) if order > MAX_RUN_ORDER else 0
                found = Answer(None, frame | vpn & (1 << order) - 1, told, 2 | bool(flags & W))
                expected.append(found if flags & W or not write else Answer(STORE_PAGE))
            asked.append(Request(level, base + (1 << order)))
            expected.append(Answer(LOAD_PAGE))
    answers = [request.answer for request in await b.run(asked)]
    assert len(answers) == len(expected)
    for request, answer, right in zip(asked, answers, expected, strict=True):
        assert answer == right, request


@cocotb.test()
async def what_is_no_size_faults(dut):
    b, root, levels = await started(dut)
    wrong = {
        "no size": (N | pte(0x1_2340_0000 & ~0xFF), 0),
        "2 MiB and no size": (N | pte(512 << 8), 1),
        "2 MiB whose frame is not one": (N | pte(512 + 256), 1),
        "2 MiB and a 4 KiB size": (N | pte(8), 1),
        "pointer": (N | pte(0x999, V), 1),
    }
    asked = []
    for i, (entry, level) in enumerate(wrong.values()):
        vpn = (i + 1) << 18
        b.memory.map(root, levels, vpn, entry, level)
        asked += [Request(0, vpn, write) for write in (False, True)]
    answers = [request.answer for request in await b.run(asked)]
    assert answers == [Answer(STORE_PAGE if request.write else LOAD_PAGE) for request in asked]


@cocotb.test()
async def a_page_below_a_cluster_is_a_part_of_one(dut):
    b, root, levels = await started(dut)
    for k in range(1, 4):
        base = 64 * k + (1 << k)
        for i in range(1 << k):
            b.memory.map(root, levels, base + i, pages_of_several(0x5_4320, k, LEAF))
        requests = await b.run([Request(0, base + i, False) for i in range(1 << k)])
        inside = sum(1 << (base + i) % 16 for i in range(1 << k))
        assert [request.cluster for request in requests] == [inside] * (1 << k)
        assert [request.order for request in requests] == [k] * (1 << k)


@cocotb.test()
async def a_and_d_are_those_of_the_entry(dut):
    b, root, levels = await started(dut)
    for k in range(1, 9):
        base = k << 9
        for i in range(1 << k):
            flags = LEAF & ~D if i == 1 else LEAF & ~A if i == 0 else LEAF
            b.memory.map(root, levels, base + i, pages_of_several(0x7_0000, k, flags))
        asked = [Request(0, base, False), Request(0, base + 1, False), Request(0, base + 1, True)]
        answers = [request.answer for request in await b.run(asked)]
        assert answers == [
            Answer(LOAD_PAGE),
            Answer(None, 0x7_0001, k if k > MAX_RUN_ORDER else 0, 2),
            Answer(STORE_PAGE),
        ]
