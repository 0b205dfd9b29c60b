# SPDX-License-Identifier: Apache-2.0
"""Rows of `godwit bench translate` on pages that the host brings: what passes the accesses that wait for them, and what is asked for.

A port reads pages that are not there, and the host takes long, so that all of them wait while another port reads what is mapped.
"""

from __future__ import annotations

from collections.abc import Iterator

import godwit
from bench import ports
from godwit.report import Row

PAGE = 4096
WAITING, PASSING = 0, 1
"""Ports."""
ACCESSES = 64
HITS = 2000
LEAD = 1500
LATENCY = 10
WAKEUP_US = 100
MAX_CYCLES = 10_000_000
CONFIG = f"default, ideal data memory, page tables L = {LATENCY}, the host takes {WAKEUP_US} µs to begin"


def rows() -> Iterator[Row]:
    """All of them, on one card."""
    costs = (f"host.wakeup_ns={WAKEUP_US * 1000}", "host.page_ns=0")
    with ports.open_card(LATENCY, ("card.external_ports=2", *costs)) as card, card.context() as context:
        for port in (WAITING, PASSING):
            ports.bind(card, context, port)
        # Pages of which no entry covers two.
        mapped = context.empty(32 * ACCESSES * PAGE, page_size="4K")
        lead, *pages = (mapped.address + number * 32 * PAGE for number in range(ACCESSES))
        # The first one has the context ask for pages, which drops what is cached of it.
        _beside(card, context, lead, [lead], spread=0)
        alone, _ = _beside(card, context, lead, [lead] * HITS, spread=0)
        beside, asked = _beside(card, context, lead, [lead] * HITS, spread=ACCESSES)
        yield _row("hits alone", alone, "cycles/request", None)
        yield _row(
            f"hits beside {ACCESSES} accesses that wait for the host", beside, "cycles/request", "<= 1.01"
        )
        yield _row(
            f"page requests of {ACCESSES} reads of as many pages", asked / ACCESSES, "requests/page", "<= 1"
        )
        card.native.invalidate()
        alone, _ = _beside(card, context, lead, pages, spread=0)
        card.native.invalidate()
        beside, asked = _beside(card, context, lead, pages, spread=ACCESSES // 4)
        yield _row(f"{len(pages)} misses of mapped pages alone", alone, "cycles/request", None)
        yield _row(
            f"the same beside {ACCESSES} accesses that wait for the host",
            beside,
            "cycles/request",
            f"<= {alone * 1.05:.2f}",
        )
        few = ACCESSES // 4
        yield _row(f"page requests of {ACCESSES} reads of {few} pages", asked / few, "requests/page", "<= 1")


def _beside(
    card: godwit.Card, context: godwit.Context, lead: int, addresses: list[int], spread: int
) -> tuple[float, int]:
    """Cycles a request of reads of mapped memory while reads of `spread` pages that are not there wait, and page requests of these.

    spread: 0 for no such reads. lead: a page whose hits go before, until all the others are parked.
    """
    before = card.counters()["page"]["requests"]
    ids = 1 << card.config["axi"]["id_width"]
    native = card.native
    with context.reserve(max(spread, 1) * PAGE) as absent:
        waiting = [absent.address + number % spread * PAGE for number in range(ACCESSES if spread else 0)]
        passing = [lead] * LEAD + addresses
        native.port_submit(
            [(WAITING, n, n % ids, at, 1, ports.BEAT_SIZE, None) for n, at in enumerate(waiting)]
            + [(PASSING, ACCESSES + n, n % ids, at, 1, ports.BEAT_SIZE, None) for n, at in enumerate(passing)]
        )
        native.port_drain(MAX_CYCLES)
        answers = {answer["token"]: answer for answer in native.port_poll()}
    if len(answers) != len(waiting) + len(passing) or any(answer["resp"] for answer in answers.values()):
        raise godwit.DeviceError("reads of pages that the host brings ended with an error")
    first, last = ACCESSES + LEAD, ACCESSES + len(passing)
    begun = answers[first]["accepted_cycle"]
    ended = max(answers[token]["done_cycle"] for token in range(first, last))
    if waiting and min(answers[token]["done_cycle"] for token in range(len(waiting))) < ended:
        raise godwit.DeviceError("the host answered before the other reads had passed")
    return (ended - begun) / len(addresses), card.counters()["page"]["requests"] - before


def _row(name: str, value: float, unit: str, goal: str | None) -> Row:
    return Row("translate", name, CONFIG, value, unit, None, goal)
