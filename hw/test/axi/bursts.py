# SPDX-License-Identifier: Apache-2.0
"""AXI4 bursts as both ends of a converter see them: addresses of beats, and the bytes that each may use."""

from __future__ import annotations

from dataclasses import dataclass, field

FIXED, INCR, WRAP = 0, 1, 2
OKAY, EXOKAY, SLVERR = 0, 1, 2
MODIFIABLE = 0b0011
PAGE = 4096


@dataclass
class Burst:
    """An address and how far its beats have got."""

    id: int
    addr: int
    len: int
    size: int
    burst: int = INCR
    lock: int = 0
    cache: int = MODIFIABLE
    ready: int = 0
    """Cycle from which its data or answer may come."""
    beat: int = 0
    data: list[tuple[int, int]] = field(default_factory=list)
    """Of a write: data and strobes of its beats, in the lanes of its bus."""
    error: bool = False

    @property
    def step(self) -> int:
        """Bytes of a beat."""
        return 1 << self.size

    def beat_addr(self, index: int) -> int:
        """First byte of a beat."""
        if index == 0 or self.burst == FIXED:
            return self.addr
        aligned = self.addr & -self.step
        after = aligned + index * self.step
        if self.burst == INCR:
            return after
        window = (self.len + 1) * self.step
        base = aligned & -window
        return base + (after - base) % window

    def span(self, index: int) -> range:
        """Addresses of the bytes that a beat has."""
        start = self.beat_addr(index)
        return range(start, (start & -self.step) + self.step)

    def leaves_page(self) -> bool:
        """Whether it has bytes of more than one page."""
        pages = {self.beat_addr(i) // PAGE for i in range(self.len + 1)}
        return len(pages) > 1
