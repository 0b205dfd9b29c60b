# SPDX-License-Identifier: Apache-2.0
"""What a card is made from: its configuration and kernels, every file and option that has a say, and their hash."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from godwit import toolchain
from godwit.card import litedram
from godwit.card import manifest as manifests
from godwit.card.kernels import Kernel, library_dirs
from godwit.card.process import BuildError
from godwit.errors import nearest
from godwit.spec import config as configs
from godwit.spec import layout
from godwit.spec.schema import Config

ABI = 1
"""GW_CARD_ABI of card/sim/gw_card.h."""

LIBRARY = "libgw_card.so"

LINT_OPTIONS = ("--no-timing", "-Wno-fatal", "-Werror-USERFATAL")
"""No warning stops a build, but a parameter outside its legal range does."""

VERILATOR_OPTIONS = (
    *("--cc", "--exe", "--prefix", "Vgw_card_top", "-o", LIBRARY),
    *("-O3", "--x-assign", "fast", "--x-initial", "fast"),
    # The speed of a model this wide is the size of its code: what is executed once a cycle does not fit the instruction
    # cache. Loops and 512-bit operations kept as loops halve it, and the compile time with it.
    *("--unroll-count", "4", "--expand-limit", "4"),
    *LINT_OPTIONS,
    "--quiet",
)
CXX_OPTIONS = ("-fPIC", "-fvisibility=hidden", toolchain.CXX_STANDARD)
# What runs every cycle, what runs once, and the simulation around it.
MAKE_OPTIONS = ("OPT_FAST=-O3", "OPT_SLOW=-O1", "OPT_GLOBAL=-O2")
PROFILE_GENERATE = "-fprofile-generate -fprofile-update=single"
# What the training did not reach is compiled as without a profile.
PROFILE_USE = "-fprofile-use -fprofile-partial-training -Wno-missing-profile"
TRAINING_KERNELS = ("memcopy", "array_sum", "traffic")
"""What a profile is made with; one of them is enough."""


@dataclasses.dataclass(frozen=True)
class Plan:
    """What is to be built: the resolved configuration, its kernels, and the hash of all that goes in."""

    config: Config
    kernels: tuple[Kernel, ...]
    waves: bool
    as_named: bool = True
    """It is the configuration as its file has it, so that ``sim:NAME`` may mean this card."""

    @functools.cached_property
    def hash(self) -> str:
        """16 hexadecimal digits over sources, configuration, options and tool versions, as they were at first."""
        return self.hash_now()

    def hash_now(self) -> str:
        """The same from the sources as they are."""
        digest = hashlib.sha256()
        for text in (self.config.resolved(), str(self.waves), *_tools(self)):
            digest.update(text.encode() + b"\0")
        for path in sorted(_inputs(self)):
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
        return digest.hexdigest()[:16]


def plan(
    config: str | Path = "default",
    overrides: Sequence[str] = (),
    kernels: Sequence[str | Path] = (),
    *,
    waves: bool = False,
) -> Plan:
    """Resolves a configuration and finds its kernels; `kernels` are sources or manifests of the user's own.

    Raises `ConfigError`, `ManifestError` or `BuildError`.
    """
    resolved = configs.load(config, list(overrides))
    slots = [Kernel(_own_manifest(name), own=True) for name in resolved.card.kernels]
    slots += [Kernel(manifests.load(path), own=False) for path in kernels]
    names = [slot.manifest.name for slot in slots]
    fields = resolved.model_dump()
    fields["card"]["kernels"] = names
    checked = configs.validate(fields, f"{config} with kernels {', '.join(names)}")
    if checked.card.profile_guided and not set(names) & set(TRAINING_KERNELS):
        raise BuildError(
            "card.profile_guided: no kernel to make a profile with",
            found=f"kernels {', '.join(names) or 'none'}",
            hint=f"one of {', '.join(TRAINING_KERNELS)} is needed",
        )
    return Plan(checked, tuple(slots), waves, as_named=not (overrides or kernels or waves))


def _own_manifest(name: str) -> manifests.Manifest:
    directory = toolchain.root() / "kernels"
    path = directory / name / f"{name}.toml"
    if not path.is_file():
        known = sorted(
            item.parent.name for item in directory.glob("*/*.toml") if item.stem == item.parent.name
        )
        raise BuildError(
            f"card.kernels: there is no kernel '{name}'",
            found=f"known are {', '.join(known)}",
            hint=nearest(name, known),
        )
    return manifests.load(path)


def rtl_dirs() -> list[Path]:
    hardware = toolchain.root() / "hw" / "rtl"
    return [
        *sorted(path for path in hardware.iterdir() if path.is_dir()),
        toolchain.root() / "card",
        toolchain.root() / "card" / "sim",
    ]


def simulation_sources() -> list[Path]:
    return sorted((toolchain.root() / "card" / "sim").glob("*.cpp"))


def _inputs(todo: Plan) -> set[Path]:
    """Every file that has a say in the library."""
    root = toolchain.root()
    files = {
        root / "hw" / "rtl" / "lint.vlt",
        root / "spec" / "layout.toml",
        root / "spec" / "regs" / "gw_mmu.rdl",
    }
    for directory in (*rtl_dirs(), *library_dirs(list(todo.kernels))):
        files |= {
            path
            for path in directory.iterdir()
            if path.suffix in (".sv", ".svh", ".vlt", ".cpp", ".h", ".hpp")
        }
    for package in ("spec", "card"):
        files |= set((root / "python" / "godwit" / package).glob("*.py"))
    for kernel in todo.kernels:
        files |= set(kernel.manifest.sources)
    return files


def _tools(todo: Plan) -> list[str]:
    versions = [toolchain.version(name) for name in ("verilator", "peakrdl-regblock", "nlohmann-json")]
    if todo.config.memory.model == "litedram-ddr4":
        versions += litedram.versions()
    return [
        *versions,
        toolchain.cxx_version(),
        *VERILATOR_OPTIONS,
        *CXX_OPTIONS,
        *MAKE_OPTIONS,
        PROFILE_GENERATE,
        PROFILE_USE,
    ]


def describe(todo: Plan) -> dict:
    """What gw_card_describe() and ``card.json`` say."""
    kernels = []
    for port, kernel in enumerate(todo.kernels):
        args = [arg.model_dump(mode="json") for arg in kernel.manifest.args]
        kernels.append(
            {
                "name": kernel.manifest.name,
                "port": port,
                "description": kernel.manifest.description,
                "args": args,
            }
        )
    return {
        "abi": ABI,
        "name": todo.config.name,
        "hash": todo.hash,
        "config": todo.config.model_dump(mode="json"),
        "kernels": kernels,
        "spec_hash": layout.spec_hash(),
        "waves": todo.waves,
    }


def memory_ports(config: Config) -> int:
    """Memory ports of a card: its ports, the command queue's and the walker's."""
    return config.ports + 2


def cpp_header(todo: Plan) -> str:
    """`gw_card_config.h`: the constants card/sim is compiled with."""
    card = todo.config.card
    names = ", ".join(json.dumps(name) for name in card.kernels) or '""'
    text = json.dumps(describe(todo), sort_keys=True)
    # Adjacent literals: compilers limit the length of one.
    pieces = "\n    ".join(f'R"json({text[at : at + 8000]})json"' for at in range(0, len(text), 8000))
    constants = {"kNumKernels": len(card.kernels), "kNumExt": card.external_ports}
    constants |= {"kNumMem": memory_ports(todo.config), "kIdWidth": todo.config.axi.id_width}
    lines = [f"inline constexpr unsigned {name} = {value};" for name, value in constants.items()]
    return "\n".join([
        "// SPDX-License-Identifier: Apache-2.0",
        "// Generated by the card builder: what this card is.",
        "#pragma once",
        "",
        "namespace gw_card_config {",
        *lines,
        f"inline constexpr const char* kKernelNames[] = {{{names}}};",
        f"inline constexpr const char* kDescribe =\n    {pieces};",
        "}  // namespace gw_card_config",
        "",
    ])  # fmt: skip
