# SPDX-License-Identifier: Apache-2.0
"""Maps a large block part by part and joins the netlists to one flat one.

Yosys takes minutes for each part and more than half an hour for all of them flattened at once. Instances that are equal but for
their names are mapped once. What crosses the border of a part is not optimised: constants that a part is given, what two parts could
share; so the joined netlist is somewhat larger than a flat one would be. Paths through several parts are in it as they are.
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
    """`top` with the cells of `netlists`, by the type of its cells, in place of those cells; names get the cell's in front.

    An output that is another port's net, or a constant, is that, as in a flat netlist; cells whose outputs nobody uses are left out.
    """
    bits = [bit for net in top["netnames"].values() for bit in net["bits"] if isinstance(bit, int)]
    fresh = max(bits, default=1) + 1
    cells, nets = {}, dict(top["netnames"])
    same: dict[int | str, int | str] = {}
    for name, cell in top["cells"].items():
        part = netlists.get(cell["type"])
        if part is None:
            cells[name] = cell
            continue
        of: dict[int | str, int | str] = {}
        # Inputs first: what an output passes on as it is has the net of the input.
        ports = part["ports"]
        for port in sorted(cell["connections"], key=lambda port: ports[port]["direction"] != "input"):
            for inner, outer in zip(ports[port]["bits"], cell["connections"][port], strict=True):
                source = of.setdefault(inner, outer) if isinstance(inner, int) else inner
                if source != outer and ports[port]["direction"] == "output":
                    same[outer] = source
        for net in part["netnames"].values():
            for bit in net["bits"]:
                if isinstance(bit, int) and bit not in of:
                    of[bit] = fresh
                    fresh += 1

        for inner_name, inner in part["cells"].items():
            cells[f"{name}.{inner_name}"] = _rewired(inner, of)
        for net_name, net in part["netnames"].items():
            nets[f"{name}.{net_name}"] = {**net, "bits": [of.get(bit, bit) for bit in net["bits"]]}

    # A part's output may be another's input that is passed on.
    def first(bit: int | str) -> int | str:
        while bit in same:
            bit = same[bit]
        return bit

    end = {bit: first(bit) for bit in same}
    cells = {name: _rewired(cell, end) for name, cell in cells.items()}
    nets = {name: {**net, "bits": [end.get(bit, bit) for bit in net["bits"]]} for name, net in nets.items()}
    ports = {
        name: {**port, "bits": [end.get(bit, bit) for bit in port["bits"]]}
        for name, port in top["ports"].items()
    }
    return {**top, "ports": ports, "cells": _used(cells, ports), "netnames": nets}


def _rewired(cell: dict, of: dict[int | str, int | str]) -> dict:
    connections = {port: [of.get(bit, bit) for bit in found] for port, found in cell["connections"].items()}
    return {**cell, "connections": connections}


def _used(cells: dict[str, dict], ports: dict[str, dict]) -> dict[str, dict]:
    """Of these cells those that lead to an output."""
    driver = {}
    for name, cell in cells.items():
        for port, bits in cell["connections"].items():
            if cell["port_directions"][port] != "input":
                driver |= dict.fromkeys(bits, name)
    wanted = [bit for port in ports.values() if port["direction"] != "input" for bit in port["bits"]]
    used: set[str] = set()
    while wanted:
        name = driver.get(wanted.pop())
        if name is not None and name not in used:
            used.add(name)
            wanted += [
                bit
                for port, bits in cells[name]["connections"].items()
                if cells[name]["port_directions"][port] == "input"
                for bit in bits
            ]
    return {name: cell for name, cell in cells.items() if name in used}
