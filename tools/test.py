# SPDX-License-Identifier: Apache-2.0
"""Runs every test: the cards the tests need, the Rust workspace, then everything that pytest starts."""

from __future__ import annotations

import sys

from run_groups import ROOT, VENV, Group, count_cargo, count_junit, run_all

BIN = VENV / "bin"
REPORT = ROOT / "build/pytest.xml"

GROUPS = [
    Group("card tiny", [str(BIN / "godwit"), "card", "build", "--config", "tiny"]),
    Group("card cosim", [str(BIN / "godwit"), "card", "build", "--config", "hw/test/cosim/cosim.toml"]),
    Group("rust", ["cargo", "test", "--workspace", "--release", "--locked"], count_cargo),
    Group(
        "pytest",
        [str(BIN / "python"), "-m", "pytest", "-n", "2", "--dist", "loadgroup", f"--junit-xml={REPORT}"],
        count_junit(REPORT),
    ),
]

if __name__ == "__main__":
    REPORT.unlink(missing_ok=True)
    sys.exit(run_all(GROUPS))
