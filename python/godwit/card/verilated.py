# SPDX-License-Identifier: Apache-2.0
"""From what Verilator writes to a library or program: the compiler is called here, by what Verilator says of the model.

``verilator --make json`` lists a model's files and settings. No makefile is written, so a path may have spaces, the files may
be united, and every object that is done is known.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

from godwit import toolchain
from godwit.card.process import Compilers
from godwit.card.unity import unite

VERILATE = ("--cc", "--make", "json")
"""Options that a model must be verilated with."""

Level = str
"""How a file is optimised: `fast` for what runs in every cycle, `slow` for what runs once, `runtime`."""


@dataclass(frozen=True)
class Unit:
    """A C++ file and its compiler options."""

    source: Path
    level: Level
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Model:
    """A verilated model: the lists of its JSON file."""

    directory: Path
    prefix: str
    fast: list[Path]
    slow: list[Path]
    runtime: list[Path]
    """Verilator's own sources."""
    options: tuple[str, ...]
    """Options that every file which includes the model's headers is compiled with."""
    libraries: tuple[str, ...]

    @classmethod
    def read(cls, directory: Path, prefix: str) -> Model:
        """The model in `directory`."""
        said = json.loads((directory / f"{prefix}.json").read_text(encoding="utf-8"))

        def files(*kinds: str) -> list[Path]:
            # A kind that a model does not have is left out.
            return [Path(path) for kind in kinds for path in said["sources"].get(kind, ())]

        settings = said["options"]
        root = toolchain.verilator_root() / "include"
        defines = {
            "VERILATOR": True,
            "VM_COVERAGE": settings["coverage"],
            "VM_SC": settings["system_c"],
            "VM_TIMING": settings["use_timing"],
            "VM_TRACE": settings["trace"],
            "VM_TRACE_FST": settings["trace_fst"],
            "VM_TRACE_VCD": settings["trace_vcd"],
            "VM_TRACE_SAIF": settings["trace_saif"],
        }
        return cls(
            directory,
            prefix,
            files("classes_fast", "support_fast"),
            files("classes_slow", "support_slow"),
            files("global"),
            (
                *(f"-D{name}={int(value)}" for name, value in defines.items()),
                *(f"-I{path}" for path in (directory, root, root / "vltstd")),
            ),
            ("-llz4", "-lz") if settings["trace_fst"] else (),
        )

    def units(self, groups: int) -> list[Unit]:
        """Its files, what is fast in `groups` and what is slow in one."""
        fast = unite(self.fast, self.directory, f"{self.prefix}__fast", groups)
        slow = unite(self.slow, self.directory, f"{self.prefix}__slow", 1)
        return [
            *(Unit(path, "fast", self.options) for path in fast),
            *(Unit(path, "slow", self.options) for path in slow),
        ]

    def runtime_units(self) -> list[Unit]:
        """Verilator's own files, once for all models of a library."""
        return [Unit(path, "runtime", self.options) for path in self.runtime]


@dataclass
class Linkage:
    """Compiles units and links them, in one folder."""

    directory: Path
    levels: dict[Level, str]
    """Optimisation of each level, as ``-O3``."""
    options: tuple[str, ...]
    link_options: tuple[str, ...]
    jobs: int
    variables: dict[str, str] = field(default_factory=dict)

    def make(
        self,
        compilers: Compilers,
        units: Sequence[Unit],
        output: str,
        report: Callable[[int, int], None] = lambda done, total: None,
        failure: str = "the model does not compile",
    ) -> Path:
        """`output` below the folder, from all units. BuildError with the first messages when one does not compile."""
        total = len(units) + 1
        report(0, total)
        objects = [f"{unit.source.stem}.o" for unit in units]
        with ThreadPoolExecutor(self.jobs) as pool:
            running = [
                pool.submit(self._compile, compilers, unit, name, failure)
                for unit, name in zip(units, objects, strict=True)
            ]
            try:
                for done, finished in enumerate(as_completed(running), start=1):
                    finished.result()
                    report(done, total)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                compilers.close()
                raise
        compilers.run(
            [str(toolchain.cxx()), "-o", output, *objects, *self.link_options],
            failure,
            cwd=self.directory,
        )
        report(total, total)
        return self.directory / output

    def _compile(self, compilers: Compilers, unit: Unit, name: str, failure: str) -> None:
        cache = toolchain.ccache()
        command = [str(toolchain.cxx()), self.levels[unit.level], *self.options, *unit.options]
        command += ["-c", str(unit.source), "-o", name]
        compilers.run(
            [*([str(cache)] if cache else []), *map(self._relative, command)],
            failure,
            cwd=self.directory,
            **{"CCACHE_BASEDIR": str(self.directory.parent), **self.variables},
        )

    def _relative(self, word: str) -> str:
        """An argument with a path of this build as seen from the folder: where a build is done is no part of what ccache
        compares, nor of what a profile belongs to.
        """
        flag, path = ("-I", word[2:]) if word.startswith("-I") else ("", word)
        inside = path.startswith("/") and Path(path).is_relative_to(self.directory.parent)
        return flag + os.path.relpath(path, self.directory) if inside else word
