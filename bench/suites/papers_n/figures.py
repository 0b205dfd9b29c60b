# SPDX-License-Identifier: Apache-2.0
"""Fig. 3 of the paper as curves, and where moving pages begins to win over leaving them."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

from godwit.report import Row

STRIDES = re.compile(r"in place: array of (\d+) KiB, stride of (\d+) bytes")
CROSSOVER = re.compile(r"(\d+) lines a page, read (\d+) times")
FIRST = re.compile(r"auto, first launch: (\d+) lines a page, read (\d+) times")
LATER = re.compile(r"auto, later launches: (\d+) lines a page, read (\d+) times")


def draw(rows: list[Row], path: Path) -> None:
    """Panels: access time against stride with the paper's rate, the same with plain PCIe gen1 x1; in place against migration, and `auto`
    over the better of both, in a first launch and in later ones."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    links = list(dict.fromkeys(row.config for row in rows if STRIDES.match(row.row)))
    figure, axes = plt.subplots(1, len(links) + 3, figsize=(5 * len(links) + 15, 4.4), layout="constrained")
    for axis, link in zip(axes, links, strict=False):
        shown = [row for row in rows if row.config == link]
        _curves(axis, shown, STRIDES, "array of {} KiB")
        axis.set_title(f"Fig. 3, {link}", loc="left", fontsize=10)
        axis.set_xlabel("stride, bytes")
        axis.set_ylabel("cycles an access, mean (RTL; link modelled)")
    ways = {
        "In place over moved: below 1 staying wins": CROSSOVER,
        "auto over the better: first launch": FIRST,
        "auto over the better: later launches": LATER,
    }
    for axis, (title, pattern) in zip(axes[len(links) :], ways.items(), strict=True):
        _curves(axis, rows, pattern, "{} lines a page")
        axis.axhline(1, color="#888888", linewidth=0.8)
        axis.set_title(title, loc="left", fontsize=10)
        axis.set_xlabel("times each line is read")
        axis.set_ylabel("time over time")
        if pattern is not CROSSOVER:
            axis.set_yscale("linear")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _curves(axis, rows: list[Row], pattern: re.Pattern[str], label: str) -> None:
    """A curve for each first number of the rows' names, over the second."""
    curves: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for row in rows:
        found = pattern.match(row.row)
        if found and row.value is not None:
            curves[int(found[1])].append((int(found[2]), row.value))
    for which, points in sorted(curves.items()):
        axis.plot(*zip(*sorted(points), strict=True), marker="o", markersize=4, label=label.format(which))
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.spines[["top", "right"]].set_visible(False)
    if curves:
        axis.legend(frameon=False, fontsize=8)
