# SPDX-License-Identifier: Apache-2.0
"""The figures of the last change that was meant (recorded.json), and how much worse others may be."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path

from blocks import blocks, peers

RECORDED = Path(__file__).resolve().parent / "recorded.json"
TOLERANCE = 1.05
"""How much a figure may be worse than the recorded one."""
SLACK = 8
"""LUTs and flip-flops that a small block may grow by: five percent of a few cells is nothing."""


@dataclass(frozen=True)
class Area:
    """UltraScale+ cells: `lut` is logic, `lut_ram` LUTs used as memory, `bram` blocks of 36 Kbit."""

    lut: int
    ff: int
    lut_ram: int
    bram: float


def areas() -> dict[str, Area]:
    """Areas by block's name, as they were recorded."""
    return {name: Area(**area) for name, area in _all()["area"].items()}


def clocks() -> dict[str, dict[str, float]]:
    """{mhz, seeds, lut4} of the blocks that were routed, by name."""
    return _all()["fmax"]


def estimates() -> dict[str, dict[str, float]]:
    """{mhz, lut4} of blocks by the static estimate, by name; those of the quick ones are a test."""
    return _all()["estimate"]


def _all() -> dict[str, dict]:
    if not RECORDED.is_file():
        return {"area": {}, "fmax": {}, "estimate": {}}
    return json.loads(RECORDED.read_text(encoding="utf-8"))


def limit(kind: str, was: float) -> int:
    """The most cells of a kind (a field of `Area`), when `was` are recorded."""
    return math.floor(max(TOLERANCE * was, was + (0 if kind == "bram" else SLACK)))


def record(what: str, name: str, value: dict) -> None:
    """Puts one figure into recorded.json; figures of blocks that are listed no longer go."""
    found = _all()
    found[what][name] = value
    order = [block.name for block in (*blocks(), *peers())]
    kept = {kind: {n: figures[n] for n in order if n in figures} for kind, figures in found.items()}
    RECORDED.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
