# SPDX-License-Identifier: Apache-2.0
"""``godwit run array-sum``: the wrapping sum of an integer array, by the kernel `array_sum`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from godwit.api import DTYPE_CODES
from godwit.errors import CheckError, InputError
from godwit.run.column import INTEGERS, read_column, type_name
from godwit.run.workload import Outcome, Setup, card_facts, cost_figures, require_memory, run_both

if TYPE_CHECKING:
    from godwit.api import LaunchResult


def run(
    setup: Setup,
    *,
    size_bytes: int = 1 << 20,
    dtype: str = "int64",
    seed: int = 1,
    path: Path | None = None,
    column: str | None = None,
) -> Outcome:
    """Sums `size_bytes` of random numbers of `dtype` (int32 or int64), or an integer column of a Parquet file.

    Nulls count as 0. The sum is modulo 2**64, with int32 sign-extended; it is checked against numpy's.
    """
    if path is not None and column is not None:
        values, source = _from_column(path, column)
    else:
        values, source = _random(size_bytes, dtype, seed)
    wanted = int(values.sum(dtype=np.int64)) & (1 << 64) - 1
    with setup.open() as card:
        kernel = setup.kernel_name(card, "array_sum")
        context = card.context()
        require_memory(card, [values.nbytes], setup.page_size)
        link_before = card.stats()["link_ps"]
        buffer = context.put(values, page_size=setup.page_size, access="r", contiguous=True)
        args = {"values": buffer, "count": len(values), "dtype": DTYPE_CODES[values.dtype.name]}

        def check(result: LaunchResult, which: str) -> None:
            if result.sum != wanted:
                raise CheckError(
                    f"array_sum gave {result.sum:#x} ({which} addresses)",
                    found=f"numpy gives {wanted:#x}",
                    hint="--axi-trace FILE records every access",
                )

        translated, physical = run_both(card, context, kernel, args, (), check, setup.progress)
        figures = cost_figures(card, context, translated, physical, card.stats()["link_ps"] - link_before)
        facts = card_facts(card, setup.page_size)
    total = wanted - (1 << 64) if wanted >> 63 else wanted
    return Outcome(
        "array-sum",
        f"array-sum: {len(values):,} {values.dtype.name}",
        {"input": source, "rows": len(values), "input_bytes": values.nbytes, "sum": total},
        figures,
        facts,
    )


def _random(size_bytes: int, dtype: str, seed: int) -> tuple[np.ndarray, dict[str, Any]]:
    if dtype not in INTEGERS:
        raise InputError(f"array_sum takes no {dtype}", found="types: " + ", ".join(INTEGERS))
    count = size_bytes // np.dtype(dtype).itemsize
    if count == 0:
        raise InputError(f"{size_bytes} bytes hold no {dtype}", hint="give more with --bytes")
    limits = np.iinfo(dtype)
    values = np.random.default_rng(seed).integers(limits.min, limits.max, count, dtype=dtype, endpoint=True)
    return values, {"seed": seed, "type": dtype}


def _from_column(path: Path, column: str) -> tuple[np.ndarray, dict[str, Any]]:
    array = read_column(path, column, types=INTEGERS)
    source = {"path": str(path), "column": column, "type": type_name(array.type), "nulls": array.null_count}
    return array.fill_null(0).to_numpy(), source
