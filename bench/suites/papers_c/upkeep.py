# SPDX-License-Identifier: Apache-2.0
"""Memory overhead, and stress."""

from __future__ import annotations

import re
import shutil
import subprocess

from bench.suites.papers_c.native import OURS, PEERS, Tools
from godwit import toolchain
from godwit.report import Progress, Row

MIXES = {
    "small blocks, 16 to 1024 bytes": (16, 1024, 128 << 20),
    "medium blocks, 1 to 64 KiB": (1 << 10, 64 << 10, 256 << 20),
    "large blocks, 64 KiB to 4 MiB": (64 << 10, 4 << 20, 512 << 20),
}
STRESS_SECONDS = 60


def rows(tools: Tools, progress: Progress, quick: bool) -> list[Row]:
    """Overhead beside the peers; stress has no peer."""
    progress("overhead", 0, 0)
    found = _overhead(tools, quick)
    progress("stress", 0, 0)
    return found + _stress(tools, 1 if quick else STRESS_SECONDS, quick)


def _overhead(tools: Tools, quick: bool) -> list[Row]:
    found = []
    size = "size=256MiB" if quick else "size=1GiB"
    for mix, (smallest, largest, full) in MIXES.items():
        total = full // 8 if quick else full
        shares = {}
        for name in (OURS, *(peer for peer in PEERS if peer in tools.libraries)):
            result = tools.run(name, "overhead", smallest, largest, total, config=size)
            shares[name] = result["used"] / result["asked"]
        tools.raw.setdefault("overhead", {})[mix] = shares
        others = ", ".join(f"{name} {share:.3f}" for name, share in shares.items() if name != OURS)
        found.append(
            Row(
                "papers",
                f"memory in use over asked for: {mix}",
                size,
                shares[OURS],
                "x",
                theirs=others,
                kind="native",
            )
        )
    metadata = tools.study("metadata")["bytes"]
    found.append(
        Row(
            "papers",
            "bitmaps of the range allocator, a GiB in 4 KiB granules",
            "1 GiB",
            metadata,
            "bytes",
            kind="native",
        )
    )
    return found


def _stress(tools: Tools, seconds: int, quick: bool) -> list[Row]:
    """The range allocator's threads under ThreadSanitizer, the pool's natively, side by side; then under valgrind."""
    core = toolchain.root() / "core"
    out = tools.directory / "core"
    out.mkdir(exist_ok=True)
    commands = {
        "range allocator, 8 threads, ThreadSanitizer": [
            "make", "-s", "-C", str(core), f"OUT={out}", "threads", f"GODWIT_THREAD_SECONDS={seconds}", "GODWIT_SEED=1",
        ],
        "pool, 8 threads, contents checked": [str(tools.directory / "stress"), str(seconds), "1"],
    }  # fmt: skip
    started = {
        name: subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for name, command in commands.items()
    }
    found = [_verdict(name, seconds, process) for name, process in started.items()]
    if not quick and shutil.which("valgrind"):
        command = ["valgrind", "--error-exitcode=1", "-q", str(tools.directory / "stress"), "10", "1"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        found.append(_verdict("pool, 8 threads, contents checked, valgrind", 10, process))
    return found


def _verdict(name: str, seconds: int, process: subprocess.Popen[str]) -> Row:
    output, _ = process.communicate()
    calls = re.search(r"(\d+) calls", output)
    value = int(calls[1]) if calls and process.returncode == 0 else None
    return Row(
        "papers",
        f"stress: {name}, calls without an error",
        f"{seconds} s",
        value,
        "calls",
        goal="> 0",
        kind="native",
    )
