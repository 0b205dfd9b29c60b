# SPDX-License-Identifier: Apache-2.0
"""What has passed: a bench with a given seed does the same again as long as nothing that it read is another.

Kept in ``$GODWIT_CACHE/passed`` under a hash of options, seed and tools, with the hash of every file that Verilator and the
simulation's Python read, as proofs are. Only runs with a seed of GODWIT_SEED are looked up and kept; GODWIT_FORCE=1 runs all the same.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.metadata
import json
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from godwit import toolchain

ROOT = Path(__file__).resolve().parents[2]
KEPT = 256
"""Runs of one module: a bench has a few dozen with a seed, and seeds come and go."""
_OURS = ("GODWIT_", "BENCH_")
"""Variables that benches look at; of them these say where something is, or what is printed."""
_PLACES = frozenset(("GODWIT_CACHE", "GODWIT_SPEC_DIR", "GODWIT_READS", "GODWIT_FORCE"))


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def from_root(path: Path) -> str:
    """A path that means the same file in every clone."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def unchanged(files: Mapping[str, str]) -> bool:
    """Whether all of these are there, with what was in them."""
    paths = {ROOT / name: was for name, was in files.items()}
    return all(path.is_file() and digest(path) == was for path, was in paths.items())


_INSTALLERS = frozenset(("pip", "setuptools", "wheel"))
"""What a virtual environment is made with, in what version its Python has: no bench imports it."""


@functools.cache
def _packages() -> list[str]:
    """All that benches can import from elsewhere."""
    found = importlib.metadata.distributions()
    return sorted(f"{package.name}={package.version}" for package in found if package.name not in _INSTALLERS)


def wanted() -> bool:
    """Whether a run may be left out: it has no waves to write and no seed of its own."""
    env = os.environ
    return bool(env.get("GODWIT_SEED")) and not env.get("GODWIT_FORCE") and env.get("GODWIT_WAVES") != "1"


def place(top: str, options: str, test: object, env: Mapping[str, str]) -> Path:
    """Where a run is remembered: `options` of its build, what is run of it, and what its environment will be."""
    seen = {
        name: value
        for name, value in env.items()
        if name not in _PLACES and (name.startswith(_OURS) or os.environ.get(name) != value)
    }
    seen.pop("PYTHONPATH", None)
    text = json.dumps([options, test, sorted(seen.items()), _packages(), digest(Path(__file__))], default=str)
    return toolchain.cache_dir() / "passed" / f"{top}-{hashlib.sha256(text.encode()).hexdigest()[:24]}.json"


def passed(record: Path) -> bool:
    try:
        return unchanged(json.loads(record.read_text()))
    except (OSError, ValueError):
        return False


def remember(record: Path, verilog: Mapping[str, str], reads: Path, work: Path) -> None:
    """That it passed; not when a program was started, or something was read that can be another's file any time."""
    lines = set(reads.read_text().splitlines())
    if "?" in lines:
        return
    files = dict(verilog)
    for path in _of_ours(map(Path, lines), work):
        files[from_root(path)] = digest(path)
    record.parent.mkdir(parents=True, exist_ok=True)
    partial = record.with_suffix(f".{os.getpid()}")
    partial.write_text(json.dumps(files))
    partial.replace(record)
    _discard_old(record)


def _discard_old(latest: Path) -> None:
    top = latest.name.rpartition("-")[0]
    with contextlib.suppress(FileNotFoundError):
        records = sorted(latest.parent.glob(f"{top}-{'?' * 24}.json"), key=lambda path: path.stat().st_mtime)
        for record in records[:-KEPT]:
            record.unlink()


def _of_ours(paths: Iterable[Path], work: Path) -> Iterable[Path]:
    """Files that no package or system brought, and the run did not write itself."""
    theirs = (sys.prefix, sys.base_prefix, "/usr", "/proc", "/dev", "/sys", "/etc", str(work))
    for path in paths:
        if path.is_file() and not any(path.is_relative_to(place) for place in theirs):
            yield path
