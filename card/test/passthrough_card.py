# SPDX-License-Identifier: Apache-2.0
"""Builds the pass-through card: the C++ of card/sim around the small RTL of passthrough/."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
from pathlib import Path

from godwit import toolchain
from godwit.card import plan, unity, verilated
from godwit.card.process import Compilers
from godwit.spec.generate import simulation_headers

ROOT = toolchain.root()
RTL = ROOT / "hw" / "rtl" / "common"
SIM = ROOT / "card" / "sim"
HERE = Path(__file__).parent / "passthrough"
LIBRARY = "libgw_card.so"

# Ports of the pass-through card: the kernel's, the external ones, the command queue's, the walker's.
SLEEPER, EXT0, EXT1, EXT2, QUEUE, WALKER = range(6)


FAR, FAR_BYTES = 63 << 30, 1 << 30
"""The second memory of a pass-through card with two, at the end of all."""
TWO_MEMORIES = f"""
    "further_memory": [{{"name": "far", "bytes": {FAR_BYTES}, "model": "fixed", "latency_cycles": 7,
      "page_table_latency_cycles": 7, "requests_per_cycle": 8}}],
"""


def build(waves: bool = False, *, further: str = "") -> Path:
    """Path of the library, in the cache; built only when one of its inputs changed. `further`: of its configuration."""
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
        Path(__file__),
        Path(unity.__file__),
        Path(verilated.__file__),
    ]
    tools = f"{toolchain.cxx_version()} {toolchain.version('verilator')} {toolchain.version('nlohmann-json')}"
    digest = hashlib.sha256(tools.encode())
    for path in inputs:
        digest.update(path.name.encode() + path.read_bytes())
    description = (
        (HERE / "gw_card_description.h")
        .read_text(encoding="utf-8")
        .replace('"host_link":', f'{further}"host_link":')
    )
    headers = {
        **simulation_headers(),
        "gw_card_config.h": (HERE / "gw_card_config.h").read_text(encoding="utf-8"),
        "gw_card_description.h": description,
    }
    digest.update("".join(headers.values()).encode())
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
            _build(sources, out, library, headers, waves)
    return library


def _build(sources: list[Path], out: Path, library: Path, headers: dict[str, str], waves: bool) -> None:
    # Waves are tested for being there, not for speed.
    optimise = "-O0" if waves else "-O2"
    model = out / "obj"
    shutil.rmtree(model, ignore_errors=True)
    model.mkdir()
    for name, text in headers.items():
        (model / name).write_text(text, encoding="utf-8")
    simulation = unity.unite([path for path in sources if path.suffix == ".cpp"], model, "gw_simulation", 2)
    command = [
        str(toolchain.verilator()), *verilated.VERILATE, "-O3", "--assert", "--no-timing",
        "-Wall", "-Wno-UNUSEDSIGNAL", "-Wno-UNUSEDPARAM",  # it has no use for all that a real card has
        "--x-assign", "fast", "--x-initial", "fast", "--top-module", "gw_card_top", "--prefix", plan.PREFIX,
        "--Mdir", str(model), f"-I{RTL}", *(str(path) for path in sources if path.suffix == ".sv"),
    ]  # fmt: skip
    if waves:
        command.append("--trace-fst")
    flags = (
        "-fPIC",
        "-fvisibility=hidden",
        "-fno-gnu-unique",
        toolchain.CXX_STANDARD,
        f"-I{SIM}",
        f"-I{model}",
    )
    with Compilers() as compilers:
        failure = "the pass-through card does not build"
        compilers.run(command, failure)
        built = verilated.Model.read(model, plan.PREFIX)
        units = [verilated.Unit(path, "fast", built.options) for path in simulation]
        verilated.Linkage(
            model,
            dict.fromkeys(("fast", "slow", "runtime"), optimise),
            (*flags, "-isystem", str(toolchain.json_include()), "-include", "verilator_print.h"),
            ("-shared", "-Wl,-Bsymbolic", "-pthread", *built.libraries),
            jobs=2,
        ).make(compilers, [*units, *built.units(2), *built.runtime_units()], LIBRARY, failure=failure)
    (model / LIBRARY).replace(library)
    shutil.rmtree(model)
