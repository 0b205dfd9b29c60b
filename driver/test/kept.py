# SPDX-License-Identifier: Apache-2.0
"""Guests that ended well are kept: one with the same files on the same kernel, beside the same card, ends well again.

Kept in ``$GODWIT_CACHE/guests``, under a hash of all that a guest is made of. That is so for runs with a seed of GODWIT_SEED; without one,
and with GODWIT_FORCE=1, every guest boots, and one with Python in it always does. What is said of a guest is checked in each run, and a
file with a test that fails loses its guests.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from godwit import toolchain
from godwit.vm import guests, machine, module
from godwit.vm.kernel import Kernel

KEPT = 192
"""Guests: a run has about 50."""
_PLACES = ("archive", "card")
"""What stands for the paths of an archive and of a socket, which are others each time."""
_COMPILED = frozenset((".rs", ".toml", ".lock", ".c", ".h", ".hpp"))


@functools.cache
def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _said(*command: str) -> str:
    return subprocess.run(command, cwd=toolchain.root(), capture_output=True, text=True, check=True).stdout


@functools.cache
def _crates(*packages: str) -> str:
    """What cargo makes packages of this checkout of: not by its bytes, for each clone's are a little different."""
    root = toolchain.root()
    named = [word for package in packages for word in ("--package", package)]
    tree = _said("cargo", "tree", *named, "--edges", "normal,build", "--prefix", "none", "--locked")
    ours = {Path(found[1]) for line in tree.splitlines() if (found := re.search(r"\((/[^)]*)\)", line))}
    assert {path.name for path in ours} >= set(packages), tree
    places = (*sorted(ours), root / "core", root / "build/spec")
    files = [path for place in places for path in place.rglob("*") if path.suffix in _COMPILED]
    files = [
        path for path in files if path.is_file() and not {"tests", "benches", "examples"} & set(path.parts)
    ]
    files += [root / "Cargo.toml", root / "Cargo.lock"]
    made_of = [f"{path.relative_to(root)} {_digest(path)}" for path in sorted(files)]
    made_of.append(_said("rustc", "--version"))
    return hashlib.sha256("\n".join(made_of).encode()).hexdigest()


class Guests:
    """Those of this process, by the file whose tests use them."""

    def __init__(self) -> None:
        self.file = ""
        """Whose tests run."""
        self._used: dict[str, set[Path]] = {}

    def place(
        self,
        kernel: Kernel,
        guest: machine.Guest,
        programs: Sequence[Path],
        card: str | None,
        orders: Mapping[str, str],
        cards: int = 1,
    ) -> Path | None:
        """Where such a guest is kept, with programs of these sources; nothing when it has to run."""
        env = os.environ
        python = any(path.suffix == guests.SCRIPT for path in programs)
        if python or not env.get("GODWIT_SEED") or env.get("GODWIT_FORCE"):
            return None
        files = dict(guest.files)
        rust = [path for path in programs if module.has_rust(path)]
        for path in rust:
            del files[guests.place(path)]
        # Headers beside them, too, for those whose bytes say nothing; what was built is an example of our crates.
        written = [path for path in rust if not module.is_built(path)]
        beside = [header for path in written for header in path.parent.glob("*.h")]
        examples = toolchain.root().glob("crates/*/examples/*.rs") if len(written) < len(rust) else ()
        sources = sorted({*written, *beside, *examples})
        words = machine.command(kernel, Path(_PLACES[0]), guest, [Path(_PLACES[1])] * (cards if card else 0))
        made_of = [
            words,
            dict(orders),
            hashlib.sha256(machine.files(replace(guest, files=files))).hexdigest(),
        ]
        made_of += [_digest(path) for path in (kernel.image, *sources)]
        if card:
            made_of.append(_digest(Path(card.removeprefix("sim:"))))
        if card:
            made_of.append(_crates("godwit-vfio"))
        if rust:
            made_of.append(_crates("godwit", "godwit-cmt"))
        text = json.dumps(made_of)
        return toolchain.cache_dir() / "guests" / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.json"

    def find(self, record: Path) -> machine.Ended | None:
        """How it ended."""
        try:
            found = machine.Ended(**json.loads(record.read_text()))
        except (OSError, ValueError, TypeError):
            return None
        os.utime(record)
        self._use(record)
        return found

    def keep(self, record: Path, ended: machine.Ended) -> None:
        """One whose script failed has to run again."""
        if ended.code:
            return
        record.parent.mkdir(parents=True, exist_ok=True)
        partial = record.with_suffix(f".{os.getpid()}")
        partial.write_text(json.dumps(asdict(ended)))
        partial.replace(record)
        self._use(record)
        with contextlib.suppress(FileNotFoundError):
            latest = sorted(record.parent.glob("*.json"), key=lambda path: path.stat().st_mtime)
            for old in latest[:-KEPT]:
                old.unlink()

    def failed(self) -> None:
        """A test of this file: what was said of its guests is not what it should be."""
        for record in self._used.pop(self.file, ()):
            record.unlink(missing_ok=True)

    def _use(self, record: Path) -> None:
        self._used.setdefault(self.file, set()).add(record)
