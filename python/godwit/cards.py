# SPDX-License-Identifier: Apache-2.0
"""Built cards in the cache: what there is, what it takes, and removing it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from godwit.errors import GodwitError, InputError, SetupError, nearest
from godwit.report import shown_progress
from godwit.toolchain import cache_dir
from godwit.units import bytes_text

if TYPE_CHECKING:
    from godwit.card.build import Card
    from godwit.card.manifest import Manifest
    from godwit.report import Progress

BUILD_BYTES = 100 << 20
"""What a build needs while it runs."""


@dataclass(frozen=True)
class BuiltCard:
    """One build of a configuration."""

    name: str
    hash: str
    directory: Path
    size_bytes: int
    built: float
    """Seconds since the epoch."""
    newest: bool
    """Whether it is the last one built under its name: what Rust and C open as ``sim:NAME``."""

    config: str
    """The configuration file that the name belongs to, when this is the card it means."""

    @property
    def library(self) -> Path:
        """The shared library."""
        return self.directory / "libgw_card.so"

    def description(self) -> dict[str, Any]:
        """What was built, as the card itself says it."""
        path = self.directory / "card.json"
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise SetupError(
                f"card {self.name} {self.hash} cannot be described",
                found=f"{path}: {error}",
                hint=f"godwit card build {self.name} --force",
            ) from None


def listing() -> list[BuiltCard]:
    """All complete builds, by name, the newest first."""
    from godwit.card.build import pointer

    root = cache_dir() / "cards"
    found = []
    for library in root.glob("*/libgw_card.so"):
        directory = library.parent
        name, _, digest = directory.name.rpartition("-")
        if not name or not (directory / "card.json").is_file():
            continue
        size = sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
        said = pointer(name)
        newest = said.get("hash") == digest
        config = str(said.get("config", "")) if newest else ""
        found.append(BuiltCard(name, digest, directory, size, library.stat().st_mtime, newest, config))
    return sorted(found, key=lambda card: (card.name, not card.newest, -card.built))


def ensure(
    config: str | Path,
    overrides: Sequence[str] = (),
    kernels: Sequence[str | Path] = (),
    *,
    waves: bool = False,
    build: bool = True,
    force: bool = False,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Card:
    """The card of a configuration, built when it is not in the cache (or `force`).

    kernels: sources or manifests of kernels to build in besides the configuration's. build: False raises
    SetupError instead of building. Raises InputError for a configuration or kernel that cannot be built.
    """
    from godwit.card import build as builder
    from godwit.card import plan as plans

    for kernel in kernels:
        brought_kernel(kernel)
    todo = plans.plan(config, overrides, kernels, waves=waves)
    if not build and not (builder.cards_dir() / f"{todo.config.name}-{todo.hash}" / plans.LIBRARY).is_file():
        raise SetupError(
            f"the card of configuration '{config}' is not built",
            found="build=False",
            hint=f"godwit card build {config}",
        )
    report = progress or shown_progress()
    with _full_is_said():
        return builder.build(
            todo,
            force=force,
            jobs=jobs,
            progress=lambda what, done, total: report(
                f"building card {todo.config.name}: {what}", done, total
            ),
        )


@contextmanager
def _full_is_said() -> Iterator[None]:
    """Where there is no room, tools of others may end well and leave files that are cut off: what then goes wrong is not their content."""
    try:
        yield
    except GodwitError:
        raise
    except Exception as error:
        place = cache_dir()
        free = shutil.disk_usage(place).free if place.is_dir() else BUILD_BYTES
        if free >= BUILD_BYTES:
            raise
        raise SetupError(
            f"the card cache {place} has no room for a build",
            found=f"{bytes_text(free)} free; the build ended with: {error}",
            hint=f"a build needs about {bytes_text(BUILD_BYTES)}: godwit card prune makes room, or GODWIT_CACHE names another folder",
        ) from error


def note(card: Card, config: str | Path) -> str:
    """What somebody who asked for a card should know about its name and settings, or nothing."""
    from godwit.card.build import owner
    from godwit.spec import config as configs

    said = []
    if holder := owner(card.name, configs.path(config)):
        said.append(
            f"sim:{card.name} is the card of {holder}; open this one as sim:{card.library}, or give the configuration a "
            "name of its own"
        )
    elif not card.named:
        said.append(
            f"sim:{card.name} stays the configuration's own card: open this one as sim:{card.library}, or in Python by "
            "the name with the same kernels= and overrides="
        )
    if card.settings:
        names = ", ".join(f"{section}.{name}" for section, fields in card.settings.items() for name in fields)
        said.append(
            f"a card is not built for {names}: give the same --set to `godwit run`, or memory= and host_link= to godwit.open"
        )
    return "; ".join(said)


def current() -> dict[str, str]:
    """Hash that each named configuration's card has with the sources as they are now."""
    from godwit.card import plan as plans
    from godwit.spec import config

    return {name: plans.plan(name).hash for name in config.names()}


def brought_kernel(path: str | Path) -> Manifest:
    """Manifest of a kernel that a user brings, by its source or its TOML file. InputError when it cannot be
    used.
    """
    from godwit.card import manifest

    with usable(path):
        return manifest.load(path)


@contextmanager
def usable(kernel: str | Path) -> Iterator[None]:
    """What is wrong with the manifest of a user's kernel is the user's to put right: InputError."""
    from godwit.card.manifest import ManifestError

    try:
        yield
    except ManifestError as error:
        raise InputError(
            f"kernel '{kernel}' cannot be used", found=str(error), hint="docs/kernels.md has an example"
        ) from None


def find(name: str) -> BuiltCard:
    """The last build of that name, or the one whose hash begins so. InputError when there is none."""
    cards = listing()
    for card in cards:
        if (card.newest and card.name == name) or (len(name) >= 6 and card.hash.startswith(name)):
            return card
    names = sorted({card.name for card in cards})
    raise InputError(
        f"no card '{name}' is built",
        found="built: " + (", ".join(names) or "none"),
        hint=nearest(name, names) if nearest(name, names).startswith("did") else f"godwit card build {name}",
    )


def prune(*, everything: bool = False) -> list[BuiltCard]:
    """Removes builds that a newer one of the same name has replaced, or all of them; returns what was
    removed.
    """
    from godwit.card.build import cache_errors

    gone = [card for card in listing() if everything or not card.newest]
    with cache_errors("cannot be pruned"):
        for card in gone:
            if card.newest:
                (card.directory.parent / f"{card.name}.json").unlink(missing_ok=True)
            shutil.rmtree(card.directory)
    return gone
