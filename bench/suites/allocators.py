# SPDX-License-Identifier: Apache-2.0
"""Whole programs on contiguous memory and on other allocators: time of user and system, and peak resident memory.

Programs of the kinds that allocators are usually measured with, written here (``allocators_native/``), each a process of its own on each
allocator; what a process costs before it allocates is part of it. Allocators take turns in every round, and a figure is the
median of the rounds' ratios.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import statistics
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import misuse, settle
from godwit import toolchain
from godwit.errors import SetupError
from godwit.report import Progress, Row

__all__ = ["OPTIONS", "run"]

OPTIONS = frozenset({"quick"})
"""Options of ``godwit bench`` that this suite takes."""

OURS = "Godwit"
LIBRARIES = {
    "jemalloc": ("libjemalloc.so.2", "libjemalloc2"),
    "tcmalloc": ("libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"),
    "mimalloc 2": ("libmimalloc.so.2", "libmimalloc2.0"),
}
"""Library and Debian package by name; glibc is what a program has anyway, mimalloc 3 is built."""
LIBRARY_DIRS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/lib")

LOADS = {
    "simple": "one thread, sizes of a C program",
    "factors": "numbers of any length: tiny blocks that soon die",
    "covers": "lists of sets that grow and are joined",
    "random_large": "blocks of 5 to 25 MiB",
    "anything": "all of malloc's calls, 1 byte to 64 KiB",
    "inherit": "threads that leave their blocks to the next",
    "producers": "two threads make blocks, two free them",
    "mixed": "threads of short life, all sizes, blocks handed over",
}
MIMALLOC = "mimalloc 3"
"""What peak memory is held against: the allocator that small blocks are served by."""
ROUNDS = 24
"""A multiple of the number of allocators: each is first as often as the others."""
POOL = "size=1GiB"
DEFAULT = "size=256MiB"
"""The pool of a program that was given none: what the start of a small one is measured with."""

_SOURCES = Path(__file__).parent / "allocators_native"

Usage = dict[str, int]
"""``user_us``, ``system_us``, ``peak_bytes`` of a process."""


@dataclass(frozen=True)
class Tools:
    """What `_build` has made."""

    loads: Path
    misuse: Path
    settle: Path
    libraries: dict[str, str]
    """Path to preload by allocator, empty for glibc; ours first."""
    missing: list[str]
    """Debian packages of allocators that are not installed."""

    def run(self, allocator: str, load: str, scale: int, pool: str = POOL) -> Usage:
        """One process."""
        environment = dict(os.environ, LD_PRELOAD=self.libraries[allocator], GODWIT_CMT=pool)
        command = [str(self.loads), load, str(scale)]
        settle.settle(self.settle)
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SetupError(f"{load} on {allocator} failed", found=done.stderr.strip())
        return json.loads(done.stdout)


def run(progress: Progress, quick: bool = False) -> list[Row]:
    """A row a program and figure; `quick` runs each once and briefly."""
    tools = _build(progress)
    rows = [
        Row("allocators", f"peer is not installed: apt-get install {package}", "", None, "", kind="native")
        for package in tools.missing
    ]
    rounds, scale = (1, 1) if quick else (ROUNDS, 3)
    found: dict[str, dict[str, list[Usage]]] = {
        load: {name: [] for name in tools.libraries} for load in (*LOADS, "start")
    }
    names = list(tools.libraries)
    for number in range(rounds):
        turn = names[number % len(names) :] + names[: number % len(names)]
        for at, load in enumerate(found):
            progress("programs", number * len(found) + at, rounds * len(found))
            for name in turn:
                measured = tools.run(name, *((load, scale) if load != "start" else ("simple", 0, DEFAULT)))
                found[load][name].append(measured)
    times = {load: found[load] for load in LOADS}
    table = toolchain.build_dir() / "bench" / "allocators" / "table.md"
    table.write_text(_table(times), encoding="utf-8")
    rows += [_time(load, results) for load, results in times.items()]
    rows.append(_mean("user and system time", "geometric mean", times, _spent))
    rows += [_peak(load, results) for load, results in times.items()]
    rows.append(_start(found["start"]))
    rows.append(_misuse(tools))
    return rows


def _spent(usage: Usage) -> int:
    """Ticks of the system's clock may have missed a program that is very short."""
    return max(1, usage["user_us"] + usage["system_us"])


def _ratios(results: dict[str, list[Usage]], what: Any) -> dict[str, float]:
    """Median over the rounds of each peer's figure over ours: above 1 we need less."""
    return {
        name: statistics.median(
            what(theirs) / what(ours) for theirs, ours in zip(measured, results[OURS], strict=True)
        )
        for name, measured in results.items()
        if name != OURS
    }


def _others(results: dict[str, list[Usage]], what: Any, scale: float) -> str:
    medians = {name: statistics.median(map(what, measured)) / scale for name, measured in results.items()}
    return ", ".join(f"{name} {value:,.4g}" for name, value in medians.items())


def _time(load: str, results: dict[str, list[Usage]]) -> Row:
    ratios = _ratios(results, _spent)
    best = min(ratios, key=lambda name: ratios[name])
    return Row(
        "allocators",
        f"{load}: the best other's user and system time over ours",
        LOADS[load],
        ratios[best],
        "x",
        theirs=f"{best} is best; ms: {_others(results, _spent, 1000)}",
        goal=">= 0.95",
        kind="native",
    )


def _mean(name: str, config: str, times: dict[str, dict[str, list[Usage]]], what: Any) -> Row:
    best = [min(_ratios(results, what).values()) for results in times.values()]
    return Row(
        "allocators",
        f"all programs, {name}: the best other's of each over ours",
        config,
        math.exp(statistics.fmean(map(math.log, best))),
        "x",
        goal=">= 1",
        kind="native",
    )


def _table(times: dict[str, dict[str, list[Usage]]]) -> str:
    """The rows as ``docs/benchmarks.md`` has them: milliseconds and MiB, medians."""
    peaks = (OURS, "mimalloc 2", MIMALLOC)
    lines = []
    best_of_each = []
    for load, results in times.items():
        best = min(_ratios(results, _spent).values())
        best_of_each.append(best)
        ms = {name: statistics.median(map(_spent, measured)) / 1000 for name, measured in results.items()}
        mib = {
            name: statistics.median(usage["peak_bytes"] for usage in results[name]) / 2**20
            for name in peaks
            if name in results
        }
        cells = [f"{best:.2f}" + ("" if best >= 0.95 else " **not reached**")]
        cells += [f"{value:,.0f}" for value in ms.values()]
        cells += [f"{mib[name]:,.1f}" if name in mib else "" for name in peaks]
        cells.append(f"{mib[OURS] / mib[MIMALLOC]:.2f}")
        lines.append(f"| {LOADS[load]} | {' | '.join(cells)} |")
    names = list(next(iter(times.values())))
    head = ["", "×", f"time: {names[0]}", *names[1:], f"peak: {peaks[0]}", *peaks[1:], "over it"]
    mean = math.exp(statistics.fmean(map(math.log, best_of_each)))
    last = f"| geometric mean | **{mean:.2f}** |" + " |" * (len(head) - 2)
    return "\n".join([f"| {' | '.join(head)} |", "|---" * len(head) + "|", *lines, last]) + "\n"


def _peak(load: str, results: dict[str, list[Usage]]) -> Row:
    peaks = {name: statistics.median(usage["peak_bytes"] for usage in all_) for name, all_ in results.items()}
    others = ", ".join(f"{name} {peak / 2**20:,.1f}" for name, peak in peaks.items())
    return Row(
        "allocators",
        f"{load}: peak resident memory over {MIMALLOC}'s",
        LOADS[load],
        peaks[OURS] / peaks[MIMALLOC],
        "x",
        theirs=f"MiB: {others}",
        goal="<= 1.2",
        kind="native",
    )


def _start(results: dict[str, list[Usage]]) -> Row:
    """A program that allocates a few times: what opening the pool costs."""
    ratio = 1 / _ratios(results, _spent)["glibc"]
    return Row(
        "allocators",
        "a program that does nothing: user and system time over glibc's",
        DEFAULT,
        ratio,
        "x",
        theirs=f"us: {_others(results, _spent, 1)}",
        goal="<= 1.1",
        kind="native",
    )


def _misuse(tools: Tools) -> Row:
    """How many of a list of wrong calls an allocator sees as it comes."""
    cases = len(misuse.CASES)

    def seen(name: str, pool: str) -> int:
        library = tools.libraries[name]
        found = [misuse.outcome(tools.misuse, case, library, pool) for case in range(cases)]
        return found.count("seen")

    # All is seen in a program's first blocks: this is about those of the pool.
    pool = f"{DEFAULT} first=0"
    counts = {name: seen(name, pool) for name in tools.libraries}
    counts["Godwit with check=all"] = seen(OURS, f"{pool} check=all")
    return Row(
        "allocators",
        f"wrong calls that are seen, of {cases}",
        "as the allocators come",
        counts[OURS],
        "",
        theirs=", ".join(f"{name} {count}" for name, count in counts.items()),
        kind="native",
    )


def _build(progress: Progress) -> Tools:
    root = toolchain.root()
    if not toolchain.is_checkout():
        raise SetupError(
            "the allocators' programs are native, which needs a checkout of Godwit, Rust and a C++ compiler",
            found=f"the installed package, {root}",
            hint="run it in a checkout, or set GODWIT_ROOT to one",
        )
    target = toolchain.build_dir() / "bench" / "allocators"
    target.mkdir(parents=True, exist_ok=True)
    progress("building contiguous memory", 0, 0)
    _tool(["cargo", "build", "--release", "--locked", "-p", "godwit-cmt-preload"], root)
    release = Path(os.environ.get("CARGO_TARGET_DIR", root / "target")) / "release"
    progress("building programs", 0, 0)
    sources = sorted(str(path) for path in _SOURCES.glob("*.cpp"))
    flags = ["-std=c++20", "-O2", "-Wall", "-Wextra", "-pthread"]
    _tool(["c++", *flags, *sources, "-o", str(target / "loads")], root)
    # Without a compiler's knowledge of what malloc and free mean.
    wrong = ["-O1", "-fno-builtin", "-Wall", "-pthread"]
    _tool(["cc", *wrong, str(_SOURCES / "misuse.c"), "-o", str(target / "misuse")], root)
    libraries = {OURS: str(release / "libgodwit_cmt_preload.so"), "glibc": ""}
    missing = []
    for name, (library, package) in LIBRARIES.items():
        paths = (Path(place) / library for place in LIBRARY_DIRS)
        found = next((str(path) for path in paths if path.exists()), None)
        if found is None:
            missing.append(package)
        else:
            libraries[name] = found
    libraries[MIMALLOC] = str(_mimalloc(root, target))
    return Tools(target / "loads", target / "misuse", settle.build(target), libraries, missing)


def _mimalloc(root: Path, target: Path) -> Path:
    """Version 3 as its own release builds are, of the sources that the pool has in it."""
    text = _tool(["cargo", "metadata", "--format-version", "1", "--locked"], root)
    packages = json.loads(text)["packages"]
    crate = next(package for package in packages if package["name"] == "libmimalloc-sys")
    source = Path(crate["manifest_path"]).parent / "c_src" / "mimalloc" / "v3"
    library = target / "libmimalloc3.so"
    defines = [
        "-DMI_BUILD_RELEASE", "-DNDEBUG", "-DMI_MALLOC_OVERRIDE", "-DMI_SHARED_LIB", "-DMI_SHARED_LIB_EXPORT",
    ]  # fmt: skip
    flags = [
        "-O3",
        "-w",
        "-shared",
        "-fPIC",
        "-fvisibility=hidden",
        "-ftls-model=initial-exec",
        "-fno-builtin-malloc",
    ]
    include = [f"-I{source / 'include'}", f"-I{source / 'src'}"]
    _tool(
        ["cc", *flags, *defines, *include, str(source / "src" / "static.c"), "-o", str(library), "-lpthread"],
        root,
    )
    return library


def _tool(command: list[str], root: Path) -> str:
    if shutil.which(command[0]) is None:
        raise SetupError(f"{command[0]} is needed to build the allocators' programs", hint="install it")
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SetupError(f"`{' '.join(command[:4])} ...` failed", found=done.stderr.strip()[-2000:])
    return done.stdout
