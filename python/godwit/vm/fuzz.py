# SPDX-License-Identifier: Apache-2.0
"""Calls of the driver that a malicious program makes, in a guest, as many as are wanted.

`driver/test/guest/fuzz.c` makes them, from a seed: the same program that the driver's tests run for a few thousand.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from godwit import toolchain
from godwit.errors import CheckError
from godwit.vm import guests, machine
from godwit.vm.kernel import Kernel

PROGRAM = "driver/test/guest/fuzz.c"
_BOOT_S = 600
_SLOWEST_CALLS_S = 20
"""Calls a second on the slowest machine that is waited for."""


@dataclass(frozen=True)
class Fuzzed:
    """What became of the calls."""

    calls: int
    seed: int
    """With which they come again."""
    problems: list[str]
    """What the program and the kernel complain of."""
    code: int
    served: dict[str, int]
    release: str
    seconds: float
    """With the guest's start and end."""


def script(calls: int, seed: int | None) -> str:
    """What the guest does."""
    words = f"/fuzz {calls}" + ("" if seed is None else f" {seed}")
    return f"{guests.LOAD} cmt_mib=4 || exit 1\ncode=0\n{words} || code=1\n{guests.UNLOAD}"


def run(
    booted: Kernel, calls: int, seed: int | None = None, *, say: Callable[[str], None] = lambda _: None
) -> Fuzzed:
    """Makes so many calls, from a seed of its own if none is given."""
    program = toolchain.root() / PROGRAM
    guest, card = guests.with_driver(booted, script(calls, seed), [program])
    ended = machine.run(booted, guest, card, say=say, timeout_s=_BOOT_S + calls / _SLOWEST_CALLS_S)
    made, took = parse(ended.lines)
    problems = complaints(ended.lines)
    return Fuzzed(made, took, problems, ended.code, ended.served, booted.release, ended.seconds)


def parse(lines: list[str]) -> tuple[int, int]:
    """How many calls were made, and from which seed. Raises CheckError when the program did not say."""
    for line in lines:
        if said := re.fullmatch(r"(\d+) calls with seed (\d+)", line):
            return int(said[1]), int(said[2])
    raise CheckError("the guest's program has not said what it does:\n" + "\n".join(lines[-5:]))


def complaints(lines: list[str]) -> list[str]:
    """Lines that say what went wrong."""
    return [line for line in lines if line.startswith("not ok ") or re.search(guests.COMPLAINTS, line)]
