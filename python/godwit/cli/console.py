# SPDX-License-Identifier: Apache-2.0
"""Where the command writes: tables to standard output, errors and progress to standard error."""

from __future__ import annotations

import os
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from godwit.report import Progress

_UNLIMITED = 10_000
DELAY_S = 1.0
"""Work that is done sooner shows no progress."""


def stdout() -> Console:
    """Console for results; honours NO_COLOR. Not a terminal: nothing is coloured, cut or wrapped."""
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else _UNLIMITED)


def stderr() -> Console:
    """Console for messages."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def print_error(error: BaseException, *, hint: str = "") -> None:
    """One message: what was asked, what was found, what to do. GODWIT_DEBUG=1 adds the traceback."""
    if os.environ.get("GODWIT_DEBUG", "") not in ("", "0"):
        traceback.print_exception(error, file=sys.stderr)
    console = stderr()
    lines = [
        ("error", "bold red", str(error) or type(error).__name__),
        ("found", "bold", getattr(error, "found", "")),
        ("try", "bold", getattr(error, "hint", "") or hint),
    ]
    for label, style, text in lines:
        if text:
            console.print(f"{label}:", style=style, end=" ")
            console.print(text, markup=False, soft_wrap=True)


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """A progress callback that shows a bar on a terminal, one line a step elsewhere, and nothing for quick
    work.
    """
    from godwit.report import showing

    display = _Bar() if sys.stderr.isatty() else _Line()
    try:
        with showing(display.update):
            yield display.update
    finally:
        display.stop()


class _Line:
    """Not a terminal: one line for every step that is reached after the first second, none for quick work."""

    def __init__(self) -> None:
        self._what = self._said = ""
        self._lock = threading.Lock()
        self._late = False
        self._timer = threading.Timer(DELAY_S, self._begin)
        self._timer.daemon = True
        self._timer.start()

    def _begin(self) -> None:
        with self._lock:
            self._late = True
            self._say()

    def _say(self) -> None:
        if self._what != self._said:
            self._said = self._what
            print(f"{self._what} ...", file=sys.stderr, flush=True)

    def update(self, what: str, done: int, total: int) -> None:
        with self._lock:
            self._what = what
            if self._late:
                self._say()

    def stop(self) -> None:
        self._timer.cancel()


class _Bar:
    """A terminal: a bar that appears when the work has taken a second, and goes when it is done."""

    def __init__(self) -> None:
        from rich.progress import (
            BarColumn,
            Progress,
            SpinnerColumn,
            TaskProgressColumn,
            TextColumn,
            TimeElapsedColumn,
        )

        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            console=stderr(),
            transient=True,
        )
        self._task = self._progress.add_task("", total=None)
        self._timer = threading.Timer(DELAY_S, self._progress.start)
        self._timer.daemon = True
        self._timer.start()

    def update(self, what: str, done: int, total: int) -> None:
        self._progress.update(self._task, description=what, completed=done, total=total or None)

    def stop(self) -> None:
        self._timer.cancel()
        self._timer.join()
        self._progress.stop()
