# SPDX-License-Identifier: Apache-2.0
"""Replacement policies of L1 TLB, L2 TLB and page cache: misses of loops, random and skewed accesses, and streams beside a working set.

One card for each policy, which all three then have. A driven port reads one beat of a page at a time, the next one when the last is answered, so
that no access is a hit or a miss for what was under way. Pages of the TLBs lie in single frames, no two adjacent. Misses are the hardware's
counters, over as many accesses as came before to warm up; a loop is what paper N's Fig. 3 walks.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate, count
from pathlib import Path
from typing import Any

import godwit
from bench import ports
from godwit.api import Card
from godwit.report import Progress, Row
from godwit.run.tlb_stress import fragment
from godwit.spec.sections.fields import REPLACEMENTS

SUITE = "replacement"
OPTIONS = frozenset({"quick"})
"""Options of ``godwit bench`` that this suite takes. Quick: two policies, fewer accesses."""

POLICIES = {
    name: tuple(f"{section}.replacement={name}" for section in ("translator", "l2", "page_cache"))
    for name in REPLACEMENTS
}
"""What makes a card of each."""
PAGE = 4096
L1, L2, CACHE = 8, 64, 16
"""Places: entries, four ways of 16 sets, pages."""
OVERRIDES = (
    "card.kernels=[]",
    "card.external_ports=1",
    "card.memory_bytes=64 MiB",
    f"translator.l1_entries={L1}",
    f"l2.sets={L2 // 4}",
    "l2.ways=4",
    "l2.clusters=false",
    f"page_cache.pages={CACHE}",
    "page_cache.fill=used",
    "page_cache.spare=0",
)
LINK = {"latency_ns": 0, "bandwidth_gbps": 1000, "register_latency_ns": 0}
SEED = 1


def _loop(share: float) -> Callable[[int, random.Random], Iterator[int]]:
    """Pages 0, 1, ... in a circle of `share` times the places."""

    def pages(places: int, _rng: random.Random) -> Iterator[int]:
        around = int(places * share)
        return (number % around for number in count())

    return pages


def _random(places: int, rng: random.Random) -> Iterator[int]:
    """Any of twice as many pages as there are places."""
    return (rng.randrange(2 * places) for _ in count())


def _skewed(places: int, rng: random.Random) -> Iterator[int]:
    """Of four times as many, page n with a weight of 1/n."""
    weights = list(accumulate(1 / (number + 1) for number in range(4 * places)))
    return (rng.choices(range(4 * places), cum_weights=weights)[0] for _ in count())


def _stream(places: int, _rng: random.Random) -> Iterator[int]:
    """Half as many pages as there are places again and again, after each of them one of a stream of eight times as many."""
    hot = places // 2
    return (
        number // 2 % hot if number % 2 == 0 else hot + number // 2 % (8 * places - hot) for number in count()
    )


PATTERNS: dict[str, Callable[[int, random.Random], Iterator[int]]] = {
    "loop over 1.25 times its places": _loop(1.25),
    "loop over twice its places": _loop(2),
    "random in twice its places": _random,
    "skewed (1/n) in four times its places": _skewed,
    "half its places, and a stream beside them": _stream,
}


def run(progress: Progress, quick: bool = False) -> list[Row]:
    """All rows, policy by policy."""
    policies = list(POLICIES)[: 2 if quick else None]
    rows: list[Row] = []
    for number, policy in enumerate(policies):
        progress("replacement", number, len(policies))
        rows += _measure(policy, rounds=8 if quick else 24)
    progress("replacement", len(policies), len(policies))
    return rows


def _measure(policy: str, rounds: int) -> Iterator[Row]:
    """Rows of one policy; as many accesses of a pattern as `rounds` times the places."""
    with godwit.open("sim:ng", overrides=[*OVERRIDES, *POLICIES[policy]], host_link=LINK) as card:
        port = len(card.config["card"]["kernels"])
        scattered = fragment(card, 8 * L2 * PAGE, "4K")
        with card.context() as context:
            ports.bind(card, context, port)
            pages = context.empty(8 * L2 * PAGE, page_size="4K", contiguous=False)
            reader = Reader(card, port, pages.address)
            for name, places, misses in (
                ("L1 TLB", L1, lambda: card.counters()["ports"][port]["read"]["misses"]),
                ("L2 TLB", L2, lambda: card.counters()["l2"]["misses"]),
            ):
                yield from _patterns(reader, name, places, misses, policy, rounds)
        with card.context(place="host") as context:
            ports.bind(card, context, port)
            buffer: Any = context.empty(8 * CACHE * PAGE)
            buffer.to_numpy()[...] = 1  # pages are there
            reader = Reader(card, port, buffer.address)
            yield from _patterns(
                reader, "page cache", CACHE, lambda: card.counters()["cache"]["pages"], policy, rounds
            )
        scattered.clear()


@dataclass(frozen=True)
class Reader:
    """A driven port that reads a beat of a page of a buffer."""

    card: Card
    port: int
    base: int

    def read(self, page: int) -> None:
        """Until it is answered."""
        native, address = self.card.native, self.base + page * PAGE
        native.port_submit([(self.port, 0, 0, address, 1, ports.BEAT_SIZE, None)])
        native.port_drain(ports.MAX_CYCLES)
        (answer,) = native.port_poll()
        if answer["resp"] != 0:
            raise godwit.DeviceError(f"the read at {address:#x} was answered with an error")


def _patterns(
    reader: Reader, name: str, places: int, misses: Callable[[], int], policy: str, rounds: int
) -> Iterator[Row]:
    """Rows of one memory."""
    for pattern, pages in PATTERNS.items():
        chosen = pages(places, random.Random(SEED))
        accesses = rounds * places
        for measured in (False, True):
            before = misses()
            for _ in range(accesses):
                reader.read(next(chosen))
            if measured:
                share = 100 * (misses() - before) / accesses
                yield Row(SUITE, f"{name} of {places}, {pattern}", policy, share, "% missed", None, None)


def plot(rows: list[Row], path: Path) -> None:
    """Misses by pattern, a bar a policy."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    memories = list(dict.fromkeys(row.row.split(",", 1)[0] for row in rows))
    policies = list(dict.fromkeys(row.config for row in rows))
    figure, axes = plt.subplots(
        len(memories), 1, figsize=(9, 3 * len(memories)), squeeze=False, layout="constrained"
    )
    for memory, axis in zip(memories, axes[:, 0], strict=True):
        for number, policy in enumerate(policies):
            own = [row for row in rows if row.config == policy and row.row.startswith(f"{memory},")]
            places = [index + 0.8 * number / len(policies) for index in range(len(own))]
            axis.bar(places, [row.value or 0 for row in own], 0.8 / len(policies), label=policy)
            axis.set_xticks(range(len(own)), [row.row.split(", ", 1)[1] for row in own], fontsize=6)
        axis.set(title=memory, ylabel="% missed")
        axis.legend(fontsize=7)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)
