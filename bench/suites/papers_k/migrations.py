# SPDX-License-Identifier: Apache-2.0
"""Fig. 3, Fig. 4 and the migration columns of Table II: the same kernels on plain memory of the process, its pages moved three ways.

*ODPM*: nothing is said, pages move when the kernel and then the program touch them. *UMPM*: the program brings them to the card and home.
All times are virtual, from before the first byte moves until the program has the result, both included.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from godwit.api import Card
from godwit.errors import CheckError
from godwit.report import Row
from godwit.units import bytes_text

SUITE = "papers"
CONFIG = "tapasco"
PAGE = 4096
KIB, MIB = 1 << 10, 1 << 20


class Way(NamedTuple):
    """How pages move: named by the program before the launch, and after it."""

    name: str
    in_by_hand: bool
    back_by_hand: bool


WAYS = (
    Way("ODPM both ways", False, False),
    Way("ODPM in, UMPM back", False, True),
    Way("UMPM both ways", True, True),
)

ARRAY_SUM: dict[int, float | None] = {
    4 * KIB: 2.5,
    32 * KIB: None,
    256 * KIB: None,
    MIB: None,
    4 * MIB: None,
    32 * MIB: 1.25,
}
"""Fig. 3: bytes of the array, and ODPM's time over that with explicit copies there, where the text gives it."""


@dataclass(frozen=True)
class Measured:
    """Virtual time in ms, and what moved."""

    total: float
    moved: dict[str, int]


def plain(nbytes: int, skip: int = 0) -> np.ndarray:
    """Memory of a mapping of its own, never touched; it begins `skip` bytes into a page."""
    mapping = mmap.mmap(-1, nbytes + (PAGE if skip else 0), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return np.frombuffer(mapping, np.uint8)[skip : skip + nbytes]


def timed(card: Card, work: Callable[[], None]) -> Measured:
    """Virtual time of some work on the card, and what it moved."""
    moved, before = _moved(card), card.stats()["time_ps"]
    work()
    took = (card.stats()["time_ps"] - before) / 1e9
    return Measured(took, {name: value - moved[name] for name, value in _moved(card).items()})


def _moved(card: Card) -> dict[str, int]:
    found = card.migrations()
    sums = {way: sum(found[way].values()) for way in ("to_device", "to_host")}
    return sums | {name: found[name] for name in ("requests", "batches", "cleared", "prefetched", "groups")}


def array_sum(card: Card, sizes: tuple[int, ...]) -> Iterator[Row]:
    """Fig. 3: ArraySum by explicit copy, on demand, and moved by hand."""
    for nbytes in sizes:
        values = np.random.default_rng(nbytes).integers(0, 1 << 40, nbytes // 8)
        copied = timed(card, lambda values=values: _sum_copied(card, values)).total
        # As there, the smallest array straddles two pages.
        skip = PAGE // 2 if nbytes <= PAGE else 0
        theirs, goal = ARRAY_SUM[nbytes], {4 * KIB: "<= 1.5"}.get(nbytes, "<= 1.0" if nbytes >= MIB else None)
        name = f"ArraySum, {bytes_text(nbytes)}"
        yield Row(SUITE, f"{name}, explicit copy (Fig. 3)", "total", copied, "ms", kind="modelled")
        for way in (WAYS[0], WAYS[2]):
            shared = plain(nbytes, skip)
            shared[:] = values.view(np.uint8)
            found = timed(card, lambda shared=shared, way=way: _sum_shared(card, shared.view(np.int64), way))
            short = way.name.split()[0]
            what = f"{found.moved['requests']} requests in {found.moved['batches']} batches"
            ratio = found.total / copied
            yield Row(
                SUITE,
                f"{name}, {short} over copy (Fig. 3)",
                what,
                ratio,
                "times",
                theirs if short == "ODPM" else None,
                goal,
                kind="modelled",
            )


def _check_sum(values: np.ndarray, found: int) -> None:
    if np.uint64(found).astype(np.int64) != values.sum():
        raise CheckError("array_sum of other numbers than were there", found=str(found))


def _sum_copied(card: Card, values: np.ndarray) -> None:
    with card.context() as context:
        buffer = context.empty(values.nbytes, np.uint8, page_size="4K", access="r", contiguous=True)
        buffer.upload(values.view(np.uint8))
        arguments = {"values": buffer, "count": len(values), "dtype": 1}
        _check_sum(values, card.launch("array_sum", context=context, mode="bare", **arguments).sum)


def _sum_shared(card: Card, values: np.ndarray, way: Way) -> None:
    if way.in_by_hand:
        card.migrate_to_device(values)
    total = card.launch("array_sum", values=values, count=len(values), dtype=1).sum
    # The time is over; what was only read comes home without a copy.
    _check_sum(values.copy(), total)


def memcopy(
    card: Card, nbytes: int, copied: dict[int, float], most_iterations: int, measured: tuple[int, ...]
) -> Iterator[Row]:
    """Fig. 4, Table II: MemCopy on shared memory over the time with explicit copies, by iterations. Those that are not `measured` are on
    the line through the first and the last that are.
    """
    for way in WAYS:
        totals: dict[int, float] = {}
        for iterations, base in copied.items():
            if iterations > most_iterations:
                continue
            name = f"MemCopy, {bytes_text(nbytes)}, {iterations} iteration{'s' if iterations > 1 else ''}, {way.name}"
            config = f"{base:.4g} ms with explicit copies"
            if iterations in measured:
                found = _memcopy(card, nbytes, iterations, way)
                totals[iterations] = found.total
            elif len(totals) > 1:
                (few, begin), (many, end) = min(totals.items()), max(totals.items())
                each = (end - begin) / (many - few)
                found = Measured(begin + (iterations - few) * each, {})
                config += f", computed from {few} and {many} iterations"
            else:
                continue
            yield Row(SUITE, f"{name}, total", config, found.total, "ms", kind="modelled")
            goal = "<= 1.0" if iterations >= 4 else None
            yield Row(
                SUITE,
                f"{name}, over copy (Fig. 4)",
                config,
                found.total / base,
                "times",
                None,
                goal,
                kind="modelled",
            )
            if iterations == 1:
                extra = found.moved["to_device"] - nbytes
                what = f"{found.moved['cleared']:,} bytes cleared on the card"
                yield Row(SUITE, f"{name}, copied in for the output", what, extra, "bytes", nbytes, "== 0")


def _memcopy(card: Card, nbytes: int, iterations: int, way: Way) -> Measured:
    source, target = plain(nbytes), plain(nbytes)
    source[:] = np.frombuffer(np.random.default_rng(iterations).bytes(nbytes), np.uint8)
    wanted = source.copy()

    def work() -> None:
        if way.in_by_hand:
            card.migrate_to_device(source)
            card.migrate_to_device(target)
        card.launch("memcopy", src=source, dst=target, bytes=nbytes, iterations=iterations)
        if way.back_by_hand:
            card.migrate_to_host(target)
        # Touched from end to end.
        if not np.array_equal(target, wanted):
            raise CheckError("memcopy brought other bytes than were there", found=bytes_text(nbytes))

    return timed(card, work)
