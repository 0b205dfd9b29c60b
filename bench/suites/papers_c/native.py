# SPDX-License-Identifier: Apache-2.0
"""Programs of the suite, and the allocators they run on."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench import settle
from godwit import toolchain
from godwit.errors import SetupError
from godwit.report import Progress

OURS = "Godwit"
PEERS = {
    "glibc": (None, "libc6"),
    "jemalloc": ("libjemalloc.so.2", "libjemalloc2"),
    "mimalloc": ("libmimalloc.so.2", "libmimalloc2.0"),
    "tcmalloc": ("libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"),
}
"""Library and Debian package by name; glibc is what a program has anyway."""

PROGRAMS = ("large", "ycsb", "grow", "overhead")
LIBRARY_DIRS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/lib")


def directory() -> Path:
    """Where programs and raw figures are."""
    return toolchain.build_dir() / "bench" / "papers_c"


Results = dict[str, list[dict[str, Any]]]
"""What was measured in every round, by allocator."""
Cell = tuple[Any, ...]
"""What is measured: the program's arguments."""


@dataclass
class Tools:
    """What `build` has made."""

    directory: Path
    studies: Path
    """Program of the studies beside reference allocators."""
    preload: Path
    libraries: dict[str, str]
    """Path to preload by allocator, empty for glibc."""
    missing: list[str]
    """Debian packages of allocators that are not installed."""
    raw: dict[str, Any] = field(default_factory=dict)

    def run(self, allocator: str, program: str, *args: object, config: str = "size=512MiB") -> dict[str, Any]:
        """The JSON that `program` prints when it runs on `allocator`."""
        environment = dict(os.environ, LD_PRELOAD=self.libraries[allocator], GODWIT_CMT=config)
        command = [str(self.directory / program), *map(str, args)]
        settle.settle(self.directory / "settle")
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SetupError(
                f"{program} on {allocator} failed", found=done.stderr.strip() or str(done.returncode)
            )
        return json.loads(done.stdout)

    def study(self, *args: object) -> Any:
        """The JSON of a study."""
        done = subprocess.run(
            [str(self.studies), *map(str, args)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SetupError(f"the study {args[0]} failed", found=done.stderr.strip())
        return json.loads(done.stdout)

    def rounds(
        self,
        allocators: Sequence[str],
        count: int,
        cells: Sequence[Cell],
        measure: Callable[[str, Cell], dict[str, Any]],
        note: Callable[[int, int], None] = lambda done, total: None,
    ) -> dict[Cell, Results]:
        """`measure` of every cell on every allocator, `count` times.

        Allocators take turns, and nobody is always first. A round goes over all cells, so that what disturbs the machine for some
        seconds is in one round of some cells and not in all rounds of one.
        """
        found: dict[Cell, Results] = {cell: {name: [] for name in allocators} for cell in cells}
        for number in range(count):
            turn = allocators[number % len(allocators) :] + allocators[: number % len(allocators)]
            for at, cell in enumerate(cells):
                note(number * len(cells) + at, count * len(cells))
                for name in turn:
                    found[cell][name].append(measure(name, cell))
        return found


def ratio(results: Results, peer: str, key: str) -> float:
    """Median over the rounds of the peer's time over ours: above 1 we are faster."""
    pairs = zip(results[peer], results[OURS], strict=True)
    return statistics.median(theirs[key] / ours[key] for theirs, ours in pairs)


def median(results: Sequence[dict[str, Any]], key: str) -> float:
    """Median of one figure."""
    return statistics.median(result[key] for result in results)


def build(progress: Progress) -> Tools:
    """Builds libraries and programs, and looks for the peers."""
    root = toolchain.root()
    if not toolchain.is_checkout():
        raise SetupError(
            "paper C builds native programs, which needs a checkout of Godwit and Rust",
            found=f"the installed package, {root}",
            hint="run it in a checkout, or set GODWIT_ROOT to one",
        )
    target = directory()
    target.mkdir(parents=True, exist_ok=True)
    progress("building contiguous memory", 0, 0)
    packages = ["godwit-cmt", "godwit-cmt-preload", "godwit-cmt-bench"]
    _build(["cargo", "build", "--release", "--locked", *(f"-p{name}" for name in packages)], root)
    release = Path(os.environ.get("CARGO_TARGET_DIR", root / "target")) / "release"
    source = Path(__file__).parent / "native"
    flags = ["-std=c++20", "-O2", "-Wall", "-Wextra", "-Wno-cpp", "-pthread"]
    include = root / "crates" / "godwit-cmt" / "include"
    stress = root / "crates" / "godwit-cmt" / "tests" / "programs" / "stress.cpp"
    inputs = max(
        path.stat().st_mtime for path in [*source.iterdir(), *include.iterdir(), *stress.parent.iterdir()]
    )
    for number, name in enumerate(PROGRAMS):
        progress("building programs", number, len(PROGRAMS))
        program = target / name
        if not program.exists() or program.stat().st_mtime < inputs:
            _build(
                ["c++", *flags, f"-I{include}", str(source / f"{name}.cpp"), "-o", str(program), "-ldl"], root
            )
    program = target / "stress"
    if not program.exists() or program.stat().st_mtime < inputs:
        link = [f"-L{release}", f"-Wl,-rpath,{release}", "-lgodwit_cmt", "-o", str(program)]
        _build(["c++", *flags, "-g", f"-I{include}", str(stress), *link], root)

    settle.build(target)
    libraries = {OURS: str(release / "libgodwit_cmt_preload.so")}
    missing = []
    for name, (library, package) in PEERS.items():
        found = "" if library is None else _find(library)
        if found is None:
            missing.append(package)
        else:
            libraries[name] = found
    return Tools(
        target, release / "godwit-cmt-bench", release / "libgodwit_cmt_preload.so", libraries, missing
    )


def _find(library: str) -> str | None:
    paths = (Path(place) / library for place in LIBRARY_DIRS)
    return next((str(path) for path in paths if path.exists()), None)


def _build(command: list[str], root: Path) -> None:
    if shutil.which(command[0]) is None:
        raise SetupError(f"{command[0]} is needed to build the benchmark's programs", hint="install it")
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SetupError(f"`{' '.join(command[:4])} ...` failed", found=done.stderr.strip()[-2000:])
