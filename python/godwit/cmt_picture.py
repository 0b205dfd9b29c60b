# SPDX-License-Identifier: Apache-2.0
"""The map of physical memory: one row an area, used and free to scale; holes are where rows end.

What is in use is looked up in one cumulative function of the address, so that a map takes time with its cells and pieces,
and not with areas times pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from godwit.cmt import Area, Piece, Simulation
from godwit.units import bytes_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 64
USED, FREE, MIXED = "█", "·", "▒"

CELLS = 1024
"""Of the longest row of a picture."""
ROWS_MAX = 128
"""Of a picture; with more areas a row has several, end to end."""
LABELS_MAX = 32
HEIGHT_MAX = 12.0
"""Inches of all rows."""
COLOURS = {"free": (0xCF, 0xE3, 0xD6), "used": (0xD1, 0x49, 0x5B), "hole": (0xFF, 0xFF, 0xFF)}


class _Use:
    """Which share of any addresses is in use."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        used = [piece for piece in pieces if piece.kind != "free"]
        # Relative to the first one: a float has 53 bits, an address 64.
        self._base = used[0].address if used else 0
        ends = [(piece.address - self._base, piece.nbytes) for piece in used]
        self._places = np.array([place for at, n in ends for place in (at, at + n)] or [0], dtype=float)
        before = np.cumsum([0.0, *(float(n) for _, n in ends)])
        self._bytes = np.repeat(before, 2)[1:-1] if ends else np.zeros(1)

    def shares(self, area: Area, cells: int) -> NDArray[np.float64]:
        """Of each of so many equal cells of an area, 0 to 1."""
        edges = (area.base - self._base) + np.linspace(0.0, float(area.nbytes), cells + 1)
        return np.diff(np.interp(edges, self._places, self._bytes)) / (area.nbytes / cells)


def text_map(areas: Sequence[Area], pieces: Sequence[Piece]) -> list[str]:
    """A line an area: every character stands for the same number of bytes of it, holes between areas are said."""
    longest = max(area.nbytes for area in areas)
    use = _Use(pieces)
    lines = []
    end = None
    for area in sorted(areas, key=lambda area: area.base):
        if end is not None and area.base > end:
            lines.append(f"{'':18}  (hole of {bytes_text(area.base - end)})")
        end = area.base + area.nbytes
        shares = use.shares(area, max(1, WIDTH * area.nbytes // longest))
        drawn = "".join(FREE if share < 0.01 else USED if share > 0.99 else MIXED for share in shares)
        lines.append(f"{area.base:#018x}  {drawn}  node {area.node}, {bytes_text(area.nbytes)}")
    return lines


def _image(rows: Sequence[Sequence[Area]], use: _Use) -> NDArray[np.uint8]:
    """A line of colours a row, to scale. What is used a little is seen all the same."""
    longest = max(sum(area.nbytes for area in row) for row in rows)
    free, used = np.array(COLOURS["free"], float), np.array(COLOURS["used"], float)
    image = np.full((len(rows), CELLS, 3), COLOURS["hole"], dtype=np.uint8)
    for line, row in zip(image, rows, strict=True):
        offset = 0
        for area in row:
            first, last = (CELLS * place // longest for place in (offset, offset + area.nbytes))
            first, last = min(first, CELLS - 1), max(last, first + 1)
            shares = use.shares(area, last - first)
            strength = np.where(shares > 0, 0.25 + 0.75 * shares, 0.0).clip(0, 1)[:, None]
            line[first:last] = (free + (used - free) * strength).astype(np.uint8)
            offset += area.nbytes
    return image


def _label(row: Sequence[Area]) -> str:
    if len(row) == 1:
        return f"{row[0].base:#x}  node {row[0].node}"
    return f"{row[0].base:#x}  {len(row)} areas"


def draw(areas: Sequence[Area], found: Simulation, path: Path) -> None:
    """Writes the map as PNG, 1,600 pixels high at most."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.patches import Patch

    ordered = sorted(areas, key=lambda area: area.base)
    each = -(-len(ordered) // ROWS_MAX)
    rows = [ordered[first : first + each] for first in range(0, len(ordered), each)]
    height = min(HEIGHT_MAX, 0.42 * len(rows))
    figure, axis = plt.subplots(figsize=(11, height + 1.3), layout="constrained")
    image = _image(rows, _Use(found.pieces))
    # A row is 8 lines of which the outer ones are empty.
    lines = np.repeat(image, 8, axis=0)
    lines[0::8] = lines[7::8] = COLOURS["hole"]
    longest = max(sum(area.nbytes for area in row) for row in rows)
    axis.imshow(
        lines,
        extent=(0.0, longest / (1 << 20), len(rows) - 0.5, -0.5),
        aspect="auto",
        interpolation="nearest",
    )
    if each == 1 and len(rows) <= LABELS_MAX:
        _mark_holes(axis, ordered)
    step = -(-len(rows) // LABELS_MAX)
    labels = [_label(row) for row in rows[::step]]
    axis.set_yticks(range(0, len(rows), step), labels, fontsize=8)
    axis.set_xlabel("MiB from the row's start" + (", without holes" if each > 1 else ""), fontsize=9)
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.set_title(
        f"{bytes_text(found.free)} free of {bytes_text(found.total)}, largest piece "
        f"{bytes_text(found.largest)}; {found.served} served, {len(found.failures)} failed",
        fontsize=10,
        loc="left",
    )
    handles = [Patch(color=f"#{bytes(COLOURS[name]).hex()}", label=name) for name in ("used", "free")]
    figure.legend(handles=handles, loc="outside lower right", ncols=2, fontsize=8, frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _mark_holes(axis: Axes, areas: Sequence[Area]) -> None:
    for number, (before, area) in enumerate(pairwise(areas), start=1):
        hole = area.base - before.base - before.nbytes
        if hole:
            axis.axhline(number - 0.5, color="#333333", linestyle=":", linewidth=1)
            place = (1.005, number - 0.5)
            axis.annotate(
                f"hole of {bytes_text(hole)}",
                place,
                xycoords=("axes fraction", "data"),
                fontsize=7,
                va="center",
            )
