# SPDX-License-Identifier: Apache-2.0
"""Whole programs in place, moved, and as the system decides (`auto`): kernels that read once, write as much as they read, use each byte
again and again, or follow a graph, each on plain memory of this process that comes home after every launch. Times as in `crossover`; every
result is compared with numpy's.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

import godwit
from bench.suites.papers_n import crossover
from godwit import data
from godwit.api import Card
from godwit.report import Progress, Row
from godwit.run import bfs, sobel, stencil

KERNELS = ("memcopy", "array_sum", "sobel", "stencil", "bfs")
OVERRIDES = (
    *(override for override in crossover.OVERRIDES if not override.startswith("card.kernels")),
    f"card.kernels={json.dumps(KERNELS)}",
)


@dataclass(frozen=True)
class Program:
    """A kernel, its arrays, and what it has to give."""

    name: str
    kernel: str
    arrays: dict[str, np.ndarray]
    scalars: dict[str, int]
    right: Callable[[dict[str, np.ndarray], Any], bool]
    """Of the arrays afterwards, and the launch's result."""


def run(progress: Progress, quick: bool = False) -> list[Row]:
    """Rows a program: its second launch is one on the card, where the first said that it should be. quick: the smaller half."""
    rows: list[Row] = []
    with godwit.open("sim:default", shared=True, overrides=OVERRIDES) as card:
        chosen = list(_programs(quick))
        for step, program in enumerate(chosen):
            progress(f"paper N, {program.name}", step, len(chosen))
            rows += _rows(card, program)
    return rows


def _programs(quick: bool) -> Iterator[Program]:
    random = np.random.default_rng(1)
    for kib in (64,) if quick else (64, 256, 1024):
        yield _memcopy(random, kib << 10)
        yield _array_sum(random, kib << 10)
    for edge in (128,) if quick else (256, 512):
        yield _sobel(random, edge)
    for edge, iterations in ((128, 2),) if quick else ((256, 1), (256, 4), (256, 16)):
        yield _stencil(random, edge, iterations)
    for vertices, degree in ((1 << 10, 4),) if quick else ((1 << 12, 8), (1 << 15, 8)):
        edges = random.integers(0, vertices, (2, vertices * degree))
        yield _bfs(f"{vertices:,} vertices with {degree} edges", *edges, vertices)
    if not quick:
        yield _grid()


def _array(values: np.ndarray) -> np.ndarray:
    """As they are, from the begin of a group on."""
    place = crossover.pages(-(-values.nbytes // crossover.PAGE)).view(np.uint8)[: values.nbytes]
    array = place.view(values.dtype).reshape(values.shape)
    array[:] = values
    return array


def _memcopy(random: np.random.Generator, size: int) -> Program:
    source = random.integers(0, 256, size, np.uint8)
    return Program(
        f"memcopy of {size >> 10} KiB",
        "memcopy",
        {"src": _array(source), "dst": _array(np.zeros_like(source))},
        {"bytes": size, "iterations": 1},
        lambda arrays, _: np.array_equal(arrays["dst"], source),
    )


def _array_sum(random: np.random.Generator, size: int) -> Program:
    values = random.integers(0, 1 << 30, size // 8, np.int64)
    total = int(values.sum())
    return Program(
        f"array_sum of {size >> 10} KiB",
        "array_sum",
        {"values": _array(values)},
        {"count": len(values), "dtype": 1},
        lambda _, done: done.sum == total,
    )


def _sobel(random: np.random.Generator, edge: int) -> Program:
    picture = random.integers(0, 256, (edge, edge), np.uint8)
    wanted = sobel.reference(picture)
    return Program(
        f"sobel of {edge} x {edge}",
        "sobel",
        {"src": _array(picture), "dst": _array(np.zeros_like(picture))},
        {"width": edge, "height": edge},
        lambda arrays, _: np.array_equal(arrays["dst"], wanted),
    )


def _stencil(random: np.random.Generator, edge: int, iterations: int) -> Program:
    picture = random.integers(0, 256, (edge, edge), np.uint8)
    a, b = _array(picture), _array(np.zeros_like(picture))

    def right(arrays: dict[str, np.ndarray], _: Any) -> bool:
        # Each launch goes on with what is in `a`.
        nonlocal picture
        wanted = stencil.reference(picture, 9, iterations)
        picture = arrays["a"].copy()
        return np.array_equal(arrays["b" if iterations % 2 else "a"], wanted)

    return Program(
        f"stencil of {edge} x {edge}, {iterations} iteration{'s' if iterations > 1 else ''}",
        "stencil",
        {"a": a, "b": b},
        {"width": edge, "height": edge, "pitch": edge, "points": 9, "iterations": iterations},
        right,
    )


def _grid() -> Program:
    """The European high-voltage grid, `godwit data grid`: a graph that is wide, 57 edges from end to end."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "edges.parquet"
        vertices, _ = data.grid(path)
        table = pq.read_table(path)
    begins, ends = (table[name].to_numpy() for name in ("source", "target"))
    return _bfs("the European grid", np.concatenate([begins, ends]), np.concatenate([ends, begins]), vertices)


def _bfs(name: str, begins: np.ndarray, ends: np.ndarray, vertices: int) -> Program:
    offsets, targets = bfs.compressed(begins, ends, vertices)
    wanted = bfs.reference(offsets, targets, 0)
    levels = np.zeros(vertices, np.uint32)
    return Program(
        f"bfs of {name}",
        "bfs",
        {
            "offsets": _array(offsets),
            "targets": _array(targets),
            "levels": _array(levels),
            "queue": _array(levels),
        },
        {"vertices": vertices, "source": 0},
        lambda arrays, _: np.array_equal(arrays["levels"], wanted),
    )


def _rows(card: Card, program: Program) -> list[Row]:
    times: dict[str, list[float]] = {}
    for way in crossover.WAYS:
        for array in program.arrays.values():
            card.advise(array, way)
        times[way] = [_time(card, program) for _ in range(crossover.launches(way))]
    moved, in_place, auto = times["migrate"][0], times["in_place"][0], times["auto"]
    better = min(moved, in_place)
    row = crossover.row
    return [
        row(f"{program.name}: time in place over moved", in_place / moved),
        row(f"auto, first launch: {program.name}: time over the better of both", auto[0] / better),
        row(f"auto, second launch: {program.name}: time over the better of both", auto[1] / better),
        row(
            f"auto, later launches: {program.name}: time over the better of both",
            auto[-1] / better,
            "<= 1.05",
        ),
    ]


def _time(card: Card, program: Program) -> float:
    """Picoseconds of the card's clock until all arrays are home again."""
    before = card.stats()["time_ps"]
    done = card.launch(program.kernel, **program.arrays, **program.scalars)
    for array in program.arrays.values():
        card.migrate_to_host(array)
    took = card.stats()["time_ps"] - before
    if not program.right(program.arrays, done):
        raise godwit.DeviceError(f"{program.name} gave something else than numpy does")
    return took
