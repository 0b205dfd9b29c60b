# SPDX-License-Identifier: Apache-2.0
"""Fig. 7, Fig. 8 and growth, on peers' default heaps."""

from __future__ import annotations

import itertools
from typing import Any

from bench.suites.papers_c.native import OURS, PEERS, Results, Tools, median, ratio
from godwit.report import Progress, Row

THREADS = (1, 2, 4, 8)
REQUESTS = (100, 1000, 10_000, 100_000)
STRUCTURES = ("hash_map", "vector", "priority_queue", "unordered_map")
KEYS = ("zipfian", "uniform")
INSERTS = 100_000
INSERT_PEERS = ("glibc", "mimalloc")
SEED = 1
STATES = ("cold", "warm")

Figure = dict[str, Any]
"""A median for the plot, and where it belongs."""


def rows(tools: Tools, progress: Progress, quick: bool) -> tuple[list[Row], list[Figure]]:
    """Rows, and every median for the plot."""
    figures: list[Figure] = []
    found = [
        Row("papers", f"peer is not installed: apt-get install {package}", "", None, "", kind="native")
        for package in tools.missing
    ]
    found += _large(tools, progress, figures, quick)
    found += _inserts(tools, progress, figures, quick)
    progress("growth", 0, 0)
    return found + _growth(tools, rounds=1 if quick else 5), figures


def _keep(found: list[Figure], figure: str, place: Figure, results: Results, work: int) -> None:
    for name, measured in results.items():
        for state in STATES:
            ns = median(measured, f"{state}_ns") / work
            found.append({"figure": figure, **place, "state": state, "allocator": name, "ns": ns})


def _large(tools: Tools, progress: Progress, figures: list[Figure], quick: bool) -> list[Row]:
    found = []
    names = [OURS, *(name for name in PEERS if name in tools.libraries)]
    cells = [(2, 1000)] if quick else [(count, requests) for requests in REQUESTS for count in THREADS]
    measured = tools.rounds(
        names,
        1 if quick else 7,
        cells,
        lambda name, cell: tools.run(name, "large", *cell, SEED),
        lambda done, total: progress("random large requests", done, total),
    )
    for (count, requests), results in measured.items():
        _keep(figures, "large", {"requests": requests, "threads": count}, results, requests)
        for state in STATES:
            key = f"{state}_ns"
            ratios = {name: ratio(results, name, key) for name in names[1:]}
            closest = min(ratios, key=lambda name: ratios[name])
            theirs = median(results[closest], key) / requests
            ours = median(results[OURS], key) / requests
            found.append(
                Row(
                    "papers",
                    f"Fig. 7: {requests:,} large requests, {count} threads, {state}: closest peer's time over ours",
                    f"{closest} {theirs:,.0f} ns a request, ours {ours:,.0f}",
                    ratios[closest],
                    "x",
                    goal="> 1",
                    kind="native",
                )
            )
    return found


def _inserts(tools: Tools, progress: Progress, figures: list[Figure], quick: bool) -> list[Row]:
    found = []
    names = [OURS, *(name for name in INSERT_PEERS if name in tools.libraries)]
    structures, keys, threads = (STRUCTURES[:1], KEYS[:1], (2,)) if quick else (STRUCTURES, KEYS, THREADS)
    inserts = 10_000 if quick else INSERTS
    measured = tools.rounds(
        names,
        1 if quick else 11,
        list(itertools.product(structures, keys, threads)),
        lambda name, cell: tools.run(name, "ycsb", *cell, inserts, SEED),
        lambda done, total: progress("inserts", done, total),
    )
    for (structure, key_kind, count), results in measured.items():
        place = {"structure": structure, "keys": key_kind, "threads": count}
        _keep(figures, "inserts", place, results, inserts)
        for state in STATES:
            for peer in names[1:]:
                found.append(
                    Row(
                        "papers",
                        f"Fig. 8: {structure}, {key_kind}, {count} threads, {state}: {peer}'s time over ours",
                        f"ours {median(results[OURS], f'{state}_ns') / inserts:,.0f} ns an insert",
                        ratio(results, peer, f"{state}_ns"),
                        "x",
                        goal="> 1" if peer == "glibc" else ">= 0.98",
                        kind="native",
                    )
                )
    return found


def _growth(tools: Tools, rounds: int) -> list[Row]:
    names = [OURS, *(name for name in INSERT_PEERS if name in tools.libraries)]
    cell = (1 if rounds == 1 else 3,)
    results = tools.rounds(names, rounds, [cell], lambda name, cell: tools.run(name, "grow", *cell))[cell]
    tools.raw["growth"] = results
    found = [
        Row(
            "papers",
            "growing a buffer from 64 KiB to 256 MiB by 1.5 x: moves",
            OURS,
            results[OURS][0]["moves"],
            "moves",
            theirs=", ".join(f"{name} {results[name][0]['moves']}" for name in names[1:]),
            goal="== 0",
            kind="native",
        )
    ]
    for name in names:
        found.append(
            Row(
                "papers",
                "growing a buffer from 64 KiB to 256 MiB by 1.5 x, pages written",
                name,
                median(results[name], "bytes") / median(results[name], "ns"),
                "GB/s",
                kind="native",
            )
        )
    for name in names[1:]:
        found.append(
            Row(
                "papers",
                f"growing: {name}'s time over ours",
                OURS,
                ratio(results, name, "ns"),
                "x",
                goal="> 1",
                kind="native",
            )
        )
    return found
