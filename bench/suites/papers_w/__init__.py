# SPDX-License-Identifier: Apache-2.0
"""Wijtemans 2019, memory management for Fletcher: raw and translated reads by burst, page, TLB and walks in flight.

Configuration `fletcher`: 71-cycle reads, one request every four cycles (page tables included), one L1 entry. Random
reads go over 2 GiB in pages of 2 MiB, where the paper has pages of 64 MiB: 1,024 pages instead of 32, so that nearly
every access misses in the L1. Two walkers: one that reads page tables 64 bytes at a time (*short lines*: three walks of
four read memory, as 32 lines of eight entries are kept), and the configuration's own, which reads 1 KiB at a time; that
one walks pages of any power of two, so that linear reads (Fig. 6.3) have the sizes that the paper's text names, too.
The allocator's rows are on a card of `default` with a heap (heap.py; the application: table.py), and on a small one with several memories
(memories.py).

Every size of a TLB or of the walker is a card of its own; all else (page size, burst, pattern, physical addresses) is
measured on the same ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from bench import loads
from bench.suites.papers_w import banked, heap, memories, table
from bench.suites.papers_w.figures import draw
from godwit.api import Card, Context
from godwit.buffers import Buffer
from godwit.report import Progress, Row
from godwit.run.traffic import Plan

SUITE = "papers"
CONFIG = "fletcher"
PAGE = 2 << 20
FEW_PAGES = 32
BURSTS = (1, 2, 4, 8, 16, 32)
MOST_WALKS = 64
SHORT_LINES = 32
LONGEST_LINE_SPAN = 512 << 10
"""Bytes that a line of 16 beats maps in pages of 4 KiB."""
CLOCK_MHZ = 250
THEIRS = (30.0, 90.0)
"""Random reads, % of raw: the range that the paper's text gives, "depending on request size", with 21 walks in flight."""
THEIRS_TEXT = "30 to 90, by request size"


@dataclass(frozen=True)
class Design:
    """A card: `fletcher` with other sizes."""

    l1_entries: int = 1
    walks: int = MOST_WALKS
    """Two is the fewest that the walker can be built with."""
    l2_entries: int = 0
    """In four ways."""
    long_lines: bool = False
    """Page-table lines as the configuration has them; otherwise as many as `SHORT_LINES`, of 64 bytes."""
    any_pages: bool = False
    """Pages of any power of two."""

    @property
    def overrides(self) -> tuple[str, ...]:
        """On top of `fletcher`."""
        lines = () if self.long_lines else ("walker.line_beats=1", f"walker.lines={SHORT_LINES}")
        pages = ("walker.napot=any",) if self.any_pages else ()
        return (
            *lines,
            *pages,
            f"translator.l1_entries={self.l1_entries}",
            f"walker.requests={self.walks}",
            f"l2.sets={self.l2_entries // 4}",
            "l2.ways=4",
            "range.entries=0",
        )

    def __str__(self) -> str:
        entries = "one L1 entry" if self.l1_entries == 1 else f"{self.l1_entries} L1 entries"
        second = f", {self.l2_entries} L2 entries" if self.l2_entries else ", no L2"
        pages = ", pages of any power of two" if self.any_pages else ""
        return f"{entries}{second}, {self.walks} walks, {'long' if self.long_lines else 'short'} lines{pages}"


@dataclass(frozen=True)
class Amount:
    """How much a run reads."""

    span: int = 2 << 30
    beats: int = 240_000
    """Of a random run, which has at least `bursts`."""
    bursts: int = 750
    linear_bytes: int = 64 << 20
    linear_bursts: tuple[int, ...] = (4, 16, 64)
    linear_pages: tuple[str, ...] = ("256K", "1M", "4M", "16M", "64M")
    """1, 4 and 64 MiB are those that the paper's text names."""


FULL, QUICK = Amount(), Amount(beats=6_000, bursts=400, linear_bursts=(16,), linear_pages=("1M", "4M"))
BASE, LONG = Design(), Design(long_lines=True, any_pages=True)
LARGE_L1 = Design(32)
WALKS = tuple(Design(walks=walks) for walks in (2, 16))
HIERARCHY = (Design(16, l2_entries=256), Design(16, l2_entries=2048))


def run(progress: Progress, quick: bool = False, amount: Amount | None = None) -> list[Row]:
    """All rows, in the order of the paper's figures.

    quick: fewer cards (the smallest and the largest of a kind) and less to read. amount: how much to read.
    """
    size = amount or (QUICK if quick else FULL)
    walks = WALKS[:1] if quick else WALKS
    hierarchy = HIERARCHY[-1:] if quick else HIERARCHY
    large_l1 = () if quick else (LARGE_L1,)
    others = (LONG, *large_l1, *walks, *hierarchy)
    rows: list[Row] = []
    shares: dict[Design, dict[int, float]] = {}

    def on(design: Design, step: int) -> AbstractContextManager[Card]:
        progress(f"paper W, {design}", step, 1 + len(others))
        return loads.traffic_card(CONFIG, design.overrides, progress=progress)

    with on(BASE, 0) as card:
        with card.context() as context:
            buffer = loads.buffer_of(context, size.span, "2M")
            rows += _raw(card, context, buffer, size)
            rows += _latency(card, context, buffer)
        rows += _line_from_memory(card, BASE)
        short = list(_linear(card, BASE, size))
        cached = list(_few_pages(card, BASE, size))
        shares[BASE] = _random(card, size)
    for step, design in enumerate(others, 1):
        with on(design, step) as card:
            if design is LONG:
                rows += _line_from_memory(card, design)
                rows += _linear(card, design, size)
            if design is LARGE_L1:
                cached += _few_pages(card, design, size)
            shares[design] = _random(card, size)
    progress("paper W", 1 + len(others), 1 + len(others))
    rows += short + cached
    for design in (*walks, BASE, LONG, *large_l1, *hierarchy):
        rows += _random_rows(design, shares[design], size)
    rows += _drop(shares, walks, size)
    rows += banked.rows(BASE.overrides, size.span, size.beats, progress)
    rows += heap.rows(progress, quick)
    rows += memories.rows(progress, quick)
    rows += table.rows(progress, quick)
    return rows


def _row(
    name: str, config: str, value: float, unit: str, theirs: float | str | None, goal: str | None
) -> Row:
    return Row(SUITE, name, config, value, unit, theirs, goal)


def _beats_text(beats: int) -> str:
    return f"{beats} beat{'s' if beats > 1 else ''} a burst"


def _plan(beats: int, span: int, size: Amount, pattern: str = "random") -> Plan:
    """Bursts anywhere in `span` bytes."""
    burst = beats * 64
    return Plan(span // burst, burst, max(size.beats // beats, size.bursts), pattern, beats)


def _raw(card: Card, context: Context, buffer: Buffer, size: Amount) -> Iterator[Row]:
    """Fig. 6.1: physical addresses."""
    for pattern in ("linear", "random"):
        for beats in (1, 4, 16, 64):
            plan = _plan(beats, size.span, size, pattern)
            result = loads.launch(card, context, buffer, plan, "bare")
            speed = plan.count * beats * 64 / result.run_cycles * CLOCK_MHZ / 1000
            theirs = 16.0 if beats >= 16 else None
            config = f"physical addresses, {plan.count:,} bursts"
            yield _row(f"raw {pattern} reads, {_beats_text(beats)}", config, speed, "GB/s", theirs, None)


def _latency(card: Card, context: Context, buffer: Buffer) -> Iterator[Row]:
    """One read at a time, mean of many."""
    inside = Plan(64, 64, 500, "random", outstanding=1)
    pair = loads.both(card, context, buffer, inside, page=PAGE)
    raw, hit = (result.latency_sum / result.reads for result in (pair.physical, pair.translated))
    everywhere = Plan(buffer.nbytes // PAGE, PAGE, 1000, "random", outstanding=1)
    pair = loads.both(card, context, buffer, everywhere, page=PAGE)
    walk = pair.translated.latency_sum / pair.translated.reads
    config = f"{BASE}, one read at a time"
    yield _row("read latency, physical addresses", config, raw, "cycles", "71 ± 5", None)
    yield _row("extra latency of a TLB hit", config, hit - raw, "cycles", "about 5 % of 72", "<= 1")
    yield _row("read latency with a walk", config, walk, "cycles", "233 ± 23", f"<= {2 * raw + 10:g}")


def _line_from_memory(card: Card, design: Design) -> Iterator[Row]:
    """Page-table lines that are not kept, one to a read, each the third after the one before, so that none is prefetched."""
    stride = 3 * LONGEST_LINE_SPAN
    with card.context() as context:
        buffer = loads.buffer_of(context, 64 * stride, "4K")
        pair = loads.both(card, context, buffer, Plan(64, stride, 1000, outstanding=1), page=stride)
    lines, reads = pair.counters["walker"]["pte_reads"], pair.translated.reads
    latency, raw = (result.latency_sum / result.reads for result in (pair.translated, pair.physical))
    yield _row(
        "read latency with a walk, its line from memory",
        f"{design}, one read at a time, {lines:,} lines for {reads:,} reads",
        latency,
        "cycles",
        "233 ± 23",
        f"<= {2 * raw + 10:g}",
    )


def _linear(card: Card, design: Design, size: Amount) -> Iterator[Row]:
    """Fig. 6.3, from cold: the first walk is in it.

    Bursts of four beats need every request slot, so that each page-table read costs one: a short line of eight 4 KiB pages
    0.8 %, one for each 64 KiB page 0.4 %. That is what the configuration has long lines for, and only they have a goal.
    """
    own = size.linear_pages if design.any_pages else ()
    for page_size, goal in (
        ("4K", "99.7"),
        ("64K", "99.9"),
        ("2M", "99.9"),
        *((page, "99.9") for page in own),
    ):
        with card.context() as context:
            buffer = loads.buffer_of(context, size.linear_bytes, page_size)
            for beats in size.linear_bursts:
                count = size.linear_bytes // (beats * 64)
                pair = loads.both(card, context, buffer, Plan(count, beats * 64, count, beats=beats))
                yield _row(
                    f"linear reads, {page_size} pages, {_beats_text(beats)}",
                    f"{design}, {size.linear_bytes >> 20} MiB from cold",
                    pair.share,
                    "% of raw",
                    "over 99.7 from 4 MiB pages on, visible loss at 1 MiB",
                    f">= {goal}" if design.long_lines else None,
                )


def _few_pages(card: Card, design: Design, size: Amount) -> Iterator[Row]:
    """Fig. 6.2: as many pages as there, so that 32 entries hold them all."""
    all_fit = design.l1_entries >= FEW_PAGES
    span = min(FEW_PAGES * PAGE, size.span)
    with card.context() as context:
        buffer = loads.buffer_of(context, span, "2M")
        for beats in BURSTS:
            plan = _plan(beats, span, size)
            share = loads.both(card, context, buffer, plan, page=PAGE).share
            yield _row(
                f"random reads of {FEW_PAGES} pages, {_beats_text(beats)}",
                f"{design}, {plan.count:,} bursts",
                share,
                "% of raw",
                "as raw" if all_fit else None,
                ">= 99" if all_fit else None,
            )


def _random(card: Card, size: Amount) -> dict[int, float]:
    """Fig. 6.4, or with an L2 what becomes of it: share of raw throughput in percent, by beats of a burst."""
    with card.context() as context:
        buffer = loads.buffer_of(context, size.span, "2M")
        return {
            beats: loads.both(card, context, buffer, _plan(beats, size.span, size), page=PAGE).share
            for beats in BURSTS
        }


def _random_rows(design: Design, shares: dict[int, float], size: Amount) -> Iterator[Row]:
    """The goal without an L2 is for as many walks as there are requests: 1.5 times the low end of the paper's range, or 97 %.

    Up to four beats a page-table read takes the request slot of another burst: with none kept no more than half were possible.
    Sixteen long lines hold the entries of all 2 GiB.
    """
    for beats, share in shares.items():
        theirs, goal = None, None
        if design in (BASE, LONG):
            theirs, goal = THEIRS_TEXT, ">= 45" if beats <= 4 else ">= 97"
        elif design == HIERARCHY[-1]:
            theirs, goal = THEIRS_TEXT, ">= 99"
        yield _row(
            f"random reads of {size.span >> 20} MiB, {_beats_text(beats)}",
            f"{design}, {_plan(beats, size.span, size).count:,} bursts",
            share,
            "% of raw",
            theirs,
            goal,
        )


def _drop(shares: dict[Design, dict[int, float]], fewer: tuple[Design, ...], size: Amount) -> Iterator[Row]:
    """The paper's unexplained drop, if there is one."""
    for beats in BURSTS:
        best = max(shares[design][beats] for design in fewer)
        yield _row(
            f"share at {MOST_WALKS} walks over the best of fewer, {_beats_text(beats)}",
            f"random reads of {size.span >> 20} MiB, {', '.join(str(d.walks) for d in fewer)} walks, short lines",
            shares[BASE][beats] / best,
            "ratio",
            "drops beyond 21 walks",
            ">= 0.999",
        )


def plot(rows: list[Row], path: Path) -> None:
    """The paper's figures as curves, and its table of growth."""
    draw(rows, path, THEIRS, FEW_PAGES)
