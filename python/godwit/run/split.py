# SPDX-License-Identifier: Apache-2.0
"""``godwit run split``: the rows of a Parquet table that match a predicate and the others, chosen by the
kernel `split`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from godwit.api import OPERATOR_CODES
from godwit.errors import CheckError, InputError
from godwit.outputs import OutputSet
from godwit.run.column import read_column, read_table, type_name
from godwit.run.where import parse
from godwit.run.workload import Outcome, Setup, card_facts, cost_figures, run_all

if TYPE_CHECKING:
    import pyarrow as pa

    from godwit.launches import LaunchResult
    from godwit.run.where import Predicate

INDEX_BYTES = 4  # the kernel writes uint32 row indices


def run(setup: Setup, *, path: Path, column: str, where: str, output_dir: Path) -> Outcome:
    """Splits the table in `path` on ``column`` `where`; writes ``matches.parquet`` and ``rest.parquet``.

    A row matches as pyarrow.compute says; nulls go to the rest, NaN compares as in IEEE 754. Both runs
    (virtual and physical addresses) are checked row by row before anything is written. Raises GodwitError of
    some kind, and then leaves the output directory as it was.
    """
    predicate = parse(where)
    array = read_column(path, column)
    predicate.value(array.type)
    if len(array) >= 1 << 32:
        raise InputError(
            f"'{path}' has {len(array):,} rows", found="row indices are 32 bits", hint="split the file"
        )
    setup = setup.with_kernel("split")
    with OutputSet(output_dir) as files, setup.open() as card:
        kernel = setup.kernel_name(card, "split")
        context = setup.context(card)
        options = {"page_size": setup.page_size, "contiguous": True}
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
        results: list[np.ndarray] = []

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
        facts = card_facts(card, setup.page_size)
        table = read_table(path)
        written = {
            "matches": str(files.write("matches.parquet", table.take(results[0]))),
            "rest": str(files.write("rest.parquet", table.take(results[1]))),
        }
        files.commit()
    rows, count = len(array), len(results[0])
    return Outcome(
        "split",
        f"split {path.name}: {column} {predicate}",
        {
            "input": {
                "path": str(path),
                "column": column,
                "type": type_name(array.type),
                "where": str(predicate),
            },
            "rows": rows,
            "nulls": array.null_count,
            "matches": count,
            "rest": rows - count,
            "input_bytes": input_bytes,
            "outputs": written,
        },
        figures,
        facts,
    )


def _expected(predicate: Predicate, array: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Row indices that match and that do not, in row order, as the reference has them."""
    mask = predicate.mask(array).to_numpy(zero_copy_only=False)
    return np.flatnonzero(mask), np.flatnonzero(~mask)


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
