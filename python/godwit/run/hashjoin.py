# SPDX-License-Identifier: Apache-2.0
"""``godwit run hashjoin``: inner join of two Parquet tables on an integer column, by the kernel `hashjoin`."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from godwit.arrow import DTYPE_CODES
from godwit.errors import CheckError, InputError
from godwit.outputs import OutputSet
from godwit.run.column import INTEGERS, read_column, read_table, type_name
from godwit.run.figures import cost_figures
from godwit.run.workload import Outcome, Setup, card_facts, run_all

if TYPE_CHECKING:
    import pyarrow as pa

    from godwit.buffers import Buffer
    from godwit.launches import LaunchResult

MAX_ROWS = (1 << 32) - 2  # the table holds 1 + a row number in 32 bits
MIN_BUCKET_BITS, MAX_BUCKET_BITS = 4, 31
HEAD_BYTES, NODE_BYTES, PAIR_BYTES = 4, 16, 8


def run(
    setup: Setup,
    *,
    build: Path,
    probe: Path,
    on: str,
    probe_on: str | None = None,
    output: Path | None = None,
) -> Outcome:
    """Joins the table `build` with the table `probe` where column `on` (of `probe`: `probe_on`) is equal.

    Keys are int32 or int64 and may repeat on both sides; a null equals nothing. Both runs (virtual and physical
    addresses) are checked against pyarrow's join, pair by pair. output: writes the joined table there, columns of
    `probe` first. Raises GodwitError of some kind, and then leaves an existing file as it was.
    """
    columns = [read_column(build, on, types=INTEGERS), read_column(probe, probe_on or on, types=INTEGERS)]
    for path, column in zip((build, probe), columns, strict=True):
        if len(column) > MAX_ROWS:
            raise InputError(
                f"'{path}' has {len(column):,} rows", found=f"at most {MAX_ROWS:,} fit", hint="split the file"
            )
    keys, rows = zip(*map(_valid, columns), strict=True)
    data_type = np.promote_types(keys[0].dtype, keys[1].dtype)
    keys = [side.astype(data_type, copy=False) for side in keys]
    wanted = _expected(*keys)
    setup = setup.with_kernel("hashjoin")
    with ExitStack() as stack:
        files = stack.enter_context(OutputSet(output.parent, option="--output")) if output else None
        card = stack.enter_context(setup.open())
        kernel = setup.kernel_name(card, "hashjoin")
        bits = _bucket_bits(len(keys[0]))
        sizes = {
            "build": keys[0].nbytes,
            "probe": keys[1].nbytes,
            "heads": HEAD_BYTES << bits,
            "nodes": NODE_BYTES * len(keys[0]),
            "pairs": PAIR_BYTES * len(wanted),
        }
        setup.require_memory(card, [max(size, 1) for size in sizes.values()])
        context = setup.context(card)
        link_before = card.stats()["link_ps"]
        options: dict[str, Any] = {"page_size": setup.page_size, "contiguous": True}
        buffers: dict[str, Buffer] = {
            name: context.put(side, access="r", **options)
            for name, side in zip(("build", "probe"), keys, strict=True)
        }
        for name in ("heads", "nodes"):
            buffers[name] = context.empty(sizes[name], access="rw", **options)
        buffers["pairs"] = context.empty(sizes["pairs"], access="w", **options)
        args = {
            **buffers,
            "build_rows": len(keys[0]),
            "probe_rows": len(keys[1]),
            "dtype": DTYPE_CODES[data_type.name],
            "bucket_bits": bits,
            "capacity": len(wanted),
        }
        found: list[np.ndarray] = []
        phases: list[LaunchResult] = []

        def check(result: LaunchResult, which: str) -> None:
            if result.match_count != len(wanted):
                raise CheckError(
                    f"hashjoin found {result.match_count:,} matches ({which} addresses)",
                    found=f"pyarrow finds {len(wanted):,}",
                    hint="--axi-trace FILE records every access",
                )
            # Over the link once; the physical run is checked in place.
            raw = buffers["pairs"].download() if which == "virtual" else buffers["pairs"].to_numpy()
            pairs = _sorted(np.frombuffer(raw, np.uint32).reshape(-1, 2))
            different = np.flatnonzero((pairs != wanted).any(axis=1))
            if len(different):
                raise CheckError(
                    f"hashjoin gave a wrong pair of rows, {pairs[different[0]].tolist()} ({which} addresses)",
                    found=f"{len(different):,} of {len(wanted):,} pairs differ from pyarrow's",
                    hint="--axi-trace FILE records every access",
                )
            found.append(pairs)
            phases.append(result)

        outputs = [buffers[name] for name in ("heads", "nodes", "pairs")]
        runs = run_all(card, context, kernel, args, outputs, check, setup)
        figures = cost_figures(card, context, runs, card.stats()["link_ps"] - link_before)
        figures[2:2] = [_phase(phases, name) for name in ("build", "probe")]
        facts = card_facts(card, setup.page_size)
        written = {}
        if output and files:
            table = _joined(
                build, probe, on, probe_on or on, rows[0][found[0][:, 0]], rows[1][found[0][:, 1]]
            )
            written["joined"] = str(files.write(output.name, table))
            files.commit()
    return Outcome(
        "hashjoin",
        f"hashjoin {probe.name} with {build.name} on {on}" + (f" = {probe_on}" if probe_on else ""),
        {
            "input": {
                "build": str(build),
                "probe": str(probe),
                "on": on,
                "probe_on": probe_on or on,
                "types": [type_name(column.type) for column in columns],
            },
            "build_rows": len(columns[0]),
            "probe_rows": len(columns[1]),
            "nulls": sum(column.null_count for column in columns),
            "matches": len(wanted),
            "buckets": 1 << bits,
            "table_bytes": sizes["heads"] + sizes["nodes"],
            "outputs": written,
        },
        figures,
        facts,
    )


def _valid(column: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The keys that are not null, and their row numbers."""
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    return column.drop_null().to_numpy(), np.flatnonzero(valid)


def _bucket_bits(rows: int) -> int:
    """At least one bucket a row."""
    return min(max((rows - 1).bit_length(), MIN_BUCKET_BITS), MAX_BUCKET_BITS)


def _expected(build: np.ndarray, probe: np.ndarray) -> np.ndarray:
    """Pairs {build row, probe row} as pyarrow joins them, in the order of `_sorted`."""
    import pyarrow as pa

    sides = [
        pa.table({"key": keys, name: np.arange(len(keys), dtype=np.uint32)})
        for keys, name in ((build, "build"), (probe, "probe"))
    ]
    joined = sides[0].join(sides[1], "key", join_type="inner")
    return _sorted(np.stack([joined["build"].to_numpy(), joined["probe"].to_numpy()], axis=1))


def _sorted(pairs: np.ndarray) -> np.ndarray:
    """By probe row, then build row."""
    return pairs[np.lexsort((pairs[:, 0], pairs[:, 1]))]


def _phase(results: list[LaunchResult], name: str):
    from godwit.report import Figure

    label = {"build": "cycles of building the table", "probe": "cycles of probing it"}[name]
    value, physical, *others = (result.results[f"{name}_cycles"] for result in results)
    contiguous = others[0] if others else None
    return Figure(f"{name}_cycles", label, "cycles", "simulated", value, physical, contiguous=contiguous)


def _joined(
    build: Path, probe: Path, on: str, probe_on: str, build_rows: np.ndarray, probe_rows: np.ndarray
) -> pa.Table:
    """The joined table: all columns of `probe`, then those of `build` but its key, with ``_build`` where a name is
    taken.
    """
    table = read_table(probe).take(probe_rows)
    other = read_table(build).drop_columns([on]).take(build_rows)
    for name in other.column_names:
        taken = name in table.column_names
        table = table.append_column(f"{name}_build" if taken else name, other[name])
    return table
