# SPDX-License-Identifier: Apache-2.0
"""The paper's tables II and III, its Fig. 5, and data larger than device memory, beside what the suite measured."""

from __future__ import annotations

from pathlib import Path

from godwit.report import Row

PAPER = "Kalkhof 2021"
PANELS = (
    ("DMA", "(Table III)", "DMA, µs", PAPER),
    ("MemCopy", "total (Table II)", "MemCopy with explicit copies, ms", PAPER),
    ("Sobel", "over copy (Fig. 5)", "Sobel on migrated pages over explicit copies", PAPER),
    (
        "",
        "bytes to the card over the least possible",
        "Bytes to the card over the least possible",
        "LRU of 2 MiB",
    ),
)
"""Beginning and end of the rows' names, what they are, and whose the other bar is."""


def _number(theirs: float | str | None) -> float | None:
    """The first word of it, where that is a number."""
    try:
        return float(str(theirs).split()[0])
    except ValueError:
        return None


def draw(rows: list[Row], path: Path) -> None:
    """A bar a row, and one for the paper's where it is a number, on a logarithmic scale."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    found = [
        (
            begin,
            end,
            title,
            other,
            [row for row in rows if row.row.startswith(begin) and row.row.endswith(end)],
        )
        for begin, end, title, other in PANELS
    ]
    panels = [panel for panel in found if panel[-1]]
    size = (6 * len(panels), 4.5)
    figure, axes = plt.subplots(1, len(panels), figsize=size, layout="constrained", squeeze=False)
    for axis, (begin, end, title, other, shown) in zip(axes[0], panels, strict=True):
        for offset, label, values in (
            (-0.2, "Godwit", [row.value for row in shown]),
            (0.2, other, [_number(row.theirs) for row in shown]),
        ):
            numbers = [(index, value) for index, value in enumerate(values) if isinstance(value, int | float)]
            places = [index + offset for index, _ in numbers]
            bars = axis.barh(places, [value for _, value in numbers], height=0.4, label=label)
            axis.bar_label(bars, fmt="%.4g", fontsize=8, padding=3)
        names = [row.row.removeprefix(begin).removesuffix(end).strip(" ,:") for row in shown]
        axis.set_yticks(range(len(shown)), names, fontsize=8)
        axis.set_xscale("log")
        axis.margins(x=0.15)
        axis.invert_yaxis()
        axis.set_title(title, loc="left", fontsize=10)
        axis.spines[["top", "right"]].set_visible(False)
        axis.legend(frameon=False, fontsize=8)
    figure.suptitle(
        "Configuration tapasco: page DMA and kernel are RTL; link, memory and host are modelled",
        x=0.01,
        ha="left",
    )
    figure.savefig(path, dpi=120)
    plt.close(figure)
