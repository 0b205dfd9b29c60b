# SPDX-License-Identifier: Apache-2.0
"""Compilers as child processes: their output line by line, their messages as an error, nothing left running."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator

from godwit import toolchain
from godwit.card.kernels import error_lines
from godwit.errors import InputError


class BuildError(InputError):
    """A card cannot be built; `found` has the compiler's messages."""


def run(command: list[str], failure: str) -> None:
    for _ in stream(command, failure):
        pass


def stream(command: list[str], failure: str, **variables: str) -> Iterator[str]:
    """Output lines of a command, run with some more environment variables. Its whole process group ends with this generator, whatever ends that."""
    process = subprocess.Popen(
        command,
        env={**toolchain.env(), **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    lines = []
    try:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            yield line
        process.wait()
    finally:
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if process.returncode != 0:
        text = "".join(lines)
        raise BuildError(failure, found=error_lines(text) if "%Error" in text else _compiler_errors(text))


def _compiler_errors(text: str) -> str:
    """The lines of a C++ compiler or linker that say what is wrong; all of the last lines when none do."""
    lines = text.splitlines()
    return "\n".join([line for line in lines if "error" in line.lower()][:20] or lines[-20:])
