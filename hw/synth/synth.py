# SPDX-License-Identifier: Apache-2.0
"""Area and clock of single blocks, with open tools.

    python hw/synth/synth.py area [--record] [NAME ...]
    python hw/synth/synth.py fmax [--record] [--seeds N] [NAME ...]
    python hw/synth/synth.py estimate [-n PATHS] [--names] [-p PARAMETER=VALUE ...] NAME ...
    python hw/synth/synth.py where [-p PARAMETER=VALUE ...] NAME ...

Area: Yosys `synth_xilinx -family xcup` (UltraScale+ cells), flattened. Clock: Yosys `synth_ecp5`, a register at every port,
nextpnr-ecp5 on an LFE5U-85F of speed grade 6, out of context, median of five seeds (`--seeds`): the figure is for comparing
versions of a block and blocks with one another, not for another family; peers that PyPI carries run in the same flow. Estimate:
the same netlist without placement (timing.py), with the slowest paths by the names of registers and memories. NAME is a
block or the beginning of its name; to estimate, any module. Mapping loses most registers' names; with ``--names`` they are kept by force, which
makes another netlist, a few percent larger: for reading paths. Where: the ECP5 cells of each instance alone, mapped with the hierarchy kept, so that
constants do not cross borders: for finding what to make smaller, not for adding up. Blocks and peers are listed in blocks.toml. What takes long is kept in
``$GODWIT_CACHE/synth``: areas under a hash of sources, parameters and tools, netlists under one of what was elaborated (comments
do not count), routed clocks under one of netlist and constraints. ``--record`` writes the figures to recorded.json, which
the test and the bench compare with.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path

SYNTH = Path(__file__).resolve().parent
sys.path[:0] = [str(SYNTH), str(SYNTH.parents[1] / "python")]

import flow  # noqa: E402
import join  # noqa: E402
import recorded  # noqa: E402
import route  # noqa: E402
import timing  # noqa: E402
from blocks import Block, blocks, peers  # noqa: E402
from blocks import overheads as overheads  # noqa: E402

from godwit import toolchain  # noqa: E402

DEVICE = "85k"
SPEED_GRADE = "6"
FMAX_KIND = f"nextpnr-ecp5, LFE5U-85F-{SPEED_GRADE}, ports registered"
LUT_RAM_LUTS = {
    "RAM32M16": 8,
    "RAM64M8": 8,
    "RAM32M": 4,
    "RAM64M": 4,
    "RAM32X1S": 1,
    "RAM64X1S": 1,
    "RAM128X1S": 2,
    "RAM256X1S": 4,
    "RAM32X1D": 2,
    "RAM64X1D": 2,
    "RAM128X1D": 4,
}
"""LUTs that a LUT RAM cell of UltraScale+ takes (UG574)."""
AREA_FLOW = "synth_xilinx -family xcup -flatten -noiopad"
PLACE_OPTIONS = (
    *(f"--{DEVICE}", "--package", "CABGA756", "--speed", SPEED_GRADE),
    *("--out-of-context", "--timing-allow-fail"),
)
SEEDS = 5


@dataclass(frozen=True)
class Clock:
    """Median of the routed seeds, each one's, the slowest path of the seed nearest to the median, and ECP5 cells."""

    mhz: float
    seeds: tuple[float, ...]
    path: str
    lut4: int
    ff: int


def area(block: Block) -> recorded.Area:
    """Cells of `block`."""

    def count(top: str, read: str) -> dict:
        with tempfile.TemporaryDirectory() as directory:
            out = Path(directory) / "stat.json"
            flow.yosys([read, f"{AREA_FLOW} -top {top}", f"tee -o {out} stat -json"])
            text = out.read_text(encoding="utf-8")
        return json.loads(text[text.index("{") :])["design"]["num_cells_by_type"]

    def make() -> dict:
        if not block.parts:
            return count(block.top, flow.reading(block))
        with tempfile.TemporaryDirectory() as directory:
            read = Path(directory) / "read.il"
            flow.yosys([flow.reading(block, hierarchy=True), "setattr -unset src", f"write_rtlil {read}"])
            rest, parts = join.parts(
                block.top, block.parts, read, flow.yosys, lambda top, file: _once(top, file, count)
            )
        return dict(sum((Counter(cells) for cells in parts.values()), Counter(rest)))

    def _once(top: str, read: Path, count: Callable[[str, str], dict]) -> dict:
        digest = hashlib.sha256((flow.TOOLS[0] + toolchain.version(flow.TOOLS[0]) + AREA_FLOW).encode())
        digest.update(read.read_bytes())
        kept = toolchain.cache_dir() / "synth" / f"{top}-xcup-{digest.hexdigest()[:16]}.json"
        return flow.remembered(kept, lambda: count(top, f"read_rtlil {read}"))

    cells = flow.kept("xcup", AREA_FLOW, block, make)
    return recorded.Area(
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


def estimate(block: Block, paths: int = 10, names: bool = False) -> tuple[list[timing.Path], Counter]:
    """The slowest paths of `block` by a static estimate, and its cells by type; `names` as in `mapped`."""
    module = flow.mapped(block, names)
    return timing.Estimate(module).paths(paths), Counter(cell["type"] for cell in module["cells"].values())


def where(block: Block) -> dict[str, Counter]:
    """Cells of every instance of `block` without those below it, by "path: module"; its own path is empty."""

    def count() -> dict:
        with tempfile.TemporaryDirectory() as directory:
            out = Path(directory) / "stat.json"
            mapping = f"{flow.ECP5} -noflatten -top {block.top}"
            flow.yosys([flow.reading(block, hierarchy=True), mapping, f"tee -o {out} stat -json"])
            text = out.read_text(encoding="utf-8")
        modules = json.loads(text[text.index("{") :])["modules"]
        return {name: module["num_cells_by_type"] for name, module in modules.items()}

    found = {}
    for name, cells in flow.kept("where", flow.ECP5, block, count).items():
        module, _, path = name.lstrip("\\").partition("$")
        found[f"{path.removeprefix(block.top).lstrip('.')}: {module}"] = Counter(cells)
    return found


def chosen_blocks(name: str, parameters: dict[str, int | str]) -> list[Block]:
    """Blocks of blocks.toml by name, else by how it begins; else the module of that name."""
    known = blocks()
    known += peers()
    found = [b for b in known if b.name == name] or [b for b in known if b.name.startswith(name)]
    if not found and list(flow.RTL.glob(f"*/{name}.sv")):
        found = [Block(name, name, {}, False, False, None)]
    if parameters and found:
        shown = ", ".join(f"{n} = {v}" for n, v in parameters.items())
        other = {"name": f"{found[0].name} {shown}", "parameters": found[0].parameters | parameters}
        return [replace(found[0], quick=False, fmax=False, theirs=None, **other)]
    return found


def fmax(block: Block, seeds: int = SEEDS) -> Clock:
    """Clock of `block` on its own, seeds side by side on all cores."""
    ((_, clock),) = fmax_all([block], seeds)
    return clock


def fmax_all(chosen: list[Block], seeds: int = SEEDS) -> Iterator[tuple[Block, Clock]]:
    """Clocks of blocks, all their seeds side by side, as many at a time as there are cores."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        netlists = [pool.submit(flow.mapped, block) for block in chosen]
        routed = [
            [pool.submit(_routed, block, netlist.result(), seed) for seed in range(1, seeds + 1)]
            for block, netlist in zip(chosen, netlists, strict=True)
        ]
        for block, netlist, runs in zip(chosen, netlists, routed, strict=True):
            results = [run.result() for run in runs]
            median = statistics.median_low(result["mhz"] for result in results)
            cells = Counter(cell["type"] for cell in netlist.result()["cells"].values())
            yield (
                block,
                Clock(
                    mhz=statistics.median(result["mhz"] for result in results),
                    seeds=tuple(result["mhz"] for result in results),
                    path=next(result["path"] for result in results if result["mhz"] == median),
                    lut4=cells["LUT4"],
                    ff=cells["TRELLIS_FF"],
                ),
            )


def _routed(block: Block, module: dict, seed: int) -> dict:
    placer = ("--placer", block.placer) if block.placer else ()
    options = (*PLACE_OPTIONS, *placer, "--seed", str(seed))
    digest = hashlib.sha256(json.dumps([flow.TOOLS[1], toolchain.version(flow.TOOLS[1]), options]).encode())
    digest.update(json.dumps(module, sort_keys=True).encode())
    kept = toolchain.cache_dir() / "synth" / f"{block.top}-routed-{digest.hexdigest()[:16]}.json"
    return flow.remembered(kept, lambda: route.placed(block.top, module, options))


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("area", "fmax", "estimate", "where"))
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="blocks of blocks.toml; all when none is given"
    )
    parser.add_argument("--record", action="store_true", help="write the figures to recorded.json")
    parser.add_argument("-n", "--paths", type=int, default=10, help="estimate: paths that are shown")
    parser.add_argument(
        "--names", dest="keep_names", action="store_true", help="estimate: registers keep their names"
    )
    parser.add_argument(
        "-p",
        "--parameter",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="estimate, where: a parameter's value, instead of the block's",
    )
    parser.add_argument(
        "--seeds", type=int, default=SEEDS, metavar="N", help="fmax: seeds of the placement (5)"
    )
    args = parser.parse_intermixed_args()
    if args.what in ("estimate", "where"):
        return _estimate(parser, args)
    if args.parameter:
        parser.error(
            f"{args.what}: blocks have the parameters that blocks.toml says; `estimate` and `where` take others"
        )
    if args.seeds < 1:
        parser.error(f"--seeds {args.seeds}: a clock is the median of at least 1")
    known = blocks() + (peers() if args.what == "fmax" else [])
    chosen: list[Block] = []
    for name in args.names:
        found = [block for block in _asked(parser, name, {}) if block in known]
        if not found:
            parser.error(f"{name}: no block of blocks.toml; blocks are: {'; '.join(b.name for b in known)}")
        chosen += [block for block in found if block not in chosen]
    if args.what == "area":
        for block in chosen or known:
            found = area(block)
            print(
                f"{block.name}: {found.lut} LUT, {found.ff} FF, {found.lut_ram} LUT RAM, {found.bram:g} BRAM",
                flush=True,
            )
            if args.record:
                recorded.record("area", block.name, asdict(found))
    else:
        for block, clock in fmax_all(chosen or [block for block in known if block.fmax], args.seeds):
            was = recorded.clocks().get(block.name, {}).get("mhz", clock.mhz)
            note = f", SLOWER than the recorded {was:.1f}" if clock.mhz < was / recorded.TOLERANCE else ""
            spread = f"{min(clock.seeds):.1f} to {max(clock.seeds):.1f}, {len(clock.seeds)} seeds"
            print(
                f"{block.name}: {clock.mhz:.1f} MHz{note} ({spread}; {FMAX_KIND}), {clock.lut4} LUT4, {clock.ff} FF"
            )
            print(f"  {clock.path}", flush=True)
            if args.record:
                value = {"mhz": round(clock.mhz, 1), "seeds": len(clock.seeds), "lut4": clock.lut4}
                recorded.record("fmax", block.name, value)
    return 0


def _estimate(parser: argparse.ArgumentParser, args: argparse.Namespace) -> int:
    if args.paths < 1:
        parser.error(f"--paths {args.paths}: the clock is that of the first")
    for text in args.parameter:
        if not re.fullmatch(r"\w+=.+", text):
            parser.error(f"--parameter {text}: NAME=VALUE is wanted")
    values = dict(text.partition("=")[::2] for text in args.parameter)
    for name in args.names or parser.error(f"{args.what}: say which block or module"):
        for block in _asked(parser, name, values):
            if args.what == "where":
                print(f"{block.name}: each instance alone", flush=True)
                for name, cells in sorted(where(block).items(), key=lambda item: -item[1]["LUT4"]):
                    print(f"  {_cells(cells)}  {name}", flush=True)
                continue
            paths, cells = estimate(block, args.paths, args.keep_names)
            area = _cells(cells)
            clock = f"about {1000 / paths[0].ns:.1f} MHz" if paths else "no paths"
            print(f"{block.name}: {clock} (static estimate, ports registered); {area}", flush=True)
            for path in paths:
                print(f"  {path}", flush=True)
            if args.record and paths and not args.keep_names:
                recorded.record(
                    "estimate", block.name, {"mhz": round(1000 / paths[0].ns, 1), "lut4": cells["LUT4"]}
                )
    return 0


def _asked(parser: argparse.ArgumentParser, name: str, parameters: dict[str, int | str]) -> list[Block]:
    """The blocks of a name, with these parameters. What reads a module of ours does not say that it has no such: here it is said."""
    found = chosen_blocks(name, parameters)
    if not found:
        parser.error(f"{name}: no block of blocks.toml begins so, and no module of hw/rtl is called so")
    if parameters and not found[0].package:
        has = _parameters(found[0].top)
        unknown = next((parameter for parameter in parameters if parameter not in has), None)
        if unknown:
            parser.error(f"{found[0].top} has no parameter {unknown}; it has {', '.join(has) or 'none'}")
    return found


def _parameters(top: str) -> list[str]:
    """Those of a module of hw/rtl that are values."""
    (file,) = flow.RTL.glob(f"*/{top}.sv")
    text = file.read_text(encoding="utf-8")
    return re.findall(r"^\s*parameter\s+(?!type\b)[^=;/]*?(\w+)\s*=", text, re.MULTILINE)


def _cells(cells: Counter) -> str:
    return f"{cells['LUT4']} LUT4, {cells['TRELLIS_FF']} FF, {cells['TRELLIS_DPR16X4']} DPR, {cells['DP16KD']} BRAM"


if __name__ == "__main__":
    sys.exit(main())
