# SPDX-License-Identifier: Apache-2.0
"""``--memory shared`` and ``copy``: the same launch on plain memory of this process, whose pages move while the kernel runs, and with
explicit copies before and after.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from godwit.buffers import Buffer
from godwit.report import Figure
from godwit.run.workload import Measurement, as_bytes, measure
from godwit.units import seconds_text

if TYPE_CHECKING:
    from godwit.api import Card
    from godwit.launches import LaunchResult

COUNTS = {
    "cleared": ("never touched, cleared on the card", "bytes"),
    "clean": ("home without a copy", "bytes"),
    "lent": ("lent, which cannot move", "bytes"),
    "prefetched": ("came along with what was asked for", "bytes"),
    "evicted": ("made room on the card", "bytes"),
    "requests": ("pages that the kernel asked for", "requests"),
    "duplicate_requests": ("... asked for twice in a batch", "requests"),
    "batches": ("batches of requests", "batches"),
    "touches": ("pages that the program touched", "touches"),
    "groups": ("groups that moved at once", "groups"),
}
"""What is counted of migrations: how it is called, and its unit."""


@dataclass(frozen=True)
class Migrated:
    """A launch with the way of its data, there and back."""

    run: Measurement
    total_ps: int
    """Virtual time from before the first byte moves until the program has the results."""
    moved: dict[str, Any]
    """As `Card.migrations`, of this launch; nothing with explicit copies."""


def run_migrated(
    card: Card,
    kernel: str,
    args: dict[str, Any],
    outputs: Sequence[Buffer],
    check: Callable[[LaunchResult, str], None],
    initial: Mapping[str, np.ndarray],
    *,
    shared: bool,
) -> Migrated:
    """Launches `kernel` with other memory in place of every buffer: plain memory, or buffers that are copied to and from. Outputs
    begin as never touched; what the kernel wrote is copied into `outputs` and checked there.
    """
    buffers = {id(value): value for value in args.values() if isinstance(value, Buffer)}
    data = {key: as_bytes(buffer).copy() for key, buffer in buffers.items()}
    for output in outputs:
        data.pop(id(output), None)
    for name, content in initial.items():
        data[id(args[name])] = as_bytes(content)
    with card.context() as context:
        plain = {key: _plain(buffer.nbytes, data.get(key)) for key, buffer in buffers.items()}
        places: dict[int, Any] = dict(plain)
        moved, before = card.migrations() if shared else {}, card.stats()["time_ps"]
        if not shared:
            for key, buffer in buffers.items():
                places[key] = context.empty(buffer.nbytes, np.uint8, access="rw")
                if key in data:
                    places[key].upload(plain[key])
        given = {name: places.get(id(value), value) for name, value in args.items()}
        run = measure(card, context, kernel, given, "translate")
        # The program touches all of it, or copies it.
        found = {id(output): _home(places[id(output)]) for output in outputs}
        total = card.stats()["time_ps"] - before
        moved = _since(card.migrations(), moved) if shared else {}
    for output in outputs:
        as_bytes(output)[...] = found[id(output)][: output.nbytes]
    check(run.result, "migrated" if shared else "copied")
    return Migrated(run, total, moved)


def _plain(nbytes: int, content: np.ndarray | None) -> np.ndarray:
    """Memory of a mapping of its own, never touched where there is no content."""
    array = np.frombuffer(mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS), np.uint8)
    if content is not None:
        array[: content.nbytes] = content
    return array


def _home(place: np.ndarray | Buffer) -> np.ndarray:
    return np.frombuffer(place.download(), np.uint8) if isinstance(place, Buffer) else place.copy()


def _since(now: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    nested = {key: value for key, value in now.items() if isinstance(value, dict)}
    counts = {key: value - before[key] for key, value in now.items() if key not in nested}
    return counts | {key: _since(value, before[key]) for key, value in nested.items()}


def figures(copied: Migrated, migrated: Migrated | None) -> Iterator[Figure]:
    """Both totals, and what moved and why."""
    yield Figure(
        "copied_time",
        "with explicit copies, there and back",
        "s",
        "modelled",
        copied.total_ps * 1e-12,
        show=seconds_text,
    )
    if migrated is None:
        return
    total = migrated.total_ps * 1e-12
    yield Figure("shared_time", "on shared memory, there and back", "s", "modelled", total, show=seconds_text)
    yield Figure(
        "shared_cycles", "kernel on shared memory", "cycles", "simulated", migrated.run.result.cycles
    )
    for way, label in (("to_device", "copied to the card"), ("to_host", "copied home")):
        for cause, nbytes in migrated.moved[way].items():
            if nbytes:
                yield Figure(f"{way}_{cause}", f"{label}: {cause}", "bytes", "simulated", nbytes)
    for name, (label, unit) in COUNTS.items():
        yield Figure(f"pages_{name}", label, unit, "simulated", migrated.moved[name])
