# SPDX-License-Identifier: Apache-2.0
"""Linters of every language, each one check."""

from __future__ import annotations

import sys

from run_groups import VENV, Group, run_all

BIN = VENV / "bin"
PYTHON_DIRS = [
    "python",
    "hw",
    "kernels",
    "card",
    "core",
    "driver",
    "bench",
    "tools",
    "examples",
    "conftest.py",
]

QUICK = [
    Group("ruff", [str(BIN / "ruff"), "check", *PYTHON_DIRS]),
    Group("ruff format", [str(BIN / "ruff"), "format", "--check", *PYTHON_DIRS]),
    Group("mypy", [str(BIN / "mypy")]),
    Group("rustfmt", ["cargo", "fmt", "--all", "--check"]),
    Group("test names", [str(BIN / "python"), "tools/same_names.py"]),
    Group("verilator and verible", [str(BIN / "python"), "hw/lint.py"]),
]
CLIPPY = [
    Group("clippy", ["cargo", "clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"]),
]

if __name__ == "__main__":
    sys.exit(run_all(QUICK, CLIPPY))
