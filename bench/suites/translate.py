# SPDX-License-Identifier: Apache-2.0
"""What translation costs: hits, walks and streams of misses in cycles and nanoseconds; reads by page size; simulator speed.

Ideal data memory (data in the next cycle) and a page-table latency of L extra cycles, as the peers' own RTL
was simulated for the figures beside ours: the default translation path, 4 KiB pages, one-beat reads. Every
figure counts from the address handshake at the accelerator's port to the one at memory. Single walks are measured without a second
level, as the peers that walk have none; one behind an L2 miss has its own row. The same in nanoseconds, each design at its own
clock (bench/clocks.py).
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from typing import Literal

import numpy as np

import godwit
from bench import clocks, page_requests, ports
from godwit.buffers import Buffer, PageSize
from godwit.report import Progress, Row
from godwit.run.tlb_stress import fragment

PAGE = 4096
PAGES = 512
LATENCIES = (0, 10, 50)
SEED = 1

OPTIONS = frozenset({"quick"})
"""Options of ``godwit bench`` that this suite takes. Quick: hits and streams at the first latency, on the card that the other rows are on."""

LINEAR_BYTES = 64 << 20
SPEED_BYTES = 4 << 20
SPEED_GOAL = 300_000

CLUSTER = 16
"""Pages that one entry may cover, L1 or L2."""
WITHOUT_L2 = ("l2.sets=0", "range.entries=0")

COLD_WALKS = {
    4: {},
    3: {0: 9.0, 10: 39.0, 50: 159.0},
    2: {0: 19.0, 10: 33.0, 50: 113.0},
}
"""Whole walks of peers that walk in hardware, cycles by levels and L: riscv-iommu walks three, Fletcher two."""
TREES = {4: ("sv48", "4K"), 3: ("sv39", "4K"), 2: ("sv39", "2M")}
"""Page tables of so many levels: mode and page size."""
WARM_WALKS = {0: 7.0, 10: 17.0, 50: 57.0}
"""FSRF, the fastest peer; cycles by L."""


def run(progress: Progress, quick: bool = False) -> list[Row]:
    """All rows, in the order of the table."""
    rows = []
    if quick:
        progress("hits and streams", 0, 1)
        rows += list(_translation(LATENCIES[0]))
        progress("hits and streams", 1, 1)
        return rows + list(clocks.rows(rows))
    for number, latency in enumerate(LATENCIES):
        progress("walks and streams", number, len(LATENCIES))
        rows += list(_walks(latency))
        rows += list(_translation(latency))
    progress("walks and streams", len(LATENCIES), len(LATENCIES))
    rows += list(clocks.rows(rows))
    rows += list(page_requests.rows())
    rows += list(_linear(progress))
    rows += [_speed(progress, ()), _speed(progress, ("card.profile_guided=true",))]
    return rows


def _row(
    name: str,
    value: float,
    unit: str,
    theirs: float | str | None,
    goal: str | None,
    config: str = clocks.IN_A_ROW,
) -> Row:
    return Row("translate", name, config, value, unit, theirs, goal)


def _pages(card: godwit.Card, *, contiguous: bool = True) -> tuple[Buffer, list[int]]:
    """Maps and binds; the pages of one leaf table: 2 MiB that start at a multiple of 2 MiB, mapped as long as the buffer lives."""
    context = card.context()
    ports.bind(card, context)
    buffer = context.empty(2 * PAGES * PAGE, page_size="4K", contiguous=contiguous)
    base = -(-buffer.address // (PAGES * PAGE)) * (PAGES * PAGE)
    return buffer, [base + number * PAGE for number in range(PAGES)]


def _scattered_pages(card: godwit.Card) -> tuple[list[Buffer], list[int]]:
    """The same with no two frames adjacent, so that no entry covers a second page; also what keeps them apart."""
    kept = fragment(card, 2 * PAGES * PAGE, "4K")
    buffer, pages = _pages(card, contiguous=False)
    return [buffer, *kept], pages


def _walks(latency: int) -> Iterator[Row]:
    """Single walks on a card without a second level."""
    with ports.open_card(latency, WITHOUT_L2) as card:
        tag, config = f"L = {latency}", "default without L2 and range TLB, ideal data memory, frames in a row"
        # The first access after a reset takes a cycle more, which is not the walk's.
        _cold_walk(card, *TREES[2])
        for levels, (mode, page_size) in TREES.items():
            cold = _cold_walk(card, mode, page_size)
            name = f"walk from cold, {levels} levels, {tag}"
            yield _row(name, cold, "cycles", COLD_WALKS[levels].get(latency), None, config)
        _buffer, pages = _pages(card)
        ports.reads(card, pages[:1])
        warm = ports.reads(card, pages[64:65]).span
        goal = f"<= {7 + latency}"
        yield _row(f"walk, warm upper levels, {tag}", warm, "cycles", WARM_WALKS[latency], goal, config)


def _cold_walk(card: godwit.Card, mode: Literal["sv39", "sv48"], page_size: PageSize) -> int:
    """Cycles of one read whose walk finds nothing cached."""
    with card.context(mode) as context:
        ports.bind(card, context)
        buffer = context.empty(PAGE, page_size=page_size)
        ports.invalidate(card)
        return ports.reads(card, [buffer.address]).span


def _translation(latency: int) -> Iterator[Row]:
    """Hits, single walks and streams of misses with a page-table latency of `latency` cycles."""
    with ports.open_card(latency) as card:
        _buffer, pages = _pages(card)
        tag = f"L = {latency}"

        if latency == 0:
            yield from _hits(card, pages)
            yield from _l2_hits(card, pages)
        ports.invalidate(card)
        ports.reads(card, pages[:1])
        behind = ports.reads(card, pages[64:65]).span
        goal = f"<= {7 + latency}"
        yield _row(
            f"walk behind an L2 miss, warm upper levels, {tag}", behind, "cycles", WARM_WALKS[latency], goal
        )
        one_page = ports.reads(card, [pages[128]] * 32).page_table_reads
        yield _row(f"page-table reads of 32 requests to one cold page, {tag}", one_page, "reads", 2.0, "<= 1")
        if latency == max(LATENCIES):
            yield _hits_under_miss(card, pages)
        yield from _streams(card, pages, latency, clocks.IN_A_ROW)
    with ports.open_card(latency) as card:
        kept, apart = _scattered_pages(card)
        yield from _streams(card, apart, latency, "default, ideal data memory, no two frames adjacent")
        kept.clear()


def _streams(card: godwit.Card, pages: list[int], latency: int, config: str) -> Iterator[Row]:
    """Each page once, in order and shuffled, from cold and once more."""
    shuffled = random.Random(SEED).sample(pages, PAGES)
    theirs, cold_goal, warm_goals = None, None, (None, None)
    if latency == max(LATENCIES):
        theirs, cold_goal, warm_goals = 1.88, "<= 1.6", ("<= 1.02", "<= 1.05")
    for order, series, warm_goal in zip(("sequential", "random"), (pages, shuffled), warm_goals, strict=True):
        ports.invalidate(card)
        for when, peer, goal in (("from cold", theirs, cold_goal), ("again", None, warm_goal)):
            taken = ports.reads(card, series).cycles_per_request
            yield _row(
                f"{PAGES} {order} pages {when}, L = {latency}", taken, "cycles/request", peer, goal, config
            )


def _hits(card: godwit.Card, pages: list[int]) -> Iterator[Row]:
    """The L1 hit's latency and throughput."""
    resident = pages[: card.config["translator"]["l1_entries"]]
    ports.reads(card, resident)
    yield _row("L1 hit", ports.reads(card, resident[-1:]).span, "cycles", 1.0, "<= 1")
    stream = ports.reads(card, resident * (1024 // len(resident)))
    yield _row("L1 hits in a row", stream.cycles_per_request, "cycles/request", 1.0, "<= 1")


def _l2_hits(card: godwit.Card, pages: list[int]) -> Iterator[Row]:
    """The L2 hit's latency and throughput: pages that an entry has to itself, more than the L1 has entries."""
    apart = pages[::CLUSTER]
    if len(apart) <= card.config["translator"]["l1_entries"]:
        raise godwit.InputError("the L1 TLB holds all pages of the L2 measurement")
    ports.reads(card, apart)
    walks = card.counters()["walker"]["walks"]
    yield _row("L2 hit", ports.reads(card, apart[:1]).span, "cycles", 12.0, "<= 6")
    stream = ports.reads(card, apart[1:] + apart * 31)
    yield _row("L2 hits in a row", stream.cycles_per_request, "cycles/request", 3.0, "<= 1.01")
    if card.counters()["walker"]["walks"] != walks:
        raise godwit.DeviceError("the L2 TLB missed what it was given")


def _hits_under_miss(card: godwit.Card, pages: list[int]) -> Row:
    """Hits of one ID while a miss of another waits for memory."""
    ports.reads(card, pages[:1])
    count = 32
    both = ports.reads(card, [pages[256], *[pages[0]] * count], [0, *[1] * count])
    # The miss arrives last: all hits have passed it.
    hits = sorted(both.reached)[:count]
    return _row(
        "hits of another ID while a walk waits, L = 50",
        (hits[-1] - both.accepted[1]) / count,
        "cycles/request",
        "blocked",
        "<= 1",
    )


def _linear(progress: Progress) -> Iterator[Row]:
    """Linear reads by page size, as a share of the same reads with physical addresses."""
    goals = {"4K": "99.7", "64K": "99.9", "2M": "99.9"}
    with godwit.open("sim:fletcher") as card:
        values = np.arange(LINEAR_BYTES // 8, dtype="i8")
        for number, (page_size, goal) in enumerate(goals.items()):
            progress("linear reads", number, len(goals))
            with card.context() as context:
                data = context.put(values, page_size=page_size, contiguous=True)
                args = {"values": data, "count": len(values), "dtype": 1}
                cycles = {
                    mode: card.launch("array_sum", context=context, mode=mode, **args).cycles
                    for mode in ("bare", "translate")
                }
                yield Row(
                    "translate",
                    f"linear reads of {LINEAR_BYTES >> 20} MiB, {page_size} pages, share of physical",
                    "fletcher, 71-cycle reads, one L1 entry",
                    100 * cycles["bare"] / cycles["translate"],
                    "%",
                    "less than 99.7 below 4 MiB pages",
                    f">= {goal}",
                )
        progress("linear reads", len(goals), len(goals))


def _speed(progress: Progress, overrides: tuple[str, ...]) -> Row:
    """Cycles a second of the simulated card under memcopy, launch to end."""
    progress("simulator speed", 0, 1)
    with godwit.open("sim:default", overrides=overrides) as card:
        source = card.put(np.arange(SPEED_BYTES, dtype="u1"))
        target = card.empty(SPEED_BYTES)
        before = card.stats()["cycles"]
        start = time.perf_counter()
        card.launch("memcopy", src=source, dst=target, bytes=SPEED_BYTES, iterations=2)
        seconds = time.perf_counter() - start
        speed = (card.stats()["cycles"] - before) / seconds
    progress("simulator speed", 1, 1)
    return Row(
        "translate",
        "simulator speed under memcopy",
        ", ".join(("default", *overrides)),
        round(speed),
        "cycles/s",
        goal=f">= {SPEED_GOAL}",
        kind="native",
    )
