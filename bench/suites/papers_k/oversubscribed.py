# SPDX-License-Identifier: Apache-2.0
"""Data larger than device memory: walked from end to end again and again (ArraySum), read anywhere (random bursts of a line), and a stencil
between two pictures.

A card of 8 MiB that nothing else is in, so that what is free is what pages can have. *Least*: Belady 1966, single pages, with all of the future known.
*LRU of 2 MiB*: whole blocks leave, in the order in which something last came to them, and pages come with those that UVM's tree names, as in NVIDIA's
driver; beside it the same with pages that come singly.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from itertools import chain

import numpy as np

from bench.suites.papers_k.migrations import CONFIG, MIB, SUITE, plain
from godwit.api import Card
from godwit.errors import CheckError
from godwit.report import Progress, Row
from godwit.run.stencil import reference
from godwit.run.traffic import Plan
from godwit.run.workload import Setup
from godwit.units import bytes_text

MEMORY = 8 * MIB
PAGE = 4096
BLOCK = 2 * MIB // PAGE
PASSES = 3
ITERATIONS = 4
BURSTS = 3
"""Random bursts a page of the data, in the mean."""

Pages = list[int]


def oversubscribed(progress: Progress, factors: tuple[float, ...]) -> Iterator[Row]:
    """Rows a pattern and factor. factors: data over free device memory."""
    if not factors:
        return
    setup = Setup(
        CONFIG, overrides=(f"card.memory_bytes={MEMORY}",), memory="shared", progress=progress
    ).with_kernel("array_sum", "stencil", "traffic")
    for step, factor in enumerate(factors):
        for pattern in (_linear, _random, _stencil):
            name = pattern.__name__.removeprefix("_")
            progress(f"paper K, {name} over {factor} x memory", step, len(factors))
            # A card of its own, for the policies learn.
            with setup.open() as card:
                yield from _rows(card, name, factor, pattern)


def _rows(card: Card, name: str, factor: float, pattern: Callable[[Card, int], Pages]) -> Iterator[Row]:
    room = card.memory_free()[0] // PAGE
    before = card.migrations()
    trace = pattern(card, int(factor * room))
    moved = card.migrations()
    there, home = (sum(moved[way].values()) - sum(before[way].values()) for way in ("to_device", "to_host"))
    least = fewest(trace, room) * PAGE
    theirs, singly = (by_blocks(trace, room, max(trace) + 1, tree) * PAGE / least for tree in (True, False))
    yield Row(
        SUITE,
        f"{name} over {factor} x device memory: bytes to the card over the least possible",
        f"{bytes_text(there)} to the card and {bytes_text(home)} home, {bytes_text(room * PAGE)} free; "
        f"{moved['requests'] - before['requests']:,} requests in {moved['batches'] - before['batches']:,} batches",
        there / least,
        "times",
        f"{theirs:.2f} LRU of 2 MiB, {singly:.2f} without prefetch (computed)",
        f"< {theirs:.2f}",
    )


def _linear(card: Card, pages: int) -> Pages:
    values = plain(pages * PAGE).view(np.int64)
    values[:] = np.random.default_rng(pages).integers(0, 1 << 40, len(values))
    total = int(values.sum())
    for _ in range(PASSES):
        found = card.launch("array_sum", values=values, count=len(values), dtype=1).sum
        if found != total:
            raise CheckError("array_sum of other numbers than were there", found=str(found))
    return [*range(pages)] * PASSES


def _random(card: Card, pages: int) -> Pages:
    words = plain(pages * PAGE).view(np.uint64)
    words[:] = np.random.default_rng(pages).integers(0, 1 << 60, len(words), np.uint64)
    plan = Plan(pages, PAGE, BURSTS * pages, "random", outstanding=64, seed=pages)
    wanted = plan.checksum(words)
    found = card.launch("traffic", **plan.args(words)).checksum  # type: ignore[arg-type]
    if found != wanted:
        raise CheckError("traffic read other words than were there", found=str(found))
    offsets, _ = plan.accesses()
    return (offsets // PAGE).tolist()


def _stencil(card: Card, pages: int) -> Pages:
    """Rows of a page."""
    height = pages // 2
    a, b = (plain(height * PAGE).reshape(height, PAGE) for _ in range(2))
    a[:] = np.random.default_rng(pages).integers(0, 256, a.shape, np.uint8)
    b[:] = 1
    wanted = reference(a, 9, ITERATIONS)
    sizes = {"width": PAGE, "height": height, "pitch": PAGE}
    card.launch("stencil", a=a, b=b, **sizes, points=9, iterations=ITERATIONS)
    if not np.array_equal(a, wanted):
        raise CheckError("the stencil gave other points than numpy", found=f"{height} rows of {PAGE}")
    # Each row is read once, and gives the one above.
    there, back = (
        [*chain(*((first + row, second + row) for row in range(height)))]
        for first, second in ((0, height), (height, 0))
    )
    return (there + back) * (ITERATIONS // 2)


def fewest(trace: Pages, capacity: int) -> int:
    """Pages that have to come: the one that is used last of all leaves (Belady)."""
    next_use = [len(trace)] * len(trace)
    seen: dict[int, int] = {}
    for index in range(len(trace) - 1, -1, -1):
        next_use[index] = seen.get(trace[index], len(trace) + trace[index])
        seen[trace[index]] = index
    there: dict[int, int] = {}
    latest: list[tuple[int, int]] = []
    came = 0
    for index, page in enumerate(trace):
        if page not in there:
            came += 1
            while len(there) >= capacity:
                use, victim = heapq.heappop(latest)
                # Older entries of a page are no longer true.
                if there.get(victim) == -use:
                    del there[victim]
        there[page] = next_use[index]
        heapq.heappush(latest, (-next_use[index], page))
    return came


def by_blocks(trace: Pages, capacity: int, pages: int, tree: bool) -> int:
    """Pages that come, of `pages` in all, when whole blocks of 2 MiB leave: the one first to which nothing has come for longest. tree: with
    each page that is asked for comes the largest part of its block more than 51 % of which is then there, 64 KiB at least, as far as there
    is room for it beside the block.
    """
    blocks: dict[int, set[int]] = {}
    there = came = 0
    for page in trace:
        block = page // BLOCK
        if page in blocks.get(block, ()):
            continue
        coming = {page}
        if tree:
            had = blocks.get(block, set())
            for size in (16 << order for order in range(6)):
                part = {*range(page // size * size, min(page // size * size + size, pages))}
                if size == 16 or 100 * len(part & (had | coming)) > 51 * size:
                    coming |= part - had
        came += len(coming)
        while there + len(coming) > capacity:
            oldest = next((other for other in blocks if other != block), None)
            if oldest is None:
                break
            there -= len(blocks.pop(oldest))
        # Last in the order from now on.
        blocks[block] = blocks.pop(block, set()) | coming
        there += len(coming)
    return came
