# SPDX-License-Identifier: Apache-2.0
"""``--memory cmt``: the same launch on blocks of contiguous memory, which the range TLB translates, beside paged buffers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from godwit.buffers import Buffer
from godwit.run.workload import EVERYWHERE, PAGE_SIZES, Check, Measurement, as_bytes, measure

if TYPE_CHECKING:
    from godwit.api import Card
    from godwit.buffers import PageSize
    from godwit.memory import Context


@dataclass(frozen=True)
class Shared:
    """A launch on contiguous memory."""

    run: Measurement
    entries: int
    """Of the range TLB, that its blocks had."""
    pieces: int
    """Physical pieces that wanted one."""
    table_bytes: int


def block_bytes(nbytes: int, page_size: PageSize) -> tuple[int, int]:
    """What a block of `nbytes` takes and is aligned to, so that its pages are as large as a buffer's."""
    sizes = sorted(EVERYWHERE.values(), reverse=True) if page_size == "auto" else [PAGE_SIZES[page_size]]
    align = next((size for size in sizes if size <= nbytes), 4096)
    return -(-max(nbytes, 1) // align) * align, align


def open_pool(card: Card, sizes: Iterable[int], page_size: PageSize) -> None:
    """Opens the process's pool in the card's memory with room for blocks of `sizes`. A process does that once: ArgumentError."""
    from godwit import cmt

    blocks = [block_bytes(size, page_size) for size in sizes]
    # Largest first, as `place` asks for them, so that alignment costs nothing between them; the pool itself may lie anywhere.
    cmt.init(card.cmt_config(sum(nbytes for nbytes, _ in blocks) + max(align for _, align in blocks)))


def place(context: Context, nbytes: int, page_size: PageSize) -> Buffer:
    """A block of `nbytes`, shared with a context."""
    from godwit import cmt

    _, align = block_bytes(nbytes, page_size)
    return context.share(cmt.empty(max(nbytes, 1), align=align), page_size=page_size)


def run_shared(
    card: Card,
    kernel: str,
    args: dict[str, Any],
    outputs: Sequence[Buffer],
    check: Check,
    page_size: PageSize,
    initial: Mapping[str, np.ndarray],
) -> Shared:
    """Launches `kernel` with a block in place of every buffer, in a context of its own; outputs begin as in `run_all`. What it
    wrote is copied into `outputs` and checked there.
    """
    buffers = sorted(
        {id(value): value for value in args.values() if isinstance(value, Buffer)}.values(),
        key=lambda buffer: buffer.nbytes,
        reverse=True,
    )
    open_pool(card, (buffer.nbytes for buffer in buffers), page_size)
    with ExitStack() as stack:
        context = stack.enter_context(card.context())
        blocks: dict[int, Buffer] = {}
        for buffer in buffers:
            block = stack.enter_context(place(context, buffer.nbytes, page_size))
            blocks[id(buffer)] = block
            if any(buffer is output for output in outputs):
                as_bytes(block)[...] = 0xFF
            else:
                as_bytes(block)[: buffer.nbytes] = as_bytes(buffer)
        for name, data in initial.items():
            as_bytes(blocks[id(args[name])])[: data.nbytes] = as_bytes(data)
        given = {name: blocks.get(id(value), value) for name, value in args.items()}
        run = measure(card, context, kernel, given, "translate")
        for output in outputs:
            as_bytes(output)[...] = as_bytes(blocks[id(output)])[: output.nbytes]
        check(run.result, "contiguous")
        entries = sum(block.range_entries() for block in blocks.values())
        pieces = sum(len(block.physical()) for block in blocks.values())
        return Shared(run, entries, pieces, context.table_bytes())
