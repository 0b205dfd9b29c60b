# SPDX-License-Identifier: Apache-2.0
"""Fig. 7, Fig. 8 and growth, on peers' default heaps."""

from __future__ import annotations

from typing import Any

from bench.suites.papers_c.native import OURS, PEERS, Tools, median, ratio
from godwit.report import Progress, Row

THREADS = (1, 2, 4, 8)
REQUESTS = (100, 1000, 10_000, 100_000)
STRUCTURES = ("hash_map", "vector", "priority_queue", "unordered_map")
KEYS = ("zipfian", "uniform")
INSERTS = 100_000
INSERT_PEERS = ("glibc", "mimalloc")
SEED = 1
STATES = ("cold", "warm")

Cell = dict[str, Any]


def rows(tools: Tools, progress: Progress, quick: bool) -> tuple[list[Row], list[Cell]]:
    """Rows, and every median for the plot."""
    cells: list[Cell] = []
    found = [
        Row("papers", f"peer is not installed: apt-get install {package}", "", None, "", kind="native")
        for package in tools.missing
    ]
    found += _large(tools, progress, cells, quick)
    found += _inserts(tools, progress, cells, quick)
    progress("growth", 0, 0)
    return found + _growth(tools, rounds=1 if quick else 5), cells


def _keep(
    cells: list[Cell], figure: str, place: dict[str, Any], results: dict[str, list[Cell]], work: int
) -> None:
    for name, measured in results.items():
        for state in STATES:
            ns = median(measured, f"{state}_ns") / work
            cells.append({"figure": figure, **place, "state": state, "allocator": name, "ns": ns})


def _large(tools: Tools, progress: Progress, cells: list[Cell], quick: bool) -> list[Row]:
    found = []
    names = [OURS, *(name for name in PEERS if name in tools.libraries)]
    sizes, threads = ((1000,), (2,)) if quick else (REQUESTS, THREADS)
    for number, requests in enumerate(sizes):
        for count in threads:
            progress(
                "random large requests",
                number * len(threads) + threads.index(count),
                len(sizes) * len(threads),
            )
            # Short ones are noisier and cheaper.
            rounds = 1 if quick else 7 if requests <= 1000 else 3
            results = tools.rounds(
                names,
                rounds,
                lambda name, requests=requests, count=count: tools.run(name, "large", count, requests, SEED),
            )
            _keep(cells, "large", {"requests": requests, "threads": count}, results, requests)
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


def _inserts(tools: Tools, progress: Progress, cells: list[Cell], quick: bool) -> list[Row]:
    found = []
    names = [OURS, *(name for name in INSERT_PEERS if name in tools.libraries)]
    structures, keys, threads = (STRUCTURES[:1], KEYS[:1], (2,)) if quick else (STRUCTURES, KEYS, THREADS)
    inserts = 10_000 if quick else INSERTS
    total = len(structures) * len(keys) * len(threads)
    done = 0
    for structure in structures:
        for key_kind in keys:
            for count in threads:
                progress("inserts", done, total)
                done += 1
                results = tools.rounds(
                    names,
                    1 if quick else 3,
                    lambda name, s=structure, k=key_kind, c=count: tools.run(
                        name, "ycsb", s, k, c, inserts, SEED
                    ),
                )
                place = {"structure": structure, "keys": key_kind, "threads": count}
                _keep(cells, "inserts", place, results, inserts)
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
    results = tools.rounds(names, rounds, lambda name: tools.run(name, "grow", 1 if rounds == 1 else 3))
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
