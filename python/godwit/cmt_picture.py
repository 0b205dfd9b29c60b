# SPDX-License-Identifier: Apache-2.0
"""The map of physical memory: one row an area, used and free to scale; holes are where rows end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from godwit.cmt import Area, Piece, Simulation
from godwit.units import bytes_text

WIDTH = 64
USED, FREE, MIXED = "█", "·", "▒"


def _parts(area: Area, pieces: Sequence[Piece]) -> list[tuple[int, int, bool]]:
    """(offset, bytes, used) of the pieces within an area."""
    end = area.base + area.nbytes
    parts = []
    for piece in pieces:
        first, last = max(piece.address, area.base), min(piece.address + piece.nbytes, end)
        if first < last:
            parts.append((first - area.base, last - first, piece.kind != "free"))
    return parts


def text_map(areas: Sequence[Area], pieces: Sequence[Piece]) -> list[str]:
    """A line an area: every character stands for the same number of bytes of it, holes between areas are said."""
    longest = max(area.nbytes for area in areas)
    lines = []
    end = None
    for area in sorted(areas, key=lambda area: area.base):
        if end is not None and area.base > end:
            lines.append(f"{'':18}  (hole of {bytes_text(area.base - end)})")
        end = area.base + area.nbytes
        width = max(1, WIDTH * area.nbytes // longest)
        used = [0.0] * width
        cell = area.nbytes / width
        for offset, nbytes, in_use in _parts(area, pieces):
            for place in range(int(offset / cell), min(width, -int(-(offset + nbytes) // cell))):
                overlap = min(offset + nbytes, (place + 1) * cell) - max(offset, place * cell)
                used[place] += max(0.0, overlap) / cell if in_use else 0.0
        drawn = "".join(FREE if share < 0.01 else USED if share > 0.99 else MIXED for share in used)
        lines.append(f"{area.base:#018x}  {drawn}  node {area.node}, {bytes_text(area.nbytes)}")
    return lines


def draw(areas: Sequence[Area], found: Simulation, path: Path) -> None:
    """Writes the map as PNG."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.patches import Patch

    rows = sorted(areas, key=lambda area: area.base)
    figure, axis = plt.subplots(figsize=(11, 0.42 * len(rows) + 1.6), layout="constrained")
    mib = 1 << 20
    end = None
    for number, area in enumerate(rows):
        parts = _parts(area, found.pieces)
        # What is in use comes last and with an edge of its colour: a granule is seen in an area of gigabytes.
        for in_use, colour in ((False, "#cfe3d6"), (True, "#d1495b")):
            spans = [(offset / mib, nbytes / mib) for offset, nbytes, used in parts if used == in_use]
            axis.broken_barh(spans, (number - 0.36, 0.72), facecolors=colour, edgecolor=colour, linewidth=0.5)
        if end is not None and area.base > end:
            axis.axhline(number - 0.5, color="#333333", linestyle=":", linewidth=1)
            note = f"hole of {bytes_text(area.base - end)}"
            axis.annotate(
                note, (1.005, number - 0.5), xycoords=("axes fraction", "data"), fontsize=7, va="center"
            )
        end = area.base + area.nbytes
    axis.set_yticks(range(len(rows)), [f"{area.base:#x}  node {area.node}" for area in rows], fontsize=8)
    axis.set_ylim(len(rows) - 0.4, -0.6)
    axis.set_xlabel("MiB from the area's start", fontsize=9)
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.set_title(
        f"{bytes_text(found.free)} free of {bytes_text(found.total)}, largest piece "
        f"{bytes_text(found.largest)}; {found.served} served, {len(found.failures)} failed",
        fontsize=10,
        loc="left",
    )
    handles = [Patch(color="#d1495b", label="used"), Patch(color="#cfe3d6", label="free")]
    figure.legend(handles=handles, loc="outside lower right", ncols=2, fontsize=8, frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)
