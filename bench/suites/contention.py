# SPDX-License-Identifier: Apache-2.0
"""What kernels beside each other cost each other: slow-down against alone and fairness, 1 to 8 kernels, hits and misses mixed.

One card with eight copies of the kernel `traffic`, each in a context of its own. A kernel of *hits* reads eight pages, which its L1
TLB holds; one of *misses* reads single beats all over as many scattered pages as the L2 TLB has entries, so that L2 TLB and walker are
what they share; *mixed* is every second one of each. Every kernel is launched again and again. What counts are launches that lie, from start to end as the
card saw them, in the time in which all kernels were at work.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import godwit
from godwit.api import Card, Context
from godwit.buffers import Buffer
from godwit.launches import LaunchResult
from godwit.report import Progress, Row
from godwit.run.tlb_stress import fragment
from godwit.run.traffic import Plan

OPTIONS = frozenset({"quick"})
"""Options of ``godwit bench`` that this suite takes."""

KERNELS = tuple(f"traffic_{number}" for number in range(1, 9))
PAGE = 4096
# Register accesses take a few cycles, so that a kernel is idle for little of its time between two launches.
FAST_LINK = {"latency_ns": 0, "bandwidth_gbps": 1000, "register_latency_ns": 0}
IDEAL = {"model": "fixed", "latency_cycles": 20, "page_table_latency_cycles": 20, "requests_per_cycle": 64.0}
MEMORIES: dict[str, Mapping[str, Any] | None] = {
    "default, memory of 20 cycles without limit": IDEAL,
    "default, one channel of DDR4-2400": None,
}
"""Memory settings by the configuration's name in the rows; None: as the configuration has it."""


@dataclass(frozen=True)
class Amount:
    """How much is measured. pages: of a kernel of misses; cycles: roughly, of a launch alone; rounds: launches that count."""

    counts: Sequence[int] = tuple(range(2, len(KERNELS) + 1))
    pages: int = 1024
    cycles: int = 6000
    rounds: int = 3


QUICK = Amount(counts=(2, 8), pages=512, rounds=2)


@dataclass
class Client:
    """A kernel with its context, its memory and what it is to read."""

    kernel: str
    context: Context
    buffer: Buffer
    plan: Plan
    checksum: int
    alone: float = 0.0
    """Cycles of a launch with no other kernel at work."""

    def start(self, card: Card, mode: str = "translate") -> godwit.Launch:
        return card.start(self.kernel, context=self.context, mode=mode, **self.plan.args(self.buffer))

    def check(self, result: LaunchResult) -> LaunchResult:
        """The result, when what it read was right."""
        if result.checksum != self.checksum:
            raise godwit.DeviceError(
                f"{self.kernel} read {result.checksum:#x}, memory has {self.checksum:#x}"
            )
        return result


def run(progress: Progress, quick: bool = False, amount: Amount | None = None) -> list[Row]:
    """All rows, memory by memory."""
    amount = amount or (QUICK if quick else Amount())
    rows: list[Row] = []
    for number, (config, memory) in enumerate(MEMORIES.items()):
        progress("kernels beside each other", number, len(MEMORIES))
        with open_card(memory) as card:
            # No two frames adjacent, so that no entry of a TLB covers more than a page. Given back after the card is closed: one by
            # one, every page would be an invalidation.
            scattered = fragment(card, len(KERNELS) * (amount.pages + 16) * PAGE, "4K")
            rows += measure(card, config, amount)
        scattered.clear()
    progress("kernels beside each other", len(MEMORIES), len(MEMORIES))
    return rows


def open_card(memory: Mapping[str, Any] | None) -> Card:
    """The card of eight generators; settings of memory and link build none."""
    overrides = [f"card.kernels={json.dumps(KERNELS)}", "card.external_ports=0"]
    return godwit.open("sim:default", overrides=overrides, memory=memory, host_link=FAST_LINK)


def measure(card: Card, config: str, amount: Amount) -> Iterator[Row]:
    """Rows of one memory."""
    spaces = [card.context() for _ in KERNELS]
    hits = [_client(*one, amount, misses=False) for one in zip(KERNELS, spaces, strict=True)]
    misses = [_client(*one, amount, misses=True) for one in zip(KERNELS, spaces, strict=True)]
    for client in (*hits, *misses):
        client.start(card).result()
        client.alone = client.check(client.start(card).result()).cycles
    mixed = [(misses if number % 2 else hits)[number] for number in range(len(KERNELS))]
    for kind, clients in (("hits", hits), ("misses", misses), ("mixed", mixed)):
        for count in amount.counts:
            yield from _rows(card, config, kind, clients[:count], amount.rounds)


def _client(kernel: str, context: Context, amount: Amount, *, misses: bool) -> Client:
    seed = int(kernel.rpartition("_")[2])
    if misses:
        plan = Plan(amount.pages, PAGE, amount.cycles, "random", beats=1, seed=seed)
    else:
        plan = Plan(8, PAGE, amount.cycles // 16, "linear", beats=16, seed=seed)
    buffer = context.empty(plan.nbytes, np.uint8, page_size="4K", contiguous=False)
    words = buffer.to_numpy().view(np.uint64)
    places, _ = plan.accesses()
    for beat in range(plan.beats * 8):
        words[places // 8 + beat] = np.random.default_rng((seed, beat)).integers(
            0, 1 << 64, len(places), np.uint64
        )
    return Client(kernel, context, buffer, plan, plan.checksum(words))


def beside(card: Card, clients: Sequence[Client], rounds: int) -> list[float]:
    """Mean cycles of each client's launches while all of them were at work."""
    # The slowest may take twice as much longer as there are kernels; the others go on until it has done its rounds.
    longest = 2 * len(clients) * (rounds + 1) * max(client.alone for client in clients)
    launches = [[client.start(card) for _ in range(math.ceil(longest / client.alone))] for client in clients]
    for mine in launches:
        mine[rounds].wait()
    done = []
    for client, mine in zip(clients, launches, strict=True):
        ended = sum(not launch.running() for launch in mine)
        for launch in reversed(mine[ended + 1 :]):
            launch.cancel()
        done.append([client.check(launch.result()) for launch in mine[: ended + 1]])
    # Each one's first launch fills its L1 TLB.
    begin = max(results[0].end_cycle for results in done)
    end = min(results[-1].end_cycle for results in done)
    means = []
    for results in done:
        inside = [r.cycles for r in results if r.start_cycle >= begin and r.end_cycle <= end]
        if not inside:
            raise godwit.DeviceError("no launch lay in the time that all kernels were at work")
        means.append(sum(inside) / len(inside))
    return means


def fairness(shares: Sequence[float]) -> float:
    """Jain's index of what each got: 1 when all got the same, 1/n when one got everything."""
    return sum(shares) ** 2 / (len(shares) * sum(share**2 for share in shares))


def _rows(card: Card, config: str, kind: str, clients: Sequence[Client], rounds: int) -> Iterator[Row]:
    together = beside(card, clients, rounds)
    slower = [cycles / client.alone for cycles, client in zip(together, clients, strict=True)]
    which = (
        {"": slower}
        if kind != "mixed"
        else {", those of hits": slower[::2], ", those of misses": slower[1::2]}
    )
    ideal = MEMORIES[config] is not None

    def row(name: str, value: float, unit: str, goal: str | None = None) -> Row:
        return Row("contention", f"{len(clients)} kernels, {kind}{name}", config, value, unit, None, goal)

    for who, values in which.items():
        # Ports are independent: where memory has room for all, hits cost nobody anything, and misses of others cost hits nothing.
        goal = "<= 1.01" if ideal and "misses" not in f"{kind}{who}" else None
        yield row(f"{who}: slow-down, mean", sum(values) / len(values), "x alone", goal)
        yield row(f"{who}: slow-down, worst", max(values), "x alone")
    alike = [fairness([1 / value for value in values]) for values in which.values()]
    yield row(": fairness between ports of one kind (Jain)", min(alike), "of 1", ">= 0.99")
    if kind == "mixed":
        yield row(": fairness between all ports (Jain)", fairness([1 / value for value in slower]), "of 1")


def plot(rows: list[Row], path: Path) -> None:
    """Slow-down over the number of kernels, a panel a memory."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    configs = list(dict.fromkeys(row.config for row in rows))
    figure, axes = plt.subplots(
        1, len(configs), figsize=(6 * len(configs), 4.5), squeeze=False, layout="constrained"
    )
    for axis, config in zip(axes[0], configs, strict=True):
        lines: dict[str, list[tuple[int, float]]] = {}
        for row in rows:
            if row.config == config and "slow-down, mean" in row.row and row.value is not None:
                count, _, who = row.row.partition(" kernels, ")
                lines.setdefault(who.partition(":")[0], [(1, 1.0)]).append((int(count), row.value))
        for who, points in lines.items():
            axis.plot(*zip(*points, strict=True), marker="o", label=who)
        most = max(count for points in lines.values() for count, _ in points)
        axis.plot((1, most), (1, most), linestyle=":", color="grey", label="one resource shared")
        axis.set(title=config, xlabel="kernels at once", ylabel="cycles of a launch / alone")
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)
