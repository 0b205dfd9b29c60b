# SPDX-License-Identifier: Apache-2.0
"""Runs every test: the cards that Rust tests need and the Rust workspace, beside everything that pytest starts."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from run_groups import ROOT, VENV, Group, count_cargo, count_junit, run_all

BIN = VENV / "bin"
REPORT = ROOT / "build/pytest.xml"

# What the Rust tests open by name; pytest builds what it needs itself.
CARDS = (
    "tiny",
    "default",
    "tapasco",
    "crates/godwit/tests/heap.toml",
    "hw/test/cosim/cosim.toml",
    "hw/test/cosim/cosim-small.toml",
    "hw/test/cosim/cosim-heap.toml",
    "hw/test/cosim/cosim-heap-any.toml",
    "hw/test/cosim/cosim-cache.toml",
)


def apart() -> dict[str, str]:
    """Folders for the Rust tests alone.

    pytest's tests have cargo build the same libraries with other features, and cargo gives those the same file: it would
    be gone for half a minute while tests in C link it.
    """
    folders = {"CARGO_TARGET_DIR": str(Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "tests")}
    if kept := os.environ.get("CARGO_BUILD_BUILD_DIR"):
        folders["CARGO_BUILD_BUILD_DIR"] = str(Path(kept) / "tests")
    return folders


RUST = [
    *(
        Group(f"card {Path(config).stem}", [str(BIN / "godwit"), "card", "build", "--config", config])
        for config in CARDS
    ),
    Group(
        "rust",
        ["cargo", "test", "--workspace", "--release", "--locked", "--no-fail-fast"],
        count_cargo,
        environment=apart(),
    ),
]
PYTEST = [
    Group(
        "pytest",
        [str(BIN / "python"), "-m", "pytest", "-n", "2", "--dist", "loadscope", f"--junit-xml={REPORT}"],
        count_junit(REPORT),
    ),
]

if __name__ == "__main__":
    REPORT.unlink(missing_ok=True)
    sys.exit(run_all(RUST, PYTEST))
