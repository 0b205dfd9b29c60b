# SPDX-License-Identifier: Apache-2.0
"""The allocator's rows on several memories (functions (d) and (e) of the paper's section 1.2): where frames come from, and what that costs.

A small card with two memories of which the heap has a part, and with memory of the host as a third: its configuration is `tiny` with
`OVERRIDES`.
"""

from __future__ import annotations

from collections.abc import Iterator

import godwit
from godwit.report import Progress, Row
from godwit.units import bytes_text

SUITE = "papers"
SLOW, FAST = 200, 2
# The card of python/tests/test_memories.py, too.
OVERRIDES = (
    *('card.kernels=["memcopy"]', "heap.slots=1024", "heap.memory_bytes=32MiB", "walker.levels=4"),
    *(f"memory.latency_cycles={SLOW}", f"memory.page_table_latency_cycles={SLOW}"),
    *("memory.fast.bytes=16MiB", "memory.fast.model=fixed", f"memory.fast.latency_cycles={FAST}"),
    *("memory.fast.heap_bytes=8MiB", "heap.host_bytes=4MiB"),
)
REGIONS = {
    "memory": f"the first memory, {SLOW} cycles",
    "fast": f"another memory, {FAST} cycles",
    "host": "memory of the host, a link of 1 GB/s",
}
GRANULE = 64 << 10


def rows(progress: Progress, quick: bool) -> Iterator[Row]:
    """A kernel writes an allocation of each region from end to end, its frames and tables by first touch."""
    nbytes = 256 << 10 if quick else 1 << 20
    with godwit.open("sim:tiny", overrides=OVERRIDES, progress=progress) as card:
        for number, (region, what) in enumerate(REGIONS.items()):
            progress("paper W, several memories", number, len(REGIONS))
            with (
                card.empty(nbytes, region="fast") as source,
                card.malloc(nbytes, granule=GRANULE, region=region) as target,
            ):
                result = card.launch("memcopy", src=source, dst=target, bytes=nbytes, iterations=1)
                taken = {part["memory"]: int(part["used"]) for part in card.heap().regions}
            if taken[region] < nbytes:
                raise godwit.DeviceError(f"frames of {nbytes} bytes are not in {region}: {taken}")
            yield Row(
                SUITE,
                f"copy of {bytes_text(nbytes)} into frames of {what}",
                f"`tiny` with two memories and heap.host_bytes, granules of {bytes_text(GRANULE)}, first touches in it",
                result.cycles * 64 / nbytes,
                "cycles a line",
                None,
                None,
            )
    progress("paper W, several memories", len(REGIONS), len(REGIONS))
