# SPDX-License-Identifier: Apache-2.0
"""Paper W's application on a table of flights: a column is split into outputs that nobody sized (`godwit run split --rows --text`), and
Fig. 1.2, where what is made later goes where the input was (`godwit run split-chain`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq

from godwit import data
from godwit.report import Progress, Row
from godwit.run import split_chain, split_rows
from godwit.run.workload import Outcome, Setup

SUITE = "papers"
CONFIG = "default"
OVERRIDES = (
    'card.kernels=["split_rows","split_text","split_malloc","split_text_malloc"]',
    "heap.slots=1024",
)
COLUMN, WHERE, TEXT, THEN = "dep_delay", "> 15", "tailnum", "> 60"
QUICK_ROWS = 10_000
GOAL = "<= 1.02"
"""Of the whole table: a short one is over before the first touches of its outputs are hidden."""


def rows(progress: Progress, quick: bool) -> Iterator[Row]:
    """All of them, each as the commands report it; what they write is checked there, row by row."""
    setup = Setup(config=CONFIG, overrides=OVERRIDES, progress=progress)
    with tempfile.TemporaryDirectory(prefix="godwit-bench-") as directory:
        path = Path(directory) / "flights.parquet"
        data.flights(path)
        if quick:
            pq.write_table(pq.read_table(path).slice(0, QUICK_ROWS), path)
        split = split_rows.run(
            setup, path=path, column=COLUMN, where=WHERE, text=TEXT, outputs="malloc", output_dir=path.parent
        )
        chain = split_chain.run(
            setup, path=path, column=COLUMN, where=WHERE, then_column=None, then_where=THEN, output_dir=path.parent
        )  # fmt: skip
    yield from _split(split)
    yield from _chain(chain)


def _row(name: str, config: str, value: float, unit: str, theirs: str | None, goal: str | None) -> Row:
    return Row(SUITE, name, config, value, unit, theirs, goal)


def _split(outcome: Outcome) -> Iterator[Row]:
    """Cycles beside mapped outputs, and memory."""
    value = {figure.name: figure.value for figure in outcome.figures}
    for prefix, column in (("", COLUMN), ("text_", TEXT)):
        config = f"flights, {outcome.facts['rows']:,} rows, column {column}, `{CONFIG}` with heap.slots=1024, 64 KiB granules"
        for by, figure in (("on the heap", "heap_ratio"), ("that the kernel allocates", "malloc_ratio")):
            name = f"split of {column}, outputs {by}: cycles over those with mapped ones"
            goal = GOAL if outcome.facts["rows"] == data.FLIGHTS_ROWS else None
            yield _row(name, config, value[prefix + figure], "ratio", None, goal)
        for what, figure in (
            ("bytes asked for", "outputs_asked"),
            ("taken on the heap, page tables too", "outputs_peak"),
            ("given when they are mapped", "outputs_mapped"),
        ):
            yield _row(
                f"split of {column}, outputs: {what}", config, value[prefix + figure], "bytes", None, None
            )


def _chain(outcome: Outcome) -> Iterator[Row]:
    """The most memory taken beside A."""
    value = {figure.name: figure.value for figure in outcome.figures}
    config = f"flights, {outcome.facts['rows']:,} rows, {COLUMN} {WHERE}, then {THEN}, 4 KiB granules; A has {value['a_bytes']:,} bytes"
    name = "A split into B and C, freed, D made of them (Fig. 1.2), most memory"
    yield _row(
        name, config, value["peak_bytes"], "bytes", "3 A without reuse", f"<= {value['peak_bound']:.0f}"
    )
    yield _row(f"{name}, mapped buffers", config, value["mapped_peak"], "bytes", None, None)
