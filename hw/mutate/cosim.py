# SPDX-License-Identifier: Apache-2.0
"""The co-simulation as the last who looks: a card with all faults of a block in it, of which a run chooses one.

A card is built once a block, in a cache of its own, so that no card of the user's is one with faults; a run is random accesses of one
seed through it, checked against the page tables.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tree

import godwit


@dataclass(frozen=True)
class Cosim:
    """A card's configuration, and further arguments of godwit-cosim."""

    config: str
    arguments: tuple[str, ...] = ()

    @classmethod
    def of(cls, text: str) -> Cosim:
        """`FILE.toml [ARGUMENT ...]`."""
        config, *arguments = text.split()
        return cls(config, tuple(arguments))

    def __str__(self) -> str:
        return " ".join((Path(self.config).stem, *self.arguments))


def program(root: Path) -> Path:
    """godwit-cosim, built from `root`."""
    command = ["cargo", "build", "--release", "--locked", "-p", "godwit-cosim", "--message-format", "json"]
    done = subprocess.run(command, cwd=root, check=True, text=True, stdout=subprocess.PIPE)
    messages = (json.loads(line) for line in done.stdout.splitlines())
    (path,) = {message["executable"] for message in messages if message.get("executable")}
    return Path(path)


def card(faulty: Path, config: str, cache: Path) -> Path:
    """The library of `config`'s card in the tree `faulty`. RuntimeError with what the builder said when there is none."""
    package = Path(godwit.__file__).parent
    for native in package.glob("_native*"):
        shutil.copy2(native, faulty / "python/godwit")
    environment = {**os.environ, "GODWIT_CACHE": str(cache), "PYTHONPATH": str(faulty / "python")}
    command = [sys.executable, "-m", "godwit", "card", "build", config, "--json"]
    done = subprocess.run(command, cwd=faulty, env=environment, text=True, capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(f"no card of {config}:\n{done.stderr[-3000:]}")
    return Path(json.loads(done.stdout)["library"])


def run(
    binary: Path,
    library: Path,
    arguments: Sequence[str],
    number: int,
    seed: int,
    work: Path,
    limit: float | None,
) -> subprocess.CompletedProcess[str] | None:
    """A run with fault `number` (0: none), with what it said; None when it was still going at its limit."""
    (work / tree.NUMBER).write_text(f"{number}\n")
    command = [str(binary), "--device", f"sim:{library}", "--seed", str(seed), *arguments]
    try:
        return subprocess.run(
            command,
            cwd=work,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
