# SPDX-License-Identifier: Apache-2.0
"""The rows of paper W's allocator: malloc, realloc and free at a kernel's port, first touch, linear writers, memory overhead, area.

Configuration `default` with `heap.slots=1024`, kernels `traffic` and `heap_list` and one driven port; granules that are neither
4 KiB, 64 KiB nor 2 MiB with `walker.napot=any`. *L = 10*: memory answers after 10 cycles, page tables included, as the paper's RTL was simulated
for the figures beside ours.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import mean
from typing import Any

import godwit
from bench import ports
from godwit import toolchain
from godwit.api import Card, Context
from godwit.buffers import Buffer
from godwit.heap import HeapMemory
from godwit.report import Progress, Row
from godwit.run.traffic import Plan
from godwit.units import bytes_text

SUITE = "papers"
KERNEL = "heap_list"
OVERRIDES = (
    'card.kernels=["traffic"]',
    "card.external_ports=1",
    "heap.slots=1024",
    "heap.memory_bytes=64MiB",
)
DRIVEN = 2
"""The driven port: behind the two kernels'."""
PAGE, KIB, MIB, GIB = 4096, 1 << 10, 1 << 20, 1 << 30
L = 10


def _fixed(latency: int, requests_per_cycle: float) -> dict[str, Any]:
    return {
        "model": "fixed",
        "latency_cycles": latency,
        "page_table_latency_cycles": latency,
        "requests_per_cycle": requests_per_cycle,
    }


MEMORIES: dict[str, dict[str, Any] | None] = {
    f"L = {L}": _fixed(L, 4.0),
    "one channel of DDR4-2400": None,
    "71 cycles, a request every four (fletcher)": _fixed(71, 0.25),
}
COMMANDS: tuple[tuple[int, int, dict[str, float]], ...] = (
    (PAGE, 2 * PAGE, {"malloc": 1128}),
    (512 * PAGE, 1024 * PAGE, {"realloc": 5416}),
    (8192 * PAGE, 16384 * PAGE, {"free": 10327}),
    (65536 * PAGE, 131072 * PAGE, {"malloc": 33451}),
    (4 * GIB, 8 * GIB, {}),
    (8 * GIB, 8 * GIB, {}),
)
"""Size of a malloc, what it grows to, and what the paper's RTL takes, in cycles."""
GRANULES = (4 * KIB, 64 * KIB, 2 * MIB)
OTHER_GRANULES = tuple(PAGE << order for order in range(1, 10) if PAGE << order not in GRANULES)
"""With a walker that knows pages of any power of two."""
CLB_LUTS = 8
WHOLE = "gw_heap, 8192 slots, 4 GiB"
THEIR_CLBS = 2600


@dataclass(frozen=True)
class Amount:
    """How much is measured."""

    commands: int = 8
    touches: int = 64
    linear_bytes: int = 16 * MIB
    buffer_bytes: int = 32 * MIB
    pages: int = 64
    memories: tuple[str, ...] = tuple(MEMORIES)
    bursts: tuple[int, ...] = (64, 4)
    other_granules: tuple[int, ...] = OTHER_GRANULES


FULL = Amount()
QUICK = Amount(2, 16, 2 * MIB, 2 * MIB, 8, (f"L = {L}",), (64,), ())


def rows(progress: Progress, quick: bool) -> Iterator[Row]:
    """All rows of the allocator, in the order of the paper's chapters."""
    size = QUICK if quick else FULL
    for number, name in enumerate(size.memories):
        progress(f"paper W, heap, {name}", number, len(size.memories))
        with _card(MEMORIES[name], progress) as card:
            if not number:
                yield from _commands(card, size)
                yield from _first_touch(card, size)
                yield from _overhead(card, size)
            if name in (f"L = {L}", "one channel of DDR4-2400"):
                yield from _growth(card, name, size)
            yield from _linear(card, name, size, GRANULES)
        if size.other_granules:
            with _card(MEMORIES[name], progress, "walker.napot=any") as card:
                yield from _linear(card, name, size, size.other_granules)
    progress("paper W, heap", len(size.memories), len(size.memories))
    yield _area()


def _card(memory: Mapping[str, Any] | None, progress: Progress, *more: str) -> Card:
    kernel = toolchain.root() / "examples" / "kernel" / f"{KERNEL}.toml"
    overrides = (*OVERRIDES, *more)
    return godwit.open("sim:default", overrides=overrides, kernels=[kernel], memory=memory, progress=progress)


def _row(
    name: str,
    config: str,
    value: float,
    unit: str,
    theirs: float | str | None = None,
    goal: str | None = None,
) -> Row:
    return Row(SUITE, name, config, value, unit, theirs, goal)


def _commands(card: Card, size: Amount) -> Iterator[Row]:
    """Fig. 6.5: as a kernel that allocates sees it, command to response."""
    for nbytes, grown, theirs in COMMANDS:
        with card.context() as context:
            result = card.launch(KERNEL, context=context, count=size.commands, bytes=nbytes, grown=grown)
        config = f"longest of {size.commands} at the kernel's port, L = {L}"
        for name, cycles, of in (
            ("malloc", result.malloc_cycles, bytes_text(nbytes)),
            ("realloc", result.realloc_cycles, f"{bytes_text(nbytes)} to {bytes_text(grown)}"),
            ("free", result.free_cycles, bytes_text(nbytes)),
        ):
            yield _row(f"{name}, {of} (Fig. 6.5)", config, cycles, "cycles", theirs.get(name), "<= 64")


def _first_touch(card: Card, size: Amount) -> Iterator[Row]:
    """From a write's address at the port to the same at memory, the walk that finds nothing in it."""
    with card.context() as context:
        ports.bind(card, context, DRIVEN)
        memory = context.malloc(GIB)
        pages = range(memory.address, memory.address + size.touches * PAGE, PAGE)
        taken = [_touch(card, pages[0], page) for page in pages]
    config = f"L = {L}, one write at a time to an idle heap, walk included"
    first, second, *others = taken
    yield _row("first touch of an allocation, its tables too", config, first, "cycles")
    yield _row("first touch behind that, the walker looks at the tables anew", config, second, "cycles")
    mean_of = f"{config}, mean of {len(others)}"
    yield _row("first touch of the next page", mean_of, mean(others), "cycles", 37, "<= 37")
    yield _row("first touch of the next page, longest", config, max(others), "cycles", 37, "<= 37")


def _touch(card: Card, resident: int, page: int) -> int:
    """Cycles of a write to an untouched page, when all of before is stored: reads of a mapped page pass the time."""
    cycles = ports.writes(card, [page], port=DRIVEN).span
    ports.reads(card, [resident] * 400, [0] * 400, port=DRIVEN)
    return cycles


def _linear(card: Card, memory: str, size: Amount, granules: tuple[int, ...]) -> Iterator[Row]:
    """A kernel that writes an allocation from end to end, and once more with empty TLBs; frames are clean when it begins."""
    for granule in granules:
        for beats in size.bursts:
            while card.heap().region["clean"] < 2 * size.linear_bytes:
                card.run(10_000)
            with card.context() as context, context.malloc(GIB, granule=granule) as target:
                count = size.linear_bytes // (64 * beats)
                plan = Plan(count, 64 * beats, count, beats=beats, writes=256)
                untouched = _run(card, context, target, plan)
                card.native.invalidate()
                mapped = _run(card, context, target, plan)
            yield _row(
                f"linear writer into an untouched buffer, {bytes_text(granule)} granules, {64 * beats} bytes a burst",
                f"{memory}, {bytes_text(size.linear_bytes)}",
                100 * mapped / untouched,
                "% of mapped",
                None,
                ">= 99" if granule >= 64 * KIB else ">= 95",
            )


def _run(card: Card, context: Context, target: HeapMemory | Buffer, plan: Plan) -> int:
    result = card.launch("traffic", context=context, **(plan.args(0) | {"base": target}))
    if result.status:
        raise godwit.DeviceError(f"traffic {plan}: status {result.status}")
    return result.run_cycles


def _overhead(card: Card, size: Amount) -> Iterator[Row]:
    """Page tables as frames that are gone, and what a granule leaves unused at most."""
    theirs = "64 KiB of tables a buffer"
    config = "frames that the heap has less, without those of the data"
    with card.context() as context:
        ports.bind(card, context, DRIVEN)
        with context.malloc(PAGE, small=True) as first, context.malloc(PAGE, small=True) as second:
            _settled(card, [first.address])
            before = card.heap_free() // PAGE
            taken = before - _settled(card, [second.address]) - 1
        yield _row(
            "page tables of another small block of one page", config, taken * PAGE / KIB, "KiB", theirs
        )
        for nbytes in (PAGE, size.buffer_bytes):
            with context.malloc(nbytes, granule=64 * KIB) as memory:
                before = card.heap_free() // PAGE
                groups = range(memory.address, memory.address + nbytes, 64 * KIB)
                taken = before - _settled(card, groups) - 16 * len(groups)
            name = f"page tables of a buffer of {bytes_text(nbytes)}, 64 KiB granules"
            yield _row(name, config, taken * PAGE / KIB, "KiB", theirs, "< 64")
    for granule in (4 * KIB, 64 * KIB):
        worst = 100 * granule / (32 * MIB)
        name = f"unused end and page tables of a buffer, {bytes_text(granule)} granules, at most"
        told = "computed: 32 MiB, the smallest of the paper's sizes"
        tables = 100 * (32 * MIB // (2 * MIB) + 1) * PAGE / (32 * MIB)
        yield Row(SUITE, name, told, worst + tables, "%", "0.2 to 7, and tables", "<= 7", kind="modelled")


def _settled(card: Card, pages: range | list[int]) -> int:
    """Touches pages; free frames when all is stored, cleared and in stock again."""
    ports.writes(card, list(pages), port=DRIVEN)
    last = -1
    while (now := card.heap_free() // PAGE) != last:
        last = now
        card.native.run(20_000)
    return now


def _growth(card: Card, memory: str, size: Amount) -> Iterator[Row]:
    """Table 3.1: what it costs that a buffer grows, and where a page that is not there comes from."""
    half = size.linear_bytes // 2
    with card.context() as context:
        count = half // 4096
        with context.malloc(half, granule=64 * KIB) as target:
            plan = Plan(count, 4096, count, beats=64, writes=256)
            _run(card, context, target, plan)
            again = _run(card, context, target, plan)
        grown = card.launch(KERNEL, context=context, count=1, bytes=half, grown=2 * half)
        name = f"growth from {bytes_text(half)} to twice that"
        yield _row(
            f"{name}, by copy (Table 3.1)",
            f"{memory}, writing what is there once more, the least a copy takes",
            again,
            "cycles",
        )
        yield _row(
            f"{name}, by extents (Table 3.1)",
            f"{memory}, one more contiguous piece at an address of its own and its entry of the range TLB; host's own work not charged",
            _extent(card, context, half),
            "cycles",
        )
        yield _row(
            f"{name}, by pages (Table 3.1)",
            f"{memory}, realloc at the kernel's port",
            grown.realloc_cycles,
            "cycles",
        )
        single = Plan(size.pages, PAGE, size.pages, beats=1, writes=256, outstanding=1, ids=1)
        with context.malloc(2 * size.pages * PAGE) as target:
            heap = _run(card, context, target, single) / size.pages
        with context.reserve(2 * size.pages * PAGE) as target:
            host = _run(card, context, target, single) / size.pages
    config = f"{memory}, {size.pages} pages one after the other, a write of 64 bytes each"
    yield _row("a page that is not there, frame from the heap", config, heap, "cycles")
    yield _row(
        "a page that is not there, served by the host",
        f"{config}, host's own work not charged",
        host,
        "cycles",
    )


def _extent(card: Card, context: Context, nbytes: int) -> int:
    """Cycles in which the host gives a context another contiguous piece: page tables, and the registers of a range entry."""
    before = card.stats()["cycles"]
    with context.empty(nbytes, contiguous=True) as piece:
        if piece.want_range_entries() != 1:
            raise godwit.DeviceError("a contiguous piece got no entry of the range TLB")
        return card.stats()["cycles"] - before


def _area() -> Row:
    """Table 6.1."""
    recorded = json.loads((toolchain.root() / "hw" / "synth" / "recorded.json").read_text())
    return _row(
        "allocator's area (Table 6.1)",
        f"{WHOLE}, one region, Yosys synth_xilinx -family xcup",
        recorded["area"][WHOLE]["lut"],
        "LUT",
        f"{THEIR_CLBS} CLBs, {THEIR_CLBS * CLB_LUTS:,} LUTs at most",
        f"<= {THEIR_CLBS * CLB_LUTS}",
    )
