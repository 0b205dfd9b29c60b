# SPDX-License-Identifier: Apache-2.0
"""The demonstration: an ordinary program of the runtime in a guest, and what its memory did meanwhile.

`examples/c/plain_pointers.c` is the program, the same that runs on a card of its own process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from godwit import toolchain
from godwit.counters import nested
from godwit.errors import CheckError, InputError
from godwit.report import Figure
from godwit.run import figures
from godwit.vm import guests, machine
from godwit.vm.kernel import Kernel

if TYPE_CHECKING:
    import numpy as np

PROGRAM = "examples/c/plain_pointers.c"
_COUNTERS = "driver/demo/counters.c"
DEVICE = "/dev/godwit0"
_COLUMN = "/column"
_DEBUG = "/sys/kernel/debug/godwit/godwit0"
_MARK = "godwit-counters"
"""The line before what was counted."""
_OF_CARD = "card."
"""What the card's own counters begin with, among the driver's."""


_PAGES = (
    ("page_requests", "pages that kernels asked for", "requests"),
    ("batches", "batches of requests", "batches"),
    ("pages_shown", "pages shown to the card", "pages"),
    ("pages_out", "... moved to device memory", "pages"),
    ("pages_home", "pages that came home", "pages"),
    ("touches", "pages that the program touched", "touches"),
    ("pages_hidden", "pages taken from the card", "pages"),
)
"""What became of the program's pages, as the driver counts."""


@dataclass(frozen=True)
class Shown:
    """What the demonstration said and did."""

    lines: list[str]
    """The program's own."""
    code: int
    counters: dict[str, int]
    """The driver's, from when it was loaded to the program's end, and what of its memory is in use then (docs/driver.md)."""
    card: dict[str, Any]
    """The card's, from its power-up on, as `Card.counters` has them."""
    served: dict[str, int]
    release: str

    def figures(self, config: Mapping[str, Any]) -> list[Figure]:
        """The report: what a run in a process of its own says of translations, and where pages went. All of it is counted, and depends on
        when the guest's processors do what.
        """
        of = (*figures.LOOKUPS, *figures.WALKS, figures.table_reads(config))
        counted = [
            Figure(
                what.name,
                what.label,
                what.unit,
                "native",
                what.of(self.card),
                at_least=what.is_full(self.card),
            )
            for what in of
        ]
        pages = [Figure(name, label, unit, "native", self.counters[name]) for name, label, unit in _PAGES]
        launches = Figure("launches", "launches", "launches", "native", self.counters["launches"])
        cycles = Figure(
            "card_cycles", "cycles of the card, all of them", "cycles", "native", self.served["cycles"]
        )
        return [launches, cycles, *counted, *pages]


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
    program, counter = toolchain.root() / PROGRAM, toolchain.root() / _COUNTERS
    script = (
        f"insmod /godwit.ko || exit 1\n/{program.stem} {DEVICE} {_COLUMN}; code=$?\n"
        f"echo {_MARK}\ncat {_DEBUG}/counters {_DEBUG}/pages\n"
        f"/{counter.stem} {DEVICE} | sed 's/^/{_OF_CARD}/'\n(exit $code)"
    )
    data = {_COLUMN: values.astype("<f8", copy=False).tobytes()}
    guest, card = guests.with_driver(booted, script, [program, counter], data=data)
    said: list[str] = []

    def heard(line: str) -> None:
        if said or _is_programs(line):
            said.append(line)
            if _MARK not in said:
                say(line)

    ended = machine.run(booted, guest, card, say=heard, timeout_s=timeout_s)
    lines, counts = split_lines(said)
    of_card = {name: value for name, value in counts.items() if name.startswith(_OF_CARD)}
    of_driver = {name: value for name, value in counts.items() if name not in of_card}
    return Shown(
        lines,
        ended.code,
        of_driver,
        nested({name.removeprefix(_OF_CARD): value for name, value in of_card.items()}),
        ended.served,
        booted.release,
    )


def _is_programs(line: str) -> bool:
    return line.startswith(("split: ", "plain_pointers: ", _MARK))


def split_lines(said: list[str]) -> tuple[list[str], dict[str, int]]:
    """The program's lines, and the driver's and the card's counters after them. Raises CheckError without the latter."""
    if _MARK not in said:
        raise CheckError("the guest has not said what its driver counted:\n" + "\n".join(said[-5:]))
    at = said.index(_MARK)
    pairs = [line.split(" ") for line in said[at + 1 :] if not line.startswith((machine.END, "["))]
    return said[:at], {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2}
