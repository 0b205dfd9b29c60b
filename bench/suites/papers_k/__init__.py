# SPDX-License-Identifier: Apache-2.0
"""Kalkhof 2021, shared virtual memory with page migrations: the page DMA (Table III), explicit copies and migrations (Table II, Fig. 3, 4, 5).

Configuration `tapasco`: 200 MHz, page DMA, L1 32 entries, L2 1024, 8 ranges. The page DMA, the kernel and the translation are RTL,
counted cycle by cycle. Modelled, each with its source in the configuration: the link, memory, interrupts and threads of the host,
staging of explicit copies, set-up, allocation and completion of migrations (their Table III). The link has the rates that the paper's page DMA reached on its board, so a share of the link says how
much of that is lost here, and what is left of Table II is fitted by one rate, that of staging.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import godwit
from bench.suites.papers_k.figures import draw
from bench.suites.papers_k.migrations import ARRAY_SUM, array_sum, memcopy
from bench.suites.papers_k.outputs import write_only
from bench.suites.papers_k.oversubscribed import oversubscribed
from bench.suites.papers_k.sobel import SIZES, sobel
from bench.suites.papers_k.steps import table_iii, two_buffers
from bench.suites.papers_k.tree import TREES, trees
from godwit.api import Card
from godwit.errors import CheckError
from godwit.report import Progress, Row
from godwit.units import bytes_text

SUITE = "papers"
CONFIG = "tapasco"
PAGE = 4096
KIB, MIB = 1 << 10, 1 << 20

TABLE_III = {32 * KIB: (38.14, 34.29), MIB: (760.0, 650.0), 32 * MIB: (23_320.0, 19_630.0)}
"""DMA of a buffer's pages in µs: to the card, and back."""
TABLE_II = {
    (32 * KIB, 1): (0.013, 0.103),
    (32 * KIB, 128): (1.625, 1.765),
    (MIB, 1): (0.406, 2.259),
    (MIB, 128): (51.990, 53.780),
    (32 * MIB, 1): (12.997, 59.086),
    (32 * MIB, 128): (1663.670, 1709.910),
}
"""MemCopy by array and iterations, in ms: the accelerator alone, and all with explicit copies."""
FEW_ITERATIONS = (1, 2, 4, 16, 128)
"""Iterations on migrated pages."""
MEASURED = (1, 4)
"""Those among them that are run of arrays for which copies are computed, too."""
COMPUTED_FROM = 32 * MIB
"""Arrays from here on are copied once and twice, and more iterations computed: each takes what the second took."""


@dataclass(frozen=True)
class Amount:
    """What is measured."""

    sizes: tuple[int, ...] = tuple(TABLE_III)
    most_iterations: int = 128
    sums: tuple[int, ...] = tuple(ARRAY_SUM)
    oversubscribed: tuple[float, ...] = (1.1, 1.5, 2.0)
    """Data over device memory."""
    pictures: tuple[tuple[int, int], ...] = SIZES
    """Width and height, for Sobel."""
    trees: dict[int, tuple[int, ...]] = field(default_factory=lambda: TREES)
    """Look-ups by nodes."""


FULL, QUICK = Amount(), Amount((32 * KIB,), 1, (4 * KIB,), (), (), {})


def run(progress: Progress, quick: bool = False, amount: Amount | None = None) -> list[Row]:
    """All rows, in the order of the paper's tables. quick: the smallest buffer. amount: which sizes."""
    size = amount or (QUICK if quick else FULL)
    rows: list[Row] = []
    steps = 3 * len(size.sizes) + 1
    with godwit.open(f"sim:{CONFIG}", shared=True, progress=progress) as card:
        for step, nbytes in enumerate(size.sizes):
            progress(f"paper K, pages of {bytes_text(nbytes)}", step, steps)
            rows += _pages(card, nbytes)
        for step, nbytes in enumerate(size.sizes, len(size.sizes)):
            progress(f"paper K, copies of {bytes_text(nbytes)}", step, steps)
            rows += _copies(card, nbytes, size.most_iterations)
        progress("paper K, sums", 2 * len(size.sizes), steps)
        rows += array_sum(card, size.sums)
        for step, nbytes in enumerate(size.sizes, 2 * len(size.sizes) + 1):
            progress(f"paper K, migrations of {bytes_text(nbytes)}", step, steps)
            measured = MEASURED if nbytes >= COMPUTED_FROM else FEW_ITERATIONS
            rows += memcopy(card, nbytes, _totals(rows, nbytes), size.most_iterations, measured)
            rows += write_only(card, nbytes)
            rows += table_iii(card, nbytes)
            rows += two_buffers(card, nbytes)
    rows += oversubscribed(progress, size.oversubscribed)
    rows += sobel(progress, size.pictures)
    rows += trees(progress, size.trees)
    progress("paper K", steps, steps)
    return rows


def _totals(rows: list[Row], nbytes: int) -> dict[int, float]:
    """Totals with explicit copies in ms, by iterations: measured, or on the line through two that were."""
    name = f"MemCopy, {bytes_text(nbytes)}, "
    found = {
        int(row.row.removeprefix(name).split()[0]): row.value
        for row in rows
        if row.row.startswith(name) and row.row.endswith("total (Table II)") and row.value is not None
    }
    if len(found) < 2:
        return found
    (few, base), (many, top) = sorted(found.items())
    each = (top - base) / (many - few)
    return {iterations: base + (iterations - few) * each for iterations in FEW_ITERATIONS}


def _pages(card: Card, nbytes: int) -> Iterator[Row]:
    """Table III, DMA: pages of the host to scattered frames and back, then both directions at once."""
    link = card.config["host_link"]
    rates = (link["bandwidth_gbps"], link["to_host_gbps"] or link["bandwidth_gbps"])
    theirs = TABLE_III[nbytes]
    pages = nbytes // PAGE
    random = np.random.default_rng(pages)
    config = f"{pages:,} pages, scattered, from the list's post to its interrupt"
    with card.context() as context:
        buffers = [context.empty(nbytes, np.uint8, page_size="4K", access="rw") for _ in range(2)]
        frames = [random.permutation(_frames(buffer)).tolist() for buffer in buffers]
        data = random.bytes(nbytes)
        into = _timed(card, data, frames[0], [], b"")
        back = _timed(card, b"", [], frames[0], data)
        _timed(card, data, frames[1], [], b"")
        both = _timed(card, data, frames[0], frames[1], data)
    for what, took, gbps, paper in zip(("to the card", "back"), (into, back), rates, theirs, strict=True):
        yield Row(SUITE, f"DMA {what}, {bytes_text(nbytes)} (Table III)", config, took, "µs", paper)
        yield _share(f"DMA {what}, {bytes_text(nbytes)}", config, nbytes, took, gbps)
    slower = min(rates)
    yield _share(f"DMA both ways at once, {bytes_text(nbytes)} each", config, nbytes, both, slower)


def _share(name: str, config: str, nbytes: int, took_us: float, gbps: float) -> Row:
    """A short list is mostly latency: only from a MiB on is there a goal."""
    share = 100 * nbytes / took_us / 1000 / gbps
    return Row(SUITE, f"{name}, of the link", config, share, "%", None, ">= 95" if nbytes >= MIB else None)


def _frames(buffer: godwit.Buffer) -> list[int]:
    return [first + at for first, length in buffer.native.physical() for at in range(0, length, PAGE)]


def _timed(card: Card, data: bytes, to: list[int], back: list[int], wanted: bytes) -> float:
    """Virtual time of an exchange in µs; what came back is checked."""
    before = card.stats()["time_ps"]
    found = card.native.exchange_pages(data, to, back)
    took = (card.stats()["time_ps"] - before) / 1e6
    if found != wanted:
        raise CheckError("the page DMA brought other bytes than were there", found=f"{len(back)} pages")
    return took


def _copies(card: Card, nbytes: int, most_iterations: int) -> Iterator[Row]:
    """Table II: MemCopy with an explicit copy before and one after."""
    measured: dict[int, tuple[float, float]] = {}
    for iterations in (1, 2) if nbytes >= COMPUTED_FROM else (1, 128):
        if iterations <= most_iterations:
            measured[iterations] = _memcopy(card, nbytes, iterations)
    for (array, iterations), theirs in TABLE_II.items():
        if array != nbytes or iterations > most_iterations:
            continue
        config = "explicit copies"
        if iterations in measured:
            alone, total = measured[iterations]
        else:
            config += ", computed from 1 and 2 iterations"
            (alone, total), (two, _) = measured[1], measured[2]
            more = (iterations - 1) * (two - alone)
            alone, total = alone + more, total + more
        name = f"MemCopy, {bytes_text(array)}, {iterations} iteration{'s' if iterations > 1 else ''}"
        yield Row(SUITE, f"{name}, accelerator (Table II)", config, alone, "ms", theirs[0])
        yield Row(SUITE, f"{name}, total (Table II)", config, total, "ms", theirs[1], kind="modelled")
        off = 100 * abs(total / theirs[1] - 1)
        yield Row(SUITE, f"{name}, total: off the paper's", config, off, "%", None, "<= 5", kind="modelled")


def _memcopy(card: Card, nbytes: int, iterations: int) -> tuple[float, float]:
    """ms of the kernel alone, and from the copy in to the copy out, both included; physical addresses, as there."""
    data = np.frombuffer(np.random.default_rng(iterations).bytes(nbytes), np.uint8)
    with card.context() as context:
        source, target = (
            context.empty(nbytes, np.uint8, page_size="4K", access=access, contiguous=True) for access in "rw"
        )
        before = card.stats()["time_ps"]
        source.upload(data)
        arguments = {"src": source, "dst": target, "bytes": nbytes, "iterations": iterations}
        done = card.launch("memcopy", context=context, mode="bare", **arguments)
        copy = target.download()
        total = card.stats()["time_ps"] - before
    if copy != data.tobytes():
        raise CheckError("memcopy brought other bytes than were there", found=bytes_text(nbytes))
    return done.time_ps / 1e9, total / 1e9


def plot(rows: list[Row], path: Path) -> None:
    """Both tables as bars beside the paper's."""
    draw(rows, path)
