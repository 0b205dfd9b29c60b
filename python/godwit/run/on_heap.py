# SPDX-License-Identifier: Apache-2.0
"""Outputs that nobody sized: buffers of the heap in hardware, which get their memory where the kernel writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from godwit.errors import InputError
from godwit.report import Figure
from godwit.run.workload import Measurement, Setup, measure

if TYPE_CHECKING:
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


def wanted(setup: Setup, outputs: str | None) -> bool:
    """Whether outputs are on the heap: what was asked for, else whether there is one. Raises InputError when there is none."""
    from godwit.errors import nearest
    from godwit.spec import config

    has = bool(config.load(setup.config, setup.overrides).heap.slots)
    if outputs is None:
        return has and setup.memory == "pages"
    if outputs not in OUTPUTS:
        raise InputError(
            f"no outputs '{outputs}'",
            found="outputs are " + ", ".join(OUTPUTS),
            hint=nearest(outputs, OUTPUTS),
        )
    if outputs != "mapped" and not has:
        raise InputError(
            f"--outputs {outputs} needs a card with a heap",
            found=f"configuration '{setup.config}' has none",
            hint="--set heap.slots=1024, or --outputs mapped",
        )
    if outputs != "mapped" and setup.memory != "pages":
        raise InputError(
            f"--outputs {outputs} does not go with --memory {setup.memory}",
            found="outputs on the heap are compared with mapped ones in device memory",
            hint="leave --memory out, or --outputs mapped",
        )
    return outputs != "mapped"


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
