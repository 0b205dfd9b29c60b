# SPDX-License-Identifier: Apache-2.0
"""Maps a large block part by part and joins the netlists to one flat one.

Yosys takes minutes for each part and more than half an hour for all of them flattened at once. Instances that are equal but for
their names are mapped once. What crosses the border of a part is not optimised: constants that a part is given, outputs that
nobody uses; so the joined netlist is somewhat larger than a flat one would be. Paths through several parts are in it as they are.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from pathlib import Path

Yosys = Callable[[list[str]], None]
Mapper = Callable[[str, Path], dict]


def parts(
    top: str, names: tuple[str, ...], read: Path, yosys: Yosys, one: Mapper
) -> tuple[dict, dict[str, dict]]:
    """What `one` says of `top` without its instances of the modules `names`, and of each of these by the type its cell has then.

    `read` is an RTLIL file of all, whose instances keep their hierarchy. Raises `ValueError` for a module that `top` has no
    instance of.
    """
    text = read.read_text(encoding="utf-8")
    found = re.findall(r"^module \\(\S+)$", text, re.M)
    modules: dict[str, str] = {}
    for part in names:
        own = [module for module in found if module.startswith(f"{part}${top}.")]
        if not own:
            raise ValueError(f"{top} has no instance of {part}")
        for number, module in enumerate(own):
            # A name that needs no quotes.
            modules[f"{part}__{number}"] = part
            text = text.replace(f"\\{module}\n", f"\\{part}__{number}\n").replace(
                f"\\{module} ", f"\\{part}__{number} "
            )
    with tempfile.TemporaryDirectory() as directory:
        whole, rest = Path(directory) / "whole.il", Path(directory) / "rest.il"
        whole.write_text(text, encoding="utf-8")
        netlists = {}
        for module, part in modules.items():
            alone = Path(directory) / f"{module}.il"
            inside = ["flatten", "autoname", "clean -purge", f"rename -top {part}"]
            yosys([f"read_rtlil {whole}", f"hierarchy -top {module}", *inside, f"write_rtlil {alone}"])
            alone.write_text(_renumbered(alone.read_text(encoding="utf-8")), encoding="utf-8")
            netlists[module] = one(part, alone)
        hidden = " ".join(modules)
        yosys([f"read_rtlil {whole}", f"blackbox {hidden}", f"write_rtlil {rest}"])
        return one(top, rest), netlists


def _renumbered(text: str) -> str:
    """The numbers in made-up names counted anew after each beginning of a name: they differ between equal parts."""
    of: dict[str, dict[str, int]] = {}

    def number(found: re.Match) -> str:
        numbers = of.setdefault(found[1], {})
        return f"{found[1]}${numbers.setdefault(found[2], len(numbers))}"

    return re.sub(r"(\S*?)\$(\d+)", number, text)


def flat(top: dict, netlists: dict[str, dict]) -> dict:
    """`top` with the cells of `netlists`, by the type of its cells, in place of those cells; names get the cell's in front."""
    bits = [bit for net in top["netnames"].values() for bit in net["bits"] if isinstance(bit, int)]
    fresh = max(bits, default=1) + 1
    cells, nets = {}, dict(top["netnames"])
    for name, cell in top["cells"].items():
        part = netlists.get(cell["type"])
        if part is None:
            cells[name] = cell
            continue
        of: dict[int, int | str] = {}
        # Inputs first: what an output passes on as it is has the net of the input, and gets its own through a table below.
        ports = part["ports"]
        for port in sorted(cell["connections"], key=lambda port: ports[port]["direction"] != "input"):
            for inner, outer in zip(ports[port]["bits"], cell["connections"][port], strict=True):
                if isinstance(inner, int):
                    of.setdefault(inner, outer)
        for net in part["netnames"].values():
            for bit in net["bits"]:
                if isinstance(bit, int) and bit not in of:
                    of[bit] = fresh
                    fresh += 1

        def outer_bits(found: list, of: dict = of) -> list:
            return [of[bit] if isinstance(bit, int) else bit for bit in found]

        for inner_name, inner in part["cells"].items():
            connections = {port: outer_bits(found) for port, found in inner["connections"].items()}
            cells[f"{name}.{inner_name}"] = {**inner, "connections": connections}
        for net_name, net in part["netnames"].items():
            nets[f"{name}.{net_name}"] = {**net, "bits": outer_bits(net["bits"])}
        _same(cells, name, part, cell, of)
    return {**top, "cells": cells, "netnames": nets}


def _same(cells: dict, name: str, part: dict, cell: dict, of: dict) -> None:
    """Outputs that are constants, or one net with another port, drive their outer nets through a lookup table."""
    for port, outside in cell["connections"].items():
        if part["ports"][port]["direction"] != "output":
            continue
        for index, (inner, outer) in enumerate(zip(part["ports"][port]["bits"], outside, strict=True)):
            source = of[inner] if isinstance(inner, int) else inner
            if source == outer or not isinstance(outer, int):
                continue
            cells[f"{name}.{port}[{index}]_wire"] = {
                "hide_name": 1,
                "type": "LUT4",
                "parameters": {"INIT": "1010101010101010"},
                "attributes": {},
                "port_directions": {"A": "input", "B": "input", "C": "input", "D": "input", "Z": "output"},
                "connections": {"A": [source], "B": ["0"], "C": ["0"], "D": ["0"], "Z": [outer]},
            }
