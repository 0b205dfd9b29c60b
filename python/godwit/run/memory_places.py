# SPDX-License-Identifier: Apache-2.0
"""Where a workload's buffers can be: on the heap in hardware, or mapped; and how much device memory they have."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from godwit.errors import CheckError
from godwit.run.on_heap import GRANULE, MOST_BYTES

if TYPE_CHECKING:
    from godwit.api import Card
    from godwit.buffers import PageSize
    from godwit.memory import Context

__all__ = ["GRANULE", "HeapPlace", "MappedPlace", "Place"]

SETTLE_CYCLES, SETTLE_STEPS = 1_000, 20_000
"""How long what was freed may take to come back."""


class Place(Protocol):
    """Buffers have an `address`; numbers are bytes."""

    def put(self, data: np.ndarray) -> Any:
        """A buffer with these bytes, and no more."""

    def make(self, most: int) -> Any:
        """A buffer that a kernel writes, of which only the most that it can become is known."""

    def read(self, buffer: Any, nbytes: int) -> np.ndarray:
        """A copy of its first bytes."""

    def free(self, buffers: Iterable[Any]) -> int:
        """Gives all of them back, and waits for their memory. Returns the cycles that it took."""

    def taken(self) -> int:
        """Device memory that is taken beyond what was when it began, page tables too where they are in it."""


class HeapPlace:
    """The heap in hardware, of which nobody else has anything: memory where somebody writes."""

    def __init__(self, card: Card, context: Context, granule: int) -> None:
        self._card, self._context, self._granule = card, context, granule

    def put(self, data: np.ndarray) -> Any:
        memory = self._context.malloc(max(1, data.nbytes), granule=self._granule)
        memory.populate(data.nbytes)
        memory.to_numpy(np.uint8, data.nbytes)[:] = data
        return memory

    def make(self, most: int) -> Any:
        return self._context.malloc(MOST_BYTES, granule=self._granule)

    def read(self, buffer: Any, nbytes: int) -> np.ndarray:
        return buffer.to_numpy(np.uint8, nbytes).copy()

    def free(self, buffers: Iterable[Any]) -> int:
        begin = self._card.stats()["cycles"]
        for buffer in buffers:
            buffer.free()
        for _ in range(SETTLE_STEPS):
            if not self._card.heap().region["reclaiming"]:
                return self._card.stats()["cycles"] - begin
            self._card.run(SETTLE_CYCLES)
        raise CheckError(
            "what was freed does not come back", found=f"not in {SETTLE_STEPS * SETTLE_CYCLES:,} cycles"
        )

    def taken(self) -> int:
        # By what page tables say: frames that are being cleared are nobody's.
        region = self._card.heap().region
        return region["taken"] + region["tables"]


class MappedPlace:
    """Buffers that are sized and mapped before; their page tables are elsewhere."""

    def __init__(self, card: Card, context: Context, page_size: PageSize) -> None:
        self._card, self._context, self._page_size = card, context, page_size
        self._free = card.memory_free()[0]

    def put(self, data: np.ndarray) -> Any:
        return self._context.put(data, page_size=self._page_size)

    def make(self, most: int) -> Any:
        return self._context.empty(max(1, most), page_size=self._page_size)

    def read(self, buffer: Any, nbytes: int) -> np.ndarray:
        return buffer.to_numpy()[:nbytes].copy()

    def free(self, buffers: Iterable[Any]) -> int:
        begin = self._card.stats()["cycles"]
        for buffer in buffers:
            buffer.free()
        return self._card.stats()["cycles"] - begin

    def taken(self) -> int:
        return self._free - self._card.memory_free()[0]
