# SPDX-License-Identifier: Apache-2.0
"""Contiguous memory as a kernel's argument: an entry of the range TLB beside 4 KiB pages, random reads, on simulated RTL.

A process has one pool, so that the run is one of its own: `godwit run tlb-stress --memory cmt`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from godwit.errors import DeviceError
from godwit.report import Progress, Row
from godwit.units import bytes_text

CONFIG = "default"
SIZE, QUICK_SIZE = 64 << 20, 8 << 20
ACCESSES, QUICK_ACCESSES = 20_000, 600


def rows(progress: Progress, quick: bool) -> list[Row]:
    """What a read and its translation cost with pages apart in physical memory, and with one block."""
    size, accesses = (QUICK_SIZE, QUICK_ACCESSES) if quick else (SIZE, ACCESSES)
    progress("launch on contiguous memory", 0, 0)
    pages, block = _measure(size, accesses)
    what = f"launch: {accesses:,} random reads in {bytes_text(size)}"
    return [
        _row(f"{what}, cycles a read", pages, block, "cycles", "cycles_per_access", _at_most(pages)),
        _row(
            f"{what}, latency, mean", pages, block, "cycles", "latency_mean", _at_most(pages, "latency_mean")
        ),
        _row(f"{what}, page-table walks", pages, block, "walks", "walks", "== 0"),
        _row(f"{what}, page-table reads", pages, block, "reads", "page_table_reads", "== 0"),
    ]


def _at_most(pages: dict[str, Any], name: str = "cycles_per_access") -> str:
    return f"<= {pages[name]}"


def _row(label: str, pages: dict[str, Any], block: dict[str, Any], unit: str, name: str, goal: str) -> Row:
    theirs = f"4 KiB pages {pages[name]:,.4g}"
    return Row("papers", label, CONFIG, block[name], unit, theirs=theirs, goal=goal, kind="simulated")


def _measure(size: int, accesses: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The points of pages and of the block."""
    words = f"run tlb-stress --memory cmt --frames scattered --pattern random --page-size 4K --config {CONFIG} --json"
    command = [sys.executable, "-m", "godwit", *words.split()]
    command += ["--footprints", str(size), "--accesses", str(accesses)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise DeviceError(f"`{' '.join(command[1:])}` failed: {done.stderr.strip()}")
    pages, block = json.loads(done.stdout)["points"]
    return pages, block
