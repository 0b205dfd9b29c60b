# SPDX-License-Identifier: Apache-2.0
"""``--memory shared``, ``copy`` and ``auto``: the same launch on plain memory of this process, whose pages move while the kernel runs, with
explicit copies before and after, and with the system's choice of what moves.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from godwit.buffers import Buffer
from godwit.report import Figure
from godwit.run.workload import Check, Measurement, as_bytes, measure
from godwit.shared import residency_over_time
from godwit.units import seconds_text

if TYPE_CHECKING:
    from pathlib import Path

    from godwit.api import Card
    from godwit.memory import Context
    from godwit.shared import Migration

AUTO_LAUNCHES = 3
"""With ``auto``: what is learnt of the first launch holds for the others."""

COUNTS = {
    "cleared": ("never touched, cleared on the card", "bytes"),
    "clean": ("home without a copy", "bytes"),
    "duplicated": ("card and program had both, to read", "bytes"),
    "in_place": ("used in the memory of the host", "bytes"),
    "lent": ("lent, which cannot move", "bytes"),
    "prefetched": ("came along with what was asked for", "bytes"),
    "evicted": ("made room on the card", "bytes"),
    "looks": ("... chosen by looks at who uses them", "groups"),
    "requests": ("pages that the kernel asked for", "requests"),
    "duplicate_requests": ("... asked for twice in a batch", "requests"),
    "batches": ("batches of requests", "batches"),
    "touches": ("pages that the program touched", "touches"),
    "groups": ("groups that moved at once", "groups"),
    "thrashing": ("pages that kernel and program fought for", "pages"),
    "throttled": ("... which then moved alone", "times"),
}
"""What is counted of migrations: how it is called, and its unit."""
STEPS = {
    "request": "requests: interrupt and wake-up",
    "leave": "host: pages taken, given room, mapped",
    "link": "waiting for bytes on the link",
    "unmap": "unmapped, until nothing uses them",
    "return": "host: pages given back",
}
"""Where the time of migrations goes."""


@dataclass(frozen=True)
class Migrated:
    """A launch with the way of its data, there and back."""

    run: Measurement
    total_ps: int
    """Virtual time from before the first byte moves until the program has the results."""
    moved: dict[str, Any]
    """As `Card.migrations`, of this launch; nothing with explicit copies."""
    log: Sequence[Migration] = ()
    """As `Card.migration_log`, of this launch."""
    moved_ps: int = 0
    """Virtual time at which it began."""


def run_migrated(
    card: Card,
    kernel: str,
    args: dict[str, Any],
    outputs: Sequence[Buffer],
    check: Check,
    initial: Mapping[str, np.ndarray],
    *,
    shared: bool,
    placed: Mapping[str, Callable[[int], np.ndarray]] | None = None,
) -> Migrated:
    """Launches `kernel` with other memory in place of every buffer: plain memory, or buffers that are copied to and from. Outputs
    begin as never touched; what the kernel wrote is copied into `outputs` and checked there. placed: by argument, what is in memory whose
    content depends on its address.
    """
    data = _contents(args, outputs, initial)
    buffers = {id(value): value for value in args.values() if isinstance(value, Buffer)}
    with card.context() as context:
        plain = {key: _plain(buffer.nbytes, data.get(key)) for key, buffer in buffers.items()}
        pointing = {id(args[name]): content for name, content in (placed or {}).items()}
        for key, make in pointing.items():
            plain[key][:] = as_bytes(make(plain[key].ctypes.data))
        places: dict[int, Any] = dict(plain)
        before = card.stats()["time_ps"]
        if shared:
            return _on_plain(card, context, kernel, args, outputs, check, plain, "migrated")
        for key, buffer in buffers.items():
            places[key] = context.empty(buffer.nbytes, np.uint8, access="rw")
            if key in pointing:
                places[key].upload(as_bytes(pointing[key](places[key].address)))
            elif key in data:
                places[key].upload(plain[key])
        given = {name: places.get(id(value), value) for name, value in args.items()}
        run = measure(card, context, kernel, given, "translate")
        found = {id(output): _home(places[id(output)]) for output in outputs}
        total = card.stats()["time_ps"] - before
    _compare(run, outputs, found, check, "copied")
    return Migrated(run, total, {}, (), before)


def run_advised(
    card: Card,
    kernel: str,
    args: dict[str, Any],
    outputs: Sequence[Buffer],
    check: Check,
    initial: Mapping[str, np.ndarray],
) -> dict[str, Migrated]:
    """The same on plain memory that stays in the host's, and on such of which the system decides: a first launch, and the last of
    `AUTO_LAUNCHES`, between which the program writes all inputs again.
    """
    data = _contents(args, outputs, initial)
    buffers = {id(value): value for value in args.values() if isinstance(value, Buffer)}
    ways: dict[str, Migrated] = {}
    for advice, launches in (("in_place", 1), ("auto", AUTO_LAUNCHES)):
        with card.context() as context:
            plain = {key: _plain(buffer.nbytes, data.get(key)) for key, buffer in buffers.items()}
            for array in plain.values():
                card.advise(array, advice)  # type: ignore[arg-type]
            for turn in range(launches):
                for key, array in plain.items() if turn else ():
                    if key in data:
                        array[: data[key].nbytes] = data[key]
                    else:
                        card.discard(array)
                done = _on_plain(card, context, kernel, args, outputs, check, plain, advice)
                ways[f"{advice}_first" if advice == "auto" and not turn else advice] = done
    return ways


def _contents(
    args: Mapping[str, Any], outputs: Sequence[Buffer], initial: Mapping[str, np.ndarray]
) -> dict[int, np.ndarray]:
    """What is in buffers before a launch, by their identity; nothing of outputs."""
    buffers = {id(value): value for value in args.values() if isinstance(value, Buffer)}
    data = {key: as_bytes(buffer).copy() for key, buffer in buffers.items()}
    for output in outputs:
        data.pop(id(output), None)
    for name, content in initial.items():
        data[id(args[name])] = as_bytes(content)
    return data


def _on_plain(
    card: Card,
    context: Context,
    kernel: str,
    args: dict[str, Any],
    outputs: Sequence[Buffer],
    check: Check,
    plain: Mapping[int, np.ndarray],
    which: str,
) -> Migrated:
    """A launch on plain memory, until the program has touched all of the outputs."""
    moved, before = card.migrations(), card.stats()["time_ps"]
    given = {name: plain.get(id(value), value) for name, value in args.items()}
    run = measure(card, context, kernel, given, "translate")
    found = {id(output): _home(plain[id(output)]) for output in outputs}
    total = card.stats()["time_ps"] - before
    moved = _since(card.migrations(), moved)
    log = [move for move in card.migration_log() if move.time_ps >= before]
    _compare(run, outputs, found, check, which)
    return Migrated(run, total, moved, log, before)


def _compare(
    run: Measurement, outputs: Sequence[Buffer], found: Mapping[int, np.ndarray], check: Check, which: str
) -> None:
    for output in outputs:
        as_bytes(output)[...] = found[id(output)][: output.nbytes]
    check(run.result, which)


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
    for step, label in STEPS.items():
        took = migrated.moved["time_ps"][step] * 1e-12
        yield Figure(f"time_{step}", label, "s", "modelled", took, show=seconds_text)
    moved = sum(move.nbytes for move in migrated.log if move.to_device)
    if moved:
        walks = migrated.run.counters["walker"]["walks"]
        yield Figure(
            "walks_per_mib", "page-table walks a MiB moved", "walks", "simulated", walks / (moved / (1 << 20))
        )


def advised_figures(advised: Mapping[str, Migrated]) -> Iterator[Figure]:
    """Totals of memory that was advised on, and where its pages were."""
    labels = {
        "in_place": "on shared memory that stays, there and back",
        "auto_first": "auto: a first launch, there and back",
        "auto": "auto: a later launch, there and back",
    }
    for way, label in labels.items() if advised else ():
        total = advised[way].total_ps * 1e-12
        yield Figure(f"{way}_time", label, "s", "modelled", total, show=seconds_text)
    for way in ("auto_first", "auto") if advised else ():
        moved, launch = advised[way].moved, "a first launch" if way == "auto_first" else "a later launch"
        yield Figure(f"{way}_stayed", f"auto: stayed, {launch}", "bytes", "simulated", moved["in_place"])
        went = moved["to_device"]
        brought = sum(went.values()) - went["reuse"] + moved["cleared"]
        yield Figure(f"{way}_moved", f"auto: moved at once, {launch}", "bytes", "simulated", brought)
        yield Figure(f"{way}_reuse", f"auto: moved for reuse, {launch}", "bytes", "simulated", went["reuse"])


def plot(migrated: Migrated, path: Path) -> None:
    """Bytes on the card over time, and bytes that moved, by direction and cause."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (resident, moved) = plt.subplots(2, 1, figsize=(9, 6), sharex=True, layout="constrained")

    def since(time_ps: int) -> float:
        return (time_ps - migrated.moved_ps) / 1e6

    times, sizes = [0.0], [0.0]
    for time_ps, nbytes in residency_over_time(migrated.log):
        times.append(since(time_ps))
        sizes.append(nbytes / (1 << 20))
    end = migrated.total_ps / 1e6
    resident.step([*times, end], [*sizes, sizes[-1]], where="post", color="#4a7ebb")
    resident.fill_between([*times, end], [*sizes, sizes[-1]], step="post", alpha=0.2, color="#4a7ebb")
    resident.set_title("MiB on the card", loc="left", fontsize=10)
    for to_device, style in ((True, "-"), (False, "--")):
        for cause in dict.fromkeys(move.cause for move in migrated.log if move.to_device == to_device):
            those = [move for move in migrated.log if (move.to_device, move.cause) == (to_device, cause)]
            sums = np.cumsum([move.nbytes for move in those]) / (1 << 20)
            label = f"{'to the card' if to_device else 'home'}: {cause}"
            at = [since(move.time_ps) for move in those]
            moved.step([*at, end], [*sums, sums[-1]], style, where="post", label=label)
    moved.set_title("MiB moved so far", loc="left", fontsize=10)
    moved.set_xlabel("µs of virtual time since the first byte moved")
    if migrated.log:
        moved.legend(frameon=False, fontsize=8)
    for axis in (resident, moved):
        axis.spines[["top", "right"]].set_visible(False)
        axis.set_ylim(bottom=0)
    figure.savefig(path, dpi=120)
    plt.close(figure)
