# SPDX-License-Identifier: Apache-2.0
"""The paper's tables II and III and its Fig. 5 beside what the suite measured."""

from __future__ import annotations

from pathlib import Path

from godwit.report import Row

PANELS = (
    ("DMA", "(Table III)", "DMA, µs"),
    ("MemCopy", "total (Table II)", "MemCopy with explicit copies, ms"),
    ("Sobel", "over copy (Fig. 5)", "Sobel on migrated pages over explicit copies"),
)
"""Beginning and end of the rows' names, and what they are."""


def draw(rows: list[Row], path: Path) -> None:
    """A bar a row, and one for the paper's where it is a number, on a logarithmic scale."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    found = [
        (begin, end, title, [row for row in rows if row.row.startswith(begin) and row.row.endswith(end)])
        for begin, end, title in PANELS
    ]
    panels = [panel for panel in found if panel[-1]]
    figure, axes = plt.subplots(1, len(panels), figsize=(6 * len(panels), 4.5), layout="constrained")
    for axis, (begin, end, title, shown) in zip(axes, panels, strict=True):
        for offset, label, values in (
            (-0.2, "Godwit", [row.value for row in shown]),
            (0.2, "Kalkhof 2021", [row.theirs for row in shown]),
        ):
            numbers = [(index, value) for index, value in enumerate(values) if isinstance(value, int | float)]
            places = [index + offset for index, _ in numbers]
            bars = axis.barh(places, [value for _, value in numbers], height=0.4, label=label)
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
