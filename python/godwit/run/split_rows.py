# SPDX-License-Identifier: Apache-2.0
"""``godwit run split``: a column's rows themselves, values with validity, in two arrays, by the kernel `split_rows`, and those of
a utf8 column beside it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from godwit.api import OPERATOR_CODES
from godwit.errors import CheckError
from godwit.outputs import OutputSet
from godwit.run import on_heap, split_malloc, split_text
from godwit.run.figures import cost_figures
from godwit.run.split import column_to_split, split_facts
from godwit.run.workload import Outcome, Setup, card_facts, run_all

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from godwit.api import Card
    from godwit.launches import LaunchResult
    from godwit.memory import Context
    from godwit.report import Figure
    from godwit.run.workload import Measurement

SIDES = ("matches", "rest")


def run(
    setup: Setup,
    *,
    path: Path,
    column: str,
    where: str,
    output_dir: Path,
    outputs: str | None = None,
    text: str | None = None,
) -> Outcome:
    """Splits `column` of the table in `path` on `where`; writes ``matches.parquet`` and ``rest.parquet`` with that column, and with the
    utf8 column `text` when it is given.

    Rows match, and runs are made, as in `godwit.run.split.run`; every array is checked against pyarrow before anything is written. The
    files hold what the kernel wrote: from the heap when there is one, and with outputs ``malloc`` from memory that it took by itself.
    Raises GodwitError of some kind, and then leaves the output directory as it was.
    """
    import pyarrow as pa

    predicate, array = column_to_split(path, column, where)
    beside = split_text.read(setup, path, text) if text is not None else None
    setup, heap = on_heap.prepared(setup, outputs)
    allocates = outputs == "malloc"
    more_kernels = {
        "split_text": beside,
        split_malloc.KERNEL: allocates,
        split_text.ALLOCATING: beside and allocates,
    }
    setup = setup.with_kernel("split_rows", *(name for name, needed in more_kernels.items() if needed))
    expected = _expected(array, predicate.mask(array))
    with OutputSet(output_dir) as files, setup.open() as card:
        kernel = setup.kernel_name(card, "split_rows")
        context = setup.context(card)
        options: dict[str, Any] = {"page_size": setup.page_size, "contiguous": True}
        width = array.type.bit_width // 8
        bitmap_bytes = (len(array) + 7) // 8 if array.null_count else 0
        sizes = [*[len(array) * width] * 3, *[bitmap_bytes] * 2]
        setup.require_memory(card, sizes + (beside.sizes if beside else []))
        link_before = card.stats()["link_ps"]
        values = context.put(array, access="r", **options)
        made = {side: context.empty(len(array), values.values.dtype, access="w", **options) for side in SIDES}
        if bitmap_bytes:
            made["rest_validity"] = context.empty(bitmap_bytes, access="w", **options)
        compared = {
            **values.column(),
            "op": OPERATOR_CODES[predicate.operator],
            "constant": predicate.bits(array.type),
        }
        args = {**compared, "rest_validity": None, **made}
        results: list[pa.Array] = []

        def check(result: LaunchResult, which: str) -> None:
            def buffer(name: str, nbytes: int) -> pa.Buffer:
                # The results come back over the link once; the other runs are checked in place.
                if which == "virtual":
                    return pa.py_buffer(made[name].download(0, nbytes))
                return pa.py_buffer(made[name].native)

            found = _checked(array.type, args, result.match_count, buffer, expected, which)
            if which == "virtual":
                results.extend(found)

        runs = run_all(card, context, kernel, args, tuple(made.values()), check, setup)
        figures = cost_figures(card, context, runs, card.stats()["link_ps"] - link_before)
        if heap:
            results, more = _on_heap(card, context, kernel, args, tuple(made), runs.translated, expected)
            figures += more
        if allocates:
            results, more = _allocated(card, context, args, runs.translated, expected)
            figures += more
        columns = {column: results}
        if beside:
            wanted = _expected(beside.array, predicate.mask(array))
            columns[beside.name], more = split_text.run(
                setup, card, context, beside, compared, wanted, heap=heap, allocates=allocates
            )
            figures += more
        facts = card_facts(card, setup.page_size)
        written = {
            side: str(
                files.write(f"{side}.parquet", pa.table({name: sides[at] for name, sides in columns.items()}))
            )
            for at, side in enumerate(SIDES)
        }
        files.commit()
        described = {
            **split_facts(path, column, predicate, array, len(results[0])),
            "input_bytes": values.nbytes + (beside.nbytes if beside else 0),
            "outputs_on": "malloc" if allocates else "heap" if heap else "mapped",
            "outputs": written,
        }
    return Outcome("split", f"split rows of {path.name}: {column} {predicate}", described, figures, facts)


def _expected(array: pa.Array, mask: pa.Array) -> tuple[pa.Array, pa.Array]:
    """The rows that match and the others, as pyarrow has them."""
    import pyarrow.compute as pc

    return array.filter(mask), array.filter(pc.invert(mask))


def _checked(
    data_type: pa.DataType,
    args: dict[str, Any],
    count: int,
    buffer: Callable[[str, int], pa.Buffer],
    expected: tuple[pa.Array, pa.Array],
    which: str,
) -> list[pa.Array]:
    """Both outputs as Arrow arrays on ``buffer(argument, bytes)``, equal to `expected`. Raises CheckError."""
    import pyarrow as pa

    rows, width = args["rows"], data_type.bit_width // 8
    if count > rows:
        raise CheckError(f"the kernel counted {count:,} matches in {rows:,} rows ({which} addresses)")
    found = []
    for side, length, wanted in zip(SIDES, (count, rows - count), expected, strict=True):
        bits = (
            buffer("rest_validity", (length + 7) // 8) if side == "rest" and args["rest_validity"] else None
        )
        array = pa.Array.from_buffers(data_type, length, [bits, buffer(side, length * width)])
        _compare(side, array, wanted, which)
        found.append(array)
    return found


def _on_heap(
    card: Card,
    context: Context,
    kernel: str,
    args: dict[str, Any],
    names: tuple[str, ...],
    mapped: Measurement,
    expected: tuple[pa.Array, pa.Array],
) -> tuple[list[pa.Array], list[Figure]]:
    """The same with outputs on the heap: arrays on its memory, of exactly their length, and what that cost."""
    import pyarrow as pa

    done = on_heap.run_on_heap(card, context, kernel, args, names, mapped)
    lengths: dict[str, int] = {}

    def buffer(name: str, nbytes: int) -> pa.Buffer:
        lengths[name] = nbytes
        return pa.py_buffer(done.outputs[name].to_numpy(np.uint8, nbytes))

    arrays = _checked(expected[0].type, args, done.run.result.match_count, buffer, expected, "heap")
    done.trim(lengths)
    return arrays, done.figures(lengths)


def _allocated(
    card: Card,
    context: Context,
    args: dict[str, Any],
    mapped: Measurement,
    expected: tuple[pa.Array, pa.Array],
) -> tuple[list[pa.Array], list[Figure]]:
    """The same with outputs that the kernel allocates: arrays on its memory, and what that cost."""
    data_type = expected[0].type
    done = split_malloc.run(card, context, args)
    bits = {**args, "rest_validity": args["validity"]}
    arrays = _checked(data_type, bits, done.run.result.match_count, done.buffer, expected, "malloc")
    return arrays, done.figures(mapped)


def _compare(name: str, got: pa.Array, wanted: pa.Array, which: str) -> None:
    """Row by row: NULLs in the same places, and the same bits elsewhere, of a NaN too. Raises CheckError."""
    if len(got) != len(wanted):
        raise CheckError(
            f"the kernel gave {len(got):,} rows in {name} ({which} addresses)",
            found=f"pyarrow.compute gives {len(wanted):,}",
        )
    nulls, wanted_nulls = (array.is_null().to_numpy(zero_copy_only=False) for array in (got, wanted))
    bits, wanted_bits = (bits_of(array) for array in (got, wanted))
    different = np.flatnonzero((nulls != wanted_nulls) | (~nulls & (bits != wanted_bits)))
    if len(different):
        at = int(different[0])
        raise CheckError(
            f"the kernel gave {got[at]} as row {at} of {name} ({which} addresses)",
            found=f"pyarrow.compute gives {wanted[at]}; {len(different):,} of {len(got):,} differ",
            hint="--axi-trace FILE records every access",
        )


def bits_of(array: pa.Array) -> np.ndarray:
    """What the values' memory holds, one unsigned number a row."""
    width = array.type.bit_width // 8
    return np.frombuffer(array.buffers()[1], f"u{width}", len(array), array.offset * width)
