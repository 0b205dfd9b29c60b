# SPDX-License-Identifier: Apache-2.0
"""``godwit run bfs``: levels of a breadth-first search on a graph in a Parquet file, by the kernel `bfs`."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from godwit.errors import CheckError, InputError
from godwit.outputs import OutputSet
from godwit.run.column import INTEGERS, read_column
from godwit.run.figures import cost_figures
from godwit.run.workload import Outcome, Setup, card_facts, run_all

if TYPE_CHECKING:
    from godwit.launches import LaunchResult

MAX_VERTICES = 1 << 20  # a bit each in the kernel's block RAM
MAX_EDGES = (1 << 32) - 1  # offsets have 32 bits
NO_LEVEL = (1 << 32) - 1


def compressed(begins: np.ndarray, ends: np.ndarray, vertices: int) -> tuple[np.ndarray, np.ndarray]:
    """The graph as the kernel takes it: where each vertex's edges begin in the list of targets, one number more than there are
    vertices, and that list.
    """
    offsets = np.zeros(vertices + 1, np.uint32)
    offsets[1:] = np.cumsum(np.bincount(begins, minlength=vertices))
    return offsets, ends[np.argsort(begins, kind="stable")].astype(np.uint32)


def reference(offsets: np.ndarray, targets: np.ndarray, source: int) -> np.ndarray:
    """The levels by numpy: a whole level at a time."""
    levels = np.full(len(offsets) - 1, NO_LEVEL, np.uint32)
    level, frontier = 0, np.array([source])
    while len(frontier):
        levels[frontier] = level
        edges = [targets[offsets[vertex] : offsets[vertex + 1]] for vertex in frontier]
        reached = np.unique(np.concatenate(edges))
        level, frontier = level + 1, reached[levels[reached] == NO_LEVEL]
    return levels


def run(
    setup: Setup,
    *,
    path: Path,
    source: int,
    columns: tuple[str, str] = ("source", "target"),
    undirected: bool = False,
    vertices: int | None = None,
    output: Path | None = None,
) -> Outcome:
    """Searches the graph whose edges are the rows of `path` from vertex `source` on; every level is compared with numpy's.

    columns: the vertices that an edge leads from and to, int32 or int64, numbered from 0. undirected: each edge leads both ways.
    vertices: how many there are; as many as the edges name when None. output: writes a table of `vertex` and `level`, null where
    no way leads. Raises GodwitError of some kind, and then leaves an existing file as it was.
    """
    begins, ends = (_ends(path, column) for column in columns)
    count = _vertices(path, begins, ends, source, vertices)
    if undirected:
        begins, ends = np.concatenate([begins, ends]), np.concatenate([ends, begins])
    if len(begins) > MAX_EDGES:
        raise InputError(
            f"'{path}' has {len(begins):,} edges", found=f"at most {MAX_EDGES:,} fit", hint="give fewer"
        )
    offsets, targets = compressed(begins, ends, count)
    wanted = reference(offsets, targets, source)
    setup = setup.with_kernel("bfs")
    with ExitStack() as stack:
        files = stack.enter_context(OutputSet(output.parent, option="--output")) if output else None
        card = stack.enter_context(setup.open())
        kernel = setup.kernel_name(card, "bfs")
        sizes = [offsets.nbytes, max(targets.nbytes, 1), 4 * count, 4 * count]
        setup.require_memory(card, sizes)
        context = setup.context(card)
        options: dict[str, Any] = {"page_size": setup.page_size, "contiguous": True}
        link_before = card.stats()["link_ps"]
        levels = context.empty(count, "u4", access="w", **options)
        queue = context.empty(count, "u4", access="rw", **options)
        args = {
            "offsets": context.put(offsets, access="r", **options),
            "targets": context.put(targets, access="r", **options),
            "levels": levels,
            "queue": queue,
            "vertices": count,
            "source": source,
        }
        results: list[LaunchResult] = []

        def check(result: LaunchResult, which: str) -> None:
            # Over the link once; the other runs are checked in place.
            raw = levels.download() if which == "virtual" else levels.to_numpy()
            found = np.frombuffer(raw, np.uint32)
            different = np.flatnonzero(found != wanted)
            if len(different):
                at = different[0]
                raise CheckError(
                    f"bfs gave vertex {at} the level {_shown(found[at])} ({which} addresses)",
                    found=f"numpy gives {_shown(wanted[at])}; {len(different):,} of {count:,} differ",
                    hint="--axi-trace FILE records every access",
                )
            results.append(result)

        runs = run_all(card, context, kernel, args, (levels, queue), check, setup)
        figures = cost_figures(card, context, runs, card.stats()["link_ps"] - link_before)
        facts = card_facts(card, setup.page_size)
        written = {}
        if output and files:
            written["levels"] = str(files.write(output.name, _table(wanted)))
            files.commit()
    return Outcome(
        "bfs",
        f"bfs {path.name} from vertex {source}",
        {
            "input": {"path": str(path), "columns": list(columns), "undirected": undirected},
            "vertices": count,
            "edges": len(targets),
            "source": source,
            "reached": results[0].reached,
            "depth": results[0].depth,
            "edges_seen": results[0].edges,
            "outputs": written,
        },
        figures,
        facts,
    )


def _ends(path: Path, column: str) -> np.ndarray:
    array = read_column(path, column, types=INTEGERS)
    if array.null_count:
        raise InputError(
            f"column '{column}' of '{path}' has {array.null_count:,} nulls",
            found="an edge has a vertex at both ends",
            hint="leave these rows out",
        )
    return array.to_numpy()


def _vertices(path: Path, begins: np.ndarray, ends: np.ndarray, source: int, given: int | None) -> int:
    """How many vertices there are."""
    lowest = min((int(side.min()) for side in (begins, ends) if len(side)), default=0)
    named = max((int(side.max()) for side in (begins, ends) if len(side)), default=-1) + 1
    count = named if given is None else given
    if lowest < 0:
        raise InputError(
            f"'{path}' has an edge of vertex {lowest}",
            found="vertices are numbered from 0",
            hint="number them anew",
        )
    if count > MAX_VERTICES or named > MAX_VERTICES:
        raise InputError(
            f"'{path}' has vertices up to {max(count, named) - 1:,}",
            found=f"the kernel keeps a bit for each of {MAX_VERTICES:,}",
            hint="number the vertices without gaps, or search a part of the graph",
        )
    if named > count:
        raise InputError(
            f"'{path}' has an edge of vertex {named - 1:,}",
            found=f"there are {count:,} vertices, numbered from 0",
            hint=f"--vertices {named} or more",
        )
    if not 0 <= source < count:
        numbered = f"vertices are 0 to {count - 1:,}" if count else "the graph has none"
        raise InputError(
            f"no vertex {source} in '{path}'", found=numbered, hint="--vertices N for those without an edge"
        )
    return count


def _table(levels: np.ndarray) -> Any:
    import pyarrow as pa

    return pa.table(
        {
            "vertex": np.arange(len(levels), dtype=np.int64),
            "level": pa.array(levels.astype(np.int64), mask=levels == NO_LEVEL),
        }
    )


def _shown(level: int) -> str:
    return "none" if level == NO_LEVEL else f"{level}"
