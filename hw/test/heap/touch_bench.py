# SPDX-License-Identifier: Apache-2.0
"""Drives tb_touch: walks page tables in a memory, serves what gw_touch asks its neighbours, and knows whose each frame is."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from functools import reduce
from operator import or_

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge

STORED, CHANGED, DENIED = 0, 1, 2
LOAD_ACCESS, STORE_ACCESS, LOAD_PAGE, STORE_PAGE = 5, 7, 13, 15
V, R, W, U, A, D, N = 1, 2, 4, 16, 64, 128, 1 << 63
LEAF = V | R | W | U | A | D
ROOT, ZERO, PARK = 0x777, 0xFFF, 9
REGIONS, ORDERS = 2, 10
FRAMES = (0x1_0000, 0x8_0000_0000)
"""First frame of each region's stock."""


@dataclass
class Area:
    """An allocation, or pages that are none."""

    ctx: int
    first: int
    pages: int
    write: int
    region: int
    granule: int


@dataclass
class Request:
    tag: int
    ctx: int
    vpn: int
    write: int
    level: int
    entry: int
    accepted: int | None = None
    same: int = 0
    """Inside what was given last: that one's order, and 1."""


class Bench:
    def __init__(self, dut, rng: random.Random, areas: list[Area]):
        self.dut, self.rng, self.areas = dut, rng, areas
        self.together = int(dut.Together.value)
        self.stall, self.latency, self.refuse, self.spurious = 0.0, 0, 0.0, 0.0
        self.orders = [k for k in range(ORDERS) if int(dut.Orders.value) >> k & 1]
        kinds = [(region, k) for region in range(REGIONS) for k in self.orders]
        # Groups by region and order: in stock; to come, if they are not; the next one.
        self.stock, self.soon = dict.fromkeys(kinds, True), dict.fromkeys(kinds, True)
        self.next = {(region, k): FRAMES[region] + (k << 20) for region, k in kinds}
        self.steady = True  # what is in stock, or will be, does not change while a request is answered
        self.memory: dict[int, int] = {}
        self.owner: dict[tuple[int, int], int] = {}  # by context and page: its frame
        self.seen: set[int] = set()
        self.given: Counter = Counter()  # by order
        self.taken: Counter = Counter()
        self.queue: list[Request] = []
        self.look = self.command = None
        self.answers: list[tuple[Request, dict, int]] = []
        self.parked: Counter = Counter()
        self.stores = self.stored = 0
        self.now = 0
        self.tag = 0
        self.end = self.busy = self.forget = False
        self.last: tuple[int, range, int] | None = None  # context, pages and order that were given last

    async def start(self):
        d = self.dut
        cocotb.start_soon(Clock(d.clk_i, 2).start())
        for name in (
            *(
                "req_valid",
                "req_src",
                "req_tag",
                "req_ctx",
                "req_vpn",
                "req_write",
                "level",
                "entry",
                "ans_ready",
            ),
            *(
                "wake_ready",
                "end",
                "forget",
                "look_ready",
                "look_done",
                "look_page",
                "stock_valid",
                "stock_frame",
                "soon",
            ),
            *("pte_ready", "pte_done", "pte_result", "pte_found"),
        ):
            getattr(d, f"{name}_i").value = 0
        d.zero_i.value = ZERO
        d.rst_ni.value = 0
        for _ in range(3):
            await RisingEdge(d.clk_i)
        d.rst_ni.value = 1
        await RisingEdge(d.clk_i)
        return self

    def get(self, name) -> int:
        return int(getattr(self.dut, name).value)

    def flowing(self) -> bool:
        return not self.stall or self.rng.random() >= self.stall

    # Page tables.

    def walk(self, ctx, vpn):
        """(level, entry, value) where the walk of a page ends; each context has a root of its own."""
        table = ROOT + ctx
        for level in (3, 2, 1, 0):
            entry = table * 512 + (vpn >> 9 * level & 511)
            value = self.memory.get(entry, 0)
            if level == 0 or not value or (level == 1 and value & R):
                return level, entry, value
            assert value & 0x3FF == V, f"{value:#x} is no pointer"
            table = value >> 10
        raise AssertionError

    def mapped(self, ctx, vpn):
        """Frame of a page, or None."""
        level, _, value = self.walk(ctx, vpn)
        if not value & R:
            return None
        assert value & 0x3FF == LEAF
        ppn = (value & ~N) >> 10
        if level == 1:
            assert 9 in self.orders and not value & N and ppn % 512 == 0
            return ppn + vpn % 512
        if value & N:
            half = ppn & -ppn
            assert half.bit_length() in self.orders
            return ppn - half + vpn % (2 * half)
        return ppn

    def page(self, ctx, vpn):
        return next((a for a in self.areas if a.ctx == ctx and a.first <= vpn < a.first + a.pages), None)

    def ask(self, ctx, vpn, write):
        level, entry, value = self.walk(ctx, vpn)
        if not value:
            self.tag = (self.tag + 1) % 256
            self.queue.append(Request(self.tag, ctx, vpn, write, level, entry))

    async def cycle(self):
        d, rng = self.dut, self.rng
        request = next((r for r in self.queue if r.accepted is None), None)
        offers = request is not None and self.flowing()
        d.req_valid_i.value = int(offers)
        if offers:
            d.req_src_i.value, d.req_tag_i.value = request.tag % 64, request.tag
            d.req_ctx_i.value, d.req_vpn_i.value, d.req_write_i.value = (
                request.ctx,
                request.vpn,
                request.write,
            )
            d.level_i.value, d.entry_i.value = request.level, request.entry
        d.ans_ready_i.value, d.wake_ready_i.value = int(self.flowing()), int(self.flowing())
        forgets = self.end or self.forget
        d.forget_i.value = int(self.forget)
        d.end_i.value, self.end = int(self.end), False
        d.look_ready_i.value = int(self.look is None and self.flowing())
        looked = self.look is not None and self.look[0] <= self.now
        d.look_done_i.value = int(looked)
        d.look_page_i.value = self.look[1] if looked else rng.getrandbits(9)
        valid = {kind: has and self.flowing() for kind, has in self.stock.items()}
        d.stock_valid_i.value = sum(v << region * ORDERS + k for (region, k), v in valid.items())
        d.soon_i.value = sum(
            (k == 0 or self.soon[region, k]) << region * ORDERS + k for region, k in self.soon
        )
        d.stock_frame_i.value = sum(
            (self.next[region, k] if v else rng.getrandbits(44)) << 44 * (region * ORDERS + k)
            for (region, k), v in valid.items()
        )
        d.pte_ready_i.value = int(self.command is None and self.flowing())
        done = self.command is not None and self.command[0] <= self.now
        d.pte_done_i.value = int(done)
        if done:
            d.pte_result_i.value, d.pte_found_i.value = self.change(*self.command[1:])
        await ReadOnly()
        self.busy = self.get("busy_o")
        if looked:
            self.look = None
        elif self.get("look_valid_o") and self.get("look_ready_i"):
            assert self.look is None
            a = self.page(self.get("look_ctx_o"), self.get("look_vpn_o"))
            found = 1 << 8 | a.write << 7 | a.region << 4 | a.granule if a else rng.getrandbits(8)
            self.look = [self.now + 5, found]
        if done:
            self.command = None
        elif self.get("pte_valid_o") and self.get("pte_ready_i"):
            values = (self.get(f"pte_{n}_o") for n in ("group", "entry", "expected", "wanted"))
            self.command = [self.now + 3 + self.latency, *values]
        takes = self.get("stock_take_o")
        for region in range(REGIONS):
            for k in range(ORDERS):
                if takes >> region * ORDERS + k & 1:
                    assert valid[region, k], "taken where none was offered"
                    self.next[region, k] += 1 << k
                    self.taken[region, k] += 1
        if self.get("wake_valid_o") and self.get("wake_ready_i"):
            assert self.get("wake_ok_o")
            self.parked[self.get("wake_park_o")] = 0
        # Behind the wake-up of this cycle: an answer is parked until the next one.
        self.answered()
        if offers and self.get("req_ready_o"):
            request.accepted = self.now
            if self.last is not None and request.ctx == self.last[0] and request.vpn in self.last[1]:
                request.same = self.last[2] + 1
        if forgets:
            self.last = None
        self.now += 1
        await RisingEdge(d.clk_i)

    def change(self, group, entry, expected, wanted):
        """What gw_pte_unit does."""
        count = self.together if group else 1
        entries = range(entry, entry + count)
        assert entry % count == 0
        found = reduce(or_, (self.memory.get(at, 0) for at in entries))
        if self.refuse and self.rng.random() < self.refuse:
            return DENIED, found
        if found != expected or (self.spurious and self.rng.random() < self.spurious):
            return CHANGED, found
        assert expected == 0, "what is there is changed"
        assert not group or wanted & N
        self.memory.update(dict.fromkeys(entries, wanted))
        self.stores += 1
        # Nobody ever sees another frame than the page's own, and no page behind a link is left out.
        pages = list(self.owner) if self.stores % 32 == 0 else list(self.owner)[-64:]
        for ctx, vpn in pages:
            assert self.mapped(ctx, vpn) in (None, self.owner[ctx, vpn]), f"page {vpn:#x} of context {ctx}"
        return STORED, found

    def answered(self):
        if not (self.get("ans_valid_o") and self.get("ans_ready_i")):
            return
        r = self.queue.pop(0)
        assert r.accepted is not None, "an answer to nothing"
        assert self.get("ans_of_o") == ((r.tag % 64 << 8 | r.tag) << 8 | r.ctx) << 45 | r.vpn
        answer = {
            n: self.get(f"ans_{n}_o") for n in ("ppn", "order", "perm", "fault", "cause", "parked", "park")
        }
        self.answers.append((r, answer, self.now - r.accepted))
        a = self.page(r.ctx, r.vpn)
        if r.same:
            assert (answer["ppn"], answer["perm"]) == (self.owner[r.ctx, r.vpn], 0b111)
            assert answer["order"] == r.same - 1
        elif a is None or (r.write and not a.write):
            assert answer["fault"] and answer["cause"] == (STORE_PAGE if r.write else LOAD_PAGE)
        elif answer["fault"]:
            assert self.refuse and answer["cause"] == (STORE_ACCESS if r.write else LOAD_ACCESS)
        elif answer["parked"]:
            assert answer["park"] in (PARK, PARK + a.region)
            self.parked[answer["park"]] += 1
        elif not r.write:
            assert self.memory.get(r.entry, 0) == 0
            assert (answer["ppn"], answer["order"], answer["perm"]) == (ZERO, 0, 0b010)
        else:
            assert (r.ctx, r.vpn) not in self.owner, "a second frame"
            order, size = answer["order"], 1 << answer["order"]
            legal = self.legal(r, a)
            assert order in legal and answer["perm"] == 0b111
            if self.steady:
                assert order == max(k for k in legal if self.soon[a.region, k] or not k)
            last = self.next[a.region, order] - size
            assert answer["ppn"] == last + r.vpn % size and last not in self.seen
            self.seen.add(last)
            self.given[order] += 1
            base = r.vpn - r.vpn % size
            for i in range(size):
                self.owner[r.ctx, base + i] = last + i
            self.last = r.ctx, range(base, base + size), order

    def legal(self, r, a):
        """Orders that an answer with a frame may have."""

        def free(size):
            base = r.vpn - r.vpn % size
            return not any((r.ctx, base + i) in self.owner for i in range(size))

        return [k for k in self.orders if k <= a.granule and (k < 9 or r.level) and free(1 << k)]

    async def settle(self, limit=5000):
        begin = idle = self.now
        while self.now - idle < 10:
            if self.queue or self.busy:
                idle = self.now + 1
            await self.cycle()
            assert self.now - begin < limit, "no answer"

    async def touch(self, ctx, vpn, write=1):
        """Answer and cycles of one request, when all is stored."""
        self.ask(ctx, vpn, write)
        begin = self.now
        await self.settle()
        self.stored = self.now - begin - 10
        return self.answers[-1][1:]

    def check_all(self):
        for (ctx, vpn), frame in self.owner.items():
            assert self.mapped(ctx, vpn) == frame, f"page {vpn:#x} of context {ctx}"
