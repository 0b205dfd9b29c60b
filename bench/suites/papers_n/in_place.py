# SPDX-License-Identifier: Apache-2.0
"""Paper N's rows of memory in place, configuration `ng`: single accesses (Table I), access time against array and stride (Fig. 3), and the
stencil on host memory beside the host's way (Fig. 4). All are cycles of the RTL; what the link charges is modelled: the paper's 23 MB/s, and
250 MB/s of PCIe gen1 x1 less its headers, so that nothing is won by a better link.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import godwit
from godwit.api import Card
from godwit.buffers import Buffer
from godwit.report import Progress, Row
from godwit.run import stencil
from godwit.run.workload import Setup

SUITE = "papers"
LINKS = {"ng": {}, "ng, PCIe gen1 x1": {"bandwidth_gbps": 0.2}}
PORT, WORD, LINE, PAGE = 1, 4, 64, 4096
MAX_CYCLES = 10_000_000
POSITIONS = (0, 31, 63)
"""Lines of a page whose first word is asked for."""
ARRAYS = (8 << 10, 16 << 10, 32 << 10, 64 << 10)
STRIDES = (256, 1 << 10, 4 << 10, 16 << 10)
TILE_BYTES = 16 << 10
THEIR_MISS = "11,100 to 18,000"


class Gateware:
    """A driven port that makes one access after another, on host memory."""

    def __init__(self, card: Card, size_bytes: int) -> None:
        self.native = card.native
        self._context = card.context(place="host")
        self._buffer: Buffer = self._context.empty(size_bytes)
        self._buffer.to_numpy()[...] = 1  # pages are there
        self.base = self._buffer.address
        self.native.bind_port(PORT, self._context.native)
        link, clock = card.config["host_link"], card.config["card"]["clock_mhz"]
        line_ns = link["latency_ns"] + LINE / link["bandwidth_gbps"]
        self.miss_cycles = line_ns * clock / 1000
        """The link's latency and one line over it."""

    def access(
        self, offset: int, data: bytes | None = None, *, beats: int = 1, size: int = 2
    ) -> dict[str, int]:
        """One burst, alone: the cycles of its handshakes."""
        self.native.port_submit([(PORT, 0, 0, self.base + offset, beats, size, data)])
        self.native.port_drain(MAX_CYCLES)
        (answer,) = self.native.port_poll()
        if answer["resp"] != 0:
            raise godwit.DeviceError(f"the access at {offset} was answered with an error")
        return answer

    def settle(self, page: int) -> None:
        """Waits until all of a page has come."""
        self.access(page, beats=PAGE // LINE, size=6)

    def read(self, offset: int) -> int:
        """Cycles from a word's address to its data."""
        answer = self.access(offset)
        return answer["first_cycle"] - answer["accepted_cycle"]


def run(progress: Progress, sizes: tuple[int, ...], iterations: int, pictures: dict[int, Path]) -> list[Row]:
    """Rows of every link; `pictures` by the edge in points."""
    rows: list[Row] = []
    for name, link in LINKS.items():
        progress(f"paper N, accesses, {name}", len(rows), len(rows) + 1)
        with godwit.open("sim:ng", host_link=link) as card:
            rows += _accesses(Gateware(card, 64 * PAGE), name)
        with godwit.open("sim:ng", host_link=link) as card:
            rows += _strides(Gateware(card, max(ARRAYS)), name)
        overrides = tuple(f"host_link.{field}={value}" for field, value in link.items())
        for edge in sizes:
            progress(f"paper N, stencil of {edge} x {edge}, {name}", len(rows), len(rows) + 1)
            rows += _stencil(pictures[edge], edge, iterations, name, overrides)
    return rows


def _row(
    name: str,
    config: str,
    value: float,
    unit: str,
    theirs: str | float | None = None,
    goal: str | None = None,
) -> Row:
    return Row(SUITE, f"in place: {name}", config, value, unit, theirs, goal)


def _accesses(gateware: Gateware, config: str) -> Iterator[Row]:
    """Table I."""
    fresh = iter(range(0, 64 * PAGE, PAGE))
    page = next(fresh)
    whole = gateware.access(page, beats=PAGE // LINE, size=6)
    took = whole["done_cycle"] - whole["accepted_cycle"]
    yield _row("a page, first to last word, nothing cached", config, took, "cycles", THEIR_MISS)
    hit = gateware.read(page + 8 * LINE)
    yield _row("TLB hit and page-cache hit, address to word", config, hit, "cycles", 2, "<= 2")
    gateware.native.invalidate()
    miss = gateware.read(page + 9 * LINE) - hit
    theirs = "600 to 227,000, by the OS"
    yield _row(
        "TLB miss of a mapped page, upper levels cold, by hardware: more than a hit",
        config,
        miss,
        "cycles",
        theirs,
    )
    for line in POSITIONS:
        for behind in (False, True):
            before, page = next(fresh), next(fresh)
            # Its translation, and what hangs on it.
            gateware.access(before)
            if not behind:
                gateware.settle(before)
            took = gateware.read(page + line * LINE)
            gateware.settle(before)
            gateware.settle(page)
            when = "while the rest of another page comes" if behind else "nothing else on the link"
            name = f"page-cache miss, word in line {line} of its page, {when}"
            goal = None if behind else f"<= {gateware.miss_cycles:.0f}"
            yield _row(name, config, took, "cycles", THEIR_MISS, goal)


def _strides(gateware: Gateware, config: str) -> Iterator[Row]:
    """Fig. 3: a word read and written at every stride of the array, round after round; the second round is measured."""
    for array in ARRAYS:
        for stride in STRIDES:
            if stride >= array:
                continue
            for _ in range(2):
                cycles = count = 0
                for offset in range(0, array, stride):
                    for data in (None, bytes(WORD)):
                        answer = gateware.access(offset, data)
                        cycles += answer["done_cycle"] - answer["offered_cycle"]
                        count += 1
            name = f"array of {array >> 10} KiB, stride of {stride} bytes: an access, mean"
            yield _row(name, config, cycles / count, "cycles", "one level of cache, 2 to 18,000")


def _stencil(
    path: Path, edge: int, iterations: int, config: str, overrides: tuple[str, ...]
) -> Iterator[Row]:
    """Fig. 4."""
    values = {}
    for mode, memory in (("accelerator", "in-place"), ("software", "device")):
        outcome = stencil.run(
            Setup("ng", overrides, memory=memory),
            path=path,
            iterations=iterations,
            mode=mode,
            tile_bytes=TILE_BYTES,
        )
        values[mode] = {figure.name: figure.value for figure in outcome.figures}
    own, host = values["accelerator"], values["software"]
    what = f"stencil {edge} x {edge}, {iterations} iterations"
    yield Row(
        SUITE,
        f"in place: {what}: time of the host's way over the accelerator's",
        config,
        host["total_time"] / own["total_time"],
        "times",
        "1.06 to 2.49",
        ">= 2.49",
        kind="modelled",
    )
    yield _row(
        f"{what}: interrupts, the accelerator's over the host's way",
        config,
        own["interrupts"] / host["interrupts"],
        "share",
        "below 0.5",
        "<= 0.1",
    )
    hits = own["cache_hits"] / (own["cache_hits"] + own["cache_misses"] + own["cache_store_misses"])
    yield _row(f"{what}: page-cache hits", config, hits, "share")
