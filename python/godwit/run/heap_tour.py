# SPDX-License-Identifier: Apache-2.0
"""``godwit heap``: some of everything that a heap can be asked for, and what it is like then."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from godwit.errors import CheckError, InputError
from godwit.run.workload import card_facts

if TYPE_CHECKING:
    from godwit.api import Card
    from godwit.heap_report import HeapReport
    from godwit.run.workload import Setup

PAGE = 4096
SETTLE_CYCLES = 200_000
"""In which what was freed is taken back and cleared."""


@dataclass(frozen=True)
class Tour:
    """What was done, and what the heap was like: before anything was freed, and after it."""

    steps: list[str]
    full: HeapReport
    settled: HeapReport
    counters: dict[str, int]
    events: list[dict[str, Any]] | None
    card: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """The report for machines."""
        return {
            "card": self.card,
            "steps": self.steps,
            "heap": self.full.to_json(),
            "after_frees": self.settled.to_json(),
            "counters": self.counters,
            **({"events": self.events} if self.events is not None else {}),
        }


def with_heap(setup: Setup) -> Setup:
    """The same on a card that has a heap. Raises InputError when the configuration cannot have one."""
    from godwit.spec import config

    loaded = config.load(setup.config, setup.overrides)
    if loaded.heap.slots:
        return setup
    if any(override.strip().startswith("heap.slots") for override in setup.overrides):
        raise InputError("heap.slots=0 is a card without a heap", hint="--set heap.slots=1024")
    return replace(setup, overrides=(*setup.overrides, "heap.slots=1024"))


def run(setup: Setup, *, with_events: bool) -> Tour:
    """Allocates, touches, grows, shrinks and frees; needs the kernel `memcopy`."""
    setup = with_heap(setup).with_kernel("memcopy")
    with tempfile.TemporaryDirectory(prefix="godwit-heap-") as directory:
        events = Path(directory) / "events.arrow"
        if with_events and setup.events is None:
            setup = replace(setup, events=events)
        with setup.open() as card:
            card.clear_counters()
            steps, full = _walk(card)
            card.run(SETTLE_CYCLES)
            settled = card.heap()
            counters = dict(card.counters()["heap"])
            facts = card_facts(card, setup.page_size)
            # What the card's end frees is not part of it.
            end = card.stats()["cycles"]
        told = heap_events(events, end) if with_events and events.is_file() else None
    return Tour(steps, full, settled, counters, told, facts)


def _walk(card: Card) -> tuple[list[str], HeapReport]:
    """Returns what was done, in words, and the heap before the frees."""
    steps = []
    source, target = card.malloc(8 << 30), card.malloc(8 << 30, granule=64 << 10)
    source.to_numpy("u1", 40 * PAGE)[:] = 7
    card.launch("memcopy", src=source, dst=target, bytes=40 * PAGE, iterations=1)
    if not (target.to_numpy("u1", 40 * PAGE) == 7).all():
        raise CheckError("memcopy on heap memory gave other bytes than it read")
    steps.append("two mallocs of 8 GiB; this program writes 160 KiB of one, memcopy copies them to the other")
    small = [card.malloc(100, small=True) for _ in range(5)]
    for memory in small[:3]:
        memory.to_numpy()[:] = 1
    steps.append("five small mallocs of 100 bytes, three of them written")
    other = card.context()
    grown = other.malloc(PAGE)
    grown.realloc(64 * PAGE)
    grown.populate(16 * PAGE)
    steps.append("another context: malloc of 4 KiB, realloc to 256 KiB, frames for 64 KiB taken ahead")
    source.realloc(8 * PAGE)
    steps.append("realloc of the first to 32 KiB: 128 KiB are taken back")
    full = card.heap()
    for memory in (target, *small):
        memory.free()
    steps.append("free of the second and of the small ones: their frames are taken back and cleared")
    other.close()
    steps.append("the other context ends: what it had is freed")
    return steps, full


def heap_events(path: Path, end: int) -> list[dict[str, Any]]:
    """Those of the heap before a cycle, in order."""
    import pyarrow as pa
    import pyarrow.compute as pc

    with pa.OSFile(str(path)) as file:
        table = pa.ipc.open_file(file).read_all()
    of_heap = pc.equal(table["level"].cast(pa.string()), "heap")
    own = table.filter(pc.and_(of_heap, pc.less(table["cycle"], end)))
    names = ("cycle", "event", "port", "channel", "context", "value")
    return own.select(list(names)).to_pylist()
