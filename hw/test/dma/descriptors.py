# SPDX-License-Identifier: Apache-2.0
"""Descriptors of the page DMA, as software writes them, and what each does to memory."""

from __future__ import annotations

from dataclasses import dataclass

COPY, CLEAR, ENTRY, WAIT, RESPOND, NONE = range(1, 7)
FETCH, ILLEGAL, READ, WRITE, FENCE, ABORTED = range(1, 7)  # causes; 0: none
HOST = 1 << 55
LINE, PAGE = 64, 4096
BYTES = 32
EVERY = (1 << 64) - 1


@dataclass
class Descriptor:
    op: int
    source: int = 0
    dest: int = 0
    lines: int = 0
    mask: int | None = None
    """Lines of a page that are copied; None: all."""
    fence: int | None = None
    irq: bool = False
    after: bool = False
    extra: int = 0
    """Bits set on top of everything, for descriptors that are none."""

    def words(self) -> bytes:
        control = self.op | self.lines << 8
        control |= (
            (self.fence is not None) << 4 | self.irq << 5 | self.after << 6 | (self.mask is not None) << 7
        )
        control |= (self.fence or 0) << 32
        value = control | self.source << 64 | self.dest << 128 | (self.mask or 0) << 192
        return (value | self.extra).to_bytes(BYTES, "little")

    def apply(self, memory: Memory) -> None:
        """What memory looks like afterwards."""
        if self.op == COPY:
            for index in range(self.lines):
                if self.mask is None or self.mask >> index & 1:
                    at = index * LINE
                    memory.write(self.dest + at, memory.read(self.source + at, LINE))
        elif self.op == CLEAR:
            memory.write(self.dest, bytes(self.lines * LINE))
        elif self.op == ENTRY:
            memory.write(self.dest, self.source.to_bytes(8, "little"))


class Memory:
    """Device memory from 0 and host memory from HOST, each `size` bytes of random data."""

    def __init__(self, rng, size: int) -> None:
        self.size = size
        self.parts = [bytearray(rng.randbytes(size)), bytearray(rng.randbytes(size))]

    def _part(self, addr: int) -> tuple[bytearray, int]:
        part, at = (self.parts[1], addr - HOST) if addr >= HOST else (self.parts[0], addr)
        assert 0 <= at < self.size, f"{addr:#x} is outside memory"
        return part, at

    def read(self, addr: int, count: int) -> bytes:
        part, at = self._part(addr)
        return bytes(part[at : at + count])

    def write(self, addr: int, data: bytes) -> None:
        part, at = self._part(addr)
        part[at : at + len(data)] = data

    def copy(self) -> Memory:
        other = object.__new__(Memory)
        other.size, other.parts = self.size, [bytearray(part) for part in self.parts]
        return other
