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
    # Time counts from where something is taken: before it the host writes its input.
    begin = next((point for point in points if point["bytes"]), points[0])["cycle"]
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
            axis.axvline(time, linewidth=0.6, color="#cccccc")
            axis.annotate(
                point["what"], (time, 0.98), xycoords=("data", "axes fraction"), rotation=90, fontsize=8,
                ha="right", va="top",
            )  # fmt: skip
    axis.set_title("MiB of device memory taken", loc="left", fontsize=10)
    axis.set_xlabel("µs of simulated time")
    largest = max(3 * input_bytes, *(point["bytes"] for point in points), GRANULE)
    axis.set_xlim(-0.04 * times[-1], 1.02 * times[-1])
    axis.set_ylim(bottom=0, top=1.1 * largest / MIB)
    axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)
    plt.close(figure)
