# SPDX-License-Identifier: Apache-2.0
"""Builds the pass-through card: the C++ of card/sim around the small RTL of passthrough/."""

from __future__ import annotations

import fcntl
import hashlib
import subprocess
from pathlib import Path

from godwit import toolchain

ROOT = toolchain.root()
RTL = ROOT / "hw" / "rtl" / "common"
SIM = ROOT / "card" / "sim"
HERE = Path(__file__).parent / "passthrough"

# Ports of the pass-through card: the kernel's, the external ones, the command queue's, the walker's.
SLEEPER, EXT0, EXT1, EXT2, QUEUE, WALKER = range(6)


def build(waves: bool = False) -> Path:
    """Path of the library; built only when one of its inputs changed."""
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
    ]
    digest = hashlib.sha256(toolchain.cxx_version().encode())
    for path in inputs:
        digest.update(path.name.encode() + path.read_bytes())
    out = ROOT / "build" / "card-test" / f"passthrough{'-waves' if waves else ''}-{digest.hexdigest()[:16]}"
    library = out / "libgw_card.so"
    out.mkdir(parents=True, exist_ok=True)
    with (out / "lock").open("w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not library.exists():
            _build(sources, out, library, waves)
    return library


def _build(sources: list[Path], out: Path, library: Path, waves: bool) -> None:
    # Waves are tested for being there, not for speed.
    optimise = "-O0" if waves else "-O2"
    includes = " ".join(f"-I{path}" for path in (SIM, HERE)) + f" -isystem {toolchain.json_include()}"
    flags = f"{optimise} -fPIC -fvisibility=hidden -fno-gnu-unique {toolchain.CXX_STANDARD} {includes}"
    command = [
        str(toolchain.verilator()), "--cc", "--exe", "--build", "-j", "2", "-O3", "--assert", "--no-timing",
        "-Wall", "-Wno-UNUSEDSIGNAL", "-Wno-UNUSEDPARAM",  # it has no use for all that a real card has
        "--x-assign", "fast", "--x-initial", "fast", "--top-module", "gw_card_top",
        "--Mdir", str(out / "obj"), f"-I{RTL}", "-CFLAGS", flags, "-LDFLAGS", "-shared -Wl,-Bsymbolic",
        "-MAKEFLAGS", f"OPT_GLOBAL='{optimise} -include {SIM / 'verilator_print.h'}'",
        "-o", str(library), *map(str, sources),
    ]  # fmt: skip
    if waves:
        command.append("--trace-fst")
    done = subprocess.run(command, env=toolchain.env(), text=True, capture_output=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"the pass-through card does not build:\n{done.stdout}\n{done.stderr}")
