# SPDX-License-Identifier: Apache-2.0
"""Builds a card: one configuration and its kernels as a shared library in the cache.

A card's directory is named by the hash of everything it is made from, appears whole or not at all, and is never changed
afterwards. Builds of one card exclude each other by a lock; an interrupted build leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

from godwit import toolchain
from godwit.card.compile import Progress, compile_card
from godwit.card.plan import LIBRARY, Plan, describe
from godwit.card.process import BuildError
from godwit.errors import SetupError
from godwit.spec.generate import write_if_changed


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
        shutil.copy(compile_card(work, todo, jobs, report), result / LIBRARY)
        if todo.hash_now() != todo.hash:
            raise BuildError(
                f"card {todo.config.name}: a source changed while it was built", hint="build it again"
            )
        (result / "card.json").write_text(json.dumps(describe(todo), indent=1, sort_keys=True) + "\n")
        shutil.rmtree(home, ignore_errors=True)
        result.replace(home)
    finally:
        shutil.rmtree(work, ignore_errors=True)
