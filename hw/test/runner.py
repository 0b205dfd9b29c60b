# SPDX-License-Identifier: Apache-2.0
"""Builds an RTL module with Verilator and runs a cocotb test module on it.

Benches are ordinary pytest functions:

    from runner import run
    def test_fifo(depth):
        run("gw_fifo", "cocotb_fifo", here=__file__, parameters={"Depth": depth})

Modules are found by file name in ``hw/rtl/*`` and in the bench's own directory; only packages are listed. A
build is kept in ``$GODWIT_CACHE/sim`` as long as its options and every file that Verilator read are the same, so it is
made once, also for another clone of the same sources. Of one bench the latest builds are kept. What passed with a seed of
GODWIT_SEED is not run again before something that it read is another (remembered.py).
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree import ElementTree

from cocotb_tools import config as cocotb_config
from cocotb_tools import runner as cocotb_runner

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

import remembered
from remembered import digest as _sha256
from remembered import from_root as _from_root

from godwit import toolchain
from godwit.card import unity, verilated
from godwit.card.process import Compilers
from godwit.spec import generate

ROOT = Path(__file__).resolve().parents[2]
RTL = ROOT / "hw" / "rtl"

# Read before everything else, in this order; all other files are found by module name.
PACKAGES = ("lint.vlt", "common/gw_axi_pkg.sv", "common/gw_pkg.sv")
SPEC_PACKAGES = ("gw_spec_pkg.sv",)
BUILD_ARGS = [
    "-O3",
    "--x-assign",
    "unique",
    "--x-initial",
    "unique",
    "--assert",
    "-Wall",
    "-CFLAGS",
    "-std=c++20",
]
# Set-up code that runs once is most of the text of a wide design: unoptimised it compiles in seconds instead of minutes.
LEVELS = {"fast": "-O1", "slow": "-O0", "runtime": "-O1"}
# Builds of one bench with one set of options: of a few clones, or of sources that go back and forth.
BUILDS_KEPT = 4
# What a test bench may do and the design may not: unused signals, delays.
BENCH_WAIVERS = ["-Wno-UNUSEDSIGNAL", "-Wno-UNUSEDPARAM", "-Wno-DECLFILENAME", "-Wno-TIMESCALEMOD"]


def seed() -> int:
    """Seed of a random test: GODWIT_SEED, or a new one. Printed so that a failure can be repeated."""
    value = int(os.environ.get("GODWIT_SEED") or random.SystemRandom().randrange(1 << 31))
    print(f"GODWIT_SEED={value}")
    return value


def spec_dir() -> Path:
    """RTL packages generated from spec/: in $GODWIT_SPEC_DIR, or in the tree's own, brought up to date."""
    if directory := os.environ.get("GODWIT_SPEC_DIR"):
        return Path(directory) / "sv"
    return generate.shared_package(ROOT).parent


@contextmanager
def _lock(path: Path):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _read_by_verilator(build: Path) -> list[Path]:
    """Source files of a build: the prerequisites in Verilator's dependency file, the tool's own left out."""
    text = (build / "Vtop__ver.d").read_text().replace("\\\n", " ")
    files = text.split(" : ", 1)[1].split()
    tool = str(toolchain.verilator_root())
    return sorted({Path(name) for name in files if not name.startswith(tool) and Path(name).is_file()})


def _files(build: Path) -> dict[str, str]:
    """What Verilator read for it, with hashes; empty before it is complete."""
    try:
        return json.loads((build / "files.json").read_text())
    except (OSError, ValueError):
        return {}


def _up_to_date(build: Path) -> bool:
    files = _files(build)
    return bool(files) and remembered.unchanged(files)


def _discard_old(builds: list[Path]) -> None:
    """All but the latest builds go, unless somebody runs one of them."""
    for build in sorted(builds, key=lambda b: b.stat().st_mtime, reverse=True)[BUILDS_KEPT - 1 :]:
        with suppress(BlockingIOError), (build / "in-use").open("w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(build)


@dataclass(frozen=True)
class _Design:
    """What is built, and how."""

    top: str
    sources: list[Path]
    dirs: list[Path]
    parameters: Mapping[str, object]
    defines: Mapping[str, object]
    extra: Sequence[str]
    waves: bool

    @property
    def args(self) -> list[str]:
        return [*BUILD_ARGS, *BENCH_WAIVERS, *self.extra]

    def options(self) -> str:
        """All that makes another build of the same files."""
        return json.dumps(
            [
                self.top,
                [_from_root(path) for path in (*self.sources, *self.dirs)],
                dict(self.parameters),
                dict(self.defines),
                self.args,
                LEVELS,
                _sha256(Path(unity.__file__)) + _sha256(Path(verilated.__file__)),
                self.waves,
                toolchain.version("verilator"),
                toolchain.cxx_version(),
                sys.version,
            ],
            sort_keys=True,
            default=str,
        )


@contextmanager
def _built(design: _Design) -> Iterator[Path]:
    """Directory of a build that is up to date, safe from being discarded meanwhile."""
    options = design.options()
    home = toolchain.cache_dir() / "sim" / f"{design.top}-{hashlib.sha256(options.encode()).hexdigest()[:16]}"
    with _lock(home.with_suffix(".lock")):
        builds = [path for path in home.glob("build-*") if path.is_dir()]
        build = next(filter(_up_to_date, builds), None)
        if build is None:
            _discard_old(builds)
            home.mkdir(parents=True, exist_ok=True)
            build = Path(tempfile.mkdtemp(prefix="build-", dir=home))
            try:
                _build(design, build)
                files = {_from_root(path): _sha256(path) for path in _read_by_verilator(build)}
                (build / "files.json").write_text(json.dumps(files))
            except BaseException:
                shutil.rmtree(build)
                raise
        in_use = (build / "in-use").open("w")
        fcntl.flock(in_use, fcntl.LOCK_SH)
    with in_use:
        yield build


def _build(design: _Design, build: Path) -> None:
    """What cocotb's own runner does, but for the files that are compiled."""
    libraries = cocotb_config.libs_dir
    verilate = [
        *(
            str(toolchain.verilator()),
            *verilated.VERILATE,
            "-Mdir",
            str(build),
            "--top-module",
            design.top,
            "--prefix",
            "Vtop",
        ),
        *("--vpi", "--public-flat-rw"),
        *design.args,
        *(f"-D{name}={value}" for name, value in design.defines.items()),
        *(f"-I{directory}" for directory in design.dirs),
        *(argument for directory in design.dirs for argument in ("-y", str(directory))),
        *(f"-G{name}={value}" for name, value in design.parameters.items()),
        *map(str, design.sources),
    ]
    failure = f"{design.top} does not build"
    with Compilers() as compilers:
        (build / "build.log").write_text(compilers.run(verilate, failure))
        model = verilated.Model.read(build, "Vtop")
        main = cocotb_config.share_dir / "lib" / "verilator" / "verilator.cpp"
        verilated.Linkage(
            build,
            LEVELS,
            (toolchain.CXX_STANDARD,),
            (
                f"-L{libraries}",
                f"-Wl,-rpath,{libraries}",
                "-lcocotbvpi_verilator",
                "-pthread",
                *model.libraries,
            ),
            jobs=2,
        ).make(
            compilers,
            [*replace(model, fast=[main, *model.fast]).units(1), *model.runtime_units()],
            design.top,
            failure=failure,
        )


def run(
    top: str,
    test_module: str,
    *,
    here: str | os.PathLike,
    parameters: Mapping[str, object] | None = None,
    defines: Mapping[str, object] | None = None,
    packages: Sequence[str | os.PathLike] = (),
    spec: bool = True,
    dirs: Sequence[str | os.PathLike] = (),
    build_args: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    testcase: str | None = None,
) -> None:
    """Builds ``top`` and runs the cocotb tests of ``test_module`` (beside ``here``); raises on any failure.

    ``dirs`` are searched for modules too. ``packages`` are read after the shared ones; ``spec`` adds those
    generated from spec/. ``env`` reaches the test module as environment variables. GODWIT_WAVES=1 writes an
    FST file into the run's directory, which is then printed. GODWIT_BUILD_ARGS and GODWIT_PLUSARGS are further arguments of
    the build and of the simulation.
    """
    bench = Path(here).resolve().parent
    dirs = [bench, *(Path(d) for d in dirs), *sorted(p for p in RTL.iterdir() if p.is_dir())]
    sources = [RTL / name for name in PACKAGES]
    if spec:
        dirs.append(spec_dir())
        sources += [spec_dir() / name for name in SPEC_PACKAGES]
    sources += [Path(p) for p in packages]
    candidates = [d / f"{top}.sv" for d in dirs if (d / f"{top}.sv").is_file()]
    if not candidates:
        raise FileNotFoundError(f"no {top}.sv in " + ", ".join(str(d) for d in dirs))
    sources.append(candidates[0])

    waves = os.environ.get("GODWIT_WAVES") == "1"
    build_args = [
        *build_args,
        *os.environ.get("GODWIT_BUILD_ARGS", "").split(),
        *(["--trace-fst", "--trace-structs"] if waves else []),
    ]
    chosen = str(seed())
    test_env = {
        "PYTHONPATH": os.pathsep.join([str(bench), str(Path(__file__).parent), *sys.path]),
        "GODWIT_SEED": chosen,
        "COCOTB_RANDOM_SEED": chosen,  # what a bench or cocotbext-axi takes from the module `random`
        **(env or {}),
    }
    design = _Design(top, sources, dirs, parameters or {}, defines or {}, build_args, waves)
    record = remembered.place(top, design.options(), [test_module, testcase], {**os.environ, **test_env})
    if remembered.wanted() and remembered.passed(record):
        print("passed before, from the same files: GODWIT_FORCE=1 runs it again")
        return
    with _tool_environment(), _built(design) as build:
        work = Path(tempfile.mkdtemp(prefix=f"godwit-{top}-"))
        reads = work / "reads"
        try:
            cocotb_runner.get_runner("verilator").test(
                test_module=["reads", test_module],
                hdl_toplevel=top,
                hdl_toplevel_lang="verilog",
                build_dir=build,
                test_dir=work,
                results_xml=str(work / "results.xml"),
                extra_env={**test_env, "GODWIT_READS": str(reads)},
                waves=waves,
                testcase=testcase,
                plusargs=os.environ.get("GODWIT_PLUSARGS", "").split(),
            )
        except SystemExit as exit_:
            # cocotb's runner leaves the process on a failure, with status 0 when there are no results at all.
            _check(work)
            raise AssertionError(f"simulation ended with status {exit_.code} (in {work})") from exit_
        _check(work)
        if remembered.wanted():
            remembered.remember(record, _files(build), reads, work)
    if waves:
        print(f"waves: {work}")
    else:
        shutil.rmtree(work, ignore_errors=True)


@contextmanager
def _tool_environment():
    """cocotb's runner takes the tools from os.environ.

    A build that another environment made looks there for cocotb's libraries: they are found here first.
    """
    saved, tools = dict(os.environ), toolchain.env()
    os.environ.update(
        {key: tools[key] for key in ("VERILATOR_ROOT", "PATH", "OBJCACHE", "MAKEFLAGS") if key in tools}
    )
    try:
        libraries = [str(cocotb_config.libs_dir), *filter(None, [saved.get("LD_LIBRARY_PATH")])]
        os.environ["LD_LIBRARY_PATH"] = os.pathsep.join(libraries)
        yield
    finally:
        os.environ.clear()
        os.environ.update(saved)


def _check(work: Path) -> None:
    """Raises with the names of the failed cocotb tests; a run that wrote no results has failed too."""
    try:
        cases = list(ElementTree.parse(work / "results.xml").getroot().iter("testcase"))
    except (OSError, ElementTree.ParseError):
        cases = []
    failed = [c.get("name") for c in cases if c.find("failure") is not None or c.find("error") is not None]
    if failed or not cases:
        raise AssertionError(
            f"cocotb: {len(failed)} of {len(cases)} failed: {', '.join(map(str, failed))} (in {work})"
        )
