# SPDX-License-Identifier: Apache-2.0
"""Plans for the kernel `traffic`, and what it does with them: the reference that its results are checked against."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from godwit.buffers import Buffer

BEAT_BYTES = 64
PAGE_BYTES = 4096
MAX_OUTSTANDING = 64
PATTERNS = {"linear": 0, "random": 1, "chase": 2}
"""Patterns as the kernel's `pattern` argument has them."""

_MASK = (1 << 64) - 1


@dataclass(frozen=True)
class Plan:
    """`count` bursts of `beats` beats at `positions` places that are `stride` bytes apart.

    pattern: ``linear`` (in order, and again from the first), ``random`` or ``chase`` (the first word of a burst is
    the offset of the next one). writes: bursts of 256 that write. ids: AXI IDs used in turn. outstanding: bursts
    in flight, reads and writes each.
    """

    positions: int
    stride: int
    count: int
    pattern: str = "linear"
    beats: int = 1
    writes: int = 0
    ids: int = 16
    outstanding: int = MAX_OUTSTANDING
    seed: int = 1

    @property
    def nbytes(self) -> int:
        """Bytes from the first position to the end of the last burst, in whole strides."""
        return max(self.positions * self.stride, self.beats * BEAT_BYTES)

    @property
    def state(self) -> int:
        """The generator's first state: never 0, and as random for a small seed as for a large one."""
        mixed = (self.seed + 1) * 0x9E37_79B9_7F4A_7C15 & _MASK
        mixed = (mixed ^ mixed >> 30) * 0xBF58_476D_1CE4_E5B9 & _MASK
        return (mixed ^ mixed >> 31) or 1

    def args(self, base: Buffer | int) -> dict[str, Buffer | int]:
        """The kernel's arguments for this plan at `base`."""
        return {
            "base": base,
            "positions": self.positions,
            "stride": self.stride,
            "count": self.count,
            "pattern": PATTERNS[self.pattern],
            "beats": self.beats,
            "writes": self.writes,
            "ids": self.ids,
            "outstanding": self.outstanding,
            "seed": self.state,
        }

    def accesses(self, follow: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Offset of every burst from the base, and whether it writes.

        follow: for a pointer chase, the memory from the base on as 64-bit words.
        """
        position, writes = np.arange(self.count, dtype=np.uint64) % np.uint64(self.positions), None
        if self.pattern == "random" or self.writes:
            numbers = np.fromiter(_xorshift(self.state), np.uint64, self.count)
            writes = (numbers & np.uint64(0xFF)) < np.uint64(self.writes)
            if self.pattern == "random":
                position = (numbers >> np.uint64(32)) * np.uint64(self.positions) >> np.uint64(32)
        offsets = position.astype(np.int64) * self.stride
        if self.pattern == "chase":
            assert follow is not None, "a chase follows what memory holds"
            offset = 0
            for number in range(self.count):
                offsets[number] = self._inside_page(offset)
                offset = int(follow[offsets[number] // 8]) & -BEAT_BYTES
        else:
            offsets = self._inside_page(offsets)
        return offsets, writes if writes is not None else np.zeros(self.count, bool)

    def checksum(self, words: np.ndarray) -> int:
        """What the kernel's `checksum` is when memory from the base on holds `words` (64 bits each) throughout."""
        offsets, writes = self.accesses(words)
        places, visits = np.unique(offsets[~writes], return_counts=True)
        total = np.uint64(0)
        with np.errstate(over="ignore"):
            for beat in range(self.beats * BEAT_BYTES // 8):
                total += (words[places // 8 + beat].view(np.uint64) * visits.astype(np.uint64)).sum(
                    dtype=np.uint64
                )
        return int(total)

    def written(self, offset: int) -> np.ndarray:
        """The 64-bit words that a write of one burst at `offset` leaves there."""
        return np.arange(offset, offset + self.beats * BEAT_BYTES, 8, dtype=np.uint64) ^ np.uint64(self.state)

    def _inside_page(self, offset):
        """A burst that would cross a page begins earlier, so that it ends with the page."""
        over = offset % PAGE_BYTES + self.beats * BEAT_BYTES - PAGE_BYTES
        return offset - np.maximum(over, 0)


def chain(words: np.ndarray, positions: int, stride: int, seed: int) -> None:
    """Writes one random cycle through all positions for a pointer chase: the first word of each is the next one's
    offset.
    """
    order = np.random.default_rng(seed).permutation(positions).astype(np.uint64) * np.uint64(stride)
    order = np.roll(order, -int(np.flatnonzero(order == 0)[0]))
    words[order // np.uint64(8)] = np.roll(order, -1).view(words.dtype)


def _xorshift(state: int):
    """Marsaglia's xorshift64, as the kernel has it."""
    while True:
        state ^= state << 13 & _MASK
        state ^= state >> 7
        state ^= state << 17 & _MASK
        yield state
