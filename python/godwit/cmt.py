# SPDX-License-Identifier: Apache-2.0
"""Contiguous memory for numpy: every array is one piece of physical memory.

    from godwit import cmt

    cmt.init("size=1GiB")
    frame = cmt.empty((1080, 1920, 4), "uint8", max_address=0xffff_ffff)
    (base, nbytes), = cmt.extents(frame)

A process has one pool; without `init` it opens with the first array, as ``$GODWIT_CMT`` says. docs/cmt.md has
the configuration. Memory goes back when the last view of an array does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from godwit import _native
from godwit.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import DTypeLike, NDArray

HIGHEST = (1 << 64) - 1
GRANULE = 4096


def init(config: str | None = None) -> None:
    """Opens the pool. ArgumentError if the configuration is wrong or the pool is open; OutOfMemory."""
    _native.cmt_init(config)


def empty(
    shape: int | tuple[int, ...],
    dtype: DTypeLike = np.uint8,
    *,
    align: int = 1,
    min_address: int = 0,
    max_address: int = HIGHEST,
    node: int | None = None,
    strict_node: bool = False,
) -> NDArray[Any]:
    """A new array in one piece of physical memory, content undefined.

    align: of the physical address, a power of two, bytes. min_address, max_address: physical addresses it must
    lie within, such as 0xffff_ffff for a 32-bit peripheral. node: memory node it should be on, or with
    strict_node must be. Raises OutOfMemory with what there is.
    """
    element = np.dtype(dtype)
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if any(extent <= 0 for extent in shape):
        raise ArgumentError(f"shape {shape} has no elements")
    nbytes = int(np.prod(shape, dtype=np.object_)) * element.itemsize
    block = _native.ContiguousBlock(nbytes, align, min_address, max_address, node, strict_node)
    return np.frombuffer(memoryview(block), dtype=element).reshape(shape)


def extents(array: NDArray[Any]) -> list[tuple[int, int]]:
    """Physical address and bytes of the memory behind an array of `empty` (or a view of one)."""
    return block_of(array).extents()


def block_of(array: NDArray[Any]) -> _native.ContiguousBlock:
    """The block that an array of `empty`, or a view of one, lies in. Raises ArgumentError for other arrays."""
    owner: Any = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    if isinstance(owner, memoryview):
        owner = owner.obj
    if not isinstance(owner, _native.ContiguousBlock):
        raise ArgumentError("the array is not in contiguous memory: make it with godwit.cmt.empty")
    return owner


def stats() -> dict[str, int]:
    """Bytes by what they are used for; see docs/cmt.md."""
    return _native.cmt_stats()


def trim() -> int:
    """Gives back what caches and empty superblocks hold; the bytes."""
    return _native.cmt_trim()


def check() -> None:
    """Raises OutOfMemory, with the place, if the bookkeeping does not agree with itself."""
    _native.cmt_check()


@dataclass(frozen=True)
class Piece:
    """A piece of physical memory. kind: ``free``, ``used``, ``cached`` or ``superblock``."""

    address: int
    nbytes: int
    kind: str


def dump() -> list[Piece]:
    """All memory of the pool in the order of addresses."""
    lines = (line.split() for line in _native.cmt_dump().splitlines())
    return [Piece(int(address, 16), int(nbytes), kind) for address, nbytes, kind in lines]


@dataclass(frozen=True)
class Area:
    """Physical memory there is."""

    base: int
    nbytes: int
    node: int = 0


@dataclass(frozen=True)
class Event:
    """A request of `nbytes`, or with `nbytes` None the end of the block `id`.

    As in C, `align` 0 is a granule and `max_address` 0 no limit. `node`: the one it should be on, or with `strict_node` must be.
    """

    id: int
    nbytes: int | None
    align: int = 0
    min_address: int = 0
    max_address: int = 0
    node: int | None = None
    strict_node: bool = False


@dataclass(frozen=True)
class Placed:
    """A request that was served: number of its event, id, physical address, bytes asked for."""

    event: int
    id: int
    address: int
    nbytes: int


@dataclass(frozen=True)
class Failure:
    """A request that was not: number of its event, bytes asked for, why."""

    event: int
    nbytes: int
    reason: str


@dataclass(frozen=True)
class Simulation:
    """What became of a trace; bytes."""

    total: int
    free: int
    largest: int
    peak: int
    served: int
    failures: list[Failure]
    blocks: list[Placed]
    """In the order of the events, those that were freed later too."""
    pieces: list[Piece]
    """At the end."""


def simulate(areas: Iterable[Area], events: Iterable[Event], granule: int = GRANULE) -> Simulation:
    """Replays an allocation trace on areas, without memory behind them. Raises ArgumentError."""
    found = _native.cmt_simulate(
        [(area.base, area.nbytes, area.node) for area in areas], granule, list(events)
    )
    pieces = [
        Piece(address, nbytes, "used" if used else "free") for address, nbytes, used in found.pop("runs")
    ]
    blocks = [Placed(*block) for block in found.pop("blocks")]
    failures = [Failure(*failure) for failure in found.pop("failures")]
    return Simulation(served=len(blocks), failures=failures, blocks=blocks, pieces=pieces, **found)
