# SPDX-License-Identifier: Apache-2.0
"""Traffic plans on a simulated card, with virtual and with physical addresses: what the suites of the papers share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import godwit
from godwit.api import Card, Context
from godwit.buffers import Buffer
from godwit.launches import LaunchResult
from godwit.report import Progress
from godwit.run.traffic import Plan

KERNEL = "traffic"
ONLY_TRAFFIC = (f'card.kernels=["{KERNEL}"]', "card.external_ports=0")


@dataclass(frozen=True)
class Pair:
    """The same plan translated and past the translator, with the counters of the translated run."""

    translated: LaunchResult
    physical: LaunchResult
    counters: dict

    @property
    def share(self) -> float:
        """Throughput as a share of that with physical addresses, in percent."""
        return 100 * self.physical.run_cycles / self.translated.run_cycles


@contextmanager
def traffic_card(
    name: str,
    overrides: Sequence[str] = (),
    *,
    memory: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Iterator[Card]:
    """Configuration `name` with the traffic generator as its only kernel.

    overrides: each set of them is a card to build; they may name other kernels too. memory: changes to that section, for
    which none is built.
    """
    changes = [*ONLY_TRAFFIC, *overrides]
    with godwit.open(f"sim:{name}", overrides=changes, memory=memory, progress=progress) as card:
        yield card


def buffer_of(context: Context, size: int, page_size: str) -> Buffer:
    """Memory in one physical piece, so that both modes read the same."""
    return context.empty(size, np.uint8, page_size=page_size, access="rw", contiguous=True)


def launch(card: Card, context: Context, buffer: Buffer, plan: Plan, mode: str = "translate") -> LaunchResult:
    """One run over places that hold random words; its checksum is theirs, or DeviceError."""
    words = buffer.to_numpy().view(np.uint64)
    if not plan.writes:
        places, _ = plan.accesses()
        words[places // 8] = np.random.default_rng(plan.seed).integers(0, 1 << 64, len(places), np.uint64)
    result = card.launch(KERNEL, context=context, mode=mode, **plan.args(buffer))
    wanted = None if plan.writes else plan.checksum(words)
    if result.status or (wanted is not None and result.checksum != wanted):
        raise godwit.DeviceError(f"traffic {plan}: status {result.status}, checksum {result.checksum:#x}")
    return result


def both(card: Card, context: Context, buffer: Buffer, plan: Plan, *, page: int | None = None) -> Pair:
    """`plan` translated, with empty TLBs or after one pass over its pages of `page` bytes; then physical."""
    card.native.invalidate()
    if page is not None:
        pages = -(-plan.nbytes // page)
        first = replace(plan, positions=pages, stride=page, count=pages, pattern="linear", beats=1)
        card.launch(KERNEL, context=context, **first.args(buffer))
    card.clear_counters()
    translated = launch(card, context, buffer, plan)
    counters = card.counters()
    return Pair(translated, launch(card, context, buffer, plan, "bare"), counters)
