# SPDX-License-Identifier: Apache-2.0
"""What the paper's migrations move needlessly, and what does not fit: outputs that are only written, and data larger than device memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.suites.papers_k.migrations import MIB, SUITE, plain, timed
from godwit.api import Card
from godwit.errors import CheckError
from godwit.report import Row
from godwit.units import bytes_text

ROOM = 8 * MIB
"""Device memory that is left for data which do not fit."""
PASSES = 3


def write_only(card: Card, nbytes: int) -> Iterator[Row]:
    """MemCopy into memory that the program used before, with and without a hint."""
    for hint in (False, True):
        source, target = plain(nbytes), plain(nbytes)
        source[:] = np.frombuffer(np.random.default_rng(nbytes).bytes(nbytes), np.uint8)
        target[:] = 1
        wanted = source.copy()

        def work(source=source, target=target, wanted=wanted, hint=hint) -> None:
            if hint:
                card.discard(target)
            card.launch("memcopy", src=source, dst=target, bytes=nbytes, iterations=1)
            if not np.array_equal(target, wanted):
                raise CheckError("memcopy brought other bytes than were there", found=bytes_text(nbytes))

        found = timed(card, work)
        name = f"MemCopy, {bytes_text(nbytes)}, output used before, {'discarded' if hint else 'no hint'}"
        extra = found.moved["to_device"] - nbytes
        config = f"{found.moved['cleared']:,} bytes cleared on the card"
        goal = "== 0" if hint else None
        yield Row(SUITE, f"{name}: copied in for the output", config, extra, "bytes", nbytes, goal)
        config = "ODPM both ways, total"
        yield Row(SUITE, f"{name}: time", config, found.total, "ms", kind="modelled")


def oversubscribed(card: Card, factors: tuple[float, ...]) -> Iterator[Row]:
    """ArraySum over more than device memory, again and again: bytes to the card beside the least possible and beside LRU."""
    with card.context() as context:
        buffers = []
        free, largest = card.memory_free()
        while free >= ROOM + MIB:
            buffers.append(context.empty(min(largest, free - ROOM) // MIB * MIB, np.uint8, access="r"))
            free, largest = card.memory_free()
        for factor in factors:
            yield _oversubscribed(card, factor, card.memory_free()[0])


def _oversubscribed(card: Card, factor: float, room: int) -> Row:
    count = int(factor * room) // 8 & -512
    values = plain(count * 8).view(np.int64)
    values[:] = np.random.default_rng(count).integers(0, 1 << 40, count)
    total = int(values.sum())
    before = card.migrations()
    for _ in range(PASSES):
        found = card.launch("array_sum", values=values, count=count, dtype=1).sum
        if found != total:
            raise CheckError("array_sum of other numbers than were there", found=str(found))
    after = card.migrations()
    moved = sum(after["to_device"].values()) - sum(before["to_device"].values())
    # Belady keeps all that fits but one page for what passes; nothing is written, so nothing is copied home.
    least = values.nbytes + (PASSES - 1) * (values.nbytes - room)
    lru = PASSES * values.nbytes
    config = (
        f"{PASSES} passes over {bytes_text(values.nbytes)}, {bytes_text(room)} free; "
        f"{after['evicted'] - before['evicted']:,} bytes evicted"
    )
    return Row(
        SUITE,
        f"ArraySum over {factor} x device memory: bytes to the card over the least possible",
        config,
        moved / least,
        "times",
        f"{lru / least:.2f} LRU of 2 MiB (computed)",
        f"< {lru / least:.2f}",
    )
