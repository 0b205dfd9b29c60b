# SPDX-License-Identifier: Apache-2.0
"""Page tables as the host changes them over time: what a translation may say, and when."""

from __future__ import annotations

from dataclasses import dataclass, field

ALL, CONTEXT, RANGE = range(3)
CLUSTER = 16
LINE = 8
"""Pages that a walker sees around the one it was asked for."""


@dataclass
class Mapping:
    """One leaf. `end`: the host replaced it; `dead`: an invalidation told so. Cycles."""

    ctx: int | None  # None: global
    vpn: int
    order: int
    ppn: int
    perm: int  # bit 1 read, bit 0 write
    start: int
    end: int | None = None
    dead: int | None = None

    @property
    def pages(self) -> int:
        return 1 << self.order

    def frame(self, vpn: int) -> int:
        return self.ppn + vpn - self.vpn

    def usable(self, accepted: int, answered: int) -> bool:
        """An access accepted and answered then may be translated by it."""
        return self.start <= answered and (self.dead is None or accepted < self.dead)


@dataclass
class World:
    contexts: int = 4
    leaves: dict[tuple[int | None, int, int], list[Mapping]] = field(default_factory=dict)

    def around(self, ctx: int, vpn: int) -> list[Mapping]:
        """All leaves that ever mapped the page for the context."""
        return [
            leaf
            for owner in (ctx, None)
            for order in (0, 4, 9, 18)
            for leaf in self.leaves.get((owner, vpn >> order, order), ())
        ]

    def now(self, ctx: int, vpn: int) -> Mapping | None:
        return next((leaf for leaf in self.around(ctx, vpn) if leaf.end is None), None)

    def map(self, cycle: int, ctx: int | None, vpn: int, ppn: int, order: int = 0, perm: int = 3) -> Mapping:
        """Maps, in place of what was there in the same size."""
        self.unmap(cycle, ctx, vpn, order)
        leaf = Mapping(ctx, vpn, order, ppn, perm, cycle)
        self.leaves.setdefault((ctx, vpn >> order, order), []).append(leaf)
        return leaf

    def unmap(self, cycle: int, ctx: int | None, vpn: int, order: int) -> None:
        for leaf in self.leaves.get((ctx, vpn >> order, order), ()):
            if leaf.end is None:
                leaf.end = cycle

    def invalidate(self, cycle: int, scope: int, ctx: int, vpn: int, order: int) -> None:
        first = vpn >> order << order
        for leaves in self.leaves.values():
            for leaf in leaves:
                if leaf.end is None or leaf.dead is not None:
                    continue
                mine = leaf.ctx == ctx
                hits = leaf.vpn < first + (1 << order) and first < leaf.vpn + leaf.pages
                if scope == ALL or (mine and (scope == CONTEXT or hits)):
                    leaf.dead = cycle

    def cluster(self, ctx: int, vpn: int) -> int:
        """Pages of the cluster that lie in a row with this one, as far as a line of entries shows."""
        this = self.now(ctx, vpn)
        bits = 0
        for page in range(vpn // LINE * LINE, vpn // LINE * LINE + LINE):
            leaf = self.now(ctx, page)
            if (
                leaf
                and leaf.order == 0
                and (leaf.perm, leaf.ctx) == (this.perm, this.ctx)
                and leaf.frame(page) - page == this.frame(vpn) - vpn
            ):
                bits |= 1 << page % CLUSTER
        return bits
