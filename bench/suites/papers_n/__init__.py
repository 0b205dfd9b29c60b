# SPDX-License-Identifier: Apache-2.0
"""Ng 2013, direct virtual memory access: a 2D stencil that the accelerator drives, beside one that the host drives (Fig. 4), with the
picture in device memory (configuration `default`) and in the host's (`ng`, with single accesses and Fig. 3); in place against migration.

In device memory the accelerator's way copies the picture over the link once each way. The host's way cuts tiles that fit into the paper's
16 KiB of memory on the card (four pages of 4 KiB) and copies, launches and copies back for each, in every iteration. All results are
checked.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from bench.suites.papers_n import crossover, figures, in_place, workloads
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


def run(
    progress: Progress,
    quick: bool = False,
    sizes: tuple[int, ...] | None = None,
    iterations: int = ITERATIONS,
) -> list[Row]:
    """Rows a size, time, interrupts and bytes over the link; then accesses in place, and in place against migration.

    quick: fewer sizes. sizes: edges of the pictures, in points of a byte.
    """
    edges = sizes or (QUICK if quick else SIZES)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        pictures = {edge: Path(folder) / f"{edge}.npy" for edge in edges}
        for step, (edge, path) in enumerate(pictures.items()):
            progress(f"paper N, stencil of {edge} x {edge}", step, len(edges))
            np.save(path, np.random.default_rng(edge).integers(0, 256, (edge, edge), np.uint8))
            rows += _stencil(path, edge, iterations)
        rows += in_place.run(progress, edges, iterations, pictures)
    rows += crossover.run(progress, quick)
    rows += workloads.run(progress, quick)
    progress("paper N", len(edges), len(edges))
    return rows


def plot(rows: list[Row], path: Path) -> None:
    """A bar a row; beside it, as `*-curves.png`, Fig. 3 and the crossover."""
    plot_rows("papers --paper N", rows, path)
    figures.draw(rows, path.with_name(f"{path.stem}-curves.png"))


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
