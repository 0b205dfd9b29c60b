# SPDX-License-Identifier: Apache-2.0
"""Compilers as child processes: their messages as an error, and nothing left running, whatever ends the builder."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path
from typing import Self

from godwit import toolchain
from godwit.errors import InputError
from godwit.group import Group


class BuildError(InputError):
    """A card cannot be built; `found` has the compiler's messages."""


class Compilers:
    """Runs commands in a process group of their own, which ends with this object, and with this process."""

    def __init__(self) -> None:
        self._group = Group()
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends whatever still runs."""
        self._closed = True
        self._group.close()

    def run(self, command: list[str], failure: str, *, cwd: Path | None = None, **variables: str) -> str:
        """What a command prints, run with some more environment variables. BuildError(`failure`) when it fails."""
        if self._closed:
            raise BuildError(failure, found="the build was ended")
        process = subprocess.Popen(
            command,
            env={**toolchain.env(), **variables},
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            process_group=self._group.pid,
        )
        try:
            text, _ = process.communicate()
        except BaseException:
            self.close()
            process.wait()
            raise
        if process.returncode != 0:
            raise _failed(failure, text, process.returncode)
        return text


def _failed(failure: str, text: str, code: int) -> BuildError:
    found = error_lines(text) if "%Error" in text else _compiler_errors(text)
    hint = ""
    if "No space left on device" in text:
        hint = f"a build needs about 100 MiB in {toolchain.cache_dir()} (GODWIT_CACHE names another folder) and some in /tmp"
    elif code == -signal.SIGKILL or "Killed signal" in text:
        found = f"{found}\nit was killed; the system does that when memory runs out".lstrip()
        hint = "build with one job: -j 1"
    return BuildError(failure, found=found, hint=hint)


def error_lines(text: str) -> str:
    """Verilator's errors without its advice and banners."""
    lines = []
    for line in text.splitlines():
        if line.startswith("%Error") and "Exiting due to" not in line and "See the manual" not in line:
            lines.append(line.removeprefix("%Error: ").removeprefix("%"))
        elif lines and not line.startswith(("%", "-", "make")) and "..." not in line:
            lines.append(line)
    return "\n".join(lines) or text.strip()


def _compiler_errors(text: str) -> str:
    """The lines of a C++ compiler or linker that say what is wrong; all of the last lines when none do."""
    lines = text.splitlines()
    return "\n".join([line for line in lines if "error" in line.lower()][:20] or lines[-20:])
