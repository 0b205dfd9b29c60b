# SPDX-License-Identifier: Apache-2.0
"""Drives tb_heap: tells its agents what to do, and knows what every byte of every allocation may be."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, First, Timer, ValueChange

from godwit.spec import layout

MALLOC, REALLOC, FREE, READ, WRITE = range(5)
AGENTS, PAGE, SMALL_SLOT = 4, 4096, 16
STATUS = {c.value: c.name for group in layout.load() if group.name == "heap" for c in group.constants}
FAULT = "fault"
STATUS[15] = FAULT
BLOCKS = (4, 2)
BUDGET = (1000, 400)
"""Frames of each region that allocations may hold: what is more waits for what is taken back."""
TABLES_KEPT = 3
WIDTHS = {"op": 3, "ctx": 2, "pointer": 64, "size": 64, "how": 9}
"""Bits of what an agent is told."""


def later(number: int) -> Timer:
    """Between two rising edges of the clock, so many later: without being woken in each."""
    return Timer(2 * number, "step")


@dataclass(eq=False)
class Allocation:
    ctx: int
    pointer: int
    pages: int
    region: int
    granule: int
    write: int
    compact: int
    data: dict[tuple[int, int], int] = field(default_factory=dict)  # by page and line
    maybe: dict[tuple[int, int], set[int]] = field(default_factory=dict)  # of before a shrink
    touched: set[int] = field(default_factory=set)  # pages, or groups
    users: int = 0
    orders: tuple[int, ...] = (0, 4)

    @property
    def group(self):
        """Pages that come together, at most."""
        return 1 << max(k for k in self.orders if k <= self.granule)

    def frames(self):
        return len(self.touched) * self.group + 2 + len({t * self.group >> 9 for t in self.touched})


class Bench:
    def __init__(self, dut, rng: random.Random):
        self.dut, self.rng = dut, rng
        self.values: dict[str, list[int]] = {
            name: [0] * AGENTS for name in ("op", "ctx", "pointer", "size", "how")
        }
        self.orders = tuple(k for k in range(10) if int(dut.Orders.value) >> k & 1)
        # Who waits for a group waits for two to be cleared at most; a word of it takes two cycles when memory stalls.
        self.longest = 20_000 + 2 * 2 * (64 << max(self.orders))
        self.go = 0
        self.done = 0
        self.busy: list[tuple | None] = [None] * AGENTS
        self.live: list[Allocation] = []
        self.freed: list[Allocation] = []
        self.serial = 0
        self.counts: Counter = Counter()
        self.worst: Counter = Counter()
        self.operations = 0

    async def start(self, quota=1000):
        d = self.dut
        cocotb.start_soon(Clock(d.clk_i, 2).start())
        for name in (
            "start",
            "go",
            "op",
            "ctx",
            "pointer",
            "size",
            "how",
            "end",
            "end_ctx",
            "ctx_write",
            "stall",
            "kernels",
            "hold",
            "see",
        ):
            getattr(d, f"{name}_i").value = 0
        d.blocks_i.value = BLOCKS[0] | BLOCKS[1] << 5
        d.quota_i.value, d.latency_i.value, d.room_i.value = quota, 10, 1
        d.rst_ni.value = 0
        await FallingEdge(d.clk_i)
        await later(3)
        d.rst_ni.value = 1
        await later(2500)  # the table of slots is cleared
        d.start_i.value = 3
        await later(1)
        d.start_i.value = 0
        return self

    def get(self, name) -> int:
        return int(getattr(self.dut, name).value)

    def of(self, name, agent, width) -> int:
        return self.get(name) >> width * agent & (1 << width) - 1

    # Operations.

    def begin(self, agent, op, ctx, pointer=0, size=0, how=0, *, note=None):
        assert self.busy[agent] is None
        for name, value in (("op", op), ("ctx", ctx), ("pointer", pointer), ("size", size), ("how", how)):
            self.values[name][agent] = value
            packed = sum(v << WIDTHS[name] * i for i, v in enumerate(self.values[name]))
            getattr(self.dut, f"{name}_i").value = packed
        self.go ^= 1 << agent
        self.dut.go_i.value = self.go
        self.busy[agent] = (op, ctx, pointer, size, note)
        self.operations += 1

    def ended(self):
        """(agent, operation, status, value) of those that are done since the last call."""
        now = self.get("done_o")
        changed, self.done = now ^ self.done, now
        for agent in range(AGENTS):
            if changed >> agent & 1:
                operation, self.busy[agent] = self.busy[agent], None
                status = STATUS[self.of("status_o", agent, 4)]
                cycles = self.of("cycles_o", agent, 16)
                if operation[0] < READ:
                    self.worst[operation[0]] = max(self.worst[operation[0]], cycles)
                yield agent, operation, status, self.of("value_o", agent, 64), cycles

    async def wait(self):
        """Until something is done."""
        if self.get("done_o") == self.done:
            late = later(self.longest)
            first = await First(ValueChange(self.dut.done_o), late)
            assert first is not late, (
                f"nothing is done: {self.busy}, parked {self.get('parked_o'):b}, free {self.get('free_o'):x}"
            )
            await FallingEdge(self.dut.clk_i)

    async def do(self, op, ctx, pointer=0, size=0, how=0, agent=0):
        """One operation by itself: (status, value, cycles)."""
        self.begin(agent, op, ctx, pointer, size, how)
        await self.wait()
        ((_, _, status, value, cycles),) = self.ended()
        return status, value, cycles

    # Random work of all agents at once.

    def budget(self, region):
        return BUDGET[region] - sum(a.frames() for a in self.live if a.region == region)

    def pick(self, *, alone):
        free = [a for a in self.live if not (a.users if alone else a.users < 0)]
        return self.rng.choice(free) if free else None

    def begin_random(self, agent):
        """Something for an agent to do, or nothing."""
        rng = self.rng
        kind = rng.random()
        if kind < 0.06 and len(self.live) < 60:
            compact = int(rng.random() < 0.3)
            pages = (
                rng.randrange(1, 17) if compact else rng.choice((1, rng.randrange(1, 300), 1 << 21, 1 << 22))
            )
            granule = (
                rng.choice((0, 0, rng.randrange(5), 4))
                if compact
                else rng.choice((0, 0, rng.randrange(10), 4, 9))
            )
            region = int(rng.random() < 0.3 and pages < 300)
            write = int(rng.random() < 0.9)
            wanted = Allocation(
                rng.randrange(3), 0, pages, region, granule, write, compact, orders=self.orders
            )
            how = write << 8 | compact << 7 | granule << 3 | region
            self.begin(
                agent, MALLOC, wanted.ctx, size=pages * PAGE - rng.randrange(PAGE), how=how, note=wanted
            )
        elif kind < 0.11 and (a := self.pick(alone=True)):
            pages = rng.choice((1, a.pages, rng.randrange(1, 320), max(1, a.pages // 2)))
            if a.compact:
                pages = min(pages, 16)
            a.users = -1
            self.begin(agent, REALLOC, a.ctx, a.pointer, pages * PAGE, note=(a, pages))
        elif kind < 0.16 and (a := self.pick(alone=True)):
            a.users = -1
            self.live.remove(a)
            self.begin(agent, FREE, a.ctx, a.pointer, note=a)
        elif kind < 0.18 and self.freed:
            # After its free: nothing of it, or its own.
            a = rng.choice(self.freed[-8:])
            pointer = a.pointer + rng.randrange(min(a.pages, 20)) * PAGE
            self.begin(agent, READ, a.ctx, pointer + agent * 64, note=None)
        elif kind < 0.20 and self.live:
            # What is refused.
            a = rng.choice(self.live)
            bad = rng.choice(
                (
                    (FREE, a.ctx, a.pointer + PAGE),
                    (FREE, 3, a.pointer),
                    (REALLOC, 3, a.pointer),
                    (MALLOC, 0, 0),
                )
            )
            self.begin(agent, *bad, size=PAGE if bad[0] == REALLOC else 0, note="refused")
        elif a := self.pick(alone=False):
            page = rng.choice((rng.randrange(a.pages), rng.randrange(min(a.pages, 24))))
            line = agent * 16 + rng.randrange(2)
            writes = a.write and rng.random() < 0.6
            if writes and page // a.group not in a.touched and self.budget(a.region) < a.group + 20:
                return
            a.users += 1
            pointer = a.pointer + page * PAGE
            self.serial = self.serial % 0xFFFFF + 1
            value = self.tag(a.ctx, pointer, self.serial) if writes else 0
            if writes:
                a.touched.add(page // a.group)
            self.begin(
                agent, WRITE if writes else READ, a.ctx, pointer + line * 64, value, note=(a, page, line)
            )

    @staticmethod
    def tag(ctx, pointer, serial):
        """Says whose it is."""
        return ctx << 61 | (pointer >> 12 & (1 << 40) - 1) << 21 | serial << 1

    def check(self, operation, status, value):
        op, ctx, pointer, size, note = operation
        self.counts[op, status] += 1
        if note == "refused":
            assert status not in ("ok", FAULT), f"{operation}: {status}"
        elif op == MALLOC:
            assert status in ("ok", "no_frame"), status
            if status == "ok":
                assert all(a.pointer != value for a in self.live)
                note.pointer = value
                self.live.append(note)
        elif op == FREE:
            assert status == "ok"
            note.users = 0
            self.freed.append(note)
        elif op == REALLOC:
            self.check_realloc(*note, status)
        elif note is None:
            whose = self.tag(ctx, pointer, 0) >> 21
            assert status == FAULT or value == 0 or value >> 21 == whose, f"{pointer:#x} reads {value:#x}"
        else:
            a, page, line = note
            a.users -= 1
            assert status == "ok", f"{operation}: {status}"
            if op == WRITE:
                a.data[page, line] = size
                a.maybe.pop((page, line), None)
            else:
                may = a.maybe.get((page, line), set()) | {a.data.get((page, line), 0)}
                assert value in may, f"{pointer:#x} reads {value:#x}, not {may}"

    def check_realloc(self, a, pages, status):
        a.users = 0
        capacity = SMALL_SLOT if a.compact else max(1 << 21, 1 << (a.pages - 1).bit_length())
        if status != "ok":
            assert (
                status == "busy"
                or (status == "too_large" and pages > min(capacity, 1 << 21))
                or (status == "no_frame" and a.region == 1)
            ), f"{pages} pages of {a.pages}: {status}"
            return
        for page, line in [k for k in a.data if k[0] >= pages]:
            # Taken back, unless it grows again before that.
            a.maybe.setdefault((page, line), {0}).add(a.data.pop((page, line)))
        a.touched = {t for t in a.touched if t * a.group < pages}
        a.pages = pages

    async def work(self, operations):
        end = self.operations + operations
        while self.operations < end or any(self.busy):
            for agent in range(AGENTS):
                if self.busy[agent] is None and self.operations < end:
                    self.begin_random(agent)
            if not any(self.busy):
                await later(5)
                continue
            await self.wait()
            for _, operation, status, value, _ in self.ended():
                self.check(operation, status, value)
            assert not self.get("broken_o")

    async def check_all(self):
        for a in self.live:
            for (page, line), value in list(a.data.items()):
                status, found, _ = await self.do(READ, a.ctx, a.pointer + page * PAGE + line * 64)
                assert (status, found) == ("ok", value), (
                    f"{a.pointer:#x}, page {page}: {found:#x}, not {value:#x}"
                )

    async def finish(self, ends=True):
        """All is freed: every frame is there again."""
        while self.live:
            a = self.live.pop()
            assert (await self.do(FREE, a.ctx, a.pointer))[0] == "ok"
        if ends:
            for ctx in range(3):
                await self.end(ctx)
        await self.idle()
        wanted = [BLOCKS[0] * 512 - TABLES_KEPT, BLOCKS[1] * 512]
        for _ in range(400):
            free = [self.of("free_o", region, 14) for region in range(2)]
            if free == wanted:
                return
            # What is being cleared is nobody's.
            await later(1000)
        raise AssertionError(f"{free} frames are free, of {wanted}")

    async def end(self, ctx):
        self.dut.end_ctx_i.value, self.dut.end_i.value = ctx, 1
        await later(1)
        self.dut.end_i.value = 0
        await later(2)
        while self.get("end_busy_o"):
            await later(100)

    async def idle(self):
        await later(100)
        while self.get("reclaim_busy_o"):
            await later(100)
        await later(200)
