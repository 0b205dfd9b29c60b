# SPDX-License-Identifier: Apache-2.0
"""Places and routes a mapped netlist with every port registered: what `make fmax` reports.

The registers are put into the netlist after it was mapped, so that a block's own cells are the same with and without them, and
the estimate (timing.py) is of the very netlist that is routed. A result is kept under a hash of netlist and constraints.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from pathlib import Path

from timing import Names

from godwit import toolchain

CLOCKS = ("clk_i", "clk")
RESETS = ("rst_ni", "rst_n", "resetn")


def registered(module: dict) -> dict:
    """`module` with a register at every bit of every port but clock and reset; it has to be dropped afterwards."""
    (clock,) = (module["ports"][name]["bits"][0] for name in CLOCKS if name in module["ports"])
    bits = [bit for net in module["netnames"].values() for bit in net["bits"] if isinstance(bit, int)]
    fresh = max(bits, default=1) + 1
    cells, ports, nets = dict(module["cells"]), {}, dict(module["netnames"])
    for name, port in module["ports"].items():
        if name in (*CLOCKS, *RESETS):
            ports[name] = port
            continue
        outside = list(range(fresh, fresh + len(port["bits"])))
        fresh += len(outside)
        into = port["direction"] == "input"
        for index, (inner, outer) in enumerate(zip(port["bits"], outside, strict=True)):
            from_bit, to_bit = (outer, inner) if into else (inner, outer)
            if isinstance(to_bit, int):
                cells[f"port.{name}[{index}]"] = _register(clock, from_bit, to_bit)
        ports[name] = {**port, "bits": outside}
        nets[f"pin.{name}"] = {"hide_name": 0, "bits": outside, "attributes": {}}
    return {**module, "cells": cells, "ports": ports, "netnames": nets}


def _register(clock: int, from_bit: int | str, to_bit: int) -> dict:
    return {
        "hide_name": 0,
        "type": "TRELLIS_FF",
        "parameters": {
            "CEMUX": "1 ",  # with a space it is a word; without, a number
            "CLKMUX": "CLK",
            "GSR": "DISABLED",
            "LSRMUX": "LSR",
            "REGSET": "RESET",
            "SRMODE": "LSR_OVER_CE",
        },
        "attributes": {"keep": "1"},
        "port_directions": {"CLK": "input", "DI": "input", "LSR": "input", "Q": "output"},
        "connections": {"CLK": [clock], "DI": [from_bit], "LSR": ["0"], "Q": [to_bit]},
    }


def placed(top: str, module: dict, options: tuple[str, ...]) -> dict:
    """{mhz, path} of a module as Yosys writes it."""
    with tempfile.TemporaryDirectory() as directory:
        netlist = Path(directory) / "net.json"
        netlist.write_text(
            json.dumps({"creator": "", "modules": {top: registered(module)}}), encoding="utf-8"
        )
        done = subprocess.run(
            [str(toolchain.nextpnr_ecp5()), *options, "--json", netlist.name, "--report", "report.json"],
            # The tool runs in a sandbox, which has the working directory and a /tmp of its own.
            cwd=directory,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError((done.stdout + done.stderr)[-4000:])
        found = json.loads((Path(directory) / "report.json").read_text(encoding="utf-8"))
    (clock,) = found["fmax"]
    paths = [p["path"] for p in found["critical_paths"] if clock in p["from"] and clock in p["to"]]
    return {"mhz": found["fmax"][clock]["achieved"], "path": told(paths[0], module)}


def told(path: list[dict], module: dict) -> str:
    """A path of nextpnr's report in the source's names, with its levels and what its delay is made of."""
    names = Names(module)

    def cell(name: str) -> str:
        plain = re.sub(r"\$.*", "", name)
        return names.cell(plain, module["cells"][plain]) if plain in module["cells"] else plain

    logic = sum(step["delay"] for step in path if step["type"] != "routing")
    routing = sum(step["delay"] for step in path if step["type"] == "routing")
    levels = sum(step["type"] == "logic" and step["delay"] > 0 for step in path)
    via = [step["net"] for step in path[1:] if step.get("net") and names.known(step["net"])]
    way = f" via {', '.join(dict.fromkeys(via))}" if via else ""
    share = 100 * logic / (logic + routing)
    return (
        f"{cell(path[0]['from']['cell'])} -> {cell(path[-1]['to']['cell'])}: {logic + routing:.1f} ns, {levels} levels, "
        f"logic {share:.0f} %, routing {100 - share:.0f} %{way}"
    )
