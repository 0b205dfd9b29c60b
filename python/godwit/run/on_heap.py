# SPDX-License-Identifier: Apache-2.0
"""Outputs that nobody sized: buffers of the heap in hardware, which get their memory where the kernel writes, or which it takes by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from godwit.errors import InputError
from godwit.report import Figure
from godwit.run.workload import Measurement, Setup, measure

if TYPE_CHECKING:
    import pyarrow as pa

    from godwit.api import Card
    from godwit.heap import HeapMemory
    from godwit.memory import Context

OUTPUTS = ("heap", "mapped", "malloc")
"""Outputs that nobody sized, that are sized and mapped, and, besides those on the heap, that the kernel allocates by itself."""
MOST_BYTES = 8 << 30
"""What an output may become: a slot. It costs nothing."""
GRANULE = 64 << 10


@dataclass(frozen=True)
class OnHeap:
    """A launch with its outputs on the heap."""

    run: Measurement
    outputs: dict[str, HeapMemory]
    taken_bytes: int
    """Frames of the outputs."""
    peak_bytes: int
    """The same with their page tables."""
    mapped: Measurement
    mapped_bytes: int
    """What the outputs were given in the launch with mapped ones."""

    def trim(self, lengths: dict[str, int]) -> None:
        """Gives each output exactly its bytes."""
        for name, nbytes in lengths.items():
            self.outputs[name].realloc(max(1, nbytes))

    def figures(self, lengths: dict[str, int]) -> list[Figure]:
        """What it cost, beside the launch with mapped outputs."""
        cycles, mapped = self.run.result.cycles, self.mapped.result.cycles
        heap = self.run.counters["heap"]
        return [
            Figure("heap_cycles", "cycles with outputs on the heap", "cycles", "simulated", cycles),
            Figure("heap_ratio", "... of those with mapped outputs", "ratio", "simulated", cycles / mapped),
            Figure("first_touches", "first touches", "touches", "simulated", heap["touches"]),
            Figure("first_touches_parked", "... that came to wait", "touches", "simulated", heap["parked"]),
            Figure("outputs_asked", "outputs: bytes asked for", "bytes", "simulated", sum(lengths.values())),
            Figure("outputs_taken", "... taken", "bytes", "simulated", self.taken_bytes),
            Figure("outputs_peak", "... and their tables, peak", "bytes", "simulated", self.peak_bytes),
            Figure("outputs_mapped", "... when they are mapped", "bytes", "simulated", self.mapped_bytes),
        ]


@dataclass(frozen=True)
class Allocated:
    """A launch whose outputs the kernel allocated."""

    run: Measurement
    card: Card
    context: Context
    tables_bytes: int
    """Page tables of before."""

    def buffer(self, name: str, nbytes: int) -> pa.Buffer:
        """The memory of an output of `nbytes` bytes, taken over from the kernel; one without bytes has none."""
        import pyarrow as pa

        if not nbytes:
            return pa.py_buffer(b"")
        return pa.py_buffer(self.context.adopt(self.run.result.results[name], nbytes).to_numpy())

    def figures(self, mapped: Measurement) -> list[Figure]:
        """What it cost, beside the launch with mapped outputs; all that the kernel allocated has been taken over."""
        heap, results = self.card.heap(), self.run.result.results
        # Nothing is freed meanwhile, so what is there is the most that there was.
        taken = sum(each.taken_bytes for each in heap.allocations if each.address in results.values())
        peak = taken + heap.region["tables"] - self.tables_bytes
        cycles, commands = self.run.result.cycles, self.run.counters["heap"]["commands"]
        ratio, grown = cycles / mapped.result.cycles, results["grown"]
        return [
            Figure("malloc_cycles", "cycles, outputs allocated by the kernel", "cycles", "simulated", cycles),
            Figure("malloc_ratio", "... of those with mapped outputs", "ratio", "simulated", ratio),
            Figure("malloc_commands", "... its commands", "commands", "simulated", commands),
            Figure("malloc_grown", "... of them growths", "commands", "simulated", grown),
            Figure("malloc_taken", "... bytes taken", "bytes", "simulated", taken),
            Figure("malloc_peak", "... and their tables, peak", "bytes", "simulated", peak),
        ]


def prepared(setup: Setup, outputs: str | None) -> tuple[Setup, bool]:
    """The setup, on a card with a heap where outputs are there, and whether they are: what was asked for, else whether the card can have
    one. Raises InputError when there cannot be one and it was asked for.
    """
    from godwit.errors import nearest
    from godwit.run.heap_tour import with_heap
    from godwit.spec import config

    if outputs is None:
        if setup.memory != "device":
            return setup, False
        # Errors of the setup itself are its own.
        config.load(setup.config, setup.overrides)
        try:
            with_one = with_heap(setup)
            config.load(with_one.config, with_one.overrides)
        except InputError:
            return setup, False
        return with_one, True
    if outputs not in OUTPUTS:
        raise InputError(
            f"no outputs '{outputs}'",
            found="outputs are " + ", ".join(OUTPUTS),
            hint=nearest(outputs, OUTPUTS),
        )
    if outputs == "mapped":
        return setup, False
    if setup.memory != "device":
        raise InputError(
            f"--outputs {outputs} does not go with --memory {setup.memory}",
            found="outputs on the heap are compared with mapped ones in device memory",
            hint="leave --memory out, or --outputs mapped",
        )
    return with_heap(setup), True


def run_on_heap(
    card: Card,
    context: Context,
    kernel: str,
    args: dict[str, Any],
    names: Sequence[str],
    mapped: Measurement,
) -> OnHeap:
    """Launches `kernel` with the arguments `names` on the heap in place of mapped buffers, of which nobody knows how long they get."""
    outputs = {name: context.malloc(MOST_BYTES, granule=GRANULE) for name in names}
    tables = card.heap().region["tables"]
    run = measure(card, context, kernel, {**args, **outputs}, "translate")
    # As page tables say it: free frames would not do, for those that are just being cleared are not among them. Nothing is freed
    # meanwhile, so what is there in the end is the most that there was.
    heap = card.heap()
    own = {memory.address for memory in outputs.values()}
    taken = sum(each.taken_bytes for each in heap.allocations if each.address in own)
    peak = taken + heap.region["tables"] - tables
    return OnHeap(run, outputs, taken, peak, mapped, sum(args[name].nbytes for name in names))


def run_allocating(card: Card, context: Context, kernel: str, given: dict[str, Any]) -> Allocated:
    """Launches `kernel`, which is given its input only, and allocates its outputs by itself.

    Raises CheckError, with the heap's reason when it refused the kernel memory; nothing stays allocated then.
    """
    tables = card.heap().region["tables"]
    order = (GRANULE >> 12).bit_length() - 1  # log2 of its pages of 4 KiB
    run = measure(card, context, kernel, given | {"granule": order}, "translate")
    return Allocated(run, card, context, int(tables))
