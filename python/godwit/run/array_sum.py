# SPDX-License-Identifier: Apache-2.0
"""``godwit run array-sum``: the wrapping sum of an integer array, nulls left out, by the kernel `array_sum`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from godwit.arrow import DTYPE_CODES
from godwit.errors import CheckError, InputError, nearest
from godwit.run.column import INTEGERS, read_column, type_name
from godwit.run.figures import cost_figures
from godwit.run.workload import Outcome, Setup, card_facts, run_all

if TYPE_CHECKING:
    from godwit.launches import LaunchResult


def run(
    setup: Setup,
    *,
    size_bytes: int = 1 << 20,
    dtype: str = "int64",
    seed: int = 1,
    path: Path | None = None,
    column: str | None = None,
) -> Outcome:
    """Sums `size_bytes` of random numbers of `dtype` (int32 or int64), or an integer column of a Parquet
    file.

    A column goes to the card with its validity bitmap, and the kernel leaves nulls out. The sum is modulo 2**64,
    with int32 sign-extended; it is checked against numpy's, with nulls as 0.
    """
    array = read_column(path, column, types=INTEGERS) if path is not None and column is not None else None
    if array is None:
        count = _random_count(size_bytes, dtype)
    setup = setup.with_kernel("array_sum")
    with setup.open() as card:
        kernel = setup.kernel_name(card, "array_sum")
        context = setup.context(card)
        if array is None:
            setup.require_memory(card, [size_bytes])
            values, source = _random(count, dtype, seed), {"seed": seed, "type": dtype}
        else:
            setup.require_memory(card, [array.get_total_buffer_size()])
            values = array.fill_null(0).to_numpy()  # what it is checked against
            source = {
                "path": str(path),
                "column": column,
                "type": type_name(array.type),
                "nulls": array.null_count,
            }
        wanted = int(values.sum(dtype=np.int64)) & (1 << 64) - 1
        link_before = card.stats()["link_ps"]
        options: dict[str, Any] = {"page_size": setup.page_size, "access": "r", "contiguous": True}
        if array is None:
            buffer = context.put(values, **options)
            args = {"values": buffer, "count": len(values), "dtype": DTYPE_CODES[values.dtype.name]}
        else:
            args = context.put(array, **options).column("count")

        def check(result: LaunchResult, which: str) -> None:
            if result.sum != wanted:
                raise CheckError(
                    f"array_sum gave {result.sum:#x} ({which} addresses)",
                    found=f"numpy gives {wanted:#x}",
                    hint="--axi-trace FILE records every access",
                )

        runs = run_all(card, context, kernel, args, (), check, setup)
        figures = cost_figures(card, context, runs, card.stats()["link_ps"] - link_before)
        facts = card_facts(card, setup.page_size)
    total = wanted - (1 << 64) if wanted >> 63 else wanted
    return Outcome(
        "array-sum",
        f"array-sum: {len(values):,} {values.dtype.name}",
        {"input": source, "rows": len(values), "input_bytes": values.nbytes, "sum": total},
        figures,
        facts,
    )


def _random_count(size_bytes: int, dtype: str) -> int:
    if dtype not in INTEGERS:
        raise InputError(
            f"array_sum takes no {dtype}",
            found="types: " + ", ".join(INTEGERS),
            hint=nearest(dtype, INTEGERS),
        )
    count = size_bytes // np.dtype(dtype).itemsize
    if count == 0:
        raise InputError(f"{size_bytes} bytes hold no {dtype}", hint="give more with --bytes")
    return count


def _random(count: int, dtype: str, seed: int) -> np.ndarray:
    limits = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(limits.min, limits.max, count, dtype=dtype, endpoint=True)
