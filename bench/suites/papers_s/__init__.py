# SPDX-License-Identifier: Apache-2.0
"""SVNAPOT 2024, one L2 TLB for 4 KiB and 64 KiB pages: reach by index policy, cycles of a page stride, hash join.

Configuration `svnapot`: 1,024 L2 entries, 32-entry L1, 8-entry walk cache. The sweep is TLB-stress: pages 4 KiB apart,
footprints of 4 KiB to 256 MiB, warmed up with one pass. The join is real: every flight that left New York in 2013
with the flight of the same number, carrier and origin a day later.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench import loads
from godwit.report import Progress, Row
from godwit.run import tlb_stress
from godwit.run.traffic import Plan
from godwit.run.workload import Setup

SUITE = "papers"
ENTRIES = 1024
LARGEST = 256 << 20
SIZES = tuple(4096 << step for step in range(17))
ACCESSES = {"linear": 6_000, "random": 6_000}
FEW_MISSES = 0.01
"""Share of accesses that miss in the L2 up to which a footprint counts as covered."""
JOIN_ROWS = 100_000


@dataclass(frozen=True)
class Design:
    """An L2 TLB of ENTRIES entries."""

    policy: str
    ways: int
    clusters: bool = False

    @property
    def overrides(self) -> tuple[str, ...]:
        """On top of `svnapot`."""
        sets = ENTRIES // self.ways
        clusters = str(self.clusters).lower()
        return (
            f"l2.sets={sets}",
            f"l2.ways={self.ways}",
            f"l2.policy={self.policy}",
            f"l2.clusters={clusters}",
        )

    def __str__(self) -> str:
        return f"{self.policy}, {self.ways}-way" + (", clusters" if self.clusters else "")


PAPER_4, PAPER_16 = Design("partition", 4), Design("partition", 16)
OURS, DEFAULT = Design("hashed", 4), Design("hashed", 4, clusters=True)
DESIGNS = (PAPER_4, PAPER_16, OURS, DEFAULT)

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

_curves: dict[tuple[Design, str, str], list[tlb_stress.Point]] = {}
"""What the last run measured, for the plot."""


def run(progress: Progress, quick: bool = False) -> list[Row]:
    """All rows, in the order of the paper; `quick`: one design, without the join."""
    if not loads.has_second_level():
        return [Row(SUITE, "second-level TLB: not built yet", "svnapot", None, "")]
    rows: list[Row] = []
    _curves.clear()
    for step, design in enumerate(DESIGNS[:1] if quick else DESIGNS):
        progress(f"tlb-stress, {design}", step, len(DESIGNS) + 2)
        with loads.traffic_card("svnapot", design.overrides) as card:
            for page_size in ("4K", "64K"):
                rows += _sweep(card, design, page_size)
            if design is OURS:
                rows += _strides(card)
    for step, design in enumerate(() if quick else (PAPER_4, DEFAULT)):
        progress(f"hash join, {design}", len(DESIGNS) + step, len(DESIGNS) + 2)
        rows += _join(design)
    progress("done", len(DESIGNS) + 2, len(DESIGNS) + 2)
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


def _sweep(card, design: Design, page_size: str) -> Iterator[Row]:
    """Fig. 2, first parts: how far a TLB reaches, and what it does beyond."""
    with card.context() as context:
        buffer = tlb_stress.stress_buffer(context, LARGEST, page_size, "contiguous", 1)
        for pattern, accesses in ACCESSES.items():
            points = [
                tlb_stress.point(
                    card,
                    context,
                    loads.KERNEL,
                    buffer,
                    Plan(size // tlb_stress.STRIDE_BYTES, tlb_stress.STRIDE_BYTES, accesses, pattern),
                    physical=False,
                )
                for size in SIZES
            ]
            _curves[design, page_size, pattern] = points
            covered = [p for p in points if (p.l2_misses or 0) <= FEW_MISSES * p.accesses]
            reach = max((p.footprint_bytes for p in covered), default=0) / 1024
            which = (design, page_size, pattern)
            yield _row(
                f"reach, {pattern}, {page_size} pages",
                str(design),
                reach,
                "KiB",
                THEIRS.get(which),
                GOALS.get(which),
            )
            for p in points:
                if p.footprint_bytes in (256 << 10, 4 << 20, 64 << 20):
                    yield _row(
                        f"L2 misses, {pattern}, {page_size} pages, {p.footprint_bytes >> 10} KiB",
                        str(design),
                        100 * (p.l2_misses or 0) / p.accesses,
                        "% of accesses",
                    )


def _strides(card) -> Iterator[Row]:
    """Fig. 2, last part: cycles of a page stride, one access at a time, 64 KiB pages against 4 KiB."""
    sizes = (64 << 10, 1 << 20, 16 << 20)
    cycles: dict[tuple[str, int], float] = {}
    for page_size in ("4K", "64K"):
        with card.context() as context:
            buffer = tlb_stress.stress_buffer(context, max(sizes), page_size, "contiguous", 1)
            for size in sizes:
                plan = Plan(size // tlb_stress.STRIDE_BYTES, tlb_stress.STRIDE_BYTES, 6000, outstanding=1)
                found = tlb_stress.point(card, context, loads.KERNEL, buffer, plan, physical=False)
                cycles[page_size, size] = found.cycles_per_access
    for size in sizes:
        saved = 100 * (1 - cycles["64K", size] / cycles["4K", size])
        theirs, goal = ("3 to 5", ">= 3") if size > 16 << 10 else (None, None)
        yield _row(
            f"cycles saved by 64 KiB pages, stride over {size >> 10} KiB", str(OURS), saved, "%", theirs, goal
        )


def _join(design: Design) -> Iterator[Row]:
    """A real join, with the table in pages of 4 KiB and of 64 KiB."""
    from godwit.run import hashjoin

    found = {}
    with tempfile.TemporaryDirectory() as directory:
        build, probe = _flights(Path(directory))
        for page_size in ("4K", "64K"):
            setup = Setup("svnapot", (*design.overrides, "card.external_ports=0"), page_size=page_size)
            outcome = hashjoin.run(setup, build=build, probe=probe, on="flight_key")
            found[page_size] = {figure.name: figure.value for figure in outcome.figures}
    config = f"{design}, {JOIN_ROWS:,} rows"
    for name, unit in (("cycles", "cycles"), ("l2_misses", "accesses"), ("walks", "walks")):
        for page_size, figures in found.items():
            if name in figures:
                yield _row(
                    f"hash join, {page_size} pages: {name.replace('_', ' ')}", config, figures[name], unit
                )
    for name, theirs, goal in (("cycles", 4.2, ">= 4.2"), ("l2_misses", 14.2, ">= 14.2")):
        if found["4K"].get(name):
            saved = 100 * (1 - found["64K"][name] / found["4K"][name])
            yield _row(
                f"hash join: {name.replace('_', ' ')} saved by 64 KiB pages", config, saved, "%", theirs, goal
            )


def _flights(directory: Path) -> tuple[Path, Path]:
    """Two tables of JOIN_ROWS keys: flights by day, carrier, number and origin; and what a day later would be."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    from godwit import data

    source = directory / "flights.parquet"
    data.flights(source)
    table = pq.read_table(source, columns=["year", "month", "day", "carrier", "flight", "origin"])
    order = np.random.default_rng(1).permutation(len(table))[:JOIN_ROWS]
    table = table.take(order)
    days = pa.array(
        np.array(
            [
                f"{y:04}-{m:02}-{d:02}"
                for y, m, d in zip(*(table[n].to_pylist() for n in ("year", "month", "day")), strict=True)
            ],
            dtype="datetime64[D]",
        ).astype(np.int64)
    )
    codes = [
        pc.dictionary_encode(table[name].combine_chunks()).indices.to_numpy()
        for name in ("carrier", "origin")
    ]
    flight = table["flight"].to_numpy()
    paths = []
    for name, shift in (("build", 0), ("probe", 1)):
        keys = (((days.to_numpy() + shift) * 32 + codes[0]) * 4 + codes[1]) * 16384 + flight
        paths.append(directory / f"{name}.parquet")
        pq.write_table(pa.table({"flight_key": pa.array(keys, pa.int64())}), paths[-1])
    return paths[0], paths[1]


def plot(rows: list[Row], path: Path) -> None:
    """Fig. 2: L2 misses and cycles an access by footprint, a curve a design and page size."""
    if not _curves:
        return
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from godwit.units import bytes_text

    figure, axes = plt.subplots(2, 2, figsize=(13, 8), sharex=True, layout="constrained")
    for column, pattern in enumerate(ACCESSES):
        for number, design in enumerate(dict.fromkeys(design for design, _, _ in _curves)):
            for page_size, style in (("4K", "o-"), ("64K", "s--")):
                points = _curves[design, page_size, pattern]
                kib = [p.footprint_bytes / 1024 for p in points]
                look = {"color": f"C{number}", "markersize": 3.5, "label": f"{design}, {page_size} pages"}
                axes[0, column].plot(
                    kib, [100 * (p.l2_misses or 0) / p.accesses for p in points], style, **look
                )
                axes[1, column].plot(kib, [p.cycles_per_access for p in points], style, **look)
        axes[0, column].set_title(f"{pattern} page stride", loc="left", fontsize=10)
        axes[1, column].set_xlabel("footprint")
        axes[1, column].set_xscale("log", base=2)
        axes[1, column].set_xticks(
            [size / 1024 for size in SIZES], [bytes_text(size) for size in SIZES], rotation=60, fontsize=8
        )
    axes[0, 0].set_ylabel("L2 misses, % of accesses")
    axes[1, 0].set_ylabel("cycles an access, 64 in flight")
    for axis in axes.flat:
        axis.grid(alpha=0.3)
        axis.set_ylim(bottom=0)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0, 0].legend(frameon=False, fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)
