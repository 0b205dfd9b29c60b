# SPDX-License-Identifier: Apache-2.0
"""The demonstration: an ordinary program of the runtime in a guest, and what its memory did meanwhile.

`examples/c/plain_pointers.c` is the program, the same that runs on a card of its own process.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from godwit import toolchain
from godwit.errors import CheckError, InputError
from godwit.vm import guests, machine
from godwit.vm.kernel import Kernel

if TYPE_CHECKING:
    import numpy as np

PROGRAM = "examples/c/plain_pointers.c"
DEVICE = "/dev/godwit0"
_COLUMN = "/column"
_DEBUG = "/sys/kernel/debug/godwit/godwit0"
_MARK = "godwit-counters"
"""The line before what the driver counted."""


@dataclass(frozen=True)
class Shown:
    """What the demonstration said and did."""

    lines: list[str]
    """The program's own."""
    code: int
    counters: dict[str, int]
    """The driver's, from when it was loaded to the program's end, and what of its memory is in use then (docs/driver.md)."""
    served: dict[str, int]
    release: str

    def moved(self) -> str:
        """What became of the program's pages."""
        count = self.counters
        return (
            f"pages: {count['page_requests']:,} asked for by the card in {count['batches']:,} batches, "
            f"{count['pages_shown']:,} shown to it, {count['pages_out']:,} of them moved to device memory, "
            f"{count['pages_home']:,} moved home ({count['touches']:,} touches), {count['pages_hidden']:,} taken from it"
        )


def column(path: Path, name: str) -> np.ndarray:
    """A column of a Parquet file as doubles, NaN where there is no value."""
    from godwit.run.column import read_column

    found = read_column(path, name, types=("double",))
    if len(found) == 0:
        raise InputError(f"column '{name}' of '{path}' has no rows")
    return found.to_numpy(zero_copy_only=False)


def run(
    booted: Kernel,
    values: np.ndarray,
    *,
    say: Callable[[str], None] = lambda _: None,
    timeout_s: float = 600,
) -> Shown:
    """Splits the doubles `values` and sums those that match, in a guest; `say` gets the program's lines as they come."""
    program = toolchain.root() / PROGRAM
    script = (
        f"insmod /godwit.ko || exit 1\n/{program.stem} {DEVICE} {_COLUMN}; code=$?\n"
        f"echo {_MARK}\ncat {_DEBUG}/counters {_DEBUG}/pages\n(exit $code)"
    )
    data = {_COLUMN: values.astype("<f8", copy=False).tobytes()}
    guest, card = guests.with_driver(booted, script, [program], data=data)
    said: list[str] = []

    def heard(line: str) -> None:
        if said or _is_programs(line):
            said.append(line)
            if _MARK not in said:
                say(line)

    ended = machine.run(booted, guest, card, say=heard, timeout_s=timeout_s)
    lines, counters = split_lines(said)
    return Shown(lines, ended.code, counters, ended.served, booted.release)


def _is_programs(line: str) -> bool:
    return line.startswith(("split: ", "plain_pointers: ", _MARK))


def split_lines(said: list[str]) -> tuple[list[str], dict[str, int]]:
    """The program's lines, and the driver's counters after them. Raises CheckError without the latter."""
    if _MARK not in said:
        raise CheckError("the guest has not said what its driver counted:\n" + "\n".join(said[-5:]))
    at = said.index(_MARK)
    pairs = [line.split(" ") for line in said[at + 1 :] if not line.startswith((machine.END, "["))]
    return said[:at], {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2}
