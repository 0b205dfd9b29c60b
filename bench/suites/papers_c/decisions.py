# SPDX-License-Identifier: Apache-2.0
"""Table 2, fragmentation and Fig. 6."""

from __future__ import annotations

from typing import Any

from bench.suites.papers_c.native import OURS, Tools
from godwit.report import Progress, Row

REFERENCES = ("first fit per area", "buddy", "TLSF")
QUOTED = {"20 MiB x 9": "8 of 9 (baseline)", "20 MiB x 12": "8 of 12 (baseline)"}
LAYOUTS = {"adjacent": "16 x 16 MiB, adjacent", "holes": "4 rows of 4 x 16 MiB, holes between"}


def rows(tools: Tools, progress: Progress, quick: bool) -> list[Row]:
    """Decisions are counted, Fig. 6 is timed."""
    progress("availability", 0, 0)
    found = _table2(tools)
    progress("fragmentation", 0, 0)
    found += _fragmentation(tools, seeds=2 if quick else 400)
    progress("latency of 8 to 12 x 20 MiB", 0, 0)
    return found + _latency(tools, rounds=1 if quick else 25)


def _row(name: str, config: str, value: float | None, unit: str, **rest: Any) -> Row:
    return Row("papers", name, config, value, unit, **rest)


def _table2(tools: Tools) -> list[Row]:
    study = tools.raw["table2"] = tools.study("table2")
    found = []
    for item in study:
        config = LAYOUTS[item["layout"]]
        if "share" in item:
            if item["peer"] == OURS:
                found.append(
                    _row(
                        f"Table 2: {item['row']}", config, item["share"], "share", goal="== 1", kind="native"
                    )
                )
            continue
        best = max(item[name] for name in REFERENCES)
        found.append(
            _row(
                f"Table 2: {item['row']}, requests served of {item['possible']} possible",
                config,
                item[OURS],
                "requests",
                theirs=QUOTED.get(item["row"], f"{best} (best reference)"),
                goal=f">= {item['possible']}",
                kind="native",
            )
        )
    return found


def _fragmentation(tools: Tools, seeds: int) -> list[Row]:
    study = tools.raw["fragmentation"] = tools.study("fragmentation", seeds)
    cells: dict[tuple[int, str], dict[str, dict[str, Any]]] = {}
    for item in study:
        cells.setdefault((item["occupancy"], item["class"]), {})[item["peer"]] = item
    found = []
    for (occupancy, size), peers in cells.items():
        share = {name: item["served"] / item["asked"] for name, item in peers.items()}
        best = max(share[name] for name in REFERENCES)
        found.append(
            _row(
                f"fragmentation at {occupancy} % occupancy, {size}",
                f"{seeds} traces x 4000 requests",
                share[OURS],
                "share served",
                theirs=best,
                goal=f">= {best}",
                kind="native",
            )
        )
    wrong = sum(peers[OURS]["failed_although_it_fits"] for peers in cells.values())
    found.append(
        _row(
            "requests that failed although a free run fits",
            "all traces",
            wrong,
            "requests",
            goal="== 0",
            kind="native",
        )
    )
    return found


def _latency(tools: Tools, rounds: int) -> list[Row]:
    study = tools.raw["latency"] = tools.study("latency", rounds)
    times: dict[int, dict[str, dict[str, Any]]] = {}
    for item in study:
        times.setdefault(item["times"], {})[item["step"]] = item
    found = []
    for count, steps in times.items():
        # Each served request of the baseline: it gives up on the rest at once.
        base = steps["baseline"]["ns"] / steps["baseline"]["served"]
        for step, item in steps.items():
            if step != "baseline":
                less = 100 * (1 - item["ns"] / item["served"] / base)
                last = step == "+ buffer pool"
                found.append(
                    _row(
                        f"Fig. 6: {count} x 20 MiB {step}: time a served request, less than the baseline",
                        f"{item['served']} served, baseline {steps['baseline']['served']}",
                        less,
                        "%",
                        theirs="80 to 90" if last else None,
                        goal=">= 95" if last else None,
                        kind="native",
                    )
                )
    return found
