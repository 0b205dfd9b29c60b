# SPDX-License-Identifier: Apache-2.0
"""Area and clock of the blocks: Yosys for UltraScale+ and nextpnr for ECP5, beside the papers' tables.

The blocks and their sizes are in hw/synth/blocks.toml; figures are exact for the pinned versions of the tools. They
compare versions of a block; vendor tools make other numbers of the same RTL. The goals of a block are its recorded
figures with 5 % of tolerance. The first run takes long, docs/benchmarks.md says how
long; results are kept per block.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from types import ModuleType

from godwit import toolchain
from godwit.report import Progress, Row

UNITS = {"lut": "LUT", "ff": "FF", "lut_ram": "LUT RAM", "bram": "BRAM"}
OPTIONS = frozenset({"quick"})
"""Options of ``godwit bench`` that this suite takes."""


def _synth() -> ModuleType:
    path = toolchain.root() / "hw" / "synth" / "synth.py"
    spec = importlib.util.spec_from_file_location("godwit_synth", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def run(progress: Progress, quick: bool = False) -> list[Row]:
    """Four rows a block, what the N bits add, clocks; `quick`: only blocks that take seconds."""
    synth = _synth()
    blocks = [block for block in synth.blocks() if block.quick or not quick]
    placed = [block for block in blocks if block.fmax] + ([] if quick else synth.peers())
    steps = len(blocks) + len(placed)
    rows: list[Row] = []
    areas = {}
    for number, block in enumerate(blocks):
        progress(f"synthesis of {block.name}", number, steps)
        areas[block.name] = synth.area(block)
        rows += _area(synth, block, areas[block.name])
    for overhead in synth.overheads():
        if overhead.block in areas and overhead.over in areas:
            rows += _overhead(overhead, areas[overhead.block], areas[overhead.over])
    progress(f"place and route of {len(placed)} blocks", len(blocks), steps)
    for number, (block, clock) in enumerate(synth.fmax_all(placed), len(blocks) + 1):
        progress(f"routed: {block.name}", number, steps)
        was = synth.recorded.clocks().get(block.name)
        goal = None if was is None else f">= {was['mhz'] / synth.recorded.TOLERANCE:.1f}"
        config = f"{synth.FMAX_KIND}, median of {len(clock.seeds)} seeds: {clock.path}"
        rows.append(Row("area", f"{block.name}, clock", config, clock.mhz, "MHz", None, goal, kind="nextpnr"))
        rows.append(Row("area", f"{block.name}, period", config, 1000 / clock.mhz, "ns", kind="nextpnr"))
        rows.append(Row("area", f"{block.name}, ECP5", config, clock.lut4, "LUT4", None, None, kind="yosys"))
    progress("synthesis", steps, steps)
    return rows


def _area(synth: ModuleType, block, area) -> Iterator[Row]:
    """Cells of one block, beside the papers' and with the recorded ones as goals."""
    was = synth.recorded.areas().get(block.name)
    for field, unit in UNITS.items():
        goal = None if was is None else f"<= {synth.recorded.limit(field, getattr(was, field))}"
        theirs = block.theirs if field == "lut" else None
        yield Row("area", block.name, "xcup", getattr(area, field), unit, theirs, goal, kind="yosys")


def _overhead(overhead, area, over) -> Iterator[Row]:
    """What one block has more than another, of every kind of cell that it has."""
    for field, unit in UNITS.items():
        have, base = getattr(area, field), getattr(over, field)
        if base:
            percent = 100 * (have / base - 1)
            config = f"{overhead.block}: {have:g} against {base:g}"
            yield Row(
                "area",
                f"{overhead.name}, {unit}",
                config,
                percent,
                "%",
                overhead.theirs,
                overhead.goal,
                kind="yosys",
            )
