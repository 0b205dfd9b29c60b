# SPDX-License-Identifier: Apache-2.0
"""Drives gw_second_level cycle by cycle in place of translators, walker and host; checks every answer against the world."""

from __future__ import annotations

import os
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge
from world import ALL, CONTEXT, World

EVENTS = ["drop", "evict", "merge", "fill", "miss", "range_hit", "hit"]


@dataclass
class Request:
    ctx: int
    vpn: int
    write: bool = False
    id: int = -1
    accepted: int = -1
    answered: int = -1
    walked: int = -1  # cycle in which the walker took it, and was not told in the next to forget it
    fault: bool = False
    order: int = -1
    cacheable: bool = False

    @property
    def cycles(self) -> int:
        """From acceptance to answer, both included."""
        return self.answered - self.accepted + 1


@dataclass
class Walk:
    request: Request
    taken: int
    read: int
    due: int
    answer: dict[str, int] | None = None


@dataclass
class Range:
    ctx: int
    base: int
    limit: int
    ppn: int
    perm: int
    since: int
    dead: int | None = None


@dataclass
class Bench:
    dut: object
    world: World = field(default_factory=World)
    rng: random.Random = field(default_factory=lambda: random.Random(0))
    offer: Callable[[], bool] = lambda: True
    walk_ready: Callable[[], bool] = lambda: True
    walk_latency: Callable[[], int] = lambda: 4
    clusters: bool = True
    """The walker tells about neighbours."""
    cycle: int = 0
    queue: deque[Request] = field(default_factory=deque)
    flying: dict[int, Request] = field(default_factory=dict)
    walks: list[Walk] = field(default_factory=list)
    pulses: list[int] = field(default_factory=list)
    ranges: list[Range] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys([*EVENTS, "invalidated"], 0))
    ids: deque[int] = field(default_factory=lambda: deque(range(1 << 14)))
    pulse: tuple[int, int, int, int] | None = None
    write_range: tuple[int, int] | None = None
    epoch: int = 0
    """Turned by `fence`."""
    grace: list[int] = field(default_factory=list)
    """Cycles that each fence took."""
    fence_since: int | None = None
    fences: bool = False
    """A fence begins whenever the one before is over."""
    busy: bool = False
    offering: bool = False

    async def start(self) -> Bench:
        dut = self.dut
        for name in [
            "rst_ni",
            "req_valid_i",
            "walk_ready_i",
            "ans_valid_i",
            "range_we_i",
            "inval_valid_i",
            "epoch_i",
        ]:
            getattr(dut, name).value = 0
        cocotb.start_soon(Clock(dut.clk_i, 2).start())
        for _ in range(3):
            await RisingEdge(dut.clk_i)
        dut.rst_ni.value = 1
        # Memories are swept first, and everything misses.
        for _ in range(int(os.environ["BENCH_SETS"]) + 6):
            await self.step()
        assert not self.busy
        return self

    def invalidate(self, scope: int = ALL, ctx: int = 0, vpn: int = 0, order: int = 0) -> None:
        """In the next step."""
        self.pulse = (scope, ctx, vpn >> order << order, order)

    def put_range(self, index: int, ctx: int, base: int, limit: int, ppn: int, perm: int = 3) -> None:
        """Writes an entry of the range TLB in the next step; base and limit are pages."""
        bits = (1 << 2 | perm) << 8 | ctx
        bits = ((bits << 45 | base) << 45 | limit) << 44 | (ppn - base) % (1 << 44)
        self.write_range = index, bits
        self.ranges.append(Range(ctx, base, limit, ppn, perm, self.cycle))

    def _fence(self) -> None:
        """Turns the epoch when nothing of the other one is left; what began in the one that ends is waited for."""
        if self.fence_since is None and self.fences:
            self.epoch ^= 1
            self.fence_since = self.cycle
            self.dut.epoch_i.value = self.epoch
        elif self.fence_since is not None and not self.busy and self.cycle - self.fence_since > 1:
            self.grace.append(self.cycle - self.fence_since)
            self.fence_since = None
            self.fenced = self.cycle

    async def fence(self) -> int:
        """Until all pulses so far are swept; in how many cycles."""
        assert self.fence_since is None, "one fence at a time"
        self.fences = True
        await self.step()
        self.fences = False
        while self.fence_since is not None:
            await self.step()
        return self.grace[-1]

    async def step(self) -> None:
        dut = self.dut
        self._fence()
        if not self.offering and self.queue and self.offer():
            self.offering = True
            request = self.queue[0]
            request.id = self.ids.popleft()
            dut.req_id_i.value, dut.req_ctx_i.value = request.id, request.ctx
            dut.req_vpn_i.value, dut.req_write_i.value = request.vpn, int(request.write)
        dut.req_valid_i.value = int(self.offering)
        walk_ready = self.walk_ready()
        dut.walk_ready_i.value = int(walk_ready)
        self._pulse()
        answer = self._walk_answer()
        dut.range_we_i.value = int(self.write_range is not None)
        if self.write_range is not None:
            dut.range_idx_i.value, dut.range_i.value = self.write_range
            self.write_range = None

        await ReadOnly()
        if dut.rsp_valid_o.value:
            self._check(answer)
        else:
            assert answer is None, "an answer of the walker is lost"
        if self.offering and dut.req_ready_o.value:
            request = self.queue.popleft()
            request.accepted = self.cycle
            self.flying[request.id] = request
            self.offering = False
        if dut.walk_cancel_o.value:
            self._withdraw_walk()
        if walk_ready and dut.walk_valid_o.value:
            self._take_walk()
        self.busy = bool(dut.inval_busy_o.value)
        # Once nothing of the other epoch is left, none comes back before the next turn.
        assert not (self.busy and self.fence_since is None), "busy with what a fence has seen the end of"
        self._count(int(dut.events_o.value))
        self.cycle += 1
        await RisingEdge(dut.clk_i)

    def _pulse(self) -> None:
        dut, pulse, self.pulse = self.dut, self.pulse, None
        dut.inval_valid_i.value = int(pulse is not None)
        if pulse is None:
            return
        dut.inval_scope_i.value, dut.inval_ctx_i.value, dut.inval_vpn_i.value, dut.inval_order_i.value = pulse
        self.pulses.append(self.cycle)
        self.world.invalidate(self.cycle, *pulse)
        scope, ctx, vpn, order = pulse
        for entry in self.ranges:
            hits = entry.base < vpn + (1 << order) and vpn <= entry.limit
            meant = scope == ALL or (ctx == entry.ctx and (scope == CONTEXT or hits))
            # One that is written in this cycle is newer than the pulse.
            if meant and entry.dead is None and entry.since < self.cycle:
                entry.dead = self.cycle

    def _walk_answer(self) -> Walk | None:
        """Page tables are read some time before the answer; no fault is cacheable, nor what saw a pulse."""
        dut = self.dut
        for walk in self.walks:
            if walk.answer is None and walk.read <= self.cycle:
                walk.answer = self._read(walk.request)
        ready = [walk for walk in self.walks if walk.due <= self.cycle and walk.answer is not None]
        dut.ans_valid_i.value = int(bool(ready))
        if not ready:
            return None
        walk = self.rng.choice(ready)
        self.walks.remove(walk)
        request = walk.request
        walk.answer["cacheable"] = int(
            not any(walk.taken < pulse <= self.cycle for pulse in self.pulses[-50:])
        )
        dut.ans_id_i.value, dut.ans_ctx_i.value, dut.ans_vpn_i.value = request.id, request.ctx, request.vpn
        for name, value in walk.answer.items():
            getattr(dut, f"ans_{name}_i").value = value
        return walk

    def _read(self, request: Request) -> dict[str, int]:
        leaf = self.world.now(request.ctx, request.vpn)
        if leaf is None or not leaf.perm & (1 if request.write else 2):
            return {"fault": 1}
        own = 1 << request.vpn % 16
        near = self.clusters and leaf.order == 0
        return {
            "fault": 0,
            "ppn": leaf.frame(request.vpn),
            "order": leaf.order,
            "cluster": self.world.cluster(request.ctx, request.vpn) if near else own,
            "perm": leaf.perm,
            "global": int(leaf.ctx is None),
        }

    def _take_walk(self) -> None:
        dut = self.dut
        request = self.flying[int(dut.walk_id_o.value)]
        assert request.walked < 0, "asked the walker twice"
        asked = int(dut.walk_ctx_o.value), int(dut.walk_vpn_o.value), bool(dut.walk_write_o.value)
        assert asked == (request.ctx, request.vpn, request.write)
        request.walked = self.cycle
        # It may be withdrawn in the next cycle: no walker answers before it knows.
        due = self.cycle + max(2, self.walk_latency())
        read = min(due, self.cycle + 1 + self.rng.randrange(4))
        self.walks.append(Walk(request, self.cycle, read, due))

    def _withdraw_walk(self) -> None:
        walk = self.walks.pop()
        assert walk.taken == self.cycle - 1, "only what was taken in the cycle before can be withdrawn"
        walk.request.walked = -1

    def _check(self, walk: Walk | None) -> None:
        dut = self.dut
        request = self.flying.pop(int(dut.rsp_id_o.value))  # KeyError: an answer nobody asked for
        self.ids.append(request.id)
        request.answered = self.cycle
        assert int(dut.rsp_page_o.value) == request.ctx << 45 | request.vpn
        request.fault = bool(dut.rsp_fault_o.value)
        request.cacheable = bool(dut.rsp_cacheable_o.value)
        if walk is not None:
            assert walk.request is request, "the walker's answer does not come first"
            assert request.fault == bool(walk.answer["fault"])
        else:
            assert request.walked < 0 and not request.fault
            late = any(request.accepted < pulse <= self.cycle for pulse in self.pulses[-50:])
            assert request.cacheable != late
        if request.fault:
            return
        ppn, perm = int(dut.rsp_ppn_o.value), int(dut.rsp_perm_o.value)
        order, cluster = int(dut.rsp_order_o.value), int(dut.rsp_cluster_o.value)
        request.order = order
        if not dut.rsp_global_o.value and self._in_range(request, ppn, perm):
            return
        assert perm & (1 if request.write else 2), "the access is not allowed"
        # Each page that the answer speaks of; of large ones the first, the last and the one asked for.
        first = request.vpn >> order << order
        pages = (
            set(range(first, first + (1 << order)))
            if order <= 4
            else {first, request.vpn, first + (1 << order) - 1}
        )
        if order < 4:
            base = request.vpn >> 4 << 4
            assert cluster >> request.vpn % 16 & 1
            pages |= {base + i for i in range(16) if cluster >> i & 1}
        # The L1 keeps it as one entry and puts the frame together from both: the frame lies in its block as the page does in its own.
        assert (ppn ^ request.vpn) & ((1 << order) - 1) == 0, f"{request}: frame {ppn:#x} in order {order}"
        for page in pages:
            said = ppn + page - request.vpn, perm, bool(dut.rsp_global_o.value)
            known = [
                (leaf.frame(page), leaf.perm, leaf.ctx is None)
                for leaf in self.world.around(request.ctx, page)
                if leaf.usable(request.accepted, self.cycle)
            ]
            assert said in known, f"{request}: page {page:#x} {said}, not {known}"

    def _in_range(self, request: Request, ppn: int, perm: int) -> bool:
        return any(
            entry.ctx == request.ctx
            and entry.base <= request.vpn <= entry.limit
            and (ppn, perm) == (entry.ppn + request.vpn - entry.base, entry.perm)
            and entry.perm & (1 if request.write else 2)
            and entry.since <= request.accepted
            and (entry.dead is None or request.accepted < entry.dead)
            for entry in self.ranges
        )

    def _count(self, bits: int) -> None:
        if bits:
            self.counts["invalidated"] += bits & 31
            for i, name in enumerate(EVENTS):
                self.counts[name] += bits >> (i + 5) & 1

    async def run(self, requests: list[Request] = (), limit: int = 20000) -> list[Request]:
        """Submits, and runs until everything is answered."""
        self.queue.extend(requests)
        end = self.cycle + limit
        while self.queue or self.flying:
            assert self.cycle < end, f"{len(self.flying)} requests are never answered"
            await self.step()
        return list(requests)

    async def idle(self, cycles: int) -> None:
        for _ in range(cycles):
            await self.step()
