# SPDX-License-Identifier: Apache-2.0
"""Gives every process that is measured the same memory to begin with.

A virtual machine tells the one below what has been free for some seconds, which takes it away. Bringing it back takes far longer
than what a process is measured for, is charged to whoever touches it first, and depends on what ran before: 200 MiB
of huge pages took 18 ms at once and 420 ms five seconds later. So as much memory as any of them uses is touched, and given
back, before each process of each allocator.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

__all__ = ["build", "settle"]

MIB = 640
"""More than any program of the suites has at a time."""


def build(target: Path) -> Path:
    """The program, built in the directory `target`."""
    program = target / "settle"
    source = Path(__file__).with_suffix(".c")
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        subprocess.run(["cc", "-O1", "-Wall", "-Wextra", str(source), "-o", str(program)], check=True)
    return program


def settle(program: Path) -> None:
    """Not to have so much memory is no failure: then there is nothing to even out."""
    subprocess.run([str(program), str(MIB)], capture_output=True, check=False)
