# SPDX-License-Identifier: Apache-2.0
"""Cells of a board's netlist by room: what of the device each part of the card takes, as a table and as a picture."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

TYPES = {"LUT4": 1, "CCU2C": 2, "TRELLIS_DPR16X4": 4, "TRELLIS_FF": 0, "DP16KD": 0}
"""Types of cells that are counted, and the lookup tables that one takes; the device has one flip-flop a table."""
DEVICE = {"tables": 83_640, "TRELLIS_FF": 83_640, "DP16KD": 208}
"""LFE5U-85F."""
ROOMS = (
    ("kernel memcopy", r"\.u_memcopy\."),
    ("kernel array_sum", r"\.u_array_sum\."),
    ("translators", r"\.u_mmu\.gen_port\["),
    ("second level", r"\.u_second_level\."),
    ("walker", r"\.u_walker\."),
    ("walker's port", r"\.u_walker_port\."),
    ("invalidation, command queue", r"\.(u_invalidate|u_queue_port)\."),
    ("registers, counters", r"\.(u_csr|u_axil_demux)\."),
    ("way to memory", r"\.(u_mux|u_monitor|u_window)\."),
    ("between the rooms", r"^gw_board\."),
    ("DDR3 controller, serial line", r""),
)
"""The first one that a cell's name has the pattern of. Cells of a part carry its path; those that belong to two rooms, a name of one."""


def count(module: dict) -> dict[str, dict[str, int]]:
    """Cells by room and type, and `tables`, the lookup tables they take together."""
    found = {name: Counter() for name, _ in ROOMS}
    for name, cell in module["cells"].items():
        if cell["type"] in TYPES:
            room = next(room for room, pattern in ROOMS if re.search(pattern, name))
            found[room][cell["type"]] += 1
            found[room]["tables"] += TYPES[cell["type"]]
    return {room: {kind: cells[kind] for kind in ("tables", *TYPES)} for room, cells in found.items()}


def table(rooms: dict[str, dict[str, int]]) -> str:
    """Rooms as lines of Markdown, the largest first, and their sum."""
    kinds = ("tables", "TRELLIS_FF", "DP16KD")
    total = {kind: sum(room[kind] for room in rooms.values()) for kind in kinds}
    lines = ["| room | lookup tables | flip-flops | block RAM |", "|---|---|---|---|"]
    for name, room in sorted(rooms.items(), key=lambda item: -item[1]["tables"]):
        lines.append(f"| {name} | " + " | ".join(f"{room[kind]:,}" for kind in kinds) + " |")
    shares = (f"{total[kind]:,} ({100 * total[kind] / DEVICE[kind]:.0f} %)" for kind in kinds)
    return "\n".join([*lines, "| **all** | " + " | ".join(shares) + " |"])


def draw(rooms: dict[str, dict[str, int]], path: Path) -> None:
    """Rooms as bars, in percent of the device."""
    from matplotlib.figure import Figure

    names = sorted(rooms, key=lambda name: rooms[name]["tables"])
    figure = Figure(figsize=(8, 0.42 * len(names) + 1.2), layout="constrained")
    axes = figure.subplots()
    kinds = (("tables", "lookup tables"), ("TRELLIS_FF", "flip-flops"), ("DP16KD", "block RAM"))
    height = 0.8 / len(kinds)
    for number, (kind, label) in enumerate(kinds):
        shares = [100 * rooms[name][kind] / DEVICE[kind] for name in names]
        places = [place + (1 - number) * height for place in range(len(names))]
        axes.barh(places, shares, height, label=label)
    axes.set_yticks(range(len(names)), names)
    axes.set_xlabel("percent of an LFE5U-85F")
    figure.legend(loc="outside upper center", ncols=len(kinds), frameon=False)
    figure.savefig(path, dpi=120, metadata={"Software": None})
