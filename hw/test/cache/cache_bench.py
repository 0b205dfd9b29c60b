# SPDX-License-Identifier: Apache-2.0
"""Surroundings of gw_page_cache: masters above it, host memory behind a link below it, cycle by cycle.

Host memory commits a write when it answers it, so a page that is read again too early is found out. Stores to a line go in the
order of AW, so a line is a list of versions: a read gives one of them, none older than what was answered before the read was asked,
for a write or for a read (no lost write, no stale data).
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, field

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge

LINE, PAGE = 64, 4096
FIXED, INCR, WRAP = 0, 1, 2
OKAY, SLVERR = 0, 2
BASE = 1 << 40


def beats(addr: int, length: int, size: int, burst: int) -> list[int]:
    """Addresses of the beats of a burst."""
    step = 1 << size
    if burst == FIXED:
        return [addr] * length
    if burst == WRAP:
        window = length * step
        low = addr // window * window
        return [low + (addr - low + i * step) % window for i in range(length)]
    return [addr, *(addr // step * step + i * step for i in range(1, length))]


def mask(strb: int) -> int:
    """Bits of the bytes of a strobe."""
    return sum(0xFF << 8 * i for i in range(LINE) if strb >> i & 1)


@dataclass
class Burst:
    """One burst of a master, and what came of it."""

    write: bool
    id: int
    addr: int
    length: int = 1
    size: int = 6
    burst: int = INCR
    words: list[tuple[int, int]] = field(default_factory=list)  # data, strobe
    asked: int = -1
    ended: int = -1
    resp: list[int] = field(default_factory=list)
    data: list[int] = field(default_factory=list)
    came: list[int] = field(default_factory=list)
    oldest: list[int] = field(default_factory=list)
    versions: list[tuple[int, int]] = field(default_factory=list)

    @property
    def addrs(self):
        return beats(self.addr, self.length, self.size, self.burst)


class Host:
    """Host memory: reads by ID, in order each; writes in order."""

    def __init__(self, bench, pins):
        self.bench, self.pins = bench, pins
        self.memory = {}
        self.reads = defaultdict(deque)
        self.writes, self.data, self.answers = deque(), deque(), deque()
        self.bad_reads, self.bad_writes = set(), set()
        self.bursts, self.read_log = [], []
        self.driven, self.given, self.answering = {}, None, False
        self.free_at = self.write_free_at = 0.0

    def line(self, number):
        if number not in self.memory:
            self.memory[number] = self.bench.rng.getrandbits(512)
        return self.memory[number]

    def drive(self, name, value):
        if self.driven.get(name) != value:
            self.driven[name] = value
            getattr(self.pins, f"axi_{name}").value = value

    def get(self, name):
        return int(getattr(self.pins, f"axi_{name}").value)

    def offer(self):
        rng, stall, now = self.bench.rng, self.bench.stall, self.bench.now
        for name in ("arready", "awready", "wready"):
            self.drive(name, int(rng.random() >= stall))
        if self.given is None:
            ready = [i for i, queue in self.reads.items() if queue and queue[0][0] <= now]
            if ready and now >= self.free_at and rng.random() >= stall:
                self.free_at = max(self.free_at, now - 1) + self.bench.line_cycles
                self.given = rng.choice(ready) if stall else min(ready, key=lambda i: self.reads[i][0][0])
                _, number, last, overtakes = self.reads[self.given][0]
                bad = number in self.bad_reads
                self.drive("rid", self.given)
                data = rng.getrandbits(512) if overtakes else self.line(number)
                self.drive("rdata", 0 if bad else data)
                self.drive("rresp", SLVERR if bad else OKAY)
                self.drive("rlast", int(last))
        self.drive("rvalid", int(self.given is not None))
        self.answering = bool(self.answers and self.answers[0][0] <= now)
        if self.answering:
            _, number, words = self.answers[0]
            bad = any(number + i in self.bad_writes for i in range(len(words)))
            if not bad:
                for i, word in enumerate(words):
                    self.memory[number + i] = word
            self.drive("bresp", SLVERR if bad else OKAY)
            self.drive("bid", 0)
        self.drive("bvalid", int(self.answering))

    def take(self):
        bench, now = self.bench, self.bench.now
        if self.given is not None and self.get("rready"):
            self.reads[self.given].popleft()
            self.given = None
        if self.answering:
            assert self.get("bready")
            self.answers.popleft()
        if self.get("arvalid") and self.driven["arready"]:
            addr, length, number = self.get("araddr"), self.get("arlen") + 1, self.get("arid")
            assert self.get("arsize") == 6 and self.get("arburst") == INCR and addr % LINE == 0
            assert addr // PAGE == (addr + length * LINE - 1) // PAGE
            due = now + bench.latency(bench.rng)
            if bench.walker:
                bench.walker.may_read(addr // PAGE)
            self.read_log.append((now, addr, length))
            for i in range(length):
                line = addr // LINE + i
                # Not while a write of it is not answered; or, of a page that is written and stays, what is read means nothing.
                overtakes = any(n <= line < n + len(words) for _, n, words in self.answers) or any(
                    a // LINE <= line < a // LINE + n for a, n in self.writes
                )
                assert bench.eager or not overtakes
                self.reads[number].append((due, line, i + 1 == length, overtakes))
        if self.get("awvalid") and self.driven["awready"]:
            addr, length = self.get("awaddr"), self.get("awlen") + 1
            assert self.get("awsize") == 6 and self.get("awburst") == INCR and addr % LINE == 0
            assert addr // PAGE == (addr + length * LINE - 1) // PAGE
            self.writes.append((addr, length))
            self.bursts.append((now, addr, length))
        if self.get("wvalid") and self.driven["wready"]:
            assert self.get("wstrb") == (1 << LINE) - 1
            self.data.append((self.get("wdata"), self.get("wlast")))
        while self.writes and len(self.data) >= self.writes[0][1]:
            addr, length = self.writes.popleft()
            words = [self.data.popleft() for _ in range(length)]
            assert [last for _, last in words] == [0] * (length - 1) + [1]
            self.write_free_at = max(self.write_free_at, now) + length * bench.line_cycles
            due = self.write_free_at + bench.latency(bench.rng)
            self.answers.append((due, addr // LINE, [word for word, _ in words]))


class Bench:
    """`put` bursts, `run` until they are answered."""

    def __init__(
        self, dut, rng, *, stall=0.0, latency=lambda rng: 20, line_cycles=0.0, check=True, eager=False
    ):
        self.dut, self.rng, self.stall, self.latency, self.check = dut, rng, stall, latency, check
        self.line_cycles, self.eager = line_cycles, eager
        self.walker = None
        self.aheads = self.aheads_used = self.aheads_unused = 0
        self.eagers = self.eagers_again = 0
        self.now = 0
        self.ar, self.aw, self.w = deque(), deque(), deque()
        self.open_r, self.open_b = defaultdict(deque), defaultdict(deque)
        self.versions = {}
        self.answered, self.seen = defaultdict(int), defaultdict(int)
        self.driven = {}
        self.offered = {"ar": False, "aw": False, "w": False}
        self.acks, self.write_errors = [], 0
        self.command = None
        self.ready_rate = 1.0 - stall

    async def begin(self):
        cocotb.start_soon(Clock(self.dut.clk_i, 2).start())
        self.host = Host(self, self.dut.u_link)
        self.dut.rst_ni.value = 0
        self.dut.cmd_valid_i.value = 0
        if hasattr(self.dut, "walk_ask_i"):
            self.dut.walk_ask_i.value = self.dut.walk_give_i.value = 0
        for name in ("arvalid", "awvalid", "wvalid", "bready", "rready"):
            self.drive(name, 0)
        for name in ("arready", "awready", "wready", "rvalid", "bvalid"):
            self.host.drive(name, 0)
        for _ in range(3):
            await RisingEdge(self.dut.clk_i)
        self.dut.rst_ni.value = 1
        await RisingEdge(self.dut.clk_i)
        return self

    def drive(self, name, value):
        if self.driven.get(name) != value:
            self.driven[name] = value
            getattr(self.dut.u_up, f"axi_{name}").value = value

    def get(self, name):
        return int(getattr(self.dut.u_up, f"axi_{name}").value)

    def line(self, number):
        if number not in self.versions:
            self.versions[number] = [self.host.line(number)]
        return self.versions[number]

    def put(self, *bursts: Burst):
        for burst in bursts:
            (self.aw if burst.write else self.ar).append(burst)
        return bursts[0]

    def offer(self):
        go = lambda: self.rng.random() >= self.stall  # noqa: E731
        if self.ar and (self.offered["ar"] or go()):
            burst = self.ar[0]
            if not self.offered["ar"]:
                burst.asked = self.now
                numbers = [addr // LINE for addr in burst.addrs]
                burst.oldest = [max(self.answered[n], self.seen[n]) for n in numbers]
                for name, value in (
                    ("id", burst.id),
                    ("addr", burst.addr),
                    ("len", burst.length - 1),
                    ("size", burst.size),
                    ("burst", burst.burst),
                ):
                    self.drive(f"ar{name}", value)
            self.offered["ar"] = True
        if self.aw and (self.offered["aw"] or go()):
            burst = self.aw[0]
            if not self.offered["aw"]:
                burst.asked = self.now
                for name, value in (
                    ("id", burst.id),
                    ("addr", burst.addr),
                    ("len", burst.length - 1),
                    ("size", burst.size),
                    ("burst", burst.burst),
                ):
                    self.drive(f"aw{name}", value)
                for index, (data, strb) in enumerate(burst.words):
                    self.w.append((data, strb, int(index + 1 == burst.length)))
                    number = burst.addrs[index] // LINE
                    line, bits = self.line(number), mask(strb)
                    line.append((line[-1] & ~bits) | (data & bits))
                    burst.versions.append((number, len(line) - 1))
            self.offered["aw"] = True
        if self.w and (self.offered["w"] or go()):
            if not self.offered["w"]:
                data, strb, last = self.w[0]
                self.drive("wdata", data)
                self.drive("wstrb", strb)
                self.drive("wlast", last)
            self.offered["w"] = True
        for name, offered in self.offered.items():
            self.drive(f"{name}valid", int(offered))
        self.drive("rready", int(self.rng.random() < self.ready_rate))
        self.drive("bready", int(self.rng.random() < self.ready_rate))

    def take(self):
        if self.offered["ar"] and self.get("arready"):
            burst = self.ar.popleft()
            if self.walker:
                self.walker.demand(burst)
            burst.asked = burst.asked if self.stall else self.now
            self.open_r[burst.id].append(burst)
            self.offered["ar"] = False
        if self.offered["aw"] and self.get("awready"):
            burst = self.aw.popleft()
            if self.walker:
                self.walker.demand(burst)
            self.open_b[burst.id].append(burst)
            self.offered["aw"] = False
        if self.offered["w"] and self.get("wready"):
            self.w.popleft()
            self.offered["w"] = False
        if self.driven["rready"] and self.get("rvalid"):
            burst = self.open_r[self.get("rid")][0]
            index, resp, last = len(burst.data), self.get("rresp"), self.get("rlast")
            assert last == (index + 1 == burst.length)
            value = self.get("rdata") if resp == OKAY else None
            burst.data.append(value)
            burst.resp.append(resp)
            burst.came.append(self.now)
            number = burst.addrs[index] // LINE
            if self.check:
                assert resp == OKAY
                line, oldest = self.line(number), burst.oldest[index]
                found = [k for k in range(oldest, len(line)) if line[k] == value]
                where = next((k for k, old in enumerate(line) if old == value), None)
                assert found, (
                    f"line {number:#x}: not one of versions {oldest} to {len(line) - 1}, but {where}"
                )
                self.seen[number] = max(self.seen[number], found[0])
            if last:
                burst.ended = self.now
                self.open_r[burst.id].popleft()
        if self.driven["bready"] and self.get("bvalid"):
            burst = self.open_b[self.get("bid")].popleft()
            burst.resp.append(self.get("bresp"))
            burst.ended = self.now
            assert not self.check or burst.resp == [OKAY]
            for number, version in burst.versions:
                self.answered[number] = max(self.answered[number], version)
        if self.command and self.command[0] is None and int(self.dut.cmd_ready_o.value):
            self.command = (self.now, dict(self.answered))
            if self.walker and int(self.dut.cmd_drop_i.value):
                self.walker.forget()
        if int(self.dut.ack_o.value):
            self.acks.append((self.now, int(self.dut.ack_error_o.value)))
            if self.walker:
                self.walker.settle()
        events = int(self.dut.event_o.value)
        self.write_errors += events >> 8 & 1
        self.aheads += events >> 9 & 1
        self.aheads_used += events >> 10 & 1
        self.aheads_unused += events >> 11 & 1
        self.eagers += events >> 12 & 1
        self.eagers_again += events >> 13 & 1

    async def step(self):
        self.offer()
        self.host.offer()
        if self.walker:
            self.walker.offer()
        await ReadOnly()
        self.take()
        self.host.take()
        await RisingEdge(self.dut.clk_i)
        self.now += 1
        if self.command and self.command[0] is not None:
            self.dut.cmd_valid_i.value = 0

    async def until(self, condition, limit=20_000):
        end = self.now + limit
        while not condition():
            await self.step()
            assert self.now < end, "no answer came"

    @property
    def quiet(self):
        waiting = (*self.open_r.values(), *self.open_b.values())
        return not (self.ar or self.aw or self.w or any(waiting))

    async def run(self, limit=20_000):
        await self.until(lambda: self.quiet, limit)

    async def maintain(self, first, last, *, clean=True, drop=True, limit=20_000):
        """Lines first to last, both included; what was answered before is in memory at the acknowledge."""
        pins = self.dut
        pins.cmd_clean_i.value, pins.cmd_drop_i.value = int(clean), int(drop)
        pins.cmd_first_i.value, pins.cmd_last_i.value = first, last
        pins.cmd_valid_i.value = 1
        self.command = (None,)
        count = len(self.acks)
        await self.until(lambda: len(self.acks) > count, limit)
        _, answered = self.command
        self.command = None
        if clean and self.check:
            for number, version in answered.items():
                if first <= number <= last and version:
                    line = self.line(number)
                    assert self.host.memory[number] in line[version:], f"line {number:#x} is not in memory"
        return self.acks[-1][1]
