# SPDX-License-Identifier: Apache-2.0
"""Area of the blocks: LUT, FF, LUT RAM and block RAM from Yosys for UltraScale+, beside the papers' tables.

The blocks and their sizes are in hw/synth/blocks.toml; figures are exact for the version of Yosys that is pinned. They
compare versions of a block; vendor tools make other numbers of the same RTL.
"""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

from godwit import toolchain
from godwit.report import Progress, Row


def _synth() -> ModuleType:
    path = toolchain.root() / "hw" / "synth" / "synth.py"
    spec = importlib.util.spec_from_file_location("godwit_synth", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def run(progress: Progress) -> list[Row]:
    """Four rows a block."""
    synth = _synth()
    rows = []
    blocks = synth.blocks()
    for number, block in enumerate(blocks):
        progress(f"synthesis of {block.name}", number, len(blocks))
        area = synth.area(block)
        for value, unit in (
            (area.lut, "LUT"),
            (area.ff, "FF"),
            (area.lut_ram, "LUT RAM"),
            (area.bram, "BRAM"),
        ):
            theirs = block.theirs if unit == "LUT" else None
            rows.append(Row("area", block.name, "Yosys, xcup", value, unit, theirs))
    progress("synthesis", len(blocks), len(blocks))
    return rows
