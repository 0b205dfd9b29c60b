# SPDX-License-Identifier: Apache-2.0
"""``godwit run split --row-numbers``: the rows of a Parquet table that match a predicate and the others, chosen by the
kernel `split`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from godwit.api import OPERATOR_CODES
from godwit.errors import CheckError, InputError
from godwit.outputs import OutputSet
from godwit.run import on_heap
from godwit.run.column import read_column, read_table, type_name
from godwit.run.figures import cost_figures
from godwit.run.where import parse
from godwit.run.workload import Outcome, Setup, card_facts, run_all

if TYPE_CHECKING:
    import pyarrow as pa

    from godwit.api import Card
    from godwit.launches import LaunchResult
    from godwit.memory import Context
    from godwit.report import Figure
    from godwit.run.where import Predicate
    from godwit.run.workload import Measurement

INDEX_BYTES = 4  # the kernel writes uint32 row indices


def run(
    setup: Setup, *, path: Path, column: str, where: str, output_dir: Path, outputs: str | None = None
) -> Outcome:
    """Splits the table in `path` on ``column`` `where`; writes ``matches.parquet`` and ``rest.parquet``.

    A row matches as pyarrow.compute says; nulls go to the rest, NaN compares as in IEEE 754. Both runs
    (virtual and physical addresses) are checked row by row before anything is written. outputs: ``heap`` runs once more with outputs
    that nobody sized, and takes the results from there; None does so on a card that can have a heap. Raises GodwitError of some kind, and then
    leaves the output directory as it was.
    """
    predicate, array = column_to_split(path, column, where)
    setup, heap = on_heap.prepared(setup, outputs)
    setup = setup.with_kernel("split")
    with OutputSet(output_dir) as files, setup.open() as card:
        kernel = setup.kernel_name(card, "split")
        context = setup.context(card)
        options: dict[str, Any] = {"page_size": setup.page_size, "contiguous": True}
        input_bytes = array.get_total_buffer_size()
        index_bytes = len(array) * INDEX_BYTES
        setup.require_memory(card, [input_bytes, index_bytes, index_bytes])
        link_before = card.stats()["link_ps"]
        values = context.put(array, access="r", **options)
        matches = context.empty(len(array), "u4", access="w", **options)
        rest = context.empty(len(array), "u4", access="w", **options)
        args = {
            **values.column(),
            "op": OPERATOR_CODES[predicate.operator],
            "constant": predicate.bits(array.type),
            "matches": matches,
            "rest": rest,
        }
        expected = _expected(predicate, array)
        results: list[Any] = []

        def check(result: LaunchResult, which: str) -> None:
            count = result.match_count
            if count > len(array):
                raise CheckError(
                    f"split counted {count:,} matches in {len(array):,} rows ({which} addresses)"
                )
            pair = [(matches, count), (rest, len(array) - count)]
            if (
                which == "virtual"
            ):  # the results come back over the link once; the physical run is checked in place
                indices = [np.frombuffer(buffer.download(0, n * INDEX_BYTES), "u4") for buffer, n in pair]
                results.extend(indices)
            else:
                indices = [buffer.to_numpy()[:n] for buffer, n in pair]
            for name, got, wanted in zip(("matches", "rest"), indices, expected, strict=True):
                _compare(name, got, wanted, which)

        runs = run_all(card, context, kernel, args, (matches, rest), check, setup)
        figures = cost_figures(card, context, runs, card.stats()["link_ps"] - link_before)
        if heap:
            results, more = _on_heap(card, context, kernel, args, runs.translated, expected)
            figures += more
        facts = card_facts(card, setup.page_size)
        table = read_table(path)
        written = {
            "matches": str(files.write("matches.parquet", table.take(results[0]))),
            "rest": str(files.write("rest.parquet", table.take(results[1]))),
        }
        files.commit()
    described = {
        **split_facts(path, column, predicate, array, len(results[0])),
        "input_bytes": input_bytes,
        "outputs_on": "heap" if heap else "mapped",
        "outputs": written,
    }
    return Outcome("split", f"split {path.name}: {column} {predicate}", described, figures, facts)


def column_to_split(
    path: Path, column: str, where: str, option: str = "--where"
) -> tuple[Predicate, pa.Array]:
    """The predicate, given by `option`, and the column it is about. Raises InputError for anything that the kernels do not take."""
    predicate = parse(where, option)
    array = read_column(path, column)
    predicate.value(array.type)
    if len(array) >= 1 << 32:
        raise InputError(
            f"'{path}' has {len(array):,} rows", found="row indices are 32 bits", hint="split the file"
        )
    return predicate, array


def split_facts(
    path: Path, column: str, predicate: Predicate, array: pa.Array, matches: int
) -> dict[str, Any]:
    """What was split, and into how many rows."""
    return {
        "input": {
            "path": str(path),
            "column": column,
            "type": type_name(array.type),
            "where": str(predicate),
        },
        "rows": len(array),
        "nulls": array.null_count,
        "matches": matches,
        "rest": len(array) - matches,
    }


def _expected(predicate: Predicate, array: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Row indices that match and that do not, in row order, as the reference has them."""
    mask = predicate.mask(array).to_numpy(zero_copy_only=False)
    return np.flatnonzero(mask), np.flatnonzero(~mask)


def _on_heap(
    card: Card,
    context: Context,
    kernel: str,
    args: dict[str, Any],
    mapped: Measurement,
    expected: tuple[np.ndarray, np.ndarray],
) -> tuple[list[pa.Array], list[Figure]]:
    """The same with outputs on the heap: the row numbers as Arrow arrays on its memory, of exactly their length, and what it cost."""
    import pyarrow as pa

    done = on_heap.run_on_heap(card, context, kernel, args, ("matches", "rest"), mapped)
    count = done.run.result.match_count
    counts = {"matches": count, "rest": args["rows"] - count}
    arrays = []
    for (name, rows), wanted in zip(counts.items(), expected, strict=True):
        array = done.outputs[name].to_arrow(pa.uint32(), rows)
        _compare(name, array.to_numpy(zero_copy_only=True), wanted, "heap")
        arrays.append(array)
    lengths = {name: rows * INDEX_BYTES for name, rows in counts.items()}
    done.trim(lengths)
    return arrays, done.figures(lengths)


def _compare(name: str, got: np.ndarray, wanted: np.ndarray, which: str) -> None:
    if len(got) != len(wanted):
        raise CheckError(
            f"split gave {len(got):,} rows in {name} ({which} addresses)",
            found=f"pyarrow.compute gives {len(wanted):,}",
        )
    different = np.flatnonzero(got != wanted)
    if len(different):
        at = different[0]
        raise CheckError(
            f"split gave row {got[at]} as number {at} of {name} ({which} addresses)",
            found=f"pyarrow.compute gives row {wanted[at]}; {len(different):,} of {len(got):,} differ",
            hint="--axi-trace FILE records every access",
        )
