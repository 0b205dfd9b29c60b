# SPDX-License-Identifier: Apache-2.0
"""SVNAPOT 2024, one L2 TLB for 4 KiB and 64 KiB pages: reach by index policy, cycles of a page stride, hash join.

Configuration `svnapot`: 1,024 L2 entries, 32-entry L1, 8-entry walk cache. The sweep is TLB-stress: pages 4 KiB apart,
footprints of 4 KiB to 256 MiB, warmed up with one pass. The join is real: every flight that left New York in 2013
with the flight of the same number, carrier and origin a day later.

A page of 4 KiB and its frame are an odd number of pages apart, but for a buffer's first and in the join: frames aligned like their pages would
let the L1 keep eight neighbours in an entry, which the paper's cannot. Designs with clusters see the neighbours all the same.

In full it is more than an hour of one core; what sweeps and joins counted is kept (`bench.kept`), so that a run can be stopped.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

from bench import kept, loads
from bench.suites.papers_s import figures
from bench.suites.papers_s.flights import tables
from godwit.api import Card, Context
from godwit.buffers import Buffer
from godwit.errors import CheckError
from godwit.report import Progress, Row
from godwit.run import hashjoin, tlb_stress
from godwit.run.traffic import Plan
from godwit.run.workload import Setup
from godwit.units import bytes_text

SUITE = "papers"
CONFIG = "svnapot"
ENTRIES = 1024
PAGE_BYTES = {"4K": 4096, "64K": 65536}
PATTERNS = ("linear", "random")
FEW_MISSES = 0.01
"""Share of accesses that miss in the L2 up to which a footprint counts as covered."""
SHOWN = (256 << 10, 4 << 20, 64 << 20)
"""Footprints whose misses are rows; the plot has all."""
WORTH_A_PROFILE = 500_000
"""Accesses from which on a card that is faster pays for its longer build."""


@dataclass(frozen=True)
class Design:
    """An L2 TLB of ENTRIES entries."""

    policy: str
    ways: int
    clusters: bool = False
    joined: bool = False
    """Measured with the hash join too: one card has both kernels."""

    def overrides(self, size: Amount) -> tuple[str, ...]:
        """On top of `svnapot`."""
        profile = ("card.profile_guided=true",) if size.accesses >= WORTH_A_PROFILE else ()
        kernels = (f'card.kernels=["{loads.KERNEL}", "hashjoin"]',) if self.joined else ()
        return (
            *loads.ONLY_TRAFFIC,
            *kernels,
            *profile,
            f"l2.sets={ENTRIES // self.ways}",
            f"l2.ways={self.ways}",
            f"l2.policy={self.policy}",
            f"l2.clusters={str(self.clusters).lower()}",
        )

    def __str__(self) -> str:
        return f"{self.policy}, {self.ways}-way" + (", clusters" if self.clusters else "")


@dataclass(frozen=True)
class Amount:
    """How much a run does. `largest` and `footprints`: of the sweep; `strides`: footprints of the page stride."""

    accesses: int = 1_000_000
    largest: int = 256 << 20
    strides: tuple[int, ...] = (32 << 10, 256 << 10, 1 << 20, 16 << 20)
    stride_accesses: int = 6_000
    join_rows: int = 100_000

    @property
    def footprints(self) -> list[int]:
        """4 KiB to the largest, doubling."""
        return [4096 << step for step in range((self.largest // 4096).bit_length())]


PAPER_4, PAPER_16 = Design("partition", 4, joined=True), Design("partition", 16)
OURS, DEFAULT = Design("hashed", 4), Design("hashed", 4, clusters=True, joined=True)
DESIGNS = (PAPER_4, PAPER_16, OURS, DEFAULT)
FULL, QUICK = Amount(), Amount(accesses=20_000, stride_accesses=2_000, join_rows=20_000)

# Reach in KiB: largest footprint with few L2 misses, L1 included. The paper's, read from its text, and our goals.
THEIRS = {
    (PAPER_4, "4K", "linear"): 64.0,
    (PAPER_16, "4K", "linear"): 4096.0,
    (PAPER_16, "4K", "random"): 4096.0,
    (PAPER_16, "64K", "random"): 65536.0,
}
GOALS = {
    (PAPER_4, "4K", "linear"): "<= 128",  # the thrash is reproduced: the L1 alone has 128 KiB
    (PAPER_16, "4K", "linear"): "== 4096",
    (PAPER_16, "64K", "linear"): ">= 65536",
    (OURS, "4K", "linear"): ">= 4096",
    (OURS, "64K", "linear"): ">= 65536",
    (DEFAULT, "4K", "linear"): ">= 65536",
}

Curves = dict[tuple[str, str, str], list[tlb_stress.Point]]
"""Points by design, page size and pattern."""
_curves: Curves = {}
"""What the last run measured, for the plot."""


def run(progress: Progress, quick: bool = False, amount: Amount | None = None) -> list[Row]:
    """All rows, in the order of the paper.

    quick: the paper's 4-way array and ours of the same size, fewer accesses and rows. amount: how much to do.
    """
    size = amount or (QUICK if quick else FULL)
    designs = (PAPER_4, OURS) if quick else DESIGNS
    joined = [design for design in designs if design.joined]
    sweeps = len(PAGE_BYTES) * len(PATTERNS)
    total = len(designs) * sweeps + len(joined)
    rows: list[Row] = []
    _curves.clear()
    for number, design in enumerate(designs):
        for done, (page_size, pattern) in enumerate(product(PAGE_BYTES, PATTERNS), number * sweeps):
            progress(f"paper S, {design}, {page_size} pages, {pattern}", done, total)
            rows += _sweep(design, page_size, pattern, size, progress)
        if design in (PAPER_16, OURS):
            rows += _strides(design, size, progress)
        rows += _lookup(design, size, progress)
    for done, design in enumerate(joined, len(designs) * sweeps):
        progress(f"paper S, hash join, {design}", done, total)
        rows += _join(design, size, progress)
    progress("paper S", total, total)
    return rows


def _row(
    name: str,
    config: str,
    value: float,
    unit: str,
    theirs: float | str | None = None,
    goal: str | None = None,
) -> Row:
    return Row(SUITE, name, config, value, unit, theirs, goal)


@contextmanager
def _apart(card: Card, size: int, page_size: str) -> Iterator[tuple[Context, Buffer]]:
    """A buffer with random words, whose pages of 4 KiB but for the first are an odd number of pages away from their frames."""
    with card.context() as context:
        if page_size == "4K":
            # Its first page fills a hole of one, the others lie behind the page that ends the hole.
            first, second = (context.empty(4096, page_size="4K") for _ in range(2))
            first.free()
            buffer = tlb_stress.stress_buffer(context, size, page_size, "scattered", 1)
            second.free()
            frame, bytes_there = buffer.physical()[-1]
            if bytes_there != size - 4096 or not (buffer.address + 4096 ^ frame) & 4096:
                raise CheckError(f"buffer {buffer.address:#x} has its frames at {buffer.physical()}")
        else:
            buffer = tlb_stress.stress_buffer(context, size, page_size, "contiguous", 1)
        yield context, buffer


def _sweep(design: Design, page_size: str, pattern: str, size: Amount, progress: Progress) -> Iterator[Row]:
    """Fig. 2, first parts: how far a TLB reaches, and what it does beyond."""
    with loads.traffic_card(CONFIG, design.overrides(size), progress=progress) as card:

        def measure() -> list[dict]:
            with _apart(card, size.largest, page_size) as (context, buffer):
                return [
                    asdict(_point(card, context, buffer, footprint, pattern, size.accesses))
                    for footprint in size.footprints
                ]

        asked = f"sweep {page_size} {pattern} to {size.largest}, {size.accesses} accesses"
        points = [tlb_stress.Point(**point) for point in kept.step(card.description["hash"], asked, measure)]
    _curves[str(design), page_size, pattern] = points
    config = f"{design}, {size.accesses:,} accesses"
    covered = [p for p in points if (p.l2_misses or 0) <= FEW_MISSES * p.accesses]
    reach = max((p.footprint_bytes for p in covered), default=0) / 1024
    which = (design, page_size, pattern)
    name = f"reach, {pattern}, {page_size} pages"
    yield _row(name, config, reach, "KiB", THEIRS.get(which), GOALS.get(which))
    for p in points:
        if p.footprint_bytes in SHOWN:
            name = f"L2 misses, {pattern}, {page_size} pages, {bytes_text(p.footprint_bytes)}"
            yield _row(name, config, 100 * (p.l2_misses or 0) / p.accesses, "% of accesses")


def _point(
    card: Card, context: Context, buffer: Buffer, footprint: int, pattern: str, accesses: int, **load: int
) -> tlb_stress.Point:
    pages = footprint // tlb_stress.STRIDE_BYTES
    plan = Plan(pages, tlb_stress.STRIDE_BYTES, accesses, pattern, **load)
    return tlb_stress.point(card, context, loads.KERNEL, buffer, plan, physical=False)


def _strides(design: Design, size: Amount, progress: Progress) -> Iterator[Row]:
    """Fig. 2, last part: cycles of a page stride, one access at a time, 64 KiB pages against 4 KiB."""
    cycles: dict[tuple[str, int], float] = {}
    with loads.traffic_card(CONFIG, design.overrides(size), progress=progress) as card:
        for page_size in PAGE_BYTES:
            with _apart(card, max(size.strides), page_size) as (context, buffer):
                for span in size.strides:
                    found = _point(card, context, buffer, span, "linear", size.stride_accesses, outstanding=1)
                    cycles[page_size, span] = found.cycles_per_access
    for span in size.strides:
        saved = 100 * (1 - cycles["64K", span] / cycles["4K", span])
        yield _row(
            f"cycles saved by 64 KiB pages, stride over {bytes_text(span)}",
            f"{design}, {size.stride_accesses:,} accesses, one at a time",
            saved,
            "%",
            "3 to 5",
            ">= 3",
        )


def _lookup(design: Design, size: Amount, progress: Progress) -> Iterator[Row]:
    """§3.0.1: what an L2 hit takes, for either size of pages. Ideal memory, one access at a time."""
    pages, stride, accesses = 128, 65536, 1024
    extra = {}
    memory = {
        "model": "fixed",
        "latency_cycles": 0,
        "page_table_latency_cycles": 0,
        "requests_per_cycle": 4.0,
    }
    with loads.traffic_card(CONFIG, design.overrides(size), memory=memory, progress=progress) as card:
        l1 = card.config["translator"]["l1_entries"]
        for page_size in PAGE_BYTES:
            with card.context() as context:
                buffer = loads.buffer_of(context, pages * stride, page_size)
                for level, count in (("L1", l1 // 2), ("L2", pages)):
                    plan = Plan(count, stride, accesses, outstanding=1)
                    pair = loads.both(card, context, buffer, plan, page=stride)
                    hits = pair.counters["l2"]["hits"]
                    if hits != (accesses if level == "L2" else 0):
                        raise CheckError(
                            f"{hits} of {accesses} accesses hit in the L2, measuring the {level}"
                        )
                    extra[level, page_size] = (
                        pair.translated.latency_sum - pair.physical.latency_sum
                    ) / accesses
    config = f"{design}, ideal memory"
    for page_size in PAGE_BYTES:
        hit = extra["L2", page_size]
        yield _row(f"L2 hit, {page_size} pages, over physical", config, hit, "cycles", 3.0, "<= 4")
    difference = extra["L2", "64K"] - extra["L2", "4K"]
    yield _row("L2 hit, 64K pages less 4K pages", config, difference, "cycles", 0.0, "== 0")


def _join(design: Design, size: Amount, progress: Progress) -> Iterator[Row]:
    """A real join, with the table in pages of 4 KiB and of 64 KiB."""
    overrides = design.overrides(size)
    with loads.traffic_card(CONFIG, overrides, progress=progress) as card:
        card_hash = card.description["hash"]
    found = {}
    for page_size in PAGE_BYTES:

        def measure(page_size: str = page_size) -> dict[str, float]:
            with tempfile.TemporaryDirectory() as directory:
                build, probe = tables(Path(directory), size.join_rows)
                setup = Setup(CONFIG, overrides, page_size=page_size, progress=progress)
                outcome = hashjoin.run(setup, build=build, probe=probe, on="flight_key")
            # Figures that the card counted; what is timed is not the same every time.
            return {figure.name: figure.value for figure in outcome.figures if figure.kind == "simulated"}

        found[page_size] = kept.step(card_hash, f"join {page_size}, {size.join_rows} rows", measure)
    config = f"{design}, {size.join_rows:,} rows"
    for name, unit in (("cycles", "cycles"), ("l2_misses", "accesses"), ("walks", "walks")):
        for page_size, values in found.items():
            yield _row(f"hash join, {page_size} pages: {name.replace('_', ' ')}", config, values[name], unit)
    for name, theirs, goal in (("cycles", 4.2, ">= 4.2"), ("l2_misses", 14.2, ">= 14.2")):
        if found["4K"][name]:
            saved = 100 * (1 - found["64K"][name] / found["4K"][name])
            text = f"hash join: {name.replace('_', ' ')} saved by 64 KiB pages"
            yield _row(text, config, saved, "%", theirs, goal)


def plot(rows: list[Row], path: Path) -> None:
    """Fig. 2: L2 misses and cycles an access by footprint, a curve a design and page size."""
    if _curves:
        figures.draw(_curves, path)
