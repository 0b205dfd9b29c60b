# SPDX-License-Identifier: Apache-2.0
"""Builds a card: one configuration and its kernels as a shared library in the cache.

A card's directory is named by the hash of everything it is made from, appears whole or not at all, and is never changed
afterwards. Builds of one card exclude each other by a lock; an interrupted build leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import fcntl
import json
import os
import shutil
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from godwit import toolchain
from godwit.card.compile import Progress, compile_card
from godwit.card.plan import LIBRARY, WARNINGS, Plan, describe
from godwit.card.process import BuildError
from godwit.errors import SetupError
from godwit.spec import config as configs
from godwit.spec.generate import write_if_changed

_CHECKOUT = Path("spec/configs/default.toml")
"""What a checkout of Godwit has, from its root on."""


@dataclasses.dataclass(frozen=True)
class Card:
    """A built card."""

    name: str
    hash: str
    directory: Path
    cached: bool
    """It was in the cache already."""
    named: bool
    """``sim:NAME`` means this card."""
    settings: dict[str, dict[str, Any]] = dataclasses.field(default_factory=dict)
    """What it is to be opened with: memory and link settings that were asked for."""

    @property
    def warnings(self) -> list[str]:
        """What is legal in the user's kernels and may still be a mistake."""
        file = self.directory / WARNINGS
        return file.read_text().splitlines() if file.is_file() else []

    @property
    def library(self) -> Path:
        """The shared library."""
        return self.directory / LIBRARY


def cards_dir() -> Path:
    """Where cards are: ``$GODWIT_CACHE/cards``."""
    return toolchain.cache_dir() / "cards"


def build(
    todo: Plan, *, force: bool = False, jobs: int | None = None, progress: Progress | None = None
) -> Card:
    """The card of a plan, from the cache when it is there.

    ``cards/NAME.json`` points at it afterwards, unless the plan changes what the named configuration says, or the name is
    that of another file: a program that opens ``sim:NAME`` must not get somebody's experiment.

    jobs: compilers at a time; ``$GODWIT_JOBS``, else one a processor and four at most.
    Raises `BuildError` or `KernelError` with the compiler's messages, `ToolMissing` when something is not installed,
    `SetupError` when the cache cannot be used.
    """
    report = progress or (lambda what, done, total: None)
    digest = todo.hash
    home = cards_dir() / f"{todo.config.name}-{digest}"
    cached = True
    if force or not (home / LIBRARY).is_file():
        if todo.waves and not toolchain.has_lz4():
            raise SetupError("waves need lz4.h, which is not installed", hint="apt install liblz4-dev")
        with cache_errors("cannot keep a card"), _lock(home, report):
            if force or not (home / LIBRARY).is_file():
                cached = False
                _build_into(home, todo, jobs or toolchain.jobs(), report)
    named = todo.as_named and _point(todo, home, needed=not cached)
    return Card(todo.config.name, digest, home, cached, named, todo.settings)


@contextlib.contextmanager
def cache_errors(what: str) -> Iterator[None]:
    """Turns what the file system says about the cache into one sentence."""
    try:
        yield
    except OSError as error:
        place = toolchain.cache_dir()
        hint = "GODWIT_CACHE names another folder"
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            hint = f"godwit card prune makes room, or {hint}"
        raise SetupError(
            f"the card cache {place} {what}",
            found=f"{error.filename or place}: {error.strerror or error}",
            hint=hint,
        ) from error


def pointer(name: str) -> dict[str, Any]:
    """What ``cards/NAME.json`` says, or nothing when it cannot be read."""
    try:
        said = json.loads((cards_dir() / f"{name}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return said if isinstance(said, dict) else {}


def owner(name: str, source: Path) -> str:
    """The file that the name belongs to when that is another than `source`: Godwit's own of that name, else the one that was
    built first and is still there. Empty when the name is free.
    """
    own = configs.config_dir() / f"{name}.toml"
    if own.is_file():
        # Another checkout's is the same one, in another version.
        return "" if source.parent.parts[-2:] == own.parent.parts[-2:] else str(own)
    before = pointer(name).get("config")
    if not isinstance(before, str) or before == str(source) or not Path(before).is_file():
        return ""
    return "" if _same_in_another_checkout(Path(before), source) else before


def _same_in_another_checkout(before: Path, source: Path) -> bool:
    """Whether two files are one of Godwit's own, such as a card that tests need, in two checkouts: whichever was built last has the name."""
    for one, other in zip(before.parents, source.parents, strict=False):
        if before.relative_to(one) != source.relative_to(other):
            return False
        if all((root / _CHECKOUT).is_file() for root in (one, other)):
            return True
    return False


def _point(todo: Plan, home: Path, *, needed: bool) -> bool:
    """Lets the name mean this card, unless it is another file's. A cache that cannot be written keeps what it says."""
    name = todo.config.name
    if owner(name, todo.source):
        return False
    # From the pointer on: a cache can be moved.
    said = {"name": name, "hash": todo.hash, "library": f"{home.name}/{LIBRARY}", "config": str(todo.source)}
    try:
        write_if_changed(cards_dir() / f"{name}.json", json.dumps(said) + "\n")
    except OSError:
        if needed:
            with cache_errors(f"cannot say which card sim:{name} is"):
                raise
    return pointer(name).get("hash") == todo.hash


@contextlib.contextmanager
def _lock(home: Path, report: Progress) -> Iterator[None]:
    home.parent.mkdir(parents=True, exist_ok=True)
    with (home.parent / f".{home.name}.lock").open("a+") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report(f"waiting for {_holder(handle)}, which builds it", 0, 0)
            fcntl.flock(handle, fcntl.LOCK_EX)
        try:
            handle.truncate(0)
            handle.write(f"process {os.getpid()} on {socket.gethostname()}")
            handle.flush()
            yield
        finally:
            handle.truncate(0)


def _holder(handle: TextIO) -> str:
    """Who holds the lock. It is locked before its holder has written who that is, so a second is given to it."""
    for _ in range(100):
        handle.seek(0)
        if name := handle.read().strip():
            return name
        time.sleep(0.01)
    return "another process"


def _build_into(home: Path, todo: Plan, jobs: int, report: Progress) -> None:
    work = home.parent / f".{home.name}.build"
    # What a killed build left: the lock says nobody else is in there.
    shutil.rmtree(work, ignore_errors=True)
    try:
        result = work / "card"
        result.mkdir(parents=True)
        library = compile_card(work, todo, jobs, report)
        shutil.copy(library, result / LIBRARY)
        for beside in (library.parent / WARNINGS, library.parent / "data"):
            if beside.is_dir():
                shutil.copytree(beside, result / beside.name)
            elif beside.is_file():
                shutil.copy(beside, result)
        if todo.hash_now() != todo.hash:
            raise BuildError(
                f"card {todo.config.name}: a source changed while it was built", hint="build it again"
            )
        (result / "card.json").write_text(json.dumps(describe(todo), indent=1, sort_keys=True) + "\n")
        shutil.rmtree(home, ignore_errors=True)
        result.replace(home)
    finally:
        shutil.rmtree(work, ignore_errors=True)
