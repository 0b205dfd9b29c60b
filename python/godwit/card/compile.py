# SPDX-License-Identifier: Apache-2.0
"""A plan's sources generated, verilated and compiled into the card's library."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from godwit import toolchain
from godwit.card import litedram
from godwit.card import plan as plans
from godwit.card.kernel import Kernel, library_dirs, packages, probed, sources, user_files
from godwit.card.messages import warnings_of
from godwit.card.plan import Plan, cpp_headers, rtl_dirs, simulation_sources
from godwit.card.process import Compilers
from godwit.card.slots import slots
from godwit.card.streams import agents, links
from godwit.card.unity import unite
from godwit.card.verilated import VERILATE, Linkage, Model, Unit
from godwit.card.wiring import modules
from godwit.spec.generate import RTL_PACKAGES, generate_rtl

Progress = Callable[[str, int, int], None]
"""Called as ``progress(what, done, total)``; steps with the same `what` belong to one bar."""

# C++ files made of the simulation's sources, and of the fast part of a model: as many as jobs, within these.
FILES = 2
MOST_FILES = 8


def generate_sources(work: Path, todo: Plan) -> tuple[list[Path], list[Path]]:
    """Generates all sources of a card below `work`; returns packages and kernels, in the order they are read in, and the
    folders where every other module is a file of its name.
    """
    kernels_dir = work / "kernels"
    kernels_dir.mkdir(parents=True)
    kernels = [probed(kernel, todo.config.axi.id_width) for kernel in todo.kernels]
    for kernel in kernels:
        (kernels_dir / f"{kernel.package}.sv").write_text(kernel.manifest.args_package(kernel.package))
    generate_rtl(work / "generated", todo.config)
    rtl = work / "generated" / "sv"
    kernels = _isolate(kernels, rtl, kernels_dir)
    if kernels:
        placed = slots(kernels, todo.config.card.external_ports)
        for name, text in modules(
            placed, links(kernels, todo.config), agents(kernels, todo.config), todo.config
        ).items():
            (rtl / f"{name}.sv").write_text(text)
    for name, text in cpp_headers(todo).items():
        (work / "generated" / "c" / name).write_text(text)

    files = packages(todo.beat_bits, kernels_dir)
    files += [rtl / name for name in RTL_PACKAGES]
    files += [kernels_dir / f"{kernel.package}.sv" for kernel in kernels]
    for kernel in kernels:
        files += kernel.manifest.sources if kernel.own else [kernels_dir / f"{kernel.manifest.name}.sv"]
    # Copies of a kernel have the same sources.
    return list(dict.fromkeys(files)), [*rtl_dirs(), rtl, *library_dirs(kernels)]


SIMULATED = "card/sim/gw_card_top.sv"
"""The top module of a card as the simulation sees it."""


def _prepare(work: Path, todo: Plan, top: str = SIMULATED) -> list[str]:
    """Generates all sources of a card below `work`; returns Verilator's arguments that name what it reads."""
    files, folders = generate_sources(work, todo)
    root = toolchain.root()
    files = [root / "hw" / "rtl" / "lint.vlt", *files, root / top]
    searched = [argument for path in folders for argument in ("-y", str(path))]
    return [*searched, "--top-module", Path(top).stem, *map(str, files)]


def _isolate(kernels: list[Kernel], generated: Path, into: Path) -> list[Kernel]:
    """Writes the user's kernels as one file each, and says what their top modules are called there."""
    users = {kernel.manifest.name: kernel for kernel in kernels if not kernel.own}
    if not users:
        return kernels
    from godwit.card.isolation import isolate

    folders = (*rtl_dirs(), *library_dirs(kernels), generated)
    taken = {path.stem for folder in folders for path in folder.glob("*.sv")}
    taken |= {kernel.package for kernel in kernels} | {
        "gw_kernels",
        *(f"gw_slot_{kernel.manifest.name}" for kernel in kernels),
    }
    units = isolate({name: (kernel.top, sources(kernel)) for name, kernel in users.items()}, taken)
    for unit in units:
        (into / f"{unit.name}.sv").write_text(unit.text)
    tops = {unit.name: unit.top for unit in units}
    return [
        kernel if kernel.own else replace(kernel, module=tops[kernel.manifest.name]) for kernel in kernels
    ]


def lint_command(todo: Plan, work: Path, top: str = SIMULATED) -> list[str]:
    """Verilator's command that checks a card with every warning on, its sources generated below `work`; `top` is the file
    of the top module.
    """
    return [
        str(toolchain.verilator()),
        "--lint-only",
        "-Wall",
        "--no-timing",
        "--quiet",
        *_prepare(work, todo, top),
    ]


def compile_card(work: Path, todo: Plan, jobs: int, report: Progress) -> Path:
    """The card's library, with what its kernels read when the model starts in ``data`` beside it, and warnings about them in
    `plans.WARNINGS`.
    """
    with Compilers() as compilers:
        report("verilate", 0, 1)
        inputs = _prepare(work, todo)
        generated = work / "generated" / "c"
        includes = [generated, toolchain.root() / "card" / "sim", toolchain.json_include()]
        models = [_verilate(compilers, work / "model", todo, inputs)]
        if todo.config.memory.model == "litedram-ddr4":
            models.append(_verilate_litedram(compilers, work / "litedram", todo))
        model = models[0].directory
        for place, path in plans.data_files(todo).values():
            (model / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, model / place)
        report("verilate", 1, 1)

        files = max(FILES, min(jobs, MOST_FILES))
        described, wired, plain = plans.by_what_they_read(simulation_sources())
        simulation = [
            *unite(wired, generated, "gw_simulation", files),
            *unite(described, generated, "gw_description", 1),
            *unite(plain, generated, "gw_common", 1),
        ]
        # Both models' headers.
        options = tuple(option for each in models for option in each.options)
        units = [Unit(path, "fast", options) for path in simulation]
        units += [unit for each in models for unit in each.units(files if each is models[0] else 1)]
        units += models[0].runtime_units()
        linkage = Linkage(
            model,
            plans.LEVELS,
            # In card/sim.
            (*plans.CXX_OPTIONS, "-include", "verilator_print.h", *(f"-I{path}" for path in includes)),
            ("-shared", "-pthread", *models[0].libraries),
            jobs,
        )
        if todo.config.card.profile_guided:
            _make_profile(compilers, linkage, units, report)
            linkage = replace(linkage, options=(*linkage.options, *plans.PROFILE_USE))
        return linkage.make(
            compilers, units, plans.LIBRARY, lambda done, total: report("compile", done, total)
        )


def _verilate(compilers: Compilers, directory: Path, todo: Plan, inputs: list[str]) -> Model:
    command = [str(toolchain.verilator()), *VERILATE, *plans.VERILATOR_OPTIONS, "-Mdir", str(directory)]
    command.append("--assert" if todo.config.card.assertions else "--no-assert")
    if todo.waves:
        command += ["--trace-fst", "--trace-structs"]
    said = compilers.run([*command, *inputs], "the RTL does not compile")
    users = [kernel for kernel in todo.kernels if not kernel.own]
    remarks = [f"kernel {kernel.manifest.name}: {remark}" for kernel in users for remark in kernel.remarks]
    remarks += warnings_of(said, {path for kernel in users for path in user_files(kernel)})
    (directory / plans.WARNINGS).write_text("".join(f"{remark}\n" for remark in remarks))
    return Model.read(directory, plans.PREFIX)


def _verilate_litedram(compilers: Compilers, directory: Path, todo: Plan) -> Model:
    """The memory controller, its header in `directory`."""
    directory.mkdir()
    source = directory / f"{litedram.TOP}.v"
    litedram.generate(source, todo.config.memory_ports, todo.config.memory.controller_mhz)
    prefix = f"V{litedram.TOP}"
    options = ["--prefix", prefix, "-Mdir", str(directory), "-O3", "--no-timing", "--x-assign", "fast"]
    options += ["--x-initial", "fast", "-Wno-fatal", "-Wno-lint", "--quiet"]
    compilers.run(
        [str(toolchain.verilator()), *VERILATE, *options, str(source)], "LiteDRAM's RTL does not compile"
    )
    return Model.read(directory, prefix)


def _make_profile(compilers: Compilers, linkage: Linkage, units: list[Unit], report: Progress) -> None:
    """Compiles, runs and removes a library that leaves a profile beside where its objects were."""
    what = "compile for a profile"
    # Objects say where the profile goes: none may come from another build.
    counting = replace(
        linkage,
        options=(*linkage.options, *plans.PROFILE_GENERATE),
        link_options=(*linkage.link_options, "-lgcov"),
        variables={"CCACHE_DISABLE": "1"},
    )
    library = counting.make(compilers, units, plans.LIBRARY, lambda done, total: report(what, done, total))
    report("profile", 0, 1)
    train = [sys.executable, "-m", "godwit.card.train", str(library)]
    compilers.run(train, "the run for a profile failed")
    report("profile", 1, 1)
    for built in (*linkage.directory.glob("*.o"), library):
        built.unlink()
