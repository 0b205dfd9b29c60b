# SPDX-License-Identifier: Apache-2.0
"""The paper's tables II and III beside what the suite measured."""

from __future__ import annotations

from pathlib import Path

from godwit.report import Row

PANELS = (
    ("DMA", "(Table III)", "DMA, µs"),
    ("MemCopy", "total (Table II)", "MemCopy with explicit copies, ms"),
)
"""Beginning and end of the rows' names, and what they are."""


def draw(rows: list[Row], path: Path) -> None:
    """A bar a row of either table, and one for the paper's, on a logarithmic scale."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(PANELS), figsize=(12, 4.5), layout="constrained")
    for axis, (begin, end, title) in zip(axes, PANELS, strict=True):
        shown = [row for row in rows if row.row.startswith(begin) and row.row.endswith(end)]
        for offset, label, values in (
            (-0.2, "Godwit", [row.value for row in shown]),
            (0.2, "Kalkhof 2021", [row.theirs for row in shown]),
        ):
            places = [index + offset for index in range(len(shown))]
            bars = axis.barh(places, values, height=0.4, label=label)
            axis.bar_label(bars, fmt="%.4g", fontsize=8, padding=3)
        names = [row.row.removeprefix(begin).removesuffix(end).strip(" ,") for row in shown]
        axis.set_yticks(range(len(shown)), names, fontsize=8)
        axis.set_xscale("log")
        axis.margins(x=0.15)
        axis.invert_yaxis()
        axis.set_title(title, loc="left", fontsize=10)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].legend(frameon=False, fontsize=8)
    figure.suptitle(
        "Configuration tapasco: page DMA and kernel are RTL; link, memory and host are modelled",
        x=0.01,
        ha="left",
    )
    figure.savefig(path, dpi=120)
    plt.close(figure)
