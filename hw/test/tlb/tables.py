# SPDX-License-Identifier: Apache-2.0
"""What the translator's reference knows: mappings, accesses, and what AXI allows of a burst."""

from __future__ import annotations

from dataclasses import dataclass, field

PAGE = 4096
ORDER_4K, ORDER_64K, ORDER_2M, ORDER_1G = 0, 4, 9, 18
FIXED, INCR, WRAP = 0, 1, 2
OKAY, SLVERR = 0, 2
MODE_OFF, MODE_TRANSLATE = 0, 1
READ, WRITE = 0, 1
PAGE_FAULT = {READ: 13, WRITE: 15}
ACCESS_FAULT = {READ: 5, WRITE: 7}
# Scopes of an invalidation.
ALL, CONTEXT, RANGE = 0, 1, 2
PORT_OFF, CONTEXT_OFF, CROSSES = 256, 258, 2048
# Bits of the event vector.
REQUEST, HIT, MISS, FAULT, STALL = 16, 8, 4, 2, 1


class Tables:
    """Mappings of all contexts: {(ctx, base page): (order, base frame, readable, writable)}; which are global."""

    def __init__(self):
        self.maps = {}
        self.global_maps = set()

    def map(self, ctx, vpn, ppn, order=ORDER_4K, r=True, w=True):
        low = (1 << order) - 1
        assert vpn & low == 0 and ppn & low == 0
        self.maps[ctx, vpn] = (order, ppn, r, w)

    def copy(self):
        other = Tables()
        other.maps = dict(self.maps)
        other.global_maps = set(self.global_maps)
        return other

    def lookup(self, ctx, vpn, write):
        """(ppn, order, perm, is_global) or a cause."""
        for order in (ORDER_4K, ORDER_64K, ORDER_2M, ORDER_1G, 1, 2, 7):
            base = vpn >> order << order
            found = self.maps.get((ctx, base))
            if found and found[0] == order:
                _, ppn, r, w = found
                if not (w if write else r):
                    return PAGE_FAULT[write]
                perm = (2 if r else 0) | (1 if w else 0)
                return ppn | (vpn - base), order, perm, (ctx, base) in self.global_maps
        return PAGE_FAULT[write]


@dataclass(frozen=True)
class Invalidation:
    """What a pulse drops: everything, a context, or 2**order pages from `vpn` on of a context."""

    scope: int = ALL
    ctx: int = 0
    vpn: int = 0
    order: int = 0

    def covers(self, ctx, vpn):
        if self.scope == ALL:
            return True
        return ctx == self.ctx and (self.scope == CONTEXT or vpn >> self.order == self.vpn >> self.order)


EVERYTHING = Invalidation()


@dataclass
class Access:
    write: int
    id: int
    addr: int
    len: int = 0
    size: int = 3
    burst: int = INCR
    ctx: int = 1
    number: int = -1
    earliest: int = 0
    known_cause: int | None = None  # a fault that needs no lookup
    accepted: int | None = None
    sent: int | None = None
    pa: int | None = None
    cause: int | None = None
    first: int | None = None
    done: int | None = None
    resp: int = OKAY
    beats: int = 0  # that the memory gave
    served: bool = False  # the memory is through with it
    taken: int = 0  # that the accelerator took
    epoch: int = 0  # table version in force at the last invalidation of its page before it was accepted
    version: int = 0  # table version when it was accepted
    data: list = field(default_factory=list)
    ended: set = field(default_factory=set)  # causes with which it may end since its port or context did

    @property
    def vpn(self):
        return (self.addr >> 12) & ((1 << 45) - 1)


def crosses(addr, length, size, burst):
    """Whether AXI's rules let this burst leave its 4 KiB page, or do not allow it at all."""
    if burst == FIXED:
        return False
    if burst == WRAP:
        return length not in (1, 3, 7, 15)
    if burst != INCR:
        return True
    last = (addr >> size << size) + ((length + 1) << size) - 1
    return last // PAGE != addr // PAGE


def read_data(pa, beat):
    return (pa * 0x9E3779B97F4A7C15 + beat * 0x1234567) & ((1 << 64) - 1)
