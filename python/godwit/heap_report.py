# SPDX-License-Identifier: Apache-2.0
"""What the heap in hardware has, and who has it: slots, owners, sizes, frames, clean and dirty stock, fragmentation.

>>> card = godwit.open("sim:mine")         # built with heap.slots
>>> rows = card.malloc(8 << 30)
>>> print(card.heap().allocations[0])
Allocation(context=0, address=35184372088832, asked_bytes=8589934592, taken_bytes=0, small=False)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from godwit.errors import InputError
from godwit.memories import names_of

if TYPE_CHECKING:
    from godwit.api import Card
    from godwit.memory import Context

PAGE = 4096
GROUP_ORDERS = 10
"""Groups that are told apart: 4 KiB to 2 MiB."""
SLOT_BYTES, SMALL_SLOT_BYTES = 8 << 30, 64 << 10
SMALL_BASE = 0x4000_0000_0000


@dataclass(frozen=True)
class Allocation:
    """What one malloc gave."""

    context: int
    address: int
    asked_bytes: int
    taken_bytes: int
    """Frames behind it, tables not among them."""
    small: bool


@dataclass(frozen=True)
class Slots:
    """Slots of one size."""

    slot_bytes: int
    count: int
    used: int


@dataclass(frozen=True)
class HeapReport:
    """The heap at one time; a kernel at work changes it meanwhile."""

    region: dict[str, int | bool]
    """The heap's memory, in bytes: free, of those clean and dirty, taken, for tables; whether somebody lacks a frame, whether something
    is being taken back."""
    slots: list[Slots]
    allocations: list[Allocation]
    groups: dict[int, int]
    """Free groups by their bytes, each naturally aligned and part of no larger one (2 MiB at most)."""
    regions: list[dict[str, int | str | bool]]
    """The heap's memory by memory of the card: its name, bytes, free, of those clean and dirty, used by allocations and tables; whether
    more than is free is refused there."""

    @property
    def largest_free_bytes(self) -> int:
        """The largest free group."""
        return max((size for size, count in self.groups.items() if count), default=0)

    @property
    def internal_percent(self) -> float:
        """Internal fragmentation: what allocations have of frames beyond what was asked for, of what they have."""
        taken = sum(each.taken_bytes for each in self.allocations)
        beyond = sum(max(0, each.taken_bytes - each.asked_bytes) for each in self.allocations)
        return 100 * beyond / taken if taken else 0.0

    def to_json(self) -> dict[str, Any]:
        """All of it."""
        return {
            **asdict(self),
            "groups": [{"bytes": size, "free": count} for size, count in self.groups.items()],
            "largest_free_bytes": self.largest_free_bytes,
            "internal_fragmentation_percent": self.internal_percent,
        }


def heap_report(card: Card, contexts: Iterable[Context]) -> HeapReport:
    """What the heap of `card` is like, as registers and the page tables of `contexts` say. Raises InputError without a heap."""
    config = card.config["heap"]
    if not config["slots"]:
        raise InputError(
            f"card {card.description['name']} has no heap",
            found="heap.slots = 0",
            hint="--set heap.slots=1024",
        )
    _, size, free, clean, lacks, reclaiming = card.native.heap_memory()
    names = names_of(card, of_heap=True)
    parts = [_Part(names[each[0]], *each[1:]) for each in card.native.heap_regions()]
    allocations, tables = [], 0
    for context in contexts:
        mapped, own_tables, live = context.native.heap_map()
        tables += len(own_tables) * PAGE
        for frame, count in [*((at, nbytes) for _, at, nbytes in mapped), *((at, PAGE) for at in own_tables)]:
            next(part for part in parts if part.has(frame)).use(frame, count)
        taken = _taken([address for address, _ in live], mapped)
        allocations += [
            Allocation(context.native.id, address, nbytes, taken[address], address >= SMALL_BASE)
            for address, nbytes in live
        ]
    region: dict[str, int | bool] = {
        "bytes": size,
        "free": free,
        "clean": clean,
        "dirty": free - clean,
        "taken": sum(each.taken_bytes for each in allocations),
        "tables": tables,
        # Tables kept at hand, and what is being taken back or cleared.
        "in_hand": size - free - sum(part.used_bytes for part in parts),
        "lacks": lacks,
        "reclaiming": reclaiming,
    }
    large = sum(
        max(1, 1 << (-(-each.asked_bytes // SLOT_BYTES) - 1).bit_length())
        for each in allocations
        if not each.small
    )
    small = sum(each.small for each in allocations)
    slots = [
        Slots(SLOT_BYTES, config["slots"], large),
        Slots(SMALL_SLOT_BYTES, config["slots"], small),
    ]
    groups = [_groups(part.used) for part in parts]
    return HeapReport(
        region,
        slots,
        allocations,
        {size: sum(each[size] for each in groups) for size in groups[0]},
        [part.to_json() for part in parts],
    )


class _Part:
    """What the heap has of one memory, and which frames of it somebody has."""

    def __init__(self, name: str, start: int, size: int, free: int, clean: int, strict: bool) -> None:
        self.name, self.start, self.size, self.free, self.clean = name, start, size, free, clean
        self.strict = strict
        self.used = np.zeros(size // PAGE, bool)

    def has(self, frame: int) -> bool:
        return self.start <= frame < self.start + self.size

    def use(self, frame: int, nbytes: int) -> None:
        first = (frame - self.start) // PAGE
        self.used[first : first + nbytes // PAGE] = True

    @property
    def used_bytes(self) -> int:
        return int(self.used.sum()) * PAGE

    def to_json(self) -> dict[str, int | str | bool]:
        return {
            "memory": self.name,
            "bytes": self.size,
            "free": self.free,
            "clean": self.clean,
            "dirty": self.free - self.clean,
            "used": self.used_bytes,
            "strict": self.strict,
        }


def _taken(starts: list[int], mapped: list[tuple[int, int, int]]) -> dict[int, int]:
    """Bytes of frames behind each allocation. A mapping is part of the last allocation that begins before it."""
    taken = dict.fromkeys(starts, 0)
    for address, _, nbytes in mapped:
        below = [start for start in starts if start <= address]
        if below:
            taken[max(below)] += nbytes
    return taken


def _groups(used: np.ndarray) -> dict[int, int]:
    """Free groups by their bytes; each page counts once, in the largest group that it is part of."""
    found = {}
    free = ~used
    counted = np.zeros_like(free)
    for order in reversed(range(GROUP_ORDERS)):
        pages = 1 << order
        whole = free.reshape(-1, pages).all(axis=1) & ~counted.reshape(-1, pages).any(axis=1)
        found[pages * PAGE] = int(whole.sum())
        counted |= np.repeat(whole, pages)
    return dict(reversed(found.items()))
