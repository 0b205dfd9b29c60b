# SPDX-License-Identifier: Apache-2.0
"""``godwit run split --outputs malloc``: the rows of a column in memory that the kernel `split_malloc` takes from the heap by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from godwit.report import Figure
from godwit.run import on_heap
from godwit.run.workload import Measurement, measure

if TYPE_CHECKING:
    from godwit.api import Card
    from godwit.heap import HeapMemory
    from godwit.memory import Context

KERNEL = "split_malloc"
COMPARED = ("values", "validity", "rows", "offset", "dtype", "op", "constant")
"""Arguments that it has in common with `split_rows`: all that the host gives it."""


@dataclass(frozen=True)
class Allocated:
    """A launch whose outputs the kernel allocated."""

    run: Measurement
    outputs: dict[str, HeapMemory]
    """By name, each of exactly the output's bytes; an output without bytes is not among them."""
    taken_bytes: int
    peak_bytes: int
    """The same with their page tables."""

    def figures(self, mapped: Measurement) -> list[Figure]:
        """What it cost, beside the launch with mapped outputs."""
        cycles, counted = self.run.result.cycles, self.run.counters["heap"]
        return [
            Figure("malloc_cycles", "cycles, outputs allocated by the kernel", "cycles", "simulated", cycles),
            Figure(
                "malloc_ratio",
                "... of those with mapped outputs",
                "ratio",
                "simulated",
                cycles / mapped.result.cycles,
            ),
            Figure("malloc_commands", "... its commands", "commands", "simulated", counted["commands"]),
            Figure(
                "malloc_grown",
                "... of them growths",
                "commands",
                "simulated",
                self.run.result.results["grown"],
            ),
            Figure("malloc_taken", "... bytes taken", "bytes", "simulated", self.taken_bytes),
            Figure("malloc_peak", "... and their tables, peak", "bytes", "simulated", self.peak_bytes),
        ]


def lengths(rows: int, matches: int, width: int, *, nullable: bool) -> dict[str, int]:
    """Bytes of each output: `rows` rows of `width` bytes, of which `matches` match."""
    rest = rows - matches
    return {
        "matches": matches * width,
        "rest": rest * width,
        "rest_validity": (rest + 7) // 8 if nullable else 0,
    }


def run(card: Card, context: Context, args: dict[str, Any], width: int) -> Allocated:
    """Launches the kernel with the arguments of `split_rows` that are no outputs, and takes over what it allocated.

    width: bytes of a row. Raises CheckError, with the heap's reason when it refused the kernel memory.
    """
    tables = card.heap().region["tables"]
    given = {name: args[name] for name in COMPARED}
    done = measure(card, context, KERNEL, given | {"granule": _order(on_heap.GRANULE)}, "translate")
    results = done.result.results
    nullable = args["validity"] is not None
    sizes = lengths(args["rows"], results["match_count"], width, nullable=nullable)
    outputs = {name: context.adopt(results[name], nbytes) for name, nbytes in sizes.items() if nbytes}
    heap = card.heap()
    own = {memory.address for memory in outputs.values()}
    taken = sum(each.taken_bytes for each in heap.allocations if each.address in own)
    return Allocated(done, outputs, taken, taken + heap.region["tables"] - tables)


def _order(granule_bytes: int) -> int:
    """log2 of its pages of 4 KiB."""
    return (granule_bytes >> 12).bit_length() - 1
