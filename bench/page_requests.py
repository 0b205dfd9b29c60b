# SPDX-License-Identifier: Apache-2.0
"""Rows of `godwit bench translate` on pages that the host brings: what passes the accesses that wait for them, and what is asked for.

A port reads pages that are not there, and the host takes long, so that all of them wait while another port reads what is mapped. And how
long after the host's response each has its data.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import mean

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
SINGLE = 16
COSTS = (f"host.wakeup_ns={WAKEUP_US * 1000}", "host.page_ns=0")
CONFIG = f"default, ideal data memory, page tables L = {LATENCY}, the host takes {WAKEUP_US} µs to begin"


def rows() -> Iterator[Row]:
    """All of them, on one card."""
    with _card() as card, card.context() as context:
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
    yield from _answers()


def _card(events: Path | None = None) -> godwit.Card:
    return ports.open_card(LATENCY, ("card.external_ports=2", *COSTS), events=events)


def _answers() -> Iterator[Row]:
    """From the host's response, when gw_fault takes it, to the data at the port."""
    with tempfile.TemporaryDirectory(prefix="godwit-bench-") as directory:
        path = Path(directory) / "events.arrow"
        with _card(path) as card, card.context() as context:
            ports.bind(card, context, WAITING)
            with context.reserve(SINGLE * PAGE) as absent:
                single = [_read(card, [absent.address + number * PAGE])[0] for number in range(SINGLE)]
            with context.reserve(ACCESSES * PAGE) as absent:
                together = _read(card, [absent.address + number * PAGE for number in range(ACCESSES)])
        responses = _responses(path)
    if len(responses) != SINGLE + ACCESSES:
        raise godwit.DeviceError(f"{len(responses)} responses to page requests of {SINGLE + ACCESSES} pages")
    taken = [data - response for data, response in zip(single, responses, strict=False)]
    name = "from the response to a page request to the data"
    yield _row(f"{name}, one read, mean of {SINGLE}", mean(taken), "cycles", None)
    yield _row(f"{name}, one read, longest", max(taken), "cycles", None)
    last = max(together) - responses[-1]
    yield _row(f"{name}, {ACCESSES} reads of as many pages, behind the last response", last, "cycles", None)


def _read(card: godwit.Card, addresses: list[int]) -> list[int]:
    """Cycles in which the last beat of each read came."""
    ids = 1 << card.config["axi"]["id_width"]
    requests = [(WAITING, n, n % ids, at, 1, ports.BEAT_SIZE, None) for n, at in enumerate(addresses)]
    card.native.port_submit(requests)
    card.native.port_drain(MAX_CYCLES)
    answers = card.native.port_poll()
    if len(answers) != len(addresses) or any(answer["resp"] for answer in answers):
        raise godwit.DeviceError("reads of pages that the host brings ended with an error")
    return [answer["done_cycle"] for answer in answers]


def _responses(events: Path) -> list[int]:
    """Cycles in which the host's responses were taken, in order."""
    import pyarrow as pa
    import pyarrow.compute as pc

    with pa.OSFile(str(events)) as file:
        table = pa.ipc.open_file(file).read_all()
    level, event = (table[name].cast(pa.string()) for name in ("level", "event"))
    resolved = pc.and_(pc.equal(level, "page"), pc.equal(event, "resolved"))
    return table.filter(resolved)["cycle"].to_pylist()


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
