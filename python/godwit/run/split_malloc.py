# SPDX-License-Identifier: Apache-2.0
"""``godwit run split --outputs malloc``: the rows of a column in memory that the kernel `split_malloc` takes from the heap by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from godwit.run import on_heap

if TYPE_CHECKING:
    from godwit.api import Card
    from godwit.memory import Context

KERNEL = "split_malloc"
COMPARED = ("values", "validity", "rows", "offset", "dtype", "op", "constant")
"""Arguments that it has in common with `split_rows`: all that the host gives it."""


def run(card: Card, context: Context, args: dict[str, Any]) -> on_heap.Allocated:
    """Launches the kernel with the arguments of `split_rows` that are no outputs. Raises CheckError as `on_heap.run_allocating` does."""
    given = {name: args[name] for name in COMPARED}
    return on_heap.run_allocating(card, context, KERNEL, given)
