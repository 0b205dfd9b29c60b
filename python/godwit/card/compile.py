# SPDX-License-Identifier: Apache-2.0
"""A plan's sources generated, verilated and compiled into the card's library."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from godwit import toolchain
from godwit.card import litedram
from godwit.card import plan as plans
from godwit.card.kernels import library_dirs, probe, shared_packages, wiring
from godwit.card.plan import Plan, cpp_header, memory_ports, rtl_dirs, simulation_sources
from godwit.card.process import run, stream
from godwit.card.unity import unite, unite_model
from godwit.spec.generate import generate_rtl

Progress = Callable[[str, int, int], None]
"""Called as ``progress(what, done, total)``; steps with the same `what` belong to one bar."""

# C++ files made of the simulation's sources, and of the fast part of a model: a build runs two jobs unless told otherwise.
FILES = 2


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
        argument for path in (*rtl_dirs(), rtl, *library_dirs(kernels)) for argument in ("-y", str(path))
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


def compile_card(work: Path, todo: Plan, jobs: int, report: Progress) -> Path:
    root = toolchain.root()
    model = work / "model"
    report("verilate", 0, 1)
    sources = _prepare(work, todo)
    includes = [work / "generated" / "c", root / "card" / "sim", toolchain.json_include()]
    archives: list[Path] = []
    if todo.config.memory.model == "litedram-ddr4":
        archives.append(_compile_litedram(work / "litedram", todo, jobs))
        includes.append(archives[0].parent)
    cflags = " ".join((*plans.CXX_OPTIONS, *(f"-I{path}" for path in includes)))
    command = [
        str(toolchain.verilator()),
        *plans.VERILATOR_OPTIONS,
        "-Mdir",
        str(model),
        "-CFLAGS",
        cflags,
        "-LDFLAGS",
        " ".join(["-shared", *map(str, archives), *(["-lgcov"] if todo.config.card.profile_guided else [])]),
    ]
    command.append("--assert" if todo.config.card.assertions else "--no-assert")
    if todo.waves:
        command += ["--trace-fst", "--trace-structs"]
    simulation = unite(simulation_sources(), includes[0], "gw_simulation", FILES)
    run([*command, *sources, *map(str, simulation)], "the RTL does not compile")
    options = unite_model(model, "Vgw_card_top", FILES)
    report("verilate", 1, 1)

    profile = ""
    if todo.config.card.profile_guided:
        _make_profile(model, jobs, options, report)
        profile = plans.PROFILE_USE
    _make(model, jobs, options, report, "compile", profile)
    return model / plans.LIBRARY


def _make_profile(model: Path, jobs: int, options: list[str], report: Progress) -> None:
    """Compiles, runs and removes a library that leaves a profile beside where its objects were."""
    # Objects say where the profile goes: none may come from another build.
    _make(model, jobs, options, report, "compile for a profile", plans.PROFILE_GENERATE, CCACHE_DISABLE="1")
    report("profile", 0, 1)
    train = [sys.executable, "-m", "godwit.card.train", str(model / plans.LIBRARY)]
    run(train, "the run for a profile failed")
    report("profile", 1, 1)
    for built in (*model.glob("*.o"), *model.glob("*.a"), model / plans.LIBRARY):
        built.unlink()


def _make(
    model: Path,
    jobs: int,
    options: list[str],
    report: Progress,
    what: str,
    profile: str = "",
    **variables: str,
) -> None:
    """Compiles and links what Verilator wrote."""
    command = [
        str(toolchain.program("make")),
        "-C",
        str(model),
        "-f",
        "Vgw_card_top.mk",
        f"-j{jobs}",
        plans.LIBRARY,
        *plans.MAKE_OPTIONS,
        # In card/sim.
        f"OPT={profile} -include verilator_print.h",
        *options,
    ]
    total = _objects(model)
    done = 0
    # Paths below `work` are no part of what ccache compares: the same model compiles once, wherever it is built.
    for line in stream(command, "the model does not compile", CCACHE_BASEDIR=str(model.parent), **variables):
        if " -c " in line:
            done += 1
            report(what, min(done, total), total)
    report(what, total, total)


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
        " ".join(plans.CXX_OPTIONS),
    ]
    run([*command, str(source)], "LiteDRAM's RTL does not compile")
    archive = f"lib{prefix}.a"
    make = [
        str(toolchain.program("make")),
        "-C",
        str(work),
        "-f",
        f"{prefix}.mk",
        f"-j{jobs}",
        archive,
        *plans.MAKE_OPTIONS,
    ]
    run(make, "LiteDRAM's model does not compile")
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
