# SPDX-License-Identifier: Apache-2.0
"""The utf8 column of ``godwit run split --text``: its rows in two columns, offsets, bytes and validity, by the kernel
`split_text`, and with ``--outputs malloc`` by `split_text_malloc` in memory that it takes from the heap by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from godwit.errors import CheckError, InputError
from godwit.report import Figure
from godwit.run import on_heap
from godwit.run.column import read_column
from godwit.run.workload import Setup, run_all
from godwit.spec import config

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from godwit.api import Card
    from godwit.launches import LaunchResult
    from godwit.memory import Context

OFFSET_BYTES = 4
MOST_BYTES = (1 << 31) - 1
"""What int32 offsets reach."""
NULL_ID_WIDTH = 3
"""Bits of AXI IDs that the kernel needs for bitmaps of the text."""
SIDES = ("matches", "rest")
ALLOCATING = "split_text_malloc"
"""The kernel that allocates its outputs by itself."""


@dataclass(frozen=True)
class Text:
    """A utf8 column; a null has no bytes."""

    name: str
    array: pa.Array
    offsets: np.ndarray
    """One more than rows; the first need not be 0."""
    data: np.ndarray
    """Bytes from those of the first row on."""

    @property
    def bitmap_bytes(self) -> int:
        """Bytes of its validity; 0 when there is no null."""
        return (len(self.array) + 7) // 8 if self.array.null_count else 0

    @property
    def nbytes(self) -> int:
        """Bytes of offsets, text and validity."""
        return self.offsets.nbytes + self.data.nbytes + self.bitmap_bytes

    @property
    def sizes(self) -> list[int]:
        """What the column and both mapped outputs take."""
        return [self.offsets.nbytes, self.data.nbytes, self.bitmap_bytes] * 3

    def validity(self, offset: int) -> np.ndarray:
        """Its bitmap, the first row's bit at `offset`."""
        valid = self.array.is_valid().to_numpy(zero_copy_only=False)
        return np.packbits(np.concatenate([np.zeros(offset, bool), valid]), bitorder="little")


def read(setup: Setup, path: Path, name: str) -> Text:
    """The utf8 column `name` of the Parquet file. Raises InputError for one that the kernel cannot split."""
    import pyarrow as pa

    if setup.memory != "device" or setup.kernel is not None:
        option = "--kernel" if setup.kernel is not None else f"--memory {setup.memory}"
        raise InputError(
            f"--text does not go with {option}",
            found="a column of text is split by a launch of its own, in pages of the card",
            hint="leave one of them out",
        )
    array = read_column(path, name, types=("string",))
    if isinstance(array, pa.ChunkedArray):
        raise InputError(
            f"column '{name}' of '{path}' has {array.nbytes:,} bytes",
            found=f"offsets are 32 bits: {MOST_BYTES:,} bytes of text at most",
            hint="split the file",
        )
    id_width = config.load(setup.config, setup.overrides).axi.id_width
    if array.null_count and id_width < NULL_ID_WIDTH:
        raise InputError(
            f"column '{name}' of '{path}' has {array.null_count:,} nulls",
            found=f"configuration '{setup.config}' has AXI IDs of {id_width} bits: without IDs of their own for bitmaps of text",
            hint=f"--set axi.id_width={NULL_ID_WIDTH}, or fill the nulls first",
        )
    _, offsets, data = array.buffers()
    if not len(array):
        return Text(name, array, np.zeros(1, "i4"), np.zeros(0, "u1"))
    numbers = np.frombuffer(offsets, "i4", len(array) + 1, array.offset * OFFSET_BYTES)
    held = np.frombuffer(data, "u1") if data is not None and data.size else np.zeros(0, "u1")
    return Text(name, array, numbers, held[numbers[0] : numbers[-1]])


def run(
    setup: Setup,
    card: Card,
    context: Context,
    text: Text,
    compared: dict[str, Any],
    expected: tuple[pa.Array, pa.Array],
    *,
    heap: bool,
    allocates: bool = False,
) -> tuple[list[pa.Array], list[Figure]]:
    """Both columns, equal to `expected`, and what it cost: with mapped outputs, by virtual and by physical addresses, on the `heap`, and
    with outputs that the kernel `allocates`.

    compared: the kernel's arguments of the column beside it. Raises CheckError.
    """
    import pyarrow as pa

    options: dict[str, Any] = {"page_size": setup.page_size, "contiguous": True}
    # The kernel counts from `offset` on, in the offsets as in the values.
    offsets = np.concatenate([np.zeros(compared["offset"], "i4"), text.offsets])
    made = {}
    for side in SIDES:
        made[f"{side}_offsets"] = context.empty(len(text.offsets), "i4", access="w", **options)
        made[f"{side}_text"] = context.empty(len(text.data), access="w", **options)
    bits: dict[str, Any] = {}
    if text.bitmap_bytes:
        for side in SIDES:
            made[f"{side}_validity"] = context.empty(text.bitmap_bytes, access="w", **options)
        bits["text_validity"] = context.put(text.validity(compared["offset"]), access="r", **options)
    args = {
        **compared,
        **bits,
        "offsets": context.put(offsets, access="r", **options),
        "text": context.put(text.data, access="r", **options),
        "text_bytes": len(text.data),
        **made,
    }
    results: list[pa.Array] = []

    def check(result: LaunchResult, which: str) -> None:
        def buffer(name: str, nbytes: int) -> pa.Buffer:
            if which == "virtual":
                return pa.py_buffer(made[name].download(0, nbytes))
            return pa.py_buffer(made[name].native)

        found = _checked(result, text, buffer, expected, which)
        if which == "virtual":
            results.extend(found)

    runs = run_all(card, context, "split_text", args, tuple(made.values()), check, setup)
    cycles = runs.translated.result.cycles, runs.physical.result.cycles
    figures = [Figure("cycles", "cycles", "cycles", "simulated", *cycles)]
    if heap:
        done = on_heap.run_on_heap(card, context, "split_text", args, tuple(made), runs.translated)
        lengths: dict[str, int] = {}

        def on_it(name: str, nbytes: int) -> pa.Buffer:
            lengths[name] = nbytes
            return pa.py_buffer(done.outputs[name].to_numpy(np.uint8, nbytes))

        results = _checked(done.run.result, text, on_it, expected, "heap")
        done.trim(lengths)
        figures += done.figures(lengths)
    if allocates:
        given = {name: value for name, value in args.items() if name not in made}
        own = on_heap.run_allocating(card, context, ALLOCATING, given)
        results = _checked(own.run.result, text, own.buffer, expected, "malloc")
        figures += own.figures(runs.translated)
    return results, [replace(each, name=f"text_{each.name}", label=f"text: {each.label}") for each in figures]


def _checked(
    result: LaunchResult,
    text: Text,
    buffer: Callable[[str, int], pa.Buffer],
    expected: tuple[pa.Array, pa.Array],
    which: str,
) -> list[pa.Array]:
    """Both outputs as Arrow arrays on ``buffer(argument, bytes)``, equal to `expected`. Raises CheckError."""
    import pyarrow as pa

    counts = result.match_count, result.match_bytes
    wanted_counts = len(expected[0]), _text_bytes(expected[0])
    if counts != wanted_counts:
        raise CheckError(
            f"split_text counted {counts[0]:,} matches of {counts[1]:,} bytes ({which} addresses)",
            found=f"pyarrow.compute gives {wanted_counts[0]:,} of {wanted_counts[1]:,} bytes",
        )
    found = []
    for side, wanted, nbytes in zip(SIDES, expected, (counts[1], len(text.data) - counts[1]), strict=True):
        parts = [
            buffer(f"{side}_offsets", (len(wanted) + 1) * OFFSET_BYTES),
            buffer(f"{side}_text", nbytes),
        ]
        bits = buffer(f"{side}_validity", (len(wanted) + 7) // 8) if text.bitmap_bytes else None
        array = pa.Array.from_buffers(wanted.type, len(wanted), [bits, *parts])
        try:
            array.validate(full=True)
            same = array.equals(wanted)
        except pa.ArrowInvalid:
            same = False
        if not same:
            raise CheckError(
                f"split_text gave wrong rows in {side} ({which} addresses)",
                found=f"they are not the {len(wanted):,} rows that pyarrow.compute gives",
                hint="--axi-trace FILE records every access",
            )
        found.append(array)
    return found


def _text_bytes(array: pa.Array) -> int:
    """Bytes of all texts."""
    import pyarrow.compute as pc

    return pc.sum(pc.binary_length(array)).as_py() or 0
