# SPDX-License-Identifier: Apache-2.0
"""Bursts on a driven port of a simulated card, with the cycle in which each reached memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import godwit
from godwit.api import Card, Context

PORT = 0
BEAT_SIZE = 6
"""log2 of the bytes of a full-width beat."""
MAX_CYCLES = 10_000_000


@dataclass(frozen=True)
class Bursts:
    """What a series of bursts took, in cycles."""

    accepted: list[int]
    """Cycle of each address handshake at the accelerator's side, in the order of the requests."""
    reached: list[int]
    """Cycle of each address handshake on the memory side, in the order of their arrival there."""
    page_table_reads: int
    """Page-table lines the walker read meanwhile."""

    @property
    def span(self) -> int:
        """Cycles from the first acceptance to the last arrival at memory."""
        return max(self.reached) - min(self.accepted)

    @property
    def cycles_per_request(self) -> float:
        """Throughput over the whole series, the first one's latency included."""
        return self.span / len(self.accepted)


def open_card(page_table_latency: int, overrides: Sequence[str] = (), *, events: Path | None = None) -> Card:
    """The default translation path with one driven port in place of the kernels, and ideal data memory.

    overrides: further ones, as ``--set`` has them. events: where those of the whole session go when the card is closed.
    """
    return godwit.open(
        "sim:default",
        overrides=["card.kernels=[]", "card.external_ports=1", *overrides],
        memory={
            "model": "fixed",
            "latency_cycles": 0,
            "page_table_latency_cycles": page_table_latency,
            "requests_per_cycle": 4.0,
        },
        events=events,
    )


def bind(card: Card, context: Context, port: int = PORT) -> None:
    """Gives the driven port a context."""
    card.native.bind_port(port, context.native)


def invalidate(card: Card) -> None:
    """Every cached translation is gone afterwards."""
    card.native.invalidate()


def reads(card: Card, addresses: Sequence[int], ids: Sequence[int] | None = None, port: int = PORT) -> Bursts:
    """One-beat reads, offered one a cycle; ids: AXI ID of each, all rotated through when None."""
    return _bursts(card, addresses, ids, None, port)


def writes(
    card: Card, addresses: Sequence[int], ids: Sequence[int] | None = None, port: int = PORT
) -> Bursts:
    """One-beat writes of zeros, in the same way."""
    return _bursts(card, addresses, ids, bytes(1 << BEAT_SIZE), port)


def _bursts(
    card: Card, addresses: Sequence[int], ids: Sequence[int] | None, data: bytes | None, port: int
) -> Bursts:
    native = card.native
    count = 1 << card.config["axi"]["id_width"]
    chosen = ids if ids is not None else [number % count for number in range(len(addresses))]
    before = card.stats()["pt_reads"]
    native.record_events(True)
    native.port_submit(
        [
            (port, token, axi_id, address, 1, BEAT_SIZE, data)
            for token, (axi_id, address) in enumerate(zip(chosen, addresses, strict=True))
        ]
    )
    native.port_drain(MAX_CYCLES)
    answers = sorted(native.port_poll(), key=lambda answer: answer["token"])
    wrong = [answer["token"] for answer in answers if answer["resp"] != 0]
    if wrong or len(answers) != len(addresses):
        raise godwit.DeviceError(
            f"{len(answers)} of {len(addresses)} bursts answered, {len(wrong)} with an error"
        )
    events = [event for event in native.take_events() if event[2] == port]
    native.record_events(False)
    return Bursts(
        [answer["accepted_cycle"] for answer in answers],
        [event[0] for event in events],
        card.stats()["pt_reads"] - before,
    )
