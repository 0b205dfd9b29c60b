# SPDX-License-Identifier: Apache-2.0
"""Builds a card: one configuration and its kernels as a shared library in the cache.

A card's directory is named by the hash of everything it is made from, appears whole or not at all, and is never changed
afterwards. Builds of one card exclude each other by a lock; an interrupted build leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import functools
import hashlib
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from godwit import toolchain
from godwit.card import litedram
from godwit.card import manifest as manifests
from godwit.card.kernels import Kernel, error_lines, library_dirs, probe, shared_packages, wiring
from godwit.card.unity import unite, unite_model
from godwit.errors import InputError, SetupError, nearest
from godwit.spec import config as configs
from godwit.spec import layout
from godwit.spec.config import Config
from godwit.spec.generate import generate_rtl, write_if_changed

Progress = Callable[[str, int, int], None]
"""Called as ``progress(what, done, total)``; steps with the same `what` belong to one bar."""

ABI = 1
"""GW_CARD_ABI of card/sim/gw_card.h."""

LIBRARY = "libgw_card.so"

VERILATOR_OPTIONS = (
    *("--cc", "--exe", "--prefix", "Vgw_card_top", "-o", LIBRARY),
    *("--no-timing", "-O3", "--x-assign", "fast", "--x-initial", "fast"),
    # The speed of a model this wide is the size of its code: what is executed once a cycle does not fit the instruction
    # cache. Loops and 512-bit operations kept as loops halve it, and the compile time with it.
    *("--unroll-count", "4", "--expand-limit", "4"),
    *("-Wno-fatal", "--quiet"),
)
CXX_OPTIONS = ("-fPIC", "-fvisibility=hidden", toolchain.CXX_STANDARD)
MAKE_OPTIONS = ("OPT_FAST=-O3", "OPT_SLOW=-O1")
# C++ files made of the simulation's sources, and of the fast part of a model: a build runs two jobs unless told otherwise.
FILES = 2


class BuildError(InputError):
    """A card cannot be built; `found` has the compiler's messages."""


@dataclasses.dataclass(frozen=True)
class Card:
    """A built card."""

    name: str
    hash: str
    directory: Path
    cached: bool
    """It was in the cache already."""

    @property
    def library(self) -> Path:
        """The shared library."""
        return self.directory / LIBRARY


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


def _rtl_dirs() -> list[Path]:
    hardware = toolchain.root() / "hw" / "rtl"
    return [
        *sorted(path for path in hardware.iterdir() if path.is_dir()),
        toolchain.root() / "card",
        toolchain.root() / "card" / "sim",
    ]


def _simulation_sources() -> list[Path]:
    return sorted((toolchain.root() / "card" / "sim").glob("*.cpp"))


def _inputs(todo: Plan) -> set[Path]:
    """Every file that has a say in the library."""
    root = toolchain.root()
    files = {
        root / "hw" / "rtl" / "lint.vlt",
        root / "spec" / "layout.toml",
        root / "spec" / "regs" / "gw_mmu.rdl",
    }
    for directory in (*_rtl_dirs(), *library_dirs(list(todo.kernels))):
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
    return [*versions, toolchain.cxx_version(), *VERILATOR_OPTIONS, *CXX_OPTIONS, *MAKE_OPTIONS]


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


def cards_dir() -> Path:
    """Where cards are: ``$GODWIT_CACHE/cards``."""
    return toolchain.cache_dir() / "cards"


def build(todo: Plan, *, force: bool = False, jobs: int = 2, progress: Progress | None = None) -> Card:
    """The card of a plan, from the cache when it is there.

    ``cards/NAME.json`` points at it afterwards, unless the plan changes what the named configuration says: a
    program that opens ``sim:NAME`` must not get somebody's experiment.

    Raises `BuildError` or `KernelError` with the compiler's messages, `ToolMissing` when something is not installed.
    """
    report = progress or (lambda what, done, total: None)
    digest = todo.hash
    home = cards_dir() / f"{todo.config.name}-{digest}"
    cached = True
    if force or not (home / LIBRARY).is_file():
        if todo.waves and not toolchain.has_lz4():
            raise SetupError("waves need lz4.h, which is not installed", hint="apt install liblz4-dev")
        with _lock(home):
            if force or not (home / LIBRARY).is_file():
                cached = False
                _build_into(home, todo, jobs, report)
    if todo.as_named:
        pointer = {"name": todo.config.name, "hash": digest, "library": str(home / LIBRARY)}
        write_if_changed(cards_dir() / f"{todo.config.name}.json", json.dumps(pointer) + "\n")
    return Card(todo.config.name, digest, home, cached)


@contextlib.contextmanager
def _lock(home: Path) -> Iterator[None]:
    home.parent.mkdir(parents=True, exist_ok=True)
    with (home.parent / f".{home.name}.lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _build_into(home: Path, todo: Plan, jobs: int, report: Progress) -> None:
    work = home.parent / f".{home.name}.build"
    # What a killed build left: the lock says nobody else is in there.
    shutil.rmtree(work, ignore_errors=True)
    try:
        result = work / "card"
        result.mkdir(parents=True)
        shutil.copy(_compile(work, todo, jobs, report), result / LIBRARY)
        if todo.hash_now() != todo.hash:
            raise BuildError(
                f"card {todo.config.name}: a source changed while it was built", hint="build it again"
            )
        (result / "card.json").write_text(json.dumps(describe(todo), indent=1, sort_keys=True) + "\n")
        shutil.rmtree(home, ignore_errors=True)
        result.replace(home)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _prepare(work: Path, todo: Plan) -> list[str]:
    """Generates all sources of a card below `work`; returns Verilator's arguments that name what it reads."""
    kernels_dir = work / "kernels"
    kernels_dir.mkdir(parents=True)
    kernels = [probe(kernel, todo.config.axi.id_width, kernels_dir) for kernel in todo.kernels]
    generate_rtl(work / "generated", todo.config)
    rtl = work / "generated" / "sv"
    if kernels:
        (rtl / "gw_kernels.sv").write_text(wiring(kernels, todo.config))
    (work / "generated" / "c" / "gw_card_config.h").write_text(cpp_header(todo))

    root = toolchain.root()
    files = [root / "hw" / "rtl" / "lint.vlt", *shared_packages()]
    files += [rtl / f"{name}.sv" for name in ("gw_spec_pkg", "gw_config_pkg", "gw_csr_regs_pkg")]
    files += [kernels_dir / f"{kernel.manifest.name}_args_pkg.sv" for kernel in kernels]
    files += [source for kernel in kernels for source in kernel.manifest.sources]
    files.append(root / "card" / "sim" / "gw_card_top.sv")
    searched = [
        argument for path in (*_rtl_dirs(), rtl, *library_dirs(kernels)) for argument in ("-y", str(path))
    ]
    return [*searched, "--top-module", "gw_card_top", *map(str, files)]


def lint_command(todo: Plan, work: Path) -> list[str]:
    """Verilator's command that checks a card with every warning on, its sources generated below `work`."""
    return [
        str(toolchain.verilator()),
        "--lint-only",
        "-Wall",
        "--no-timing",
        "--quiet",
        *_prepare(work, todo),
    ]


def _compile(work: Path, todo: Plan, jobs: int, report: Progress) -> Path:
    root = toolchain.root()
    model = work / "model"
    report("verilate", 0, 1)
    sources = _prepare(work, todo)
    includes = [work / "generated" / "c", root / "card" / "sim", toolchain.json_include()]
    archives: list[Path] = []
    if todo.config.memory.model == "litedram-ddr4":
        archives.append(_compile_litedram(work / "litedram", todo, jobs))
        includes.append(archives[0].parent)
    cflags = " ".join((*CXX_OPTIONS, *(f"-I{path}" for path in includes)))
    command = [
        str(toolchain.verilator()),
        *VERILATOR_OPTIONS,
        "-Mdir",
        str(model),
        "-CFLAGS",
        cflags,
        "-LDFLAGS",
        " ".join(["-shared", *map(str, archives)]),
    ]
    command.append("--assert" if todo.config.card.assertions else "--no-assert")
    if todo.waves:
        command += ["--trace-fst", "--trace-structs"]
    simulation = unite(_simulation_sources(), includes[0], "gw_simulation", FILES)
    _run([*command, *sources, *map(str, simulation)], "the RTL does not compile")
    options = unite_model(model, "Vgw_card_top", FILES)
    report("verilate", 1, 1)

    printing = root / "card" / "sim" / "verilator_print.h"
    make = [
        str(toolchain.program("make")),
        "-C",
        str(model),
        "-f",
        "Vgw_card_top.mk",
        f"-j{jobs}",
        LIBRARY,
        *MAKE_OPTIONS,
        *options,
    ]
    make.append(f"OPT_GLOBAL=-O2 -include {printing}")
    total = _objects(model)
    done = 0
    # Paths below `work` are no part of what ccache compares: the same model compiles once, wherever it is built.
    for line in _stream(make, "the model does not compile", CCACHE_BASEDIR=str(work)):
        if " -c " in line:
            done += 1
            report("compile", min(done, total), total)
    report("compile", total, total)
    return model / LIBRARY


def _compile_litedram(work: Path, todo: Plan, jobs: int) -> Path:
    """The memory controller as an archive, with its header beside it."""
    work.mkdir()
    source = work / f"{litedram.TOP}.v"
    litedram.generate(source, memory_ports(todo.config), todo.config.memory.controller_mhz)
    prefix = f"V{litedram.TOP}"
    options = [
        "--cc",
        "--prefix",
        prefix,
        "-Mdir",
        str(work),
        "-O3",
        "--no-timing",
        "--x-assign",
        "fast",
        "--x-initial",
        "fast",
    ]
    command = [
        str(toolchain.verilator()),
        *options,
        "-Wno-fatal",
        "-Wno-lint",
        "--quiet",
        "-CFLAGS",
        " ".join(CXX_OPTIONS),
    ]
    _run([*command, str(source)], "LiteDRAM's RTL does not compile")
    archive = f"lib{prefix}.a"
    make = [
        str(toolchain.program("make")),
        "-C",
        str(work),
        "-f",
        f"{prefix}.mk",
        f"-j{jobs}",
        archive,
        *MAKE_OPTIONS,
    ]
    _run([*make, "OPT_GLOBAL=-O2"], "LiteDRAM's model does not compile")
    return work / archive


def _objects(model: Path) -> int:
    """Object files make will build: the model's classes, Verilator's runtime, the simulation."""
    text = (model / "Vgw_card_top_classes.mk").read_text()
    names = [
        word
        for line in text.splitlines()
        for word in line.split()
        if word.startswith(("Vgw_card_top", "verilated"))
    ]
    return len(names) + FILES


def _run(command: list[str], failure: str) -> None:
    for _ in _stream(command, failure):
        pass


def _stream(command: list[str], failure: str, **variables: str) -> Iterator[str]:
    """Output lines of a command, run with some more environment variables. Its whole process group ends with this generator, whatever ends that."""
    process = subprocess.Popen(
        command,
        env={**toolchain.env(), **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    lines = []
    try:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            yield line
        process.wait()
    finally:
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if process.returncode != 0:
        text = "".join(lines)
        raise BuildError(failure, found=error_lines(text) if "%Error" in text else _compiler_errors(text))


def _compiler_errors(text: str) -> str:
    """The lines of a C++ compiler or linker that say what is wrong; all of the last lines when none do."""
    lines = text.splitlines()
    return "\n".join([line for line in lines if "error" in line.lower()][:20] or lines[-20:])
