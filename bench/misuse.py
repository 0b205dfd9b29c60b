# SPDX-License-Identifier: Apache-2.0
"""What allocators say when a program calls them wrongly (``suites/allocators_native/misuse.c``), each as it comes."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

__all__ = ["CASES", "outcome"]

CASES = (
    "freed twice in a row",
    "freed twice, another in between",
    "freed twice, 40 others in between",
    "freed here, then by another thread",
    "freed by two other threads",
    "1 MiB freed twice",
    "inside a block, aligned",
    "inside a block, not aligned",
    "realloc inside a block",
    "a variable's address",
    "mapped memory",
    "written past the end, then freed",
    "written after it was freed",
)
"""The wrong calls, in the program's order."""


def outcome(program: Path, case: int, library: str, pool: str) -> str:
    """``seen``: the allocator said so, or ended the program; ``two owners``: the same memory was given out twice;
    ``crash``; ``harmless``: unseen, and nothing came of it in this program."""
    environment = dict(os.environ, LD_PRELOAD=library, GODWIT_CMT=pool)
    command = [str(program), str(case)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    said = done.stdout.strip()
    if done.returncode == -signal.SIGABRT or (done.stderr and said == "harmless"):
        return "seen"
    return said if done.returncode == 0 else "crash"
