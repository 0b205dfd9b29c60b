# SPDX-License-Identifier: Apache-2.0
"""The paper's Fig. 2 from what the suite measured."""

from __future__ import annotations

from pathlib import Path

from godwit.run.tlb_stress import Point
from godwit.units import bytes_text


def draw(curves: dict[tuple[str, str, str], list[Point]], path: Path) -> None:
    """L2 misses above cycles, by footprint: a column a pattern, a colour a design, a dash a page size."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    patterns = list(dict.fromkeys(pattern for _, _, pattern in curves))
    designs = list(dict.fromkeys(design for design, _, _ in curves))
    figure, axes = plt.subplots(
        2, len(patterns), figsize=(13, 8), sharex=True, sharey="row", squeeze=False, layout="constrained"
    )
    for (design, page_size, pattern), points in curves.items():
        column = patterns.index(pattern)
        footprints = [point.footprint_bytes for point in points]
        look = {
            "color": f"C{designs.index(design)}",
            "linestyle": "-" if page_size == "4K" else "--",
            "marker": "osD^"[designs.index(design) % 4],
            "markersize": 3.5,
            "label": f"{design}, {page_size} pages",
        }
        misses = [100 * (point.l2_misses or 0) / point.accesses for point in points]
        axes[0, column].plot(footprints, misses, **look)
        axes[1, column].plot(footprints, [point.cycles_per_access for point in points], **look)
    sizes = [point.footprint_bytes for point in next(iter(curves.values()))]
    accesses = next(iter(curves.values()))[0].accesses
    for column, pattern in enumerate(patterns):
        axes[0, column].set_title(f"{pattern}, pages 4 KiB apart", loc="left", fontsize=10)
        axes[1, column].set_xlabel("footprint")
        axes[1, column].set_xscale("log", base=2)
        axes[1, column].set_xticks(sizes, [bytes_text(size) for size in sizes], rotation=60, fontsize=8)
        axes[1, column].minorticks_off()
    axes[0, 0].set_ylabel("L2 misses, % of accesses")
    axes[1, 0].set_ylabel("cycles an access, 64 in flight")
    for axis in axes.flat:
        axis.grid(alpha=0.3)
        axis.set_ylim(bottom=0)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0, 0].legend(frameon=False, fontsize=8)
    figure.suptitle(
        f"Configuration svnapot: 1,024 L2 entries, 32 L1 entries; {accesses:,} accesses after one warming pass",
        x=0.01,
        ha="left",
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)
