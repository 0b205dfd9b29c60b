# SPDX-License-Identifier: Apache-2.0
"""Drives tb_reclaim over page tables in a memory, and knows who may still reach each frame."""

from __future__ import annotations

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge

STORED, CHANGED, DENIED = 0, 1, 2
V, R, W, U, A, D, N = 1, 2, 4, 16, 64, 128, 1 << 63
LEAF = V | R | W | U
ROOT = 0x777
ONE_BEAT = 6 << 2 | 1
RANGE, CONTEXT = 2, 1
REGION, TABLES = 2, 0
FRAMES = {REGION: 0x10_0000, TABLES: 0x5_0000}


class Bench:
    def __init__(self, dut, rng: random.Random):
        self.dut, self.rng = dut, rng
        self.stall = self.refuse = self.spurious = self.aged = self.bad_read = 0.0
        self.latency = 0
        self.memory: dict[int, int] = {}  # by entry
        self.next = dict(FRAMES)
        self.orders = [k for k in range(10) if int(dut.Orders.value) >> k & 1]
        self.groups: dict[tuple[int, int], tuple[int, int]] = {}  # by context and first page: frame, order
        self.pages: dict[tuple[int, int], int] = {}  # by context and page: its frame, as it was mapped
        self.tables: dict[
            tuple[int, int, int], int
        ] = {}  # by context, level and number: of a table of this level
        self.known: dict[
            int, tuple[int, int, int]
        ] = {}  # frames that a TLB or a walk may know: context, first page, pages
        self.fenced: list[int] = []  # no longer, if this fence ends
        self.unsettled: set[int] = set()  # tables that gw_touch may know
        self.calm: set[int] = set()
        self.given: list[tuple[int, int, int]] = []  # region, order, frame
        self.invals = self.settles = 0
        self.read = self.command = self.give = None
        self.settling = self.fencing = None
        self.ctx, self.ended = 0, 0
        self.now = 0

    async def start(self):
        d = self.dut
        cocotb.start_soon(Clock(d.clk_i, 2).start())
        for name in (
            *(f"job_{n}" for n in ("valid", "ctx", "region", "granule", "first", "from", "to")),
            *("settle_done", "inval_ready", "fence_done", "pte_ready", "pte_done", "pte_result", "pte_found"),
            *("cmd_ready", "rsp_valid", "rsp_ok", "ar_ready", "r_valid", "r_data", "r_resp", "ctx_root"),
        ):
            getattr(d, f"{name}_i").value = 0
        d.ctx_mode_i.value = 9
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

    # Page tables, as gw_touch makes them.

    def frame(self, region, count=1):
        self.next[region] += count
        return self.next[region] - count

    def map(self, ctx, vpn, order=0):
        """A page, or the group of one, and the tables on the way."""
        table, size = ROOT + ctx, 1 << order
        vpn -= vpn % size
        if any((ctx, vpn + i) in self.pages for i in range(size)):
            return
        for level in (3, 2, 1) if order < 9 else (3, 2):
            entry = table * 512 + (vpn >> 9 * level & 511)
            if not self.memory.get(entry):
                made = self.frame(TABLES)
                self.memory[entry] = made << 10 | V
                self.tables[ctx, level - 1, vpn >> 9 * level] = made
                self.known[made] = ctx, vpn >> 9 * level << 9 * level, 1 << 9 * level
                self.unsettled.add(made)
            table = self.memory[entry] >> 10
        if order == 9 and self.memory.get(table * 512 + (vpn >> 9) % 512):
            return
        self.next[REGION] += -self.next[REGION] % size
        frame = self.frame(REGION, size)
        if order == 9:
            self.memory[table * 512 + (vpn >> 9) % 512] = frame << 10 | LEAF | A | D
        for i in range(size):
            if order < 9:
                self.memory[table * 512 + (vpn + i) % 512] = (
                    (frame | size // 2) << 10 | LEAF | A | D | (N if order else 0)
                )
            self.pages[ctx, vpn + i] = frame + i
            if i < 16 or i % 37 == 0 or i == size - 1:
                self.known[frame + i] = ctx, vpn + i, 1
        self.groups[ctx, vpn] = frame, order

    def walk(self, ctx, vpn):
        """Frame of a page, or None."""
        table = ROOT + ctx
        for level in (3, 2, 1, 0):
            value = self.memory.get(table * 512 + (vpn >> 9 * level & 511), 0)
            if not value:
                return None
            if value & R:
                break
            table = value >> 10
        frame = (value & ~N) >> 10
        if level:
            return frame + vpn % 512
        half = frame & -frame
        return frame - half + vpn % (2 * half) if value & N else frame

    def reachable(self, frame):
        """A table, or a page, that walks still come to."""
        ctx, first, pages = self.known[frame]
        if pages == 1:
            return self.walk(ctx, first) == frame
        table = ROOT + ctx
        for level in (3, 2, 1):
            value = self.memory.get(table * 512 + (first >> 9 * level & 511), 0)
            if not value or value & R:
                return False
            table = value >> 10
            if 1 << 9 * level == pages:
                return table == frame
        raise AssertionError

    # A cycle.

    async def cycle(self):
        d, rng = self.dut, self.rng
        d.ar_ready_i.value = int(self.read is None and self.flowing())
        d.inval_ready_i.value = int(self.flowing())
        d.pte_ready_i.value = int(self.command is None and self.flowing())
        d.cmd_ready_i.value = int(self.give is None and self.flowing())
        read = self.read is not None and self.read[0] <= self.now
        d.r_valid_i.value = int(read)
        if read:
            bad = rng.random() < self.bad_read
            base = self.read[1] // 8
            d.r_data_i.value = sum(self.memory.get(base + i, 0) << 64 * i for i in range(8))
            d.r_resp_i.value = 2 if bad else 0
        done = self.command is not None and self.command[0] <= self.now
        d.pte_done_i.value = int(done)
        if done:
            d.pte_result_i.value, d.pte_found_i.value = self.change(*self.command[1:])
        answered = self.give is not None and self.give[0] <= self.now
        d.rsp_valid_i.value = int(answered)
        d.rsp_ok_i.value = int(answered and self.take_back(self.give[1]))
        settled = self.settling is not None and self.settling <= self.now
        d.settle_done_i.value = int(settled)
        fenced = self.fencing is not None and self.fencing <= self.now
        d.fence_done_i.value = int(fenced)
        d.ctx_root_i.value = ROOT + self.ctx
        await ReadOnly()
        if settled:
            assert self.get("settle_o")
            self.settling = None
            self.settles += 1
            self.unsettled -= self.calm
        elif self.get("settle_o") and self.settling is None:
            self.settling = self.now + (rng.randrange(20) if self.stall else 0)
            self.calm = {f for f in self.unsettled if f not in self.known}
        if fenced:
            assert self.get("fence_o")
            self.fencing = None
            for frame in self.fenced:
                del self.known[frame]
            self.fenced = []
        elif self.get("fence_o") and self.fencing is None:
            self.fencing = self.now + (rng.randrange(40) if self.stall else 0)
        if self.get("inval_valid_o") and self.get("inval_ready_i"):
            self.invalidated()
        if read:
            assert self.get("r_ready_o")
            self.read = None
        elif self.get("ar_valid_o") and self.get("ar_ready_i"):
            assert self.get("ar_shape_o") == ONE_BEAT and self.get("ar_addr_o") % 64 == 0
            self.read = [self.now + 1 + self.latency, self.get("ar_addr_o")]
        if done:
            self.command = None
        elif self.get("pte_valid_o") and self.get("pte_ready_i"):
            values = (self.get(f"pte_{n}_o") for n in ("entry", "expected", "wanted"))
            self.command = [self.now + 4 + self.latency, *values]
        if answered:
            self.give = None
        elif self.get("cmd_valid_o") and self.get("cmd_ready_i"):
            self.give = [self.now + (rng.randrange(40) if self.stall else 1), self.get("cmd_o")]
        self.ended = self.get("job_done_o")
        self.now += 1
        await RisingEdge(d.clk_i)

    def change(self, entry, expected, wanted):
        """What gw_pte_unit does, beside a walker that ages entries."""
        if self.refuse and self.rng.random() < self.refuse:
            return DENIED, self.memory.get(entry, 0)
        found = self.memory.get(entry, 0)
        if found and found & R and self.rng.random() < self.aged:
            found = self.memory[entry] = found ^ A
        if found != expected or self.rng.random() < self.spurious:
            return CHANGED, found
        assert wanted == 0 and expected
        del self.memory[entry]
        return STORED, found

    def invalidated(self):
        """Of what the invalidation names, all that walks do not come to any more is unknown when the fence ends."""
        self.invals += 1
        ctx, vpn, order = (self.get(f"inval_{n}_o") for n in ("ctx", "vpn", "order"))
        scope = self.get("inval_scope_o")
        assert ctx == self.ctx and scope in (RANGE, CONTEXT) and vpn % (1 << order) == 0 and order <= 18
        for frame, (of, first, pages) in self.known.items():
            named = of == ctx and (scope == CONTEXT or (first < vpn + (1 << order) and vpn < first + pages))
            if named and not self.reachable(frame):
                self.fenced.append(frame)

    def take_back(self, cmd):
        give, dirty, region = cmd >> 52, cmd >> 51 & 1, cmd >> 48 & 7
        order, frame = cmd >> 44 & 15, cmd & (1 << 44) - 1
        assert give and dirty and order in self.orders and region in (REGION, TABLES)
        assert frame % (1 << order) == 0
        for i in range(1 << order):
            assert frame + i not in self.known, (
                f"frame {frame + i:#x} is given back while somebody may know it"
            )
            assert frame + i not in self.unsettled, f"table {frame + i:#x}: gw_touch may write it"
        self.given.append((region, order, frame))
        return True

    async def job(self, ctx, first, start, end, granule=0, limit=1_000_000):
        """Cycles from acceptance to the end."""
        d = self.dut
        self.ctx = ctx
        values = {"ctx": ctx, "region": REGION, "granule": granule, "first": first, "from": start, "to": end}
        for name, value in values.items():
            getattr(d, f"job_{name}_i").value = value
        d.job_valid_i.value = 1
        while True:
            await self.cycle()
            if self.get("busy_o"):
                break
        d.job_valid_i.value = 0
        begin = self.now - 1
        while not self.ended:
            await self.cycle()
            assert self.now - begin < limit, "the job does not end"
        return self.now - 1 - begin

    def expect(self, ctx, first, start, end, granule=0):
        """What a job has to give back; it is forgotten here."""
        start += -start % (1 << max(k for k in self.orders if k <= granule))
        low, high = first + start, first + end
        frames = []
        for of, vpn in list(self.pages):
            if of == ctx and low <= vpn < high:
                del self.pages[of, vpn]
                if (of, vpn) in self.groups:
                    frame, order = self.groups.pop((of, vpn))
                    frames.append((REGION, order, frame))
        for (of, level, number), frame in list(self.tables.items()):
            size = 1 << 9 * (level + 1)
            if of == ctx and low <= number * size and (number + 1) * size <= high:
                del self.tables[of, level, number]
                frames.append((TABLES, 0, frame))
        return sorted(frames)

    async def check(self, ctx, first, start, end, granule=0):
        expected = self.expect(ctx, first, start, end, granule)
        self.given.clear()
        cycles = await self.job(ctx, first, start, end, granule)
        assert sorted(self.given) == expected, (
            f"{len(self.given)} given, {len(expected)} expected: {set(self.given) ^ set(expected)}"
        )
        for (of, vpn), frame in self.pages.items():
            assert self.walk(of, vpn) == frame, f"page {vpn:#x} of context {of} was changed"
        assert not self.fenced and self.read is self.command is self.give is None
        return cycles
