# SPDX-License-Identifier: Apache-2.0
"""Ng 2013, direct virtual memory access: a 2D stencil that the accelerator drives, beside one that the host drives (Fig. 4).

Configuration `default`: kernel and buffers are on the card, so the accelerator's way copies the picture over the link once each way.
The host's way cuts tiles that fit into the paper's 16 KiB of memory on the card (four pages of 4 KiB) and copies, launches and copies
back for each, in every iteration. Both results are checked. The rows that need host memory in place are not built yet.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from godwit.report import Progress, Row, plot_rows
from godwit.run import stencil
from godwit.run.workload import Setup

SUITE = "papers"
CONFIG = "default"
SIZES = (64, 128, 256, 512, 1024)
QUICK = (64, 256)
ITERATIONS = 16
TILE_BYTES = 16 << 10
THEIRS = "1.06 to 2.49"
NOT_BUILT = (
    ("TLB hit, page-cache hit, in place", "2, 2 cycles"),
    ("TLB miss, in place", "600 to 227,000 cycles, through the OS"),
    ("page-cache miss, by the word's position in its page", "11,100 to 18,000 cycles"),
    ("access time against array and stride (Fig. 3)", "one level of cache"),
    ("stencil in place (Fig. 4)", THEIRS),
)


def run(
    progress: Progress,
    quick: bool = False,
    sizes: tuple[int, ...] | None = None,
    iterations: int = ITERATIONS,
) -> list[Row]:
    """Three rows a size, time, interrupts and bytes over the link; then what is not built.

    quick: fewer sizes. sizes: edges of the pictures, in points of a byte.
    """
    edges = sizes or (QUICK if quick else SIZES)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        for step, edge in enumerate(edges):
            progress(f"paper N, stencil of {edge} x {edge}", step, len(edges))
            path = Path(folder) / f"{edge}.npy"
            np.save(path, np.random.default_rng(edge).integers(0, 256, (edge, edge), np.uint8))
            rows += _stencil(path, edge, iterations)
    progress("paper N", len(edges), len(edges))
    return rows + [
        Row(SUITE, f"{name}: not built yet", CONFIG, None, "", theirs) for name, theirs in NOT_BUILT
    ]


def plot(rows: list[Row], path: Path) -> None:
    """A bar a row."""
    plot_rows("papers --paper N", rows, path)


def _stencil(path: Path, edge: int, iterations: int) -> list[Row]:
    values = {}
    for mode in stencil.MODES:
        outcome = stencil.run(
            Setup(CONFIG), path=path, iterations=iterations, mode=mode, tile_bytes=TILE_BYTES
        )
        values[mode] = {figure.name: figure.value for figure in outcome.figures}
    own, host = values["accelerator"], values["software"]
    what = f"stencil {edge} x {edge}, {iterations} iterations"
    return [
        Row(
            SUITE,
            f"{what}: time of the host's way over the accelerator's",
            CONFIG,
            host["total_time"] / own["total_time"],
            "times",
            THEIRS,
            ">= 2.49",
            kind="modelled",
        ),
        Row(
            SUITE,
            f"{what}: interrupts, the accelerator's over the host's way",
            CONFIG,
            own["interrupts"] / host["interrupts"],
            "share",
            "below 0.5",
            "<= 0.1",
        ),
        Row(
            SUITE,
            f"{what}: bytes over the link, the accelerator's over the host's way",
            CONFIG,
            own["link_bytes"] / host["link_bytes"],
            "share",
            kind="modelled",
        ),
    ]
