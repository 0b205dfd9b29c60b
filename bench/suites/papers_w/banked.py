# SPDX-License-Identifier: Apache-2.0
"""Fig. 6.1 on a channel of DDR4: there a read at random costs more than one in order, which the paper's figure and its model of 71 cycles
for every read do not have.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench import loads
from godwit.report import Progress, Row
from godwit.run.traffic import Plan
from godwit.spec import config

SUITE = "papers"
CONFIG = "fletcher"
MEMORY = "default"
"""The configuration whose memory it is."""
PAGE = 2 << 20
READS = 1000
BURSTS = (1, 4, 16, 64)
CLOCK_MHZ = 250


def rows(overrides: Sequence[str], span: int, beats: int, progress: Progress) -> Iterator[Row]:
    """Latency of one read at a time, and throughput by burst, in order and at random, on `fletcher` with `overrides`.

    span: bytes that are read. beats: of a run for throughput.
    """
    memory = config.load(MEMORY).memory.model_dump(exclude_unset=True)
    with (
        loads.traffic_card(CONFIG, overrides, memory=memory, progress=progress) as card,
        card.context() as context,
    ):
        buffer = loads.buffer_of(context, span, "2M")
        where = f"one channel of DDR4-2400 (`banked`), {span >> 20} MiB in 2 MiB pages, one L1 entry"
        for name, plan in (
            ("in order", Plan(READS, 64, READS, outstanding=1)),
            ("at random", Plan(span // 64, 64, READS, "random", outstanding=1)),
        ):
            pair = loads.both(card, context, buffer, plan, page=PAGE)
            raw, translated = (
                result.latency_sum / result.reads for result in (pair.physical, pair.translated)
            )
            told = f"{where}, one read at a time"
            yield _row(f"read latency {name}, physical addresses (Fig. 6.1)", told, raw, "cycles")
            yield _row(f"read latency {name}, virtual addresses (Fig. 6.1)", told, translated, "cycles")
        for pattern in ("linear", "random"):
            for burst in BURSTS:
                count = max(beats // burst, READS // 10)
                plan = Plan(span // (burst * 64), burst * 64, count, pattern, burst)
                result = loads.launch(card, context, buffer, plan, "bare")
                speed = count * burst * 64 / result.run_cycles * CLOCK_MHZ / 1000
                name = f"raw {pattern} reads, {burst} beat{'s' if burst > 1 else ''} a burst"
                yield _row(name, f"{where}, physical addresses, {count:,} bursts", speed, "GB/s")


def _row(name: str, where: str, value: float, unit: str) -> Row:
    return Row(SUITE, name, where, value, unit, None, None)
