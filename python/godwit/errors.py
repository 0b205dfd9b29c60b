# SPDX-License-Identifier: Apache-2.0
"""The exceptions of Godwit, one family with those the native module raises.

Every message says what was asked; `found` says what was there instead and `hint` what to do about it. The
command line prints the three as ``error:``, ``found:`` and ``try:``; a traceback shows all of them too.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from godwit.launches import LaunchResult

    class GodwitError(Exception):
        """Base of every error Godwit raises on purpose."""

    # begin: generated typed by `python -m godwit.spec pages`
    class DeviceError(GodwitError):
        """A card cannot be opened, or failed while it was used."""

    class OutOfMemory(GodwitError):
        """Device memory, or host memory for the card, does not suffice."""

    class FaultError(GodwitError):
        """Translation refused an access of a kernel: the message has the fault record."""

        address: int
        write: bool
        cause: int
        port: int
        kernel: str | None

    class HangError(GodwitError):
        """No progress, or not done in time: the message says where."""

    class ArgumentError(GodwitError):
        """Wrong arguments, or what was asked for is closed or in use."""

    class StatusError(GodwitError):
        """A kernel ended and says that it failed."""

        kernel: str
        status: int
        result: LaunchResult

    # end: generated

else:
    try:
        # begin: generated import by `python -m godwit.spec pages`
        from godwit._native import (
            ArgumentError,
            DeviceError,
            FaultError,
            GodwitError,
            HangError,
            OutOfMemory,
            StatusError,
        )
        # end: generated
    except ImportError:  # the native module is not built: help, doctor and card builds work without it

        class GodwitError(Exception):
            """Base of every error Godwit raises on purpose."""

        # begin: generated fallback by `python -m godwit.spec pages`
        class DeviceError(GodwitError):
            """A card cannot be opened, or failed while it was used."""

        class OutOfMemory(GodwitError):
            """Device memory, or host memory for the card, does not suffice."""

        class FaultError(GodwitError):
            """Translation refused an access of a kernel: the message has the fault record."""

        class HangError(GodwitError):
            """No progress, or not done in time: the message says where."""

        class ArgumentError(GodwitError):
            """Wrong arguments, or what was asked for is closed or in use."""

        class StatusError(GodwitError):
            """A kernel ended and says that it failed."""

        # end: generated


class InputError(GodwitError):
    """The input cannot be used as asked: a file, a column, a predicate, a size, an option."""

    def __init__(self, message: str, *, found: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.found = found
        self.hint = hint
        # An uncaught one prints its notes below its message; the command line prints the parts itself.
        for label, text in (("found", found), ("try", hint)):
            if text:
                self.add_note(f"{label}: {text}")


class TooLarge(InputError, OutOfMemory):
    """The data does not fit into device memory."""


class CheckError(InputError):
    """A kernel's result differs from the reference computed on the host."""


class SetupError(InputError):
    """Something Godwit needs is not there: a tool, the native module, a card, the source tree."""


def nearest(name: str, choices: Iterable[str]) -> str:
    """``did you mean 'x'?`` when a choice is close to `name`, else the choices themselves."""
    options = list(choices)
    close = difflib.get_close_matches(name, options, n=1, cutoff=0.5)
    if close:
        return f"did you mean '{close[0]}'?"
    return "one of " + ", ".join(options) if options else ""
