# SPDX-License-Identifier: Apache-2.0
"""The figures that every workload's report has: cycles, translations, memory traffic, time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from godwit.report import Figure
from godwit.units import rate_text, seconds_text

if TYPE_CHECKING:
    from godwit.api import Card
    from godwit.memory import Context
    from godwit.run.workload import Measurement, Runs

LATENCY_LIMIT_CYCLES = 65_535
"""Where the walker's count of a walk's cycles ends (gw_walker, `walk_event_t`)."""


Counters = Mapping[str, Any]
"""Of a card, nested, as `Card.counters` has them."""


def channel(counters: Counters, event: str) -> int:
    """An event of the translators, all ports, reads and writes."""
    return sum(port[which][event] for port in counters["ports"] for which in ("read", "write"))


def _mean(counters: Counters) -> float:
    walker = counters["walker"]
    return walker["latency_sum"] / walker["walks"] if walker["walks"] else 0.0


@dataclass(frozen=True)
class Translated:
    """A figure of translations: how it is called, and what it is of a card's counters."""

    name: str
    label: str
    unit: str
    of: Callable[[Counters], float]
    is_latency: bool = False

    def is_full(self, counters: Counters) -> bool:
        """Whether what counted it was at its end."""
        return self.is_latency and counters["walker"]["latency_max"] >= LATENCY_LIMIT_CYCLES


LOOKUPS = (
    Translated("l1_hits", "L1 TLB hits", "accesses", lambda found: channel(found, "hits")),
    Translated("l1_misses", "L1 TLB misses", "accesses", lambda found: channel(found, "misses")),
    Translated("l2_hits", "L2 TLB hits", "accesses", lambda found: found["l2"]["hits"]),
    Translated("range_hits", "range TLB hits", "accesses", lambda found: found["l2"]["range_hits"]),
    Translated("l2_misses", "L2 and range TLB misses", "accesses", lambda found: found["l2"]["misses"]),
)
WALKS = (
    Translated("walks", "page-table walks", "walks", lambda found: found["walker"]["walks"]),
    Translated("walk_latency_mean", "walk latency, mean (cycles)", "cycles", _mean, is_latency=True),
    Translated(
        "walk_latency_max",
        "walk latency, maximum (cycles)",
        "cycles",
        lambda found: found["walker"]["latency_max"],
        is_latency=True,
    ),
)


def table_reads(config: Mapping[str, Any]) -> Translated:
    """Reads of the walker, by the lines that a card of this configuration reads."""
    label = f"page-table reads ({64 * config['walker']['line_beats']} bytes)"
    return Translated("page_table_reads", label, "reads", lambda found: found["walker"]["pte_reads"])


def cost_figures(card: Card, context: Context, runs: Runs, link_ps: int) -> list[Figure]:
    """The figures every report has. `link_ps`: modelled time of inputs and results on the host link."""
    shared = runs.shared.run if runs.shared else None

    def both(
        name: str, label: str, unit: str, of: Callable[[Measurement], float], kind="simulated", show=None
    ) -> Figure:
        """Of all runs."""
        contiguous = of(shared) if shared else None
        return Figure(
            name, label, unit, kind, of(runs.translated), of(runs.physical), show, contiguous=contiguous
        )

    def whole(what: Translated) -> Figure:
        """Of those with translation."""
        of = runs.translated.counters
        contiguous = what.of(shared.counters) if shared else None
        full = any(run and what.is_full(run.counters) for run in (runs.translated, shared))
        return Figure(
            what.name,
            what.label,
            what.unit,
            "simulated",
            what.of(of),
            contiguous=contiguous,
            at_least=full,
        )

    def counted(block: str, event: str) -> Callable[[Measurement], float]:
        return lambda run: run.counters[block][event]

    tables = Figure(
        "page_table_bytes",
        "page-table bytes",
        "bytes",
        "simulated",
        context.table_bytes(),
        contiguous=runs.shared.table_bytes if runs.shared else None,
    )
    moves: list[Figure] = []
    if runs.copied:
        from godwit.run import migrated

        moves = [*migrated.figures(runs.copied, runs.migrated), *migrated.advised_figures(runs.advised)]
    entries = []
    if runs.shared:
        label = f"range entries, of {runs.shared.pieces} pieces"
        given = runs.shared.entries
        entries = [Figure("range_entries", label, "entries", "simulated", 0, contiguous=given)]
    cache = []
    if card.config["page_cache"]["pages"]:
        cache = [
            both("cache_hits", "page-cache hits", "beats", lambda run: run.cache_hits),
            both("cache_misses", "page-cache reads that waited", "beats", counted("cache", "read_misses")),
            both(
                "cache_store_misses",
                "page-cache stores before their line",
                "beats",
                counted("cache", "store_misses"),
            ),
            both("cache_fills", "lines read from the host", "lines", counted("cache", "fills")),
            both("cache_writebacks", "lines written to the host", "lines", counted("cache", "writebacks")),
        ]
    return [
        both("moved_bytes", "bytes moved", "bytes", lambda run: run.moved_bytes),
        both("cycles", "cycles", "cycles", lambda run: run.result.cycles),
        both(
            "bytes_per_cycle",
            "bytes per cycle",
            "bytes/cycle",
            lambda run: run.moved_bytes / run.result.cycles,
        ),
        *map(whole, LOOKUPS),
        *entries,
        *cache,
        *map(whole, (*WALKS, table_reads(card.config))),
        tables,
        both(
            "device_time",
            f"simulated time at {card.clock_hz / 1e6:g} MHz, {card.config['card'].get('clock_from', 'configured')}",
            "s",
            lambda run: run.result.cycles / card.clock_hz,
            show=seconds_text,
        ),
        Figure("link_time", "host-link time", "s", "modelled", link_ps * 1e-12, show=seconds_text),
        both("wall_time", "wall time", "s", lambda run: run.wall_s, kind="native", show=seconds_text),
        both(
            "simulation_speed",
            "simulated cycles per second",
            "cycles/s",
            lambda run: run.result.stats["cycles"] / run.wall_s,
            kind="native",
            show=rate_text,
        ),
        *moves,
    ]
