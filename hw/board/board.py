# SPDX-License-Identifier: Apache-2.0
"""A card on a board, from its configuration to a bitstream, with open tools: what `make board` runs.

    python hw/board/board.py [--netlist | --record] [--seed N] [--out DIR] [CONFIG]

The card (gw_board.sv) is read by slang, mapped to ECP5 cells room by room by Yosys `synth_ecp5` and joined (hw/synth/join.py); what
stands around it is LiteX's (soc.py). nextpnr-ecp5 places and routes the whole, ecppack makes the bitstream. Every step is kept
in ``$GODWIT_CACHE`` under a hash of what goes into it, so an interrupted run goes on where it was, and a comment changes
nothing. ``--netlist`` ends before placement: cells by room, and the clock by the static estimate (hw/synth/timing.py), which stands for
speed grade 6 and counts the slowest path whatever its clock. ``--record`` writes the figures to recorded.json, and the picture
of the rooms beside them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

BOARD = Path(__file__).resolve().parent
ROOT = BOARD.parents[1]
RECORDED = BOARD / "recorded.json"
sys.path[:0] = [str(BOARD), str(ROOT / "hw" / "synth"), str(ROOT / "python")]

import flow  # noqa: E402
import join  # noqa: E402
import rooms  # noqa: E402
import route  # noqa: E402
import soc  # noqa: E402
import timing  # noqa: E402

from godwit import toolchain  # noqa: E402
from godwit.card import plan  # noqa: E402
from godwit.card.compile import generate_sources  # noqa: E402
from godwit.errors import GodwitError  # noqa: E402

CARD = "gw_board"
PARTS = (
    *("gw_translator", "gw_walker", "gw_second_level", "gw_invalidate", "gw_csr", "gw_xlate_mux"),
    "gw_walker_port",
)
"""Modules of the card that are mapped on their own, besides each kernel's slot."""
PACKAGE = "CSFBGA285"
SPEED_GRADE = "8"
CARD_CLOCK = ("sys_clk", f"{CARD}.clk_i")
"""The card's clock, as LiteX and the card call it: one of these names is left in the netlist."""
PLACE_OPTIONS = (
    *("--85k", "--package", PACKAGE, "--speed", SPEED_GRADE),
    # The clock that the board runs at is checked here, and reported; pins without a place there are none.
    "--timing-allow-fail",
)
TOOLS = (*flow.TOOLS, *soc.PACKAGES)


@dataclass(frozen=True)
class Netlist:
    """The whole board in ECP5 cells."""

    module: dict
    """As Yosys writes it."""
    constraints: str
    """Pins and input clocks (LPF)."""
    csr: str
    init: str


def netlist(config: str, say=print) -> Netlist:
    """Reads, maps and joins the card of a configuration and what stands around it."""
    todo = plan.plan(config)
    slots = tuple(f"gw_slot_{kernel.manifest.name}" for kernel in todo.kernels)
    # Names that Yosys makes up have the path of the source in them: always the same one.
    work = ROOT / "build" / "board" / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    around = soc.write(work / "litex", todo.config)
    _read_card(work, todo)
    _read_around(work, around.verilog)
    say(f"mapping {', '.join((*slots, *PARTS))} and the rest")
    card = join.flat(*join.parts(CARD, (*slots, *PARTS), work / "card.il", flow.yosys, flow.map_module))
    whole = join.flat(flow.map_module(soc.TOP, work / "around.il"), {CARD: card})
    say("cleaning the joined netlist")
    return Netlist(
        _cleaned(work, whole),
        around.constraints.read_text(encoding="utf-8"),
        around.csr.read_text(encoding="utf-8"),
        around.init.read_text(encoding="utf-8"),
    )


def _read_card(work: Path, todo: plan.Plan) -> None:
    """`card.il`: gw_board of a plan, with its hierarchy."""
    files, folders = generate_sources(work / "card", todo)
    searched = " ".join(f"-y {folder} -I {folder}" for folder in folders)
    read = f"read_slang --keep-hierarchy --top {CARD} --libext .sv {searched} "
    read += " ".join(map(str, (*files, BOARD / f"{CARD}.sv")))
    flow.yosys([read, "setattr -unset src", f"write_rtlil {work / 'card.il'}"])


def _read_around(work: Path, verilog: Path) -> None:
    """`around.il`: LiteX's Verilog with gw_board as a black box."""
    flow.yosys([
        f"read_rtlil {work / 'card.il'}",
        f"blackbox {CARD}",
        f"read_verilog {verilog}",
        f"hierarchy -top {soc.TOP}",
        "setattr -unset src",
        f"write_rtlil {work / 'around.il'}",
    ])  # fmt: skip


def _cleaned(work: Path, module: dict) -> dict:
    """A joined netlist without the cells that nobody needs: what crosses a part's border was kept until here."""
    joined, clean = work / "joined.json", work / "clean.json"
    text = json.dumps({"creator": "", "modules": {soc.TOP: module}})
    digest = hashlib.sha256((toolchain.version(flow.TOOLS[0]) + text).encode()).hexdigest()[:16]

    def make() -> dict:
        joined.write_text(text, encoding="utf-8")
        flow.yosys([
            "read_verilog -lib +/ecp5/cells_sim.v +/ecp5/cells_bb.v",
            f"read_json {joined}",
            f"hierarchy -top {soc.TOP}",
            "opt_clean -purge",
            f"select {soc.TOP}",
            f"write_json -selected {clean}",
        ])  # fmt: skip
        return json.loads(clean.read_text(encoding="utf-8"))["modules"][soc.TOP]

    return flow.remembered(_kept("clean", digest, ".json"), make)


def _kept(kind: str, digest: str, end: str = "") -> Path:
    return toolchain.cache_dir() / "board" / f"{kind}-{digest}{end}"


def routed(found: Netlist, seed: int, say=print) -> Path:
    """Folder with `board.bit`, `report.json`, `log.txt` and what the host needs; kept under a hash of netlist, pins and tools."""
    text = json.dumps({"creator": "", "modules": {soc.TOP: found.module}})
    options = (*PLACE_OPTIONS, "--seed", str(seed))
    digest = hashlib.sha256(json.dumps([text, found.constraints, options]).encode())
    for tool in TOOLS:
        digest.update(toolchain.version(tool).encode())
    home = _kept(soc.TOP, digest.hexdigest()[:16])
    if (home / "board.bit").is_file():
        return home
    say(
        f"placing and routing {len(found.module['cells'])} cells: half an hour or so; nextpnr's log is {home}.log"
    )
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home.parent) as directory:
        work = Path(directory)
        (work / "board.json").write_text(text, encoding="utf-8")
        (work / "board.lpf").write_text(found.constraints, encoding="utf-8")
        (work / "csr.csv").write_text(found.csr, encoding="utf-8")
        (work / "sdram_init.py").write_text(found.init, encoding="utf-8")
        place = [str(toolchain.nextpnr_ecp5()), *options, "--json", "board.json", "--lpf", "board.lpf"]
        log = home.with_suffix(".log")
        _run([*place, "--textcfg", "board.config", "--report", "report.json"], work, log)
        pack = [str(toolchain.ecppack()), "--compress", "board.config", "--bit", "board.bit"]
        _run(pack, work, work / "pack.txt")
        shutil.move(log, work / "log.txt")
        (work / "board.json").unlink()
        shutil.rmtree(home, ignore_errors=True)
        work.rename(home)
        work.mkdir()
    return home


def _run(command: list[str], work: Path, log: Path) -> None:
    """Runs a tool, whose sandbox has the working directory only, with its output in `log`."""
    with log.open("w", encoding="utf-8") as output:
        done = subprocess.run(command, cwd=work, stdout=output, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        raise RuntimeError(f"{Path(command[0]).name}: {log.read_text(encoding='utf-8')[-2000:]}")


def figures(found: Netlist) -> dict:
    """Cells by room and by type, and the slowest path by the static estimate."""
    path = timing.Estimate(found.module).paths(1)[0]
    cells = Counter(cell["type"] for cell in found.module["cells"].values())
    return {
        "rooms": rooms.count(found.module),
        "cells": {name: cells[name] for name in rooms.TYPES},
        "estimate": {"mhz": round(1000 / path.ns, 1), "path": str(path)},
    }


def clocks(home: Path, module: dict) -> dict:
    """MHz of the card's clock as it was routed, its slowest path, and the board's other clocks."""
    report = json.loads((home / "report.json").read_text(encoding="utf-8"))
    achieved = {name: round(clock["achieved"], 1) for name, clock in report["fmax"].items()}
    # nextpnr puts something of its own before a name and behind it: $glbnet$clk48$TRELLIS_IO_IN.
    plain = {name: name.removeprefix("$glbnet$").partition("$")[0] for name in achieved}
    (card,) = (name for name in achieved if plain[name] in CARD_CLOCK)
    edge = f"posedge {card}"
    paths = [p["path"] for p in report["critical_paths"] if p["from"] == edge and p["to"] == edge]
    others = {plain[name]: mhz for name, mhz in achieved.items() if name != card}
    return {"mhz": achieved[card], "path": route.told(paths[0], module), "others": others}


def main() -> int:
    """Returns the exit status: 0, or 1 after what is wrong, on stderr."""
    parser = argparse.ArgumentParser(prog="hw/board/board.py", description=__doc__.splitlines()[0])
    parser.add_argument("config", nargs="?", default="ecp5", metavar="CONFIG", help="default: %(default)s")
    parser.add_argument("--netlist", action="store_true", help="end before placement")
    parser.add_argument(
        "--seed", type=int, default=1, metavar="N", help="of the placement (default: %(default)s)"
    )
    parser.add_argument("--record", action="store_true", help="write the figures to recorded.json")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "board", metavar="DIR")
    args = parser.parse_args()
    if args.netlist and args.record:
        parser.error("--record: what is recorded has been routed; leave --netlist out")
    try:
        found = netlist(args.config)
        said = figures(found)
        print(rooms.table(said["rooms"]))
        print(f"estimated, speed grade 6: {said['estimate']['mhz']} MHz, {said['estimate']['path']}")
        args.out.mkdir(parents=True, exist_ok=True)
        if not args.netlist:
            home = routed(found, args.seed)
            said["routed"] = {"seed": args.seed, "speed_grade": SPEED_GRADE, **clocks(home, found.module)}
            for name in ("board.bit", "report.json", "csr.csv", "sdram_init.py"):
                shutil.copy(home / name, args.out / name)
            print(f"routed, speed grade {SPEED_GRADE}: {said['routed']['mhz']} MHz, {said['routed']['path']}")
            print(f"bitstream: {args.out / 'board.bit'}")
        rooms.draw(said["rooms"], args.out / "rooms.png")
        if args.record:
            RECORDED.write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")
            rooms.draw(said["rooms"], ROOT / "docs" / "board-rooms.png")
    except (GodwitError, RuntimeError) as error:
        print("\n  ".join([f"error: {error}", *getattr(error, "__notes__", [])]), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
