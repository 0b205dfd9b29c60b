# SPDX-License-Identifier: Apache-2.0
"""Writes everything that is generated from ``spec/`` into one directory."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from godwit.spec import layout


def write_if_changed(path: Path, text: str) -> None:
    """Writes a file whole or not at all, and leaves its time alone when nothing changed (make and ccache look)."""
    if path.is_file() and path.read_text() == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with os.fdopen(handle, "w") as file:
        file.write(text)
    os.chmod(temporary, 0o644)
    os.replace(temporary, path)


def generate(out: Path) -> None:
    """Generates all files below `out` (see docs/architecture.md for the list)."""
    groups = layout.load()
    write_if_changed(out / "sv" / "gw_spec_pkg.sv", layout.systemverilog(groups))
    write_if_changed(out / "c" / "godwit_layout.h", layout.c_header(groups))
    write_if_changed(out / "rust" / "layout.rs", layout.rust(groups))
