# SPDX-License-Identifier: Apache-2.0
"""Wijtemans 2019, memory management for Fletcher: raw and translated reads by burst, page, TLB and walks in flight.

Configuration `fletcher`: 71-cycle reads, one request every four cycles (page tables included), one L1 entry. Random
reads go over 2 GiB in pages of 2 MiB, where the paper has pages of 64 MiB: 1,024 pages instead of 32, so that nearly
every access is a miss. The rows that need its hardware allocator are not built yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bench import loads
from godwit.api import Card, Context
from godwit.memory import Buffer
from godwit.report import Progress, Row
from godwit.run.traffic import Plan

SUITE = "papers"
RANGE = 2 << 30
PAGE = 2 << 20
BURSTS = (1, 2, 4, 8, 16, 32)
WALKS = (2, 4, 8, 16, 32, 64)
"""Two is the fewest that the walker can be built with."""
L1_ENTRIES = (1, 4, 32)
FEW_PAGES = 32
BEATS = 24_000
"""Of a random run; a run of single beats is four times as long."""
LINEAR_BYTES = 8 << 20
RAW_CYCLES = 71
CLOCK_MHZ = 250
NOT_BUILT = (
    ("malloc, realloc, free (Fig. 6.5)", "grows with size, over 1000 cycles"),
    ("memory overhead: page tables, fragmentation", "64 KiB a buffer; 0.2 to 7 %"),
    ("area of allocator and walker (Table 6.1)", "2600 and 540 CLBs"),
    ("application: peak memory of a split (Fig. 1.2)", "3 S_A before, 2 S_A after"),
)

HIERARCHY = ("translator.l1_entries=16",)


def run(progress: Progress, quick: bool = False) -> list[Row]:
    """All rows, in the order of the paper's figures; `quick`: of the configuration as it is."""
    rows: list[Row] = []
    steps = len(WALKS) + len(L1_ENTRIES) + 1
    with loads.traffic_card("fletcher", _no_l2()) as card:
        progress("latency, raw, linear", 0, steps)
        with card.context() as context:
            buffer = loads.buffer_of(context, RANGE, "2M")
            rows += _raw(card, context, buffer)
            rows += _latency(card, context, buffer)
        rows += _linear(card)
    for step, entries in enumerate(() if quick else L1_ENTRIES, 1):
        progress(f"{entries} L1 entries", step, steps)
        with loads.traffic_card("fletcher", (*_no_l2(), f"translator.l1_entries={entries}")) as card:
            rows += _cached(card, entries)
    best: dict[int, float] = {}
    for step, walks in enumerate(WALKS[-1:] if quick else WALKS, 1 + len(L1_ENTRIES)):
        progress(f"{walks} walks in flight", step, steps)
        with loads.traffic_card("fletcher", (*_no_l2(), f"walker.requests={walks}")) as card:
            rows += _random(card, walks, best)
    if loads.has_second_level() and not quick:
        with loads.traffic_card("fletcher", (*HIERARCHY, *_l2())) as card:
            rows += _hierarchy(card)
    progress("done", steps, steps)
    rows += [Row(SUITE, f"{name}: not built yet", "fletcher", None, "", theirs) for name, theirs in NOT_BUILT]
    return rows


def _no_l2() -> tuple[str, ...]:
    return ("l2.sets=0",) if loads.has_second_level() else ()


def _l2() -> tuple[str, ...]:
    return ("l2.sets=512", "l2.ways=4")


def _row(
    name: str, config: str, value: float, unit: str, theirs: float | str | None, goal: str | None
) -> Row:
    return Row(SUITE, name, config, value, unit, theirs, goal)


def _beats_text(beats: int) -> str:
    return f"{beats} beat{'s' if beats > 1 else ''} a burst"


def _plan(beats: int, pages: int = RANGE // PAGE, page: int = PAGE) -> Plan:
    """Random bursts anywhere in `pages` pages."""
    size = beats * 64
    return Plan(pages * page // size, size, max(BEATS // beats, 750), "random", beats)


def _raw(card: Card, context: Context, buffer: Buffer) -> Iterator[Row]:
    """Fig. 6.1: physical addresses."""
    for pattern in ("linear", "random"):
        for beats in (1, 4, 16, 64):
            plan = Plan(RANGE // (beats * 64), beats * 64, max(BEATS // beats, 300), pattern, beats)
            result = loads.launch(card, context, buffer, plan, "bare")
            speed = plan.count * beats * 64 / result.run_cycles * CLOCK_MHZ / 1000
            theirs = 16.0 if beats >= 16 else None
            yield _row(
                f"raw {pattern} reads, {_beats_text(beats)}",
                "physical addresses",
                speed,
                "GB/s",
                theirs,
                None,
            )


def _latency(card: Card, context: Context, buffer: Buffer) -> Iterator[Row]:
    """One read at a time, mean of many."""
    inside = Plan(64, 64, 500, "random", outstanding=1)
    pair = loads.both(card, context, buffer, inside)
    raw, hit = (result.latency_sum / result.reads for result in (pair.physical, pair.translated))
    everywhere = Plan(RANGE // PAGE, PAGE, 1000, "random", outstanding=1)
    pair = loads.both(card, context, buffer, everywhere)
    walk = pair.translated.latency_sum / pair.translated.reads
    config = "one L1 entry"
    yield _row("read latency, physical addresses", config, raw, "cycles", "71 ± 5", None)
    yield _row("extra latency of a TLB hit", config, hit - raw, "cycles", "about 5 % of 72", "<= 1")
    yield _row("read latency with a walk", config, walk, "cycles", "233 ± 23", f"<= {2 * raw + 10:g}")


def _linear(card: Card) -> Iterator[Row]:
    """Fig. 6.3, from cold: the first walk is in it."""
    for page_size, goal in (("4K", "99.7"), ("64K", "99.9"), ("2M", "99.9")):
        with card.context() as context:
            buffer = loads.buffer_of(context, LINEAR_BYTES, page_size)
            for beats in (4, 16, 64):
                plan = Plan(
                    LINEAR_BYTES // (beats * 64), beats * 64, LINEAR_BYTES // (beats * 64), beats=beats
                )
                pair = loads.both(card, context, buffer, plan, warm_up=False)
                yield _row(
                    f"linear reads, {page_size} pages, {_beats_text(beats)}",
                    f"one L1 entry, {LINEAR_BYTES >> 20} MiB",
                    pair.share,
                    "% of raw",
                    "over 99.7 from 4 MiB pages on, visible loss at 1 MiB",
                    f">= {goal}",
                )


def _cached(card: Card, entries: int) -> Iterator[Row]:
    """Fig. 6.2: as many pages as there, so that 32 entries hold them all."""
    with card.context() as context:
        buffer = loads.buffer_of(context, FEW_PAGES * PAGE, "2M")
        for beats in BURSTS:
            pair = loads.both(card, context, buffer, _plan(beats, FEW_PAGES))
            yield _row(
                f"random reads of {FEW_PAGES} pages, {_beats_text(beats)}",
                f"{entries} L1 entries",
                pair.share,
                "% of raw",
                "as raw" if entries == FEW_PAGES else None,
                ">= 99" if entries == FEW_PAGES else None,
            )


def _random(card: Card, walks: int, best: dict[int, float]) -> Iterator[Row]:
    """Fig. 6.4; the goal is for as many walks as there are requests: 1.5 times the paper's best, or 97 %."""
    ends = {1: (30.0, ">= 45"), 32: (90.0, ">= 97")}
    with card.context() as context:
        buffer = loads.buffer_of(context, RANGE, "2M")
        for beats in BURSTS:
            share = loads.both(card, context, buffer, _plan(beats)).share
            last = walks == max(WALKS)
            theirs, goal = ends.get(beats, (None, None)) if last else (None, None)
            yield _row(
                f"random reads of 2 GiB, {_beats_text(beats)}",
                f"one L1 entry, {walks} walks",
                share,
                "% of raw",
                theirs,
                goal,
            )
            if last and beats in best:
                yield _row(
                    f"share at {walks} walks over the best of fewer, {_beats_text(beats)}",
                    "one L1 entry",
                    share / best[beats],
                    "ratio",
                    "drops beyond 21 walks",
                    ">= 0.999",
                )
            best[beats] = max(best.get(beats, 0.0), share)


def _hierarchy(card: Card) -> Iterator[Row]:
    """Fig. 6.2 with everything: the second level holds all pages."""
    with card.context() as context:
        buffer = loads.buffer_of(context, RANGE, "2M")
        for beats in BURSTS:
            pair = loads.both(card, context, buffer, _plan(beats))
            yield _row(
                f"random reads of 2 GiB, {_beats_text(beats)}",
                "16 L1 entries, L2",
                pair.share,
                "% of raw",
                {1: 30.0, 32: 90.0}.get(beats),
                ">= 99",
            )


def plot(rows: list[Row], path: Path) -> None:
    """The paper's figures as curves: share of raw throughput by burst."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(13, 4.2), sharey=True, layout="constrained")
    panels = (
        ("linear reads", "Fig. 6.3: linear, by page size", lambda row: row.row.split(", ")[1]),
        (f"random reads of {FEW_PAGES} pages", "Fig. 6.2: random, by L1 entries", lambda row: row.config),
        (
            "random reads of 2 GiB",
            "Fig. 6.4: random, by walks in flight",
            lambda row: row.config.removeprefix("one L1 entry, "),
        ),
    )
    for axis, (start, title, name) in zip(axes, panels, strict=True):
        lines: dict[str, list[tuple[int, float]]] = {}
        for row in rows:
            if row.row.startswith(start) and row.value is not None:
                beats = int(row.row.rsplit(", ", 1)[1].split()[0])
                lines.setdefault(name(row), []).append((beats, row.value))
        for label, points in lines.items():
            axis.plot(*zip(*points, strict=True), "o-", label=label, markersize=4)
        axis.set_title(title, fontsize=10, loc="left")
        axis.set_xscale("log", base=2)
        axis.set_xticks([1, 2, 4, 8, 16, 32, 64], ["1", "2", "4", "8", "16", "32", "64"])
        axis.set_xlabel("beats a burst")
        axis.grid(alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
        axis.legend(frameon=False, fontsize=8)
    theirs = {"color": "#333333", "marker": "D", "linestyle": "", "label": "theirs, best"}
    axes[2].plot([1, 32], [30, 90], **theirs)
    axes[2].legend(frameon=False, fontsize=8)
    axes[0].set_ylabel("% of raw throughput")
    axes[0].set_ylim(0, 105)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)
