# SPDX-License-Identifier: Apache-2.0
"""The list of what is synthesised: blocks.toml."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

LIST = Path(__file__).resolve().parent / "blocks.toml"


@dataclass(frozen=True)
class Block:
    """One block at one size."""

    name: str
    top: str
    parameters: dict[str, int | str]
    quick: bool
    fmax: bool
    theirs: str | None
    package: str | None = None
    """A peer: the Python package with its sources, which are `files` in it."""
    files: tuple[str, ...] = ()
    card: tuple[str, ...] = ()
    """What the card's configuration has other than `default`, where generated registers depend on it."""
    parts: tuple[str, ...] = ()
    """Modules that are mapped one by one and joined (join.py); what is equal once."""
    placer: str = ""
    """nextpnr's placer; empty: the one it takes by itself."""


@dataclass(frozen=True)
class Overhead:
    """How much larger `block` is than `over`, both names of blocks."""

    name: str
    block: str
    over: str
    theirs: float | None
    goal: str | None


def blocks() -> list[Block]:
    """The blocks of blocks.toml."""
    return [
        Block(
            b["name"],
            b["top"],
            b.get("parameters", {}),
            b.get("quick", False),
            b.get("fmax", False),
            b.get("theirs"),
            card=tuple(b.get("card", ())),
            parts=tuple(b.get("parts", ())),
            placer=b.get("placer", ""),
        )
        for b in _listed("block")
    ]


def peers() -> list[Block]:
    """Others' blocks of blocks.toml, in the same flow."""
    return [
        Block(
            p["name"], p["top"], p.get("parameters", {}), False, True, None, p["package"], tuple(p["files"])
        )
        for p in _listed("peer")
    ]


def overheads() -> list[Overhead]:
    """The comparisons of blocks.toml."""
    return [
        Overhead(o["name"], o["block"], o["over"], o.get("theirs"), o.get("goal"))
        for o in _listed("overhead")
    ]


def _listed(what: str) -> list[dict]:
    return tomllib.loads(LIST.read_text(encoding="utf-8"))[what]
