# SPDX-License-Identifier: Apache-2.0
"""Drives tb_slots, and knows what every allocation is: a second version of the rules of gw_slots."""

from __future__ import annotations

import random
from dataclasses import dataclass

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge

from godwit.spec import layout

MALLOC, REALLOC, FREE = 0, 1, 2
PAGE = 4096
STATUS = {c.name: c.value for group in layout.load() if group.name == "heap" for c in group.constants}
NAMES = {value: name for name, value in STATUS.items()}
INPUTS = (
    *(
        "cmd_valid",
        "cmd_op",
        "cmd_ctx",
        "cmd_pointer",
        "cmd_size",
        "cmd_region",
        "cmd_granule",
        "cmd_write",
        "cmd_compact",
    ),
    *("rsp_ready", "quota", "free_pages", "job_ready", "job_done", "look_valid", "look_ctx", "look_vpn"),
)
LARGE_BASE, SMALL_BASE = 0x4_0000_0000, 0x6_0000_0000
SLOT_ORDER, SMALL_ORDER, MAX_SPAN = 21, 4, 3
CONTEXTS, REGIONS = 4, 2
SETTLED = 300
"""Cycles after the end of a job in which its slot may not be known to be free yet."""


@dataclass
class Allocation:
    ctx: int
    first: int
    capacity: int
    pages: int
    high: int
    region: int
    granule: int
    write: int
    freed: bool = False
    queued: bool = False
    trimming: bool = False
    ended: int = -SETTLED


def pages_of(size: int) -> int:
    return -(-size // PAGE)


class Bench:
    def __init__(self, dut, rng: random.Random, slots: int):
        self.dut, self.rng, self.slots = dut, rng, slots
        self.stall = 0.0
        self.now = 0
        self.quota, self.free_pages = 2 * slots - 1, 1 << 30
        self.live: dict[int, Allocation] = {}  # by first page: all that holds a slot
        self.job: Allocation | None = None
        self.job_end = None
        self.serve_jobs = True
        self.jobs = 0
        self.taken_at: dict[bool, int] = {False: 0, True: 0}
        self.returned: list[tuple[int, bool, int]] = []
        self.question = None  # a lookup: [from which cycle on, ctx, vpn, accepted in]
        self.found = None  # its answer: (live, write, region, granule), cycles

    async def start(self):
        cocotb.start_soon(Clock(self.dut.clk_i, 2).start())
        for name in INPUTS:
            getattr(self.dut, f"{name}_i").value = 0
        self.dut.rst_ni.value = 0
        for _ in range(3):
            await RisingEdge(self.dut.clk_i)
        self.dut.rst_ni.value = 1
        await RisingEdge(self.dut.clk_i)
        return self

    def get(self, name) -> int:
        return int(getattr(self.dut, name).value)

    def flowing(self) -> bool:
        return not self.stall or self.rng.random() >= self.stall

    async def step(self):
        """A cycle up to where outputs are read; the caller waits for the clock's edge."""
        d = self.dut
        d.quota_i.value, d.free_pages_i.value = self.quota, self.free_pages
        d.job_ready_i.value = int(self.flowing())
        done = self.job_end is not None and self.job_end <= self.now and self.serve_jobs
        d.job_done_i.value = int(done)
        asks = self.question is not None and self.question[3] is None and self.question[0] <= self.now
        d.look_valid_i.value = int(asks)
        if asks:
            d.look_ctx_i.value, d.look_vpn_i.value = self.question[1:3]
        await ReadOnly()
        self._watch_lookup(asks)
        if done:
            job, self.job, self.job_end = self.job, None, None
            job.trimming, job.ended = False, self.now
            if job.freed_at_begin:
                del self.live[job.first]
                self.returned.append((self.now, job.first >= SMALL_BASE, job.capacity))
            else:
                job.high = job.job_from
        if self.get("job_valid_o") and self.job is None:
            self._begin_job()
        if (
            self.job is not None
            and self.job_end is None
            and self.get("job_valid_o")
            and self.get("job_ready_i")
        ):
            self.job_end = self.now + self.rng.choice((1, 5, 20, 200))
        self.now += 1

    def _begin_job(self):
        first = self.get("job_first_o")
        a = self.live.get(first)
        assert a is not None and a.queued, f"a job for {first:#x}, which has nothing to take back"
        wanted = (a.ctx, a.region, a.granule, 0 if a.freed else a.pages, a.capacity)
        found = tuple(self.get(f"job_{n}_o") for n in ("ctx", "region", "granule", "from", "to"))
        assert found == wanted, f"job {found}, expected {wanted}"
        assert wanted[3] < a.high
        a.queued, a.trimming = False, not a.freed
        a.freed_at_begin, a.job_from = a.freed, wanted[3]
        self.job = a
        self.jobs += 1

    async def idle(self, cycles):
        for _ in range(cycles):
            await self.step()
            await RisingEdge(self.dut.clk_i)

    async def command(
        self, op, ctx, *, pointer=0, size=0, region=0, granule=0, write=1, compact=0, limit=20000
    ):
        """(name of the status, pointer, cycles from acceptance to answer)."""
        d = self.dut
        begin = self.begin = self.now
        values = {
            "op": op,
            "ctx": ctx,
            "pointer": pointer,
            "size": size,
            "region": region,
            "granule": granule,
        }
        values |= {"write": write, "compact": compact, "valid": 1}
        for name, value in values.items():
            getattr(d, f"cmd_{name}_i").value = value
        accepted = None
        while True:
            d.rsp_ready_i.value = int(self.flowing())
            await self.step()
            assert self.now - begin < limit, "no answer"
            taken = accepted is None and self.get("cmd_ready_o")
            if self.get("rsp_valid_o") and accepted is not None and self.get("rsp_ready_i"):
                answer = NAMES[self.get("rsp_status_o")], self.get("rsp_pointer_o"), self.now - 1 - accepted
                self.waited = accepted - begin
                self.update(answer, op, ctx, pointer, size, region, granule, write, compact)
                await RisingEdge(d.clk_i)
                d.rsp_ready_i.value = 0
                return answer
            await RisingEdge(d.clk_i)
            if taken:
                accepted = self.now - 1
                d.cmd_valid_i.value = 0

    # The rules.

    def expected(self, op, ctx, pointer, size, region, granule, compact):
        """Name of the status; "ok" of a malloc may be no_slot instead, which is checked where slots are counted."""
        pages = pages_of(size)
        most = 1 << SMALL_ORDER if compact else 1 << (SLOT_ORDER + MAX_SPAN)
        if op == MALLOC:
            held = sum(a.ctx == ctx and not a.freed for a in self.live.values())
            for name, wrong in (
                ("size_zero", size == 0),
                ("too_large", pages > most),
                ("argument", region >= REGIONS or granule > (SMALL_ORDER if compact else 9)),
                ("quota", ctx >= CONTEXTS or held >= self.quota),
                ("no_frame", region == 1 and pages > self.free_pages),
            ):
                if wrong:
                    return name
            return "ok"
        if op == REALLOC and size == 0:
            return "size_zero"
        if op == REALLOC and size > 1 << (SLOT_ORDER + MAX_SPAN + 12):
            return "too_large"
        vpn, rest = divmod(pointer, PAGE)
        in_large = LARGE_BASE <= vpn < LARGE_BASE + (self.slots << SLOT_ORDER)
        in_small = SMALL_BASE <= vpn < SMALL_BASE + (self.slots << SMALL_ORDER)
        order = SMALL_ORDER if in_small else SLOT_ORDER
        if rest or not (in_large or in_small) or vpn % (1 << order):
            return "foreign"
        a = self.live.get(vpn)
        if a is None or a.freed:
            return "not_live"
        if a.ctx != ctx:
            return "other_context"
        if op == REALLOC:
            if pages > a.capacity:
                return "too_large"
            if a.trimming and pages > a.pages:
                return "busy"
            if a.region == 1 and max(0, pages - a.pages) > self.free_pages:
                return "no_frame"
        return "ok"

    def update(self, answer, op, ctx, pointer, size, region, granule, write, compact):
        status, given, _ = answer
        wanted = self.expected(op, ctx, pointer, size, region, granule, compact)
        if status == "no_slot" and wanted == "ok" and op == MALLOC:
            return
        if (
            status == "busy"
            and self.live[pointer // PAGE].ended >= self.begin
            and pages_of(size) > self.live[pointer // PAGE].pages
        ):
            return  # the job's end came between the look and the answer
        assert status == wanted, (
            f"op {op} of context {ctx}, {pointer:#x}, {size} bytes: {status}, expected {wanted}"
        )
        if status != "ok":
            return
        pages = pages_of(size)
        if op == MALLOC:
            capacity = 1 << (SMALL_ORDER if compact else SLOT_ORDER)
            while capacity < pages:
                capacity *= 2
            vpn = given // PAGE
            assert given % (capacity * PAGE) == 0
            base, end = (
                (SMALL_BASE, self.slots << SMALL_ORDER) if compact else (LARGE_BASE, self.slots << SLOT_ORDER)
            )
            assert base <= vpn < base + end
            for a in self.live.values():
                assert vpn + capacity <= a.first or a.first + a.capacity <= vpn, "a slot that is somebody's"
            self.live[vpn] = Allocation(ctx, vpn, capacity, pages, pages, region, granule, write)
            return
        a = self.live[pointer // PAGE]
        assert given == pointer or op == FREE
        if op == FREE:
            a.freed = a.queued = True
        else:
            a.queued |= pages < a.pages
            a.pages, a.high = pages, max(a.high, pages)

    def ask(self, ctx, vpn, delay=0):
        """A lookup beside whatever else goes on; its answer is in `found` then."""
        assert self.question is None
        self.question, self.found = [self.now + delay, ctx, vpn, None], None

    def _watch_lookup(self, asks):
        if self.get("look_done_o"):
            assert self.question is not None and self.question[3] is not None, "an answer to nothing"
            page = self.get("look_page_o")
            found = page >> 8, page >> 7 & 1, page >> 4 & 7, page & 15
            self.found = found, self.now - self.question[3]
            self.question = None
        elif asks and self.get("look_ready_o"):
            self.question[3] = self.now

    async def look(self, ctx, vpn):
        """(live, write, region, granule), cycles."""
        self.ask(ctx, vpn)
        while self.found is None:
            await self.idle(1)
        return self.found

    def truth(self, ctx, vpn):
        """What a lookup may find now: (write, region, granule) of a live page or None, and in which numbers of cycles."""
        a = next((a for a in self.live.values() if a.first <= vpn < a.first + a.capacity), None)
        # Slots that were just given back may still say that they follow.
        cycles = (
            {5, 8} if a is None else {8 if a.first < SMALL_BASE and vpn - a.first >= 1 << SLOT_ORDER else 5}
        )
        live = a is not None and not a.freed and a.ctx == ctx and vpn < a.first + a.pages
        return (a.write, a.region, a.granule) if live else None, cycles

    def check_found(self, vpn, *truths):
        """The last lookup's answer, against what was true at some time of it."""
        (live, *rest), cycles = self.found
        found = tuple(rest) if live else None
        assert found in [t[0] for t in truths], f"page {vpn:#x}: {found}, expected {truths}"
        assert cycles in set().union(*(t[1] for t in truths)), f"page {vpn:#x}: {cycles} cycles, {truths}"

    async def check_page(self, ctx, vpn):
        await self.look(ctx, vpn)
        self.check_found(vpn, self.truth(ctx, vpn))
