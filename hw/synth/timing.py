# SPDX-License-Identifier: Apache-2.0
"""Timing of a mapped ECP5 netlist, and paths told by the names of the source.

`estimate` needs no placement: delays of the cells as nextpnr has them for speed grade 6, and for a net a delay that grows with
the number of its sinks (`NET_BASE`, `NET_SLOPE`, fitted to routed blocks). Inputs of the block count as registers' outputs and
outputs as registers' inputs, as in the wrapper that is routed. Good to a few percent for choosing between versions of a
block; what is reported is routed.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from dataclasses import dataclass

CLOCK_TO_Q = 0.525
LUT = 0.236
CARRY_IN = 0.447  # an operand to the carry
CARRY = 0.071  # through two bits
CARRY_OUT = 0.443  # the carry to a sum
RAM_CLOCK_TO_Q = 5.73
RAM_REGISTERED_CLOCK_TO_Q = 0.9
NET_BASE = 0.68
NET_SLOPE = 0.24
NET_TO_OWN_REGISTER = 0.13
"""nanoseconds"""

# Names that Yosys makes of neighbours' names end in, or go through, the type of a cell.
_MADE_UP = re.compile(r"^\$|_(LUT4|TRELLIS_FF|PFUMX|L6MUX21|CCU2C|DP16KD|TRELLIS_DPR16X4|ALU)(_|$)")
_SELECT = {"PFUMX": "C0", "L6MUX21": "SD"}


@dataclass(frozen=True)
class Path:
    """From a register or memory to another; `ns` in all, of which `logic` in cells; `via` are the source's names on the way."""

    ns: float
    logic: float
    levels: int
    begin: str
    via: tuple[str, ...]
    end: str

    def __str__(self) -> str:
        share = 100 * self.logic / self.ns if self.ns else 0
        way = f" via {', '.join(self.via)}" if self.via else ""
        return (
            f"{self.begin} -> {self.end}: {self.ns:.1f} ns, {self.levels} levels, logic {share:.0f} %, "
            f"routing {100 - share:.0f} %{way}"
        )


class Names:
    """The source's name of every net, and of the cells that hold state."""

    def __init__(self, module: dict) -> None:
        self.of_bit: dict[int, str] = {}
        self.port: set[int] = set()
        for port in module["ports"].values():
            self.port.update(bit for bit in port["bits"] if isinstance(bit, int))
        for name, net in module["netnames"].items():
            if _MADE_UP.search(name):
                continue
            wide = len(net["bits"]) > 1
            for index, bit in enumerate(net["bits"]):
                if isinstance(bit, int):
                    full = f"{name}[{index + net.get('offset', 0)}]" if wide else name
                    if bit not in self.of_bit or self._rank(full) < self._rank(self.of_bit[bit]):
                        self.of_bit[bit] = full

    @staticmethod
    def _rank(name: str) -> tuple:
        # Where it is a register (_q), in its own room rather than at a port further up.
        plain = name.split("[")[0] if not name.endswith("]") else name[: name.rindex("[")]
        return (not plain.endswith("_q"), -name.count("."), len(name))

    @staticmethod
    def known(name: str) -> bool:
        """Is a net's name the source's?"""
        return not _MADE_UP.search(name)

    def net(self, bit: int) -> str | None:
        """The source's name of a net."""
        return self.of_bit.get(bit)

    def cell(self, name: str, cell: dict) -> str:
        """What a register or memory is called: its output's name, else the cell's own."""
        if cell["type"] == "TRELLIS_FF":
            (bit,) = cell["connections"]["Q"]
            return self.of_bit.get(bit, _MADE_UP.sub(r" \1", name, count=1).split(" ")[0] + " (made up)")
        return re.sub(r"(\.\d+)+$", "", name)


def _arcs(cell: dict):
    """(input port, output port, delay) of the ways through a cell, and the ports where a way ends."""
    kind, ports = cell["type"], cell["connections"]
    if kind == "LUT4":
        return [(p, "Z", LUT) for p in "ABCD"], ()
    if kind == "PFUMX":
        return [("ALUT", "Z", 0.165), ("BLUT", "Z", 0.165), ("C0", "Z", 0.256)], ()
    if kind == "L6MUX21":
        return [("D0", "Z", 0.242), ("D1", "Z", 0.242), ("SD", "Z", 0.256)], ()
    if kind == "CCU2C":
        low, high = [f"{p}0" for p in "ABCD"], [f"{p}1" for p in "ABCD"]
        return [
            *[(p, "S0", LUT) for p in low],
            *[(p, "S1", LUT) for p in high],
            *[(p, "S1", CARRY_IN + CARRY_OUT) for p in low],
            *[(p, "COUT", CARRY_IN) for p in (*low, *high)],
            ("CIN", "COUT", CARRY),
            *[("CIN", s, CARRY_OUT) for s in ("S0", "S1")],
        ], ()
    if kind == "TRELLIS_DPR16X4":
        return [("RAD", "DO", LUT)], ("DI", "WAD", "WRE")
    if kind == "TRELLIS_FF":
        return [], ("DI", "M", "CE", "LSR")
    return [], tuple(p for p in ports if cell["port_directions"][p] == "input" and not p.startswith("CLK"))


def _clock_to_q(cell: dict) -> float:
    if cell["type"] != "DP16KD":
        return CLOCK_TO_Q
    modes = cell["parameters"]
    registered = "OUTREG" in (modes.get("REGMODE_A", "NOREG"), modes.get("REGMODE_B", "NOREG"))
    return RAM_REGISTERED_CLOCK_TO_Q if registered else RAM_CLOCK_TO_Q


class Estimate:
    """Arrival times in a module of a netlist as Yosys writes it (write_json)."""

    def __init__(self, module: dict) -> None:
        self.cells = module["cells"]
        self.names = Names(module)
        self.sinks: dict[int, int] = defaultdict(int)
        self.driver: dict[int, tuple[str, str]] = {}
        self.arrival: dict[int, tuple[float, float, int, tuple | None]] = {}
        """By net: time at its driver, of which in cells, levels of logic, (net before) or None."""
        self._count(module)
        self._propagate(module)

    def _count(self, module: dict) -> None:
        self.lut_of_ff: set[tuple[int, str]] = set()
        taken: set[int] = set()
        for name, cell in self.cells.items():
            for port, bits in cell["connections"].items():
                out = cell["port_directions"][port] == "output"
                for bit in bits:
                    if not isinstance(bit, int):
                        continue
                    if out:
                        self.driver[bit] = (name, port)
                    else:
                        self.sinks[bit] += 1
            if cell["type"] == "TRELLIS_FF":
                bit = cell["connections"].get("DI", [None])[0]
                if isinstance(bit, int) and bit not in taken:
                    taken.add(bit)
                    self.lut_of_ff.add((bit, name))
        self.outputs = [
            (name, index, bit)
            for name, port in module["ports"].items()
            if port["direction"] == "output"
            for index, bit in enumerate(port["bits"])
            if isinstance(bit, int)
        ]
        for _, _, bit in self.outputs:
            self.sinks[bit] += 1

    def _net(self, bit: int, cell: str, port: str) -> float:
        """Delay of a net to one of its sinks."""
        kind = self.cells[cell]["type"] if cell else ""
        if kind in _SELECT and port != _SELECT[kind]:
            return 0.0
        if port == "CIN":
            return 0.0
        driver = self.driver.get(bit)
        own = kind == "TRELLIS_FF" and port == "DI" and (bit, cell) in self.lut_of_ff
        if own and driver and self.cells[driver[0]]["type"] in ("LUT4", "CCU2C"):
            return NET_TO_OWN_REGISTER
        return NET_BASE + NET_SLOPE * math.log(max(1, self.sinks[bit]))

    def _propagate(self, module: dict) -> None:
        waits: dict[str, int] = {}
        users: dict[int, list[tuple[str, str]]] = defaultdict(list)
        self.ends: list[tuple[str, str, int]] = []
        clocks = set()
        for name, cell in self.cells.items():
            arcs, ends = _arcs(cell)
            for port, bits in cell["connections"].items():
                if cell["port_directions"][port] == "output":
                    if not any(out == port for _, out, _ in arcs):
                        for bit in bits:
                            if isinstance(bit, int):
                                d = _clock_to_q(cell)
                                self.arrival[bit] = (d, d, 0, None)
                    continue
                if port in ("CLK", "WCK", "CLKA", "CLKB"):
                    clocks.update(bits)
                    continue
                reads = any(p == port for p, _, _ in arcs)
                for bit in bits:
                    if isinstance(bit, int):
                        if port in ends:
                            self.ends.append((name, port, bit))
                        if reads:
                            users[bit].append((name, port))
                            waits[name] = waits.get(name, 0) + 1
        reset = {bit for p, v in module["ports"].items() if p in ("rst_ni", "resetn") for bit in v["bits"]}
        for name, port in module["ports"].items():
            if port["direction"] == "input" and name not in ("rst_ni", "resetn"):
                for bit in port["bits"]:
                    if bit not in clocks:
                        self.arrival[bit] = (CLOCK_TO_Q, CLOCK_TO_Q, 0, None)
        for bit in reset | clocks:
            self.arrival[bit] = (-100.0, 0.0, 0, None)
        for name, cell in self.cells.items():
            if name not in waits:  # logic of constants
                for out in {o for _, o, _ in _arcs(cell)[0]}:
                    for bit in cell["connections"].get(out, ()):
                        self.arrival.setdefault(bit, (-100.0, 0.0, 0, None))
        ready = list(self.arrival)
        pending: dict[str, list] = defaultdict(list)
        while ready:
            bit = ready.pop()
            for name, port in users.get(bit, ()):
                pending[name].append((bit, port))
                waits[name] -= 1
                if waits[name] == 0:
                    ready += self._through(name, pending.pop(name))

    def _through(self, name: str, inputs: list[tuple[int, str]]) -> list[int]:
        cell = self.cells[name]
        arcs, _ = _arcs(cell)
        by_port: dict[str, list[tuple]] = defaultdict(list)
        for bit, port in inputs:
            at, logic, levels, _ = self.arrival[bit]
            by_port[port].append((at + self._net(bit, name, port), logic, levels, bit))
        new = []
        for out in {o for _, o, _ in arcs}:
            best = None
            for port, o, delay in arcs:
                if o != out:
                    continue
                for at, logic, levels, bit in by_port.get(port, ()):
                    step = (
                        0
                        if port == "CIN" or (cell["type"] in _SELECT and port != _SELECT[cell["type"]])
                        else 1
                    )
                    found = (at + delay, logic + delay, levels + step, bit)
                    if best is None or found[0] > best[0]:
                        best = found
            for bit in cell["connections"].get(out, ()):
                if isinstance(bit, int):
                    self.arrival[bit] = best or (0.0, 0.0, 0, None)
                    new.append(bit)
        return new

    def paths(self, count: int = 10) -> list[Path]:
        """The slowest paths, one for each pair of names without their bits."""
        found = []
        for cell, port, bit in self.ends:
            if bit in self.arrival:
                found.append((self.arrival[bit][0] + self._net(bit, cell, port), cell, port, bit))
        for name, index, bit in self.outputs:
            if bit in self.arrival:
                found.append(
                    (self.arrival[bit][0] + self._net(bit, "", ""), "", f"{name}[{index}] (output)", bit)
                )
        found.sort(key=lambda item: -item[0])
        seen, out = set(), []
        for ns, cell, port, bit in found:
            path = self._path(ns, cell, port, bit)
            key = (_without_bits(path.begin), _without_bits(path.end))
            if key not in seen:
                seen.add(key)
                out.append(path)
                if len(out) == count:
                    break
        return out

    def _path(self, ns: float, cell: str, port: str, bit: int) -> Path:
        logic, levels = self.arrival[bit][1:3]
        if cell:
            end = self.names.cell(cell, self.cells[cell])
            if port in ("CE", "LSR", "M"):
                end += {"CE": " (enable)", "LSR": " (reset)"}.get(port, "")
            elif self.cells[cell]["type"] != "TRELLIS_FF":
                end += f" ({port})"
        else:
            end = port
        via: list[str] = []
        while True:
            before = self.arrival[bit][3]
            if before is None:
                break
            name = self.names.net(bit)
            if name and (not via or via[-1] != name):
                via.append(f"{name} (fan-out {self.sinks[bit]})" if self.sinks[bit] > 15 else name)
            bit = before
        if bit in self.driver:
            begin = self.names.cell(self.driver[bit][0], self.cells[self.driver[bit][0]])
        else:
            begin = f"{self.names.net(bit)} (input)"
        if self.sinks[bit] > 15:
            begin += f" (fan-out {self.sinks[bit]})"
        return Path(ns, logic, levels, begin, tuple(reversed(via)), end)


def _without_bits(name: str) -> str:
    return re.sub(r"\[\d+\]( |$)|\(fan-out \d+\)", r"\1", name)
