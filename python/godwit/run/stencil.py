# SPDX-License-Identifier: Apache-2.0
"""``godwit run stencil``: iterations of a 2D stencil on a picture, by the kernel `stencil`.

In mode ``accelerator`` one launch makes all iterations; in mode ``software`` the host cuts the picture in tiles and, for each
and in every iteration, copies it to the card, launches, and copies the result back (the two designs that Ng et al.,
"Direct virtual memory access from FPGA for high-productivity heterogeneous computing", FPT 2013, compare).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from godwit.errors import CheckError, InputError, nearest
from godwit.outputs import OutputSet
from godwit.report import Figure
from godwit.run.figures import cost_figures
from godwit.run.picture import read_picture, write_picture
from godwit.run.workload import (
    LAUNCHES,
    Measurement,
    Outcome,
    Runs,
    Setup,
    card_facts,
    launch,
    run_all,
    summed,
)
from godwit.units import bytes_text, seconds_text

if TYPE_CHECKING:
    from godwit.api import Card
    from godwit.buffers import Buffer
    from godwit.launches import LaunchResult
    from godwit.memory import Context

MODES = ("accelerator", "software")
POINTS = (5, 9)
BEAT_BYTES, MIN_PITCH, MAX_PITCH = 64, 128, 16_384  # what the kernel takes


def reference(picture: np.ndarray, points: int, iterations: int) -> np.ndarray:
    """`iterations` of the stencil by numpy: what the kernel has to give, byte for byte. The border stays as it is."""
    now = picture.astype(np.uint16)
    for _ in range(iterations if min(picture.shape) > 2 else 0):
        centre = now[1:-1, 1:-1]
        cross = now[:-2, 1:-1] + now[2:, 1:-1] + now[1:-1, :-2] + now[1:-1, 2:]
        if points == 5:
            total = (4 * centre + cross + 4) >> 3
        else:
            corners = now[:-2, :-2] + now[:-2, 2:] + now[2:, :-2] + now[2:, 2:]
            total = (4 * centre + 2 * cross + corners + 8) >> 4
        now = now.copy()
        now[1:-1, 1:-1] = total
    return now.astype(np.uint8)


@dataclass(frozen=True)
class _Work:
    """What is asked for, with the picture as the kernel takes it: rows of `pitch` bytes."""

    width: int
    rows: np.ndarray
    points: int
    iterations: int

    @property
    def height(self) -> int:
        return len(self.rows)

    @property
    def pitch(self) -> int:
        return self.rows.shape[1]

    def arguments(self, a: Buffer, b: Buffer, height: int, iterations: int) -> dict[str, Any]:
        """Of a launch on `height` rows in `a`."""
        sizes = {"width": self.width, "height": height, "pitch": self.pitch}
        return {"a": a, "b": b, **sizes, "points": self.points, "iterations": iterations}


def run(
    setup: Setup,
    *,
    path: Path,
    iterations: int,
    points: int = 9,
    mode: str = "accelerator",
    tile_bytes: int = 64 << 10,
    output: Path | None = None,
) -> Outcome:
    """Makes `iterations` of a stencil of `points` points on the picture in `path` (see `read_picture`), and compares every byte
    with numpy.

    tile_bytes: memory on the card for a tile and as much for its result, in mode ``software``. output: writes the result there,
    a picture or an array by its name. Raises GodwitError of some kind, and then leaves an existing file as it was.
    """
    _require(setup, iterations, points, mode)
    picture = read_picture(path)
    work = _prepare(picture.points, points, iterations, path)
    tile_rows = _tile_rows(work, tile_bytes) if mode == "software" else work.height
    wanted = reference(picture.points, points, iterations)
    setup = setup.with_kernel("stencil")
    with OutputSet((output or path).parent, option="--output") as files, setup.open() as card:
        if output:
            write_picture(files, output, wanted)  # that it can be written is known before anything runs
        kernel = setup.kernel_name(card, "stencil")
        size = min(tile_rows + 2, work.height) * work.pitch
        setup.require_memory(card, [size, size])
        context = setup.context(card)
        options: dict[str, Any] = {"page_size": setup.page_size, "contiguous": True}
        a, b = (context.empty(size, **options) for _ in range(2))
        spent = _Spent(card)

        def check(rows: np.ndarray, which: str) -> None:
            different = np.argwhere(rows[:, : work.width] != wanted)
            if len(different):
                row, column = different[0]
                raise CheckError(
                    f"stencil gave {rows[row, column]} at row {row}, column {column} ({which} addresses)",
                    found=f"numpy gives {wanted[row, column]}; {len(different):,} of {wanted.size:,} points differ",
                    hint="--axi-trace FILE records every access",
                )

        whole = _accelerator if mode == "accelerator" else _software
        runs = whole(setup, card, context, kernel, work, (a, b), tile_rows, check, spent)
        figures = cost_figures(card, context, runs, spent.link_ps)
        launches = 1 if mode == "accelerator" else iterations * -(-work.height // tile_rows)
        figures[2:2] = [
            Figure("interrupts", "interrupts, one a launch", "interrupts", "simulated", launches, launches),
            Figure("link_bytes", "bytes over the host link", "bytes", "modelled", spent.link_bytes),
            Figure(
                "total_time",
                "copies in, launches, copies back",
                "s",
                "modelled",
                spent.time_ps * 1e-12,
                show=seconds_text,
            ),
        ]
        facts = card_facts(card, setup.page_size)
        if output:
            files.commit()
    tiles = {"tile_rows": tile_rows, "tile_bytes": size} if mode == "software" else {}
    return Outcome(
        "stencil",
        f"stencil {path.name}: {points} points, {iterations} iteration{'s' if iterations > 1 else ''}, {mode}",
        {
            "input": {"path": str(path), "type": picture.type},
            "width": work.width,
            "height": work.height,
            "points": points,
            "iterations": iterations,
            "mode": mode,
            "picture_bytes": work.rows.nbytes,
            **tiles,
            "outputs": {"picture": str(output)} if output else {},
        },
        figures,
        facts,
    )


class _Spent:
    """Link and time of the run with virtual addresses: what a program that wants the result waits for."""

    def __init__(self, card: Card) -> None:
        self._card = card
        self._before = card.stats()
        self._after: dict[str, int] | None = None

    def stop(self) -> None:
        """Later launches do not count."""
        self._after = self._after or self._card.stats()

    def __getattr__(self, name: str) -> int:
        if name in self._before and self._after:
            return self._after[name] - self._before[name]
        raise AttributeError(name)


def _accelerator(
    setup: Setup,
    card: Card,
    context: Context,
    kernel: str,
    work: _Work,
    buffers: tuple[Buffer, Buffer],
    _tile_rows: int,
    check: Callable[[np.ndarray, str], None],
    spent: _Spent,
) -> Runs:
    a, b = buffers
    last = buffers[work.iterations % 2]
    a.upload(work.rows)

    def look(result: LaunchResult, which: str) -> None:
        # Over the link once; the other runs are checked in place.
        raw = last.download() if which == "virtual" else last.to_numpy()
        spent.stop()
        check(np.frombuffer(raw, np.uint8).reshape(work.rows.shape), which)

    args = work.arguments(a, b, work.height, work.iterations)
    return run_all(card, context, kernel, args, buffers, look, setup, initial={"a": work.rows})


def _software(
    setup: Setup,
    card: Card,
    context: Context,
    kernel: str,
    work: _Work,
    buffers: tuple[Buffer, Buffer],
    tile_rows: int,
    check: Callable[[np.ndarray, str], None],
    spent: _Spent,
) -> Runs:
    a, b = buffers
    firsts = range(0, work.height, tile_rows)
    total = 2 * work.iterations * len(firsts)
    measurements: list[Measurement] = []
    for mode, which in LAUNCHES:
        card.clear_counters()
        start = time.perf_counter()
        results: list[LaunchResult] = []
        now, following = work.rows.copy(), np.empty_like(work.rows)
        for _ in range(work.iterations):
            for first in firsts:
                setup.progress(f"running {kernel}", len(measurements) * total // 2 + len(results), total)
                # With the rows above and below, which are the border of what the kernel sees.
                top, last = max(first - 1, 0), min(first + tile_rows, work.height)
                bottom = min(last + 1, work.height)
                a.upload(now[top:bottom])
                args = work.arguments(a, b, bottom - top, 1)
                results.append(launch(card, context, kernel, args, mode))
                raw = b.download((first - top) * work.pitch, (last - first) * work.pitch)
                following[first:last] = np.frombuffer(raw, np.uint8).reshape(-1, work.pitch)
            now, following = following, now
        spent.stop()
        measurements.append(Measurement(summed(results), time.perf_counter() - start, card.counters()))
        check(now, which)
    setup.progress(f"running {kernel}", total, total)
    return Runs(measurements[0], measurements[1])


def _require(setup: Setup, iterations: int, points: int, mode: str) -> None:
    if not 1 <= iterations < 1 << 32:
        raise InputError(f"{iterations} iterations cannot be run", found="iterations are 1 to 4,294,967,295")
    if points not in POINTS:
        raise InputError(f"no stencil of {points} points", found="stencils have 5 or 9 points")
    if mode not in MODES:
        raise InputError(f"no mode '{mode}'", found="modes: " + ", ".join(MODES), hint=nearest(mode, MODES))
    if mode == "software" and setup.memory != "device":
        raise InputError(
            f"mode software does not run on memory '{setup.memory}'",
            found="the host copies tiles to device memory",
            hint="--mode accelerator, or without --memory",
        )


def _prepare(picture: np.ndarray, points: int, iterations: int, path: Path) -> _Work:
    height, width = picture.shape
    if width > MAX_PITCH:
        raise InputError(
            f"'{path}' has rows of {width:,} points",
            found=f"the kernel keeps two rows of up to {MAX_PITCH:,}",
            hint="turn the picture, or cut it",
        )
    rows = np.zeros((height, max(-(-width // BEAT_BYTES) * BEAT_BYTES, MIN_PITCH)), np.uint8)
    rows[:, :width] = picture
    return _Work(width, rows, points, iterations)


def _tile_rows(work: _Work, tile_bytes: int) -> int:
    """Rows of a tile without the two around it."""
    rows = tile_bytes // work.pitch - 2
    if rows < 1:
        raise InputError(
            f"a tile of {bytes_text(tile_bytes)} has no row of its own",
            found=f"a row takes {work.pitch:,} bytes, and those above and below come with it",
            hint=f"--tile {3 * work.pitch} or more",
        )
    return min(rows, work.height)
