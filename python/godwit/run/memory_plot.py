# SPDX-License-Identifier: Apache-2.0
"""Device memory over time as a plot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from godwit.run.on_heap import GRANULE

MIB = 1 << 20


def draw(path: Path, points: Sequence[dict[str, Any]], input_bytes: int, *, clock_hz: float) -> None:
    """Bytes taken by cycle, steps by name, beside once, twice and three times the input."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(9, 4.5), layout="constrained")
    begin = points[0]["cycle"]
    times = [(point["cycle"] - begin) / clock_hz * 1e6 for point in points]
    axis.step(times, [point["bytes"] / MIB for point in points], where="post", color="#4a7ebb")
    lines = {"A": input_bytes, "2 A + 64 KiB (goal)": 2 * input_bytes + GRANULE, "3 A": 3 * input_bytes}
    for (name, size), style in zip(lines.items(), (":", "-", "--"), strict=True):
        axis.axhline(size / MIB, linestyle=style, linewidth=1, color="#999999")
        axis.annotate(
            name, (1.0, size / MIB), xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=8
        )
    for time, point in zip(times, points, strict=True):
        if point["what"] not in ("touch", "reclaim", "begin"):
            axis.annotate(
                point["what"], (time, point["bytes"] / MIB), rotation=20, fontsize=8, xytext=(-4, 6),
                textcoords="offset points", ha="right",
            )  # fmt: skip
    axis.set_title("MiB of device memory taken", loc="left", fontsize=10)
    axis.set_xlabel("µs of simulated time")
    largest = max(3 * input_bytes, *(point["bytes"] for point in points), GRANULE)
    axis.set_ylim(bottom=0, top=1.1 * largest / MIB)
    axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)
    plt.close(figure)
