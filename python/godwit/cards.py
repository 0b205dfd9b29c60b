# SPDX-License-Identifier: Apache-2.0
"""Built cards in the cache: what there is, what it takes, and removing it."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from godwit.errors import InputError, nearest
from godwit.toolchain import cache_dir


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
    """Whether ``sim:NAME`` opens this one."""

    @property
    def library(self) -> Path:
        """The shared library."""
        return self.directory / "libgw_card.so"

    def description(self) -> dict[str, Any]:
        """What was built, as the card itself says it."""
        return json.loads((self.directory / "card.json").read_text(encoding="utf-8"))


def listing() -> list[BuiltCard]:
    """All complete builds, by name, the newest first."""
    root = cache_dir() / "cards"
    found = []
    for library in root.glob("*/libgw_card.so"):
        directory = library.parent
        name, _, digest = directory.name.rpartition("-")
        if not name or not (directory / "card.json").is_file():
            continue
        size = sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
        newest = _pointer(root / f"{name}.json") == digest
        found.append(BuiltCard(name, digest, directory, size, library.stat().st_mtime, newest))
    return sorted(found, key=lambda card: (card.name, not card.newest, -card.built))


def find(name: str) -> BuiltCard:
    """The build that ``sim:NAME`` opens, or the one with that hash. InputError when there is none."""
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
    gone = [card for card in listing() if everything or not card.newest]
    for card in gone:
        if card.newest:
            (card.directory.parent / f"{card.name}.json").unlink(missing_ok=True)
        shutil.rmtree(card.directory)
    return gone


def _pointer(path: Path) -> str | None:
    try:
        return json.loads(path.read_text(encoding="utf-8")).get("hash")
    except (OSError, ValueError):
        return None
