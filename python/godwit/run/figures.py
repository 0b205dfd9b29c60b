# SPDX-License-Identifier: Apache-2.0
"""The figures that every workload's report has: cycles, translations, memory traffic, time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from godwit.report import Figure
from godwit.units import rate_text, seconds_text

if TYPE_CHECKING:
    from godwit.api import Card
    from godwit.memory import Context
    from godwit.run.workload import Measurement, Runs

LATENCY_LIMIT_CYCLES = 65_535
"""Where the walker's count of a walk's cycles ends (gw_walker, `walk_event_t`)."""


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

    def whole(name: str, label: str, unit: str, of: Callable[[Measurement], float], limit=None) -> Figure:
        """Of those with translation."""
        contiguous = of(shared) if shared else None
        full = limit is not None and any(run and limit(run) for run in (runs.translated, shared))
        return Figure(
            name, label, unit, "simulated", of(runs.translated), contiguous=contiguous, at_least=full
        )

    def mean(run: Measurement) -> float:
        walker = run.counters["walker"]
        return walker["latency_sum"] / walker["walks"] if walker["walks"] else 0.0

    def longest(run: Measurement) -> int:
        return run.counters["walker"]["latency_max"]

    def full(run: Measurement) -> bool:
        return longest(run) >= LATENCY_LIMIT_CYCLES

    def counted(block: str, event: str) -> Callable[[Measurement], float]:
        return lambda run: run.counters[block][event]

    line_bytes = 64 * card.config["walker"]["line_beats"]
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
        whole("l1_hits", "L1 TLB hits", "accesses", lambda run: run.channel("hits")),
        whole("l1_misses", "L1 TLB misses", "accesses", lambda run: run.channel("misses")),
        whole("l2_hits", "L2 TLB hits", "accesses", counted("l2", "hits")),
        whole("range_hits", "range TLB hits", "accesses", counted("l2", "range_hits")),
        whole("l2_misses", "L2 and range TLB misses", "accesses", counted("l2", "misses")),
        *entries,
        *cache,
        whole("walks", "page-table walks", "walks", counted("walker", "walks")),
        whole("walk_latency_mean", "walk latency, mean (cycles)", "cycles", mean, full),
        whole("walk_latency_max", "walk latency, maximum (cycles)", "cycles", longest, full),
        whole(
            "page_table_reads",
            f"page-table reads ({line_bytes} bytes)",
            "reads",
            counted("walker", "pte_reads"),
        ),
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
