# SPDX-License-Identifier: Apache-2.0
"""Fig. 3 of the paper as curves, and where moving pages begins to win over leaving them."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

from godwit.report import Row

STRIDES = re.compile(r"in place: array of (\d+) KiB, stride of (\d+) bytes")
CROSSOVER = re.compile(r"(\d+) lines a page, read (\d+) times")


def draw(rows: list[Row], path: Path) -> None:
    """Three panels: access time against stride with the paper's rate, the same with plain PCIe gen1 x1, in place against migration."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    links = list(dict.fromkeys(row.config for row in rows if STRIDES.match(row.row)))
    figure, axes = plt.subplots(1, len(links) + 1, figsize=(5 * len(links) + 5, 4.4), layout="constrained")
    for axis, link in zip(axes, links, strict=False):
        shown = [row for row in rows if row.config == link]
        _curves(axis, shown, STRIDES, "array of {} KiB")
        axis.set_title(f"Fig. 3, {link}", loc="left", fontsize=10)
        axis.set_xlabel("stride, bytes")
        axis.set_ylabel("cycles an access, mean (RTL; link modelled)")
    _curves(axes[-1], rows, CROSSOVER, "{} lines a page")
    axes[-1].axhline(1, color="#888888", linewidth=0.8)
    axes[-1].set_title("In place over moved: below 1 staying wins", loc="left", fontsize=10)
    axes[-1].set_xlabel("times each line is read")
    axes[-1].set_ylabel("time in place over time moved")
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
