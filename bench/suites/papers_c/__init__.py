# SPDX-License-Identifier: Apache-2.0
"""CLMalloc (Zhang 2022): contiguous memory from scattered areas, and the speed of small and large requests.

Table 2 and fragmentation count decisions, exactly. Times are processor time of the whole process's threads,
system included; allocators take turns in every round, and a figure is the median of the rounds' ratios.
"""

from __future__ import annotations

import json
from pathlib import Path

from bench.suites.papers_c import decisions, figures, launch, native, speed, upkeep
from godwit.report import Progress, Row

__all__ = ["plot", "run"]


def run(progress: Progress, quick: bool) -> list[Row]:
    """All rows; `quick` measures a few cells in one round, to see that everything works."""
    tools = native.build(progress)
    rows = decisions.rows(tools, progress, quick)
    timed, cells = speed.rows(tools, progress, quick)
    rows += timed
    rows += upkeep.rows(tools, progress, quick)
    rows += launch.rows(progress, quick)
    tools.raw["cells"] = cells
    (tools.directory / "raw.json").write_text(json.dumps(tools.raw, indent=1), encoding="utf-8")
    return rows


def plot(rows: list[Row], path: Path) -> None:
    """Availability, fragmentation, latency, random large requests and inserts, a panel each."""
    raw = json.loads((native.directory() / "raw.json").read_text(encoding="utf-8"))
    figures.draw(rows, raw, path)
