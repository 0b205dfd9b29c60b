# SPDX-License-Identifier: Apache-2.0
"""RISC-V page tables in a plain dictionary, and the walk as the specification has it: the oracle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

V, R, W, X, U, G, A, D = (1 << i for i in range(8))
N = 1 << 63
LEAF = V | R | W | U | A | D
LEVELS = {8: 3, 9: 4, 10: 5}
OFF, SV39, SV48, SV57 = 0, 8, 9, 10
MAX_RUN_ORDER = 3  # the eight entries of a beat

LOAD_ACCESS, STORE_ACCESS, LOAD_PAGE, STORE_PAGE, CONTEXT_OFF, CONTEXT_BAD = 5, 7, 13, 15, 258, 259


@dataclass(frozen=True)
class Answer:
    """What a walk gives: a fault's cause, or a frame."""

    cause: int | None = None
    ppn: int = 0
    order: int = (
        0  # of the entry's page, if it is above the runs of neighbours that widen an answer, MAX_RUN_ORDER
    )
    perm: int = 0  # {r, w}
    is_global: bool = False
    page: int = field(default=0, compare=False)  # order of the entry's page in any case


def pte(ppn: int, flags: int = LEAF) -> int:
    return ppn << 10 | flags


def pages_of_several(ppn: int, order: int, flags: int = LEAF) -> int:
    """Entry of a page of 2**order frames that is one of several equal ones; `ppn` is one of its frames."""
    assert order % 9
    return N | pte(ppn >> order << order | 1 << order - 1, flags)


def napot(ppn: int, flags: int = LEAF) -> int:
    """Entry of a 64 KiB page."""
    return pages_of_several(ppn, 4, flags)


def vpn_index(vpn: int, level: int) -> int:
    return vpn >> 9 * level & 511


def canonical(vpn: int, levels: int) -> bool:
    top = vpn >> 9 * levels - 1
    return top in (0, (1 << 45 - (9 * levels - 1)) - 1)


@dataclass
class Memory:
    """Physical memory that holds only table entries, eight bytes each."""

    words: dict[int, int] = field(default_factory=dict)
    next_frame: int = 0x1000
    changed: set[int] = field(default_factory=set)  # addresses written since somebody cleared it
    on_write: Callable[[int], None] = lambda address: None
    pointer_flags: Callable[[], int] = lambda: V
    any_napot: bool = False  # pages of any power of two

    def frame(self) -> int:
        """A new, empty table."""
        self.next_frame += 1
        return self.next_frame

    def read(self, ppn: int, index: int) -> int:
        return self.words.get(ppn << 12 | index << 3, 0)

    def write(self, ppn: int, index: int, value: int) -> None:
        self.words[ppn << 12 | index << 3] = value
        self.changed.add(ppn << 12 | index << 3)
        self.on_write(ppn << 12 | index << 3)

    def line(self, addr: int) -> int:
        """The 64 bytes at `addr` as one number."""
        return sum(self.words.get(addr + 8 * i, 0) << 64 * i for i in range(8))

    def table(self, root: int, levels: int, vpn: int, level: int) -> int:
        """The table that holds `vpn`'s entry of `level`; made where it is missing."""
        ppn = root
        for at in range(levels - 1, level, -1):
            entry = self.read(ppn, vpn_index(vpn, at))
            if not entry & V:
                entry = pte(self.frame(), self.pointer_flags())
                self.write(ppn, vpn_index(vpn, at), entry)
            assert not entry & (R | X), "a larger page is in the way"
            ppn = entry >> 10
        return ppn

    def map(self, root: int, levels: int, vpn: int, entry: int, level: int = 0) -> None:
        self.write(self.table(root, levels, vpn, level), vpn_index(vpn, level), entry)

    def path(self, root: int, levels: int, vpn: int) -> list[int]:
        """Addresses of the entries that a walk of the page depends on."""
        ppn, addresses = root, []
        for level in range(levels - 1, -1, -1):
            addresses.append(ppn << 12 | vpn_index(vpn, level) << 3)
            entry = self.words.get(addresses[-1], 0)
            if not entry & V or entry & (R | W | X):
                break
            ppn = entry >> 10 & (1 << 44) - 1
        return addresses

    def walk(
        self, mode: int, root: int, max_levels: int, vpn: int, write: bool, sade: bool = False
    ) -> Answer:
        """The walk of the privileged specification, section "Virtual Address Translation Process".

        With `sade` A and D are set on the way (Svadu): the answer is the one after that.
        """
        if mode == OFF:
            return Answer(CONTEXT_OFF)
        levels = LEVELS.get(mode, 99)
        if levels > max_levels:
            return Answer(CONTEXT_BAD)
        fault = Answer(STORE_PAGE if write else LOAD_PAGE)
        if not canonical(vpn, levels):
            return fault
        ppn, is_global = root, False
        for level in range(levels - 1, -1, -1):
            entry = self.read(ppn, vpn_index(vpn, level))
            if not entry & V or entry & (R | W) == W or entry >> 54 & 0x1FF:
                return fault
            ppn = entry >> 10 & (1 << 44) - 1
            is_global |= bool(entry & G)
            if entry & (R | X):
                if sade:
                    entry |= A | (D if write and entry & W else 0)
                return self._leaf(entry, ppn, level, vpn, write, is_global) or fault
            if entry & (N | D | A | U):
                return fault
        return fault

    def _leaf(
        self, entry: int, ppn: int, level: int, vpn: int, write: bool, is_global: bool
    ) -> Answer | None:
        order = 9 * level
        if entry & N:
            several = ppn >> order & 0xFF
            lowest = several & -several
            if lowest == 0 or (not self.any_napot and (level or lowest != 8)):
                return None
            ppn ^= lowest << order
            order += lowest.bit_length()
        low = (1 << order) - 1
        writable = entry & W and entry & D
        if ppn & low or not entry & U or not entry & A or not (writable if write else entry & R):
            return None
        perm = 2 * bool(entry & R) + bool(writable)
        told = min(order, 18)
        return Answer(None, ppn | vpn & low, told if order > MAX_RUN_ORDER else 0, perm, is_global, told)

    def around(self, mode: int, root: int, max_levels: int, vpn: int) -> tuple[int, int]:
        """Order and cluster of the answer for a page: from the walks of all pages whose entries share its line."""
        page = self.walk(mode, root, max_levels, vpn, False)
        if page.page:
            reach = page.page if self.any_napot else 0
            return page.page, sum(1 << i for i in range(16) if i >> reach == vpn % 16 >> reach)
        near = [vpn & ~7 | i for i in range(8)]
        others = {q: self.walk(mode, root, max_levels, q, False) for q in near}
        same = {q for q, other in others.items() if other == neighbour(page, vpn, q) and not other.page}
        order = max(
            k
            for k in range(4)
            if (page.ppn ^ vpn) & (1 << k) - 1 == 0 and {q for q in near if q >> k == vpn >> k} <= same
        )
        return order, sum(1 << q % 16 for q in same)


def neighbour(page: Answer, vpn: int, other: int) -> Answer:
    """The answer for another page that lies as far from its frame, with the same rights."""
    return replace(page, ppn=page.ppn + other - vpn)
