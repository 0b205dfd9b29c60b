# SPDX-License-Identifier: Apache-2.0
"""The walker beside a page cache that reads ahead: lines of page tables that it reads, and which pages may be read over the link because of them.

A page may be read when an access has asked for it, or when an entry that was read since the latest drop, by a read that began after it,
gives it to the card.
"""

from __future__ import annotations

from collections import deque

V, R, W, U, A, D = 1, 2, 4, 16, 64, 128
LEAF = V | R | U | A
NAPOT = 1 << 63
HOST = 1 << 43
"""Bit of a frame's number: the host aperture."""
TABLE = 0x4000 >> 6
"""First line of the table, by number."""


def entry(frame: int, bits: int = LEAF) -> int:
    return frame << 10 | bits


class Walker:
    """`teach` has lines read; `entries` is the table, eight to a line."""

    def __init__(self, bench, frames, *, delay=lambda rng: 10):
        self.bench, self.delay = bench, delay
        self.entries = [entry(HOST | frame) for frame in frames]
        self.asks, self.under_way = deque(), {}
        self.given, self.old = set(), set()
        self.demanded: set[int] = set()
        self.driven = (0, 0)
        self.strays: list[int] = []
        bench.walker = self

    def line(self, number: int) -> list[int]:
        line = self.entries[8 * number : 8 * number + 8]
        return line + [0] * (8 - len(line))

    def teach(self, *numbers: int):
        """Lines of the table; all of them if none is named."""
        self.asks.extend(numbers or range((len(self.entries) + 7) // 8))

    @property
    def quiet(self):
        return not (self.asks or self.under_way)

    async def taught(self, *numbers: int):
        self.teach(*numbers)
        await self.bench.until(lambda: self.quiet)

    def pages(self, number: int) -> set[int]:
        """What a line gives, without the aperture's bit."""
        given = set()
        for index, pte in enumerate(self.line(number)):
            frame = pte >> 10 & ((1 << 44) - 1)
            if pte & NAPOT:
                frame = frame & ~15 | 8 * (number & 1) | index
            if pte & LEAF == LEAF and frame & HOST and not pte >> 54 & 0x1FF:
                given.add(frame ^ HOST)
        return given

    def offer(self):
        """A read is begun, or its data come: one thing in a cycle."""
        dut, bench = self.bench.dut, self.bench
        due = [i for i, (when, *_) in self.under_way.items() if when <= bench.now]
        free = [i for i in range(32) if i not in self.under_way]
        ask = give = 0
        if due:
            slot = bench.rng.choice(due)
            _, number, old = self.under_way.pop(slot)
            give = 1
            dut.walk_data_i.value = sum(pte << 64 * i for i, pte in enumerate(self.line(number)))
            if not old:
                self.given |= self.pages(number)
        elif self.asks and free:
            slot = bench.rng.choice(free)
            number = self.asks.popleft()
            ask = 1
            dut.walk_addr_i.value = (TABLE + number) << 6
            self.under_way[slot] = (bench.now + self.delay(bench.rng), number, False)
        if ask or give:
            dut.walk_id_i.value = slot
        if self.driven != (ask, give):
            dut.walk_ask_i.value, dut.walk_give_i.value = ask, give
            self.driven = (ask, give)

    def forget(self):
        """A drop was taken: what is read from now on, by reads that begin now, is what counts when it is acknowledged."""
        self.old, self.given = self.old | self.given, set()
        self.under_way = {i: (when, number, True) for i, (when, number, _) in self.under_way.items()}

    def settle(self):
        self.old = set()

    def demand(self, burst):
        self.demanded |= {(addr >> 12) & ~HOST for addr in burst.addrs}

    def may_read(self, page: int):
        page &= ~HOST
        assert page in self.demanded or page in self.given or page in self.old, (
            f"page {page:#x} was read over the link, and neither asked for nor given to the card"
        )
