# SPDX-License-Identifier: Apache-2.0
"""Runs rows of named groups of checks, the rows side by side, and sums up what passed and failed."""

from __future__ import annotations

import codecs
import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
# A group that says nothing for so long hangs: more than the longest test takes on a slow machine.
SILENCE_S = 20 * 60
# Of what a failure says, so much of its first line; of a guest's end what it said last, up to the line in which Linux gave up.
WIDTH = 300
LAST_LINES = 12
GRAVE = "BUG:|Oops|Kernel panic"


@dataclass(frozen=True)
class Count:
    """How many checks of a group passed and failed, and which failed: a line each, and more where the reason has more."""

    passed: int
    failed: int
    failures: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class Group:
    """A command and how to count its checks; without a counter the command itself is the one check."""

    name: str
    command: list[str]
    count: Callable[[str], Count] | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


def count_cargo(output: str) -> Count:
    """Sums libtest's closing lines."""
    found = re.findall(r"test result: \w+\. (\d+) passed; (\d+) failed", output)
    failures = re.findall(r"^test (\S+) .*\.\.\. FAILED$", output, re.MULTILINE)
    return Count(sum(int(p) for p, _ in found), sum(int(f) for _, f in found), tuple(failures))


def count_junit(report: Path) -> Callable[[str], Count]:
    """Counter that reads a JUnit report written by pytest."""

    def count(_output: str) -> Count:
        if not report.exists():
            return Count(0, 1)
        root = ElementTree.parse(report).getroot()
        total = bad = skipped = 0
        for suite in root.iter("testsuite"):
            total += int(suite.get("tests", 0))
            bad += int(suite.get("failures", 0)) + int(suite.get("errors", 0))
            skipped += int(suite.get("skipped", 0))
        return Count(total - bad - skipped, bad, tuple(_failures(root)))

    return count


def _failures(root: ElementTree.Element) -> Iterator[str]:
    said = set()
    for case in root.iter("testcase"):
        for found in (*case.iter("failure"), *case.iter("error")):
            first, *rest = found.get("message", "").splitlines() or [""]
            grave = next((at for at, line in enumerate(rest) if re.search(GRAVE, line)), None)
            rest = rest[: grave + 1] if grave is not None else rest if first.endswith(":") else []
            last = tuple(line[:WIDTH] for line in rest[-LAST_LINES:])
            # Tests that share a guest fail of one reason.
            reason = "\n".join([first[:WIDTH], *(last if last not in said else ())])
            yield f"{case.get('classname')}::{case.get('name')}: {reason}"
            said.add(last)


class _Watchdog:
    """Kills a command, with what it started, after a silence of `seconds`."""

    def __init__(self, process: subprocess.Popen[bytes], seconds: float):
        self._process, self._seconds = process, seconds
        self._heard = time.monotonic()
        self._over = threading.Event()
        self.barked = False
        threading.Thread(target=self._watch, daemon=True).start()

    def heard(self) -> None:
        self._heard = time.monotonic()

    def stop(self) -> None:
        self._over.set()

    def _watch(self) -> None:
        while not self._over.wait(max(0.0, self._heard + self._seconds - time.monotonic())):
            if time.monotonic() - self._heard >= self._seconds:
                self.barked = True
                _signal(self._process, signal.SIGKILL)
                return


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    """To a group's command and what it started, as a terminal does."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def _lines(process: subprocess.Popen[bytes], watchdog: _Watchdog) -> Iterator[str]:
    """What a command says, line by line; a part of a line is a sign of life too, as pytest's dots are."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    rest = ""
    assert process.stdout is not None
    while chunk := os.read(process.stdout.fileno(), 1 << 16):
        watchdog.heard()
        *lines, rest = (rest + decoder.decode(chunk)).split("\n")
        yield from (line + "\n" for line in lines)
    if rest:
        yield rest + "\n"


def run(group: Group, *, alone: bool = True, silence_s: float = SILENCE_S) -> Count:
    """Runs one group, its output passed on as it comes; unless it runs alone, its lines begin with its name.

    One that says nothing for `silence_s` seconds is killed, and has failed.
    """
    begin = "" if alone else f"{group.name} | "
    print(f"\n==> {group.name}: {' '.join(group.command)}", flush=True)
    start = time.monotonic()
    env = dict(os.environ, VIRTUAL_ENV=str(VENV), PATH=f"{VENV / 'bin'}:{os.environ['PATH']}")
    env |= group.environment
    process = subprocess.Popen(
        group.command,
        cwd=ROOT,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    _running.add(process)
    watchdog = _Watchdog(process, silence_s)
    lines = []
    for line in _lines(process, watchdog):
        sys.stdout.write(begin + line)
        sys.stdout.flush()
        lines.append(line)
    ok = process.wait() == 0
    watchdog.stop()
    _running.discard(process)
    if watchdog.barked:
        print(f"{begin}killed: it said nothing for {silence_s / 60:.0f} minutes", flush=True)
    count = group.count("".join(lines)) if group.count else Count(int(ok), int(not ok))
    if not ok and count.failed == 0:
        count = Count(count.passed, 1)
    print(
        f"==> {group.name}: {count.passed} passed, {count.failed} failed, {time.monotonic() - start:.0f} s",
        flush=True,
    )
    return count


_running: set[subprocess.Popen[bytes]] = set()
_cancelled = threading.Event()


def _run_row(row: list[Group], alone: bool) -> list[tuple[Group, Count]]:
    return [(group, run(group, alone=alone)) for group in row if not _cancelled.is_set()]


def run_all(*rows: list[Group]) -> int:
    """Runs every group, even when one fails, and prints the sum as the last line; 1 when anything failed.

    Rows run side by side, the groups of a row one after the other. Ctrl-C ends what runs and begins nothing more: 130.
    """
    # A job in the background of a script ignores SIGINT, and so would every test of Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with ThreadPoolExecutor(len(rows)) as pool:
        done = pool.map(lambda row: _run_row(row, len(rows) == 1), rows)
        try:
            counts = [count for row in done for count in row]
        except KeyboardInterrupt:
            _cancelled.set()
            for process in list(_running):
                _signal(process, signal.SIGINT)
    if _cancelled.is_set():
        print("\ncancelled", flush=True)
        return 130
    print("\nsummary")
    for group, count in counts:
        print(f"  {group.name:<28} {count.passed:>5} passed {count.failed:>4} failed")
        for failure in count.failures:
            print("    failed: " + failure.replace("\n", "\n      "))
    passed = sum(count.passed for _, count in counts)
    failed = sum(count.failed for _, count in counts)
    print(f"{passed} passed, {failed} failed")
    return 0 if failed == 0 and passed > 0 else 1
