# SPDX-License-Identifier: Apache-2.0
"""Cycles in nanoseconds: every design at its own clock of one flow, Yosys and nextpnr-ecp5 for an LFE5U-85F of grade 6.

Godwit's clocks are those recorded in hw/synth/recorded.json, of the slowest block on the way: routed if it was routed, else
the static estimate. Peers' clocks were routed in the same flow, seed 1, with a register at every port, from their published RTL; their
cycles are those of the same RTL, simulated. docs/clocks.md says more, and what the clocks of this flow are on other devices.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass

from godwit import toolchain
from godwit.report import Row

MEMORY_NS = (0, 50, 100, 200)
"""Latencies of memory for whole walks."""
SOURCE = "their RTL routed in this flow, cycles simulated"


CALIBRATION = {"Kintex UltraScale+ -2": 714 / 119.6, "Virtex UltraScale+ -2": 666 / 119.6}
"""A clock there over one of this flow: PicoRV32 (AXI, TWO_CYCLE_ALU), as its authors publish it and as it was routed here; ± 25 %."""


@dataclass(frozen=True)
class Peer:
    """A design whose RTL was routed here: `hit_cycles` from address to address, `per_hit` cycles from hit to hit."""

    name: str
    mhz: float
    hit_cycles: float
    per_hit: float

    def ns(self, cycles: float) -> float:
        """So many cycles of its clock."""
        return cycles * 1000 / self.mhz


PEERS = (
    Peer("PULP axi_tlb_l1, 16 entries", 41.8, 1, 1),
    Peer("riscv-iommu IOTLB, 16 entries", 67.8, 2, 3),
    Peer("Fletcher MM translator, 1 entry", 111.9, 5, 1),
    Peer("Intel VTP, 256 x 4", 122.8, 7, 1),
)
COLD = {
    3: ("riscv-iommu walker", 154.1, 9, 3, 0),
    2: ("Fletcher MM translator", 111.9, 13, 2, 3),
}
"""Walks from cold by levels: who, MHz, cycles beside memory, reads one after the other, the least cycles of a read."""

IN_A_ROW = "default, ideal data memory, frames in a row"
"""What most rows of `translate` are measured with."""

L1 = ("gw_translator, 16 L1 entries",)
L2 = (*L1, "gw_second_level, L2 256 x 4, 8 ranges", "gw_xlate_mux, 8 channels")
WALK = (*L1, "gw_walker, 64 walks")
ALL = (*L2, "gw_walker, 64 walks")


def clock(blocks: tuple[str, ...]) -> tuple[float, str] | None:
    """MHz of the slowest of the blocks, and in words which and what kind of figure; None if one has no recorded clock."""
    recorded = json.loads((toolchain.root() / "hw" / "synth" / "recorded.json").read_text(encoding="utf-8"))
    found = []
    for block in blocks:
        routed, estimated = recorded["fmax"].get(block), recorded["estimate"].get(block)
        if routed:
            found.append((routed["mhz"], f"{block}, routed"))
        elif estimated:
            found.append((estimated["mhz"], f"{block}, static estimate, not routed"))
        else:
            return None
    mhz, which = min(found)
    return mhz, f"at {mhz:g} MHz ({which}; LFE5U-85F-6)"


def rows(cycles: list[Row]) -> Iterator[Row]:
    """Nanoseconds and translations a second of the rows of `translate` that count cycles; their kind is that of the clock."""
    counted = [row for row in cycles if row.value is not None]
    of = {row.row: row.value for row in counted if row.config == IN_A_ROW}
    alone = {row.row: row.value for row in counted if "without L2" in row.config}
    if (known := clock(L1)) and {"L1 hit", "L1 hits in a row"} <= set(of):
        yield _time(
            "L1 hit", of["L1 hit"] * 1000 / known[0], known[1], {p.name: p.ns(p.hit_cycles) for p in PEERS}
        )
        rate = {p.name: p.mhz / p.per_hit for p in PEERS}
        yield _rate("L1 hits, one port", known[0] / of["L1 hits in a row"], known[1], rate)
        for name, value in of.items():
            if name.startswith("hits of another ID"):
                yield _rate(name, known[0] / value, known[1], {})
    if (known := clock(L2)) and {"L2 hit", "L2 hits in a row"} <= set(of):
        yield _time("L2 hit", of["L2 hit"] * 1000 / known[0], known[1], {})
        yield _rate("L2 hits, all ports", known[0] / of["L2 hits in a row"], known[1], {})
    if known := clock(WALK):
        yield from _walks(alone, *known)
    if known := clock(ALL):
        for row in counted:
            name, _, latency = row.row.partition(", L = ")
            if row.unit == "cycles/request" and latency and "pages" in name:
                memory = int(latency) * 1000 / known[0]
                config = f"{row.config}; {known[1]}"
                yield _rate(f"{name}, memory of {memory:.0f} ns", known[0] / row.value, config, {})


def _walks(alone: dict[str, float], mhz: float, config: str) -> Iterator[Row]:
    """Whole walks for each latency of memory, from the cycles with none and the reads that follow one another."""
    kinds = {"walk, warm upper levels": 1, **{f"walk from cold, {n} levels": n for n in (2, 3, 4)}}
    for kind, reads in kinds.items():
        base = alone.get(f"{kind}, L = 0")
        if base is None:
            continue
        for memory in MEMORY_NS:
            theirs = {}
            if kind.startswith("walk from cold") and reads in COLD:
                name, clock_mhz, own, serial, least = COLD[reads]
                theirs[name] = (
                    (own + serial * max(least, math.ceil(memory * clock_mhz / 1000))) * 1000 / clock_mhz
                )
            taken = (base + reads * math.ceil(memory * mhz / 1000)) * 1000 / mhz
            yield _time(
                f"{kind}, memory of {memory} ns",
                taken,
                f"{config}, its cycles without L2 and with L = 0",
                theirs,
            )


def _time(name: str, value: float, config: str, theirs: dict[str, float]) -> Row:
    """A row of nanoseconds: the goal is the best peer's."""
    best = min(theirs.items(), key=lambda item: item[1], default=None)
    return _row(name, value, "ns", config, best, "<=")


def _rate(name: str, value: float, config: str, theirs: dict[str, float]) -> Row:
    """A row of translations a second: the goal is the best peer's."""
    best = max(theirs.items(), key=lambda item: item[1], default=None)
    return _row(name, value, "M/s", config, best, ">=")


def _row(name: str, value: float, unit: str, config: str, best: tuple[str, float] | None, sign: str) -> Row:
    theirs = goal = None
    if best is not None:
        goal = f"{sign} {best[1]:.1f}"
        theirs = f"{best[1]:.1f} ({best[0]}: {SOURCE})"
        behind = value / best[1] if sign == "<=" else best[1] / value
        if behind > 1.005:
            config += f"; {100 * (behind - 1):.0f} % behind: {_why(name, unit, best[0])}"
    kind = "nextpnr" if ", routed;" in config else "yosys"
    return Row("translate", name, config, round(value, 1), unit, theirs, goal, kind=kind)


def _why(row: str, unit: str, peer: str) -> str:
    """What Godwit does in that time that the peer does not."""
    if "riscv-iommu walker" in peer:
        return "it walks one address at a time and knows no lookups, levels above or answers for neighbours"
    if row.startswith("walk"):
        return "about as many cycles of a slower clock: it walks for one port, one address at a time, ours 64 for all ports"
    if unit == "M/s":
        return "it looks up one entry or one page size in order; ours are 16 of all sizes, contexts and misses that others pass"
    return "16 entries of all page sizes are compared, and a stage of its own is behind them"
