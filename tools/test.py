# SPDX-License-Identifier: Apache-2.0
"""Runs every test: the cards that Rust tests need and the Rust workspace, beside everything that pytest starts."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from run_groups import ROOT, VENV, Count, Group, count_cargo, count_junit, name_of, run_all

BIN = VENV / "bin"
REPORT = ROOT / "build/pytest.xml"
AGAIN = ROOT / "build/pytest-again.xml"
# More failures than those of a guest or two are no accident.
FEW = 20

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


CARGO = ["cargo", "test", "--workspace", "--release", "--locked", "--no-fail-fast"]
PYTEST = [str(BIN / "python"), "-m", "pytest"]


def rust_again(count: Count) -> Group | None:
    """The Rust tests that failed, by their names."""
    names = [name_of(failure) for failure in count.failures]
    if len(names) != count.failed or count.failed > FEW:
        return None
    return Group("rust again", [*CARGO, "--", "--exact", *names], count_cargo, environment=apart())


def pytest_again(count: Count) -> Group | None:
    """The tests of pytest that failed, one after the other."""
    if len(count.failures) != count.failed or count.failed > FEW:
        return None
    AGAIN.unlink(missing_ok=True)
    command = [
        *PYTEST,
        "-p",
        "no:xdist",
        "--last-failed",
        "--last-failed-no-failures=none",
        f"--junit-xml={AGAIN}",
    ]
    return Group("pytest again", command, count_junit(AGAIN))


RUST_ROW = [
    *(
        Group(f"card {Path(config).stem}", [str(BIN / "godwit"), "card", "build", "--config", config])
        for config in CARDS
    ),
    Group("rust", CARGO, count_cargo, environment=apart(), again=rust_again),
]
PYTEST_ROW = [
    Group(
        "pytest",
        [*PYTEST, "-n", "2", "--dist", "loadscope", f"--junit-xml={REPORT}"],
        count_junit(REPORT),
        again=pytest_again,
    ),
]

if __name__ == "__main__":
    REPORT.unlink(missing_ok=True)
    sys.exit(run_all(RUST_ROW, PYTEST_ROW))
