# SPDX-License-Identifier: Apache-2.0
"""The paper's Fig. 6.1 to 6.5 and Table 3.1 from the suite's rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from godwit.report import Row
from godwit.units import parse_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STYLES = ("-", "--", "-.", ":")
"""Curves that lie on each other stay visible."""


def draw(rows: list[Row], path: Path, theirs: tuple[float, float], few_pages: int) -> None:
    """One panel a figure."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 4, figsize=(16, 9), layout="constrained")
    _translation(list(axes[0]), rows, theirs, few_pages)
    raw, commands, writers, growth = axes[1]
    _raw(raw, rows)
    _commands(commands, rows)
    _writers(writers, rows)
    _growth(growth, rows)
    for axis in axes.flat:
        axis.spines[["top", "right"]].set_visible(False)
    figure.suptitle(
        "Translation on fletcher (71-cycle reads, one request in four cycles), allocator on default",
        x=0.01,
        ha="left",
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _translation(axes: list[Axes], rows: list[Row], theirs: tuple[float, float], few_pages: int) -> None:
    """Shares of raw throughput by burst."""
    linear, l1, walks, second = axes
    shares = [row for row in rows if row.unit == "% of raw" and row.value is not None]
    by_page = [row for row in shares if row.row.startswith("linear reads")]
    few = [row for row in shares if row.row.startswith(f"random reads of {few_pages} pages")]
    everywhere = [row for row in shares if row.row.startswith("random reads of") and row not in few]
    _by_page(linear, by_page)
    _curves(l1, few, lambda row: row.config.split(", ")[0])
    by_walks = [row for row in everywhere if row.config.startswith("one L1 entry, no L2")]
    _curves(walks, by_walks, lambda row: ", ".join(row.config.split(", ")[2:4]))
    by_size = [row for row in everywhere if "64 walks" in row.config]
    _curves(second, by_size, lambda row: ", ".join(row.config.split(", ")[i] for i in (0, 1, 3)))
    walks.axhspan(*theirs, color="#333333", alpha=0.08, label="theirs, by request size")
    titles = (
        f"Fig. 6.2: random in {few_pages} pages, by L1",
        "Fig. 6.4: random in 2 GiB, by walks in flight",
        "random in 2 GiB, by L1 and L2",
    )
    for axis, title in zip((l1, walks, second), titles, strict=True):
        _by_burst(axis, title)
        axis.set_ylim(0, 105)


def _by_page(axis: Axes, rows: list[Row]) -> None:
    """Linear reads: a curve a burst and length of line."""
    _curves(
        axis,
        rows,
        lambda row: f"{row.row.split(', ')[2]}, {row.config.split(', ')[3]}",
        lambda row: parse_size(row.row.split(", ")[1].removesuffix(" pages")),
    )
    for goal, first in ((99.7, 4 << 10), (99.9, 64 << 10)):
        axis.axhline(goal, color="#333333", linestyle=":", linewidth=1)
        axis.annotate(f"goal {goal}", (first, goal), fontsize=8, va="bottom")
    axis.set_title("Fig. 6.3: linear, by page size", fontsize=10, loc="left")
    axis.set_xscale("log", base=2)
    axis.set_xticks(
        [4 << 10, 64 << 10, 1 << 20, 4 << 20, 64 << 20], ["4 KiB", "64 KiB", "1 MiB", "4", "64 MiB"]
    )
    axis.set_xlabel("page")
    axis.set_ylabel("% of raw throughput")
    axis.set_ylim(98.5, 100.1)
    axis.grid(alpha=0.3)
    axis.legend(frameon=False, fontsize=8, loc="lower right")


def _raw(axis: Axes, rows: list[Row]) -> None:
    """Throughput with physical addresses, on a memory without places and on one with banks and rows."""
    raw = [row for row in rows if row.row.startswith("raw ")]
    _curves(
        axis, raw, lambda row: f"{row.row.split()[1]}, {'DDR4' if 'banked' in row.config else '71 cycles'}"
    )
    _by_burst(axis, "Fig. 6.1: physical addresses")
    axis.set_ylabel("GB/s")
    axis.set_ylim(bottom=0)


def _commands(axis: Axes, rows: list[Row]) -> None:
    """Cycles by size, beside the paper's RTL."""
    for index, name in enumerate(("malloc", "realloc", "free")):
        found = [row for row in rows if row.row.startswith(f"{name}, ") and row.row.endswith("(Fig. 6.5)")]
        points = [(parse_size(row.row.split(", ")[1].split(" to ")[0].split(" (")[0]), row) for row in found]
        color = f"C{index}"
        axis.plot(
            *zip(*((size, row.value) for size, row in points), strict=True),
            "o-",
            color=color,
            label=name,
            markersize=4,
        )
        others = [(size, row.theirs) for size, row in points if row.theirs is not None]
        axis.plot(*zip(*others, strict=True), "x--", color=color, label=f"{name}, theirs")
    axis.axhline(64, color="#333333", linestyle=":", linewidth=1)
    axis.annotate("goal 64", (4096, 64), fontsize=8, va="bottom")
    axis.set_title("Fig. 6.5: cycles by size", fontsize=10, loc="left")
    axis.set_xscale("log", base=2)
    axis.set_xticks([1 << 12, 1 << 20, 1 << 28, 1 << 33], ["4 KiB", "1 MiB", "256 MiB", "8 GiB"])
    axis.set_yscale("log")
    axis.grid(alpha=0.3)
    axis.legend(frameon=False, fontsize=8)


def _writers(axis: Axes, rows: list[Row]) -> None:
    """Linear writers into untouched memory by granule, a curve for each memory and burst."""
    curves: dict[str, list[tuple[int, float]]] = {}
    for row in rows:
        if row.row.startswith("linear writer"):
            _, granule, burst = row.row.split(", ")
            label = f"{row.config.split(', ')[0]}, {burst}"
            curves.setdefault(label, []).append(
                (parse_size(granule.removesuffix(" granules")), row.value or 0.0)
            )
    for label, points in curves.items():
        axis.plot(*zip(*sorted(points), strict=True), "o-", label=label, markersize=4)
    axis.set_title("untouched memory: % of mapped, by granule", fontsize=10, loc="left")
    axis.set_xscale("log", base=2)
    axis.set_xticks([4 << 10, 64 << 10, 2 << 20], ["4 KiB", "64 KiB", "2 MiB"])
    axis.set_ylim(0, 105)
    axis.grid(alpha=0.3)
    axis.legend(frameon=False, fontsize=7, loc="lower right")


def _growth(axis: Axes, rows: list[Row]) -> None:
    """Growing, and where a page that is not there comes from: with a memory of ten cycles."""
    found = [
        row
        for row in rows
        if row.row.startswith(("growth from", "a page that")) and row.config.startswith("L = 10")
    ]
    names = [row.row.rsplit(", ", 1)[1].split(" (")[0] for row in found]
    bars = axis.barh(names, [row.value or 0.0 for row in found], color="#4a7ebb")
    axis.bar_label(bars, [f"{row.value:,.0f}" for row in found], fontsize=8, padding=2)
    axis.invert_yaxis()
    axis.set_xscale("log")
    axis.margins(x=0.2)
    axis.set_title("Table 3.1, cycles: growth; missing page", fontsize=10, loc="left")


def _by_burst(axis: Axes, title: str) -> None:
    axis.set_title(title, fontsize=10, loc="left")
    axis.set_xscale("log", base=2)
    axis.set_xticks([1, 2, 4, 8, 16, 32, 64], ["1", "2", "4", "8", "16", "32", "64"])
    axis.set_xlabel("beats a burst")
    axis.grid(alpha=0.3)
    axis.legend(frameon=False, fontsize=8, loc="lower right")


def _beats(row: Row) -> int:
    return int(row.row.rsplit(", ", 1)[1].split()[0])


def _curves(
    axis: Axes, rows: list[Row], name: Callable[[Row], str], at: Callable[[Row], int] = _beats
) -> None:
    lines: dict[str, list[tuple[int, float]]] = {}
    for row in rows:
        lines.setdefault(name(row), []).append((at(row), row.value or 0.0))
    for label, points in lines.items():
        style = STYLES[list(lines).index(label) % len(STYLES)]
        axis.plot(*zip(*sorted(points), strict=True), f"o{style}", label=label, markersize=4)
