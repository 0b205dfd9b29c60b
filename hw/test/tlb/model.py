# SPDX-License-Identifier: Apache-2.0
"""Reference for the translator: page tables, a walker, a memory and an accelerator, advanced together by the cycle.

`Bench.step` runs one clock cycle. What the translator must do is checked on every handshake: an address on the memory
side must be the oldest unsent one of its ID with the address the tables give it, responses keep the order of their ID,
data is what was sent, and each fault is reported once with its cause. Accesses are numbered; the number travels in the
AXI attributes.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge

PAGE = 4096
ORDER_4K, ORDER_64K, ORDER_2M, ORDER_1G = 0, 4, 9, 18
FIXED, INCR, WRAP = 0, 1, 2
OKAY, SLVERR = 0, 2
MODE_OFF, MODE_TRANSLATE = 0, 1
READ, WRITE = 0, 1
PAGE_FAULT = {READ: 13, WRITE: 15}
ACCESS_FAULT = {READ: 5, WRITE: 7}
PORT_OFF, CONTEXT_OFF, CROSSES = 256, 258, 2048
# Bits of the event vector.
REQUEST, HIT, MISS, FAULT, STALL = 16, 8, 4, 2, 1


class Tables:
    """Mappings of all contexts: {(ctx, base page): (order, base frame, readable, writable)}."""

    def __init__(self):
        self.maps = {}

    def map(self, ctx, vpn, ppn, order=ORDER_4K, r=True, w=True):
        low = (1 << order) - 1
        assert vpn & low == 0 and ppn & low == 0
        self.maps[ctx, vpn] = (order, ppn, r, w)

    def copy(self):
        other = Tables()
        other.maps = dict(self.maps)
        return other

    def lookup(self, ctx, vpn, write):
        """(ppn, order, perm) or a cause."""
        for order in (ORDER_4K, ORDER_64K, ORDER_2M, ORDER_1G, 1, 2, 7):
            base = vpn >> order << order
            found = self.maps.get((ctx, base))
            if found and found[0] == order:
                _, ppn, r, w = found
                if not (w if write else r):
                    return PAGE_FAULT[write]
                return ppn | (vpn - base), order, (2 if r else 0) | (1 if w else 0)
        return PAGE_FAULT[write]


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
    beats: int = 0
    epoch: int = 0  # table version in force at the last invalidation before it was accepted
    version: int = 0  # table version when it was accepted
    data: list = field(default_factory=list)

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


class Bench:
    """One translator between an accelerator and a memory, with a walker. `stall`: probability of a stall a cycle."""

    def __init__(
        self,
        dut,
        rng=None,
        *,
        levels=4,
        walk_latency=lambda rng: 5,
        memory_latency=lambda rng: 0,
        stall=0.0,
        shuffle=False,
        stale_walks=False,
    ):
        self.dut, self.rng = dut, rng or random.Random(1)
        self.levels = levels
        self.walk_latency, self.memory_latency = walk_latency, memory_latency
        self.stall = dict.fromkeys(
            ("s_ar", "s_aw", "s_w", "s_r", "s_b", "m_ar", "m_aw", "m_w", "m_r", "m_b", "req", "rsp"), stall
        )
        self.shuffle, self.stale_walks = shuffle, stale_walks
        self.tables = [Tables()]
        self.mode, self.ctx = MODE_TRANSLATE, 1
        self.now = 0
        self.accesses = []
        self.offer = {READ: deque(), WRITE: deque()}
        self.w_queue = deque()
        self.unsent = {READ: deque(), WRITE: deque()}  # accepted and neither sent nor faulted, in order
        self.unanswered = {}  # (write, id) -> deque
        self.walks = []  # [channel, request, answer cycle, version, epoch]
        self.reads, self.writes = {}, {}  # at the memory: id -> deque
        self.m_aws, self.m_ws, self.m_w_beats = deque(), deque(), []
        self.epoch_version, self.epoch = 0, 0
        self.inval_request = False
        self.busy = 0
        self.events = {
            READ: dict.fromkeys((REQUEST, HIT, MISS, FAULT, STALL), 0),
            WRITE: dict.fromkeys((REQUEST, HIT, MISS, FAULT, STALL), 0),
        }
        self.counted = {
            READ: dict.fromkeys((REQUEST, MISS, FAULT, STALL), 0),
            WRITE: dict.fromkeys((REQUEST, MISS, FAULT, STALL), 0),
        }
        self.requests = {READ: [], WRITE: []}  # lookups: (cycle, vpn)
        self.memory_hold = set()  # IDs whose reads the memory does not answer for now
        self.write_hold = set()
        self._driven = {}
        self._offered = {}
        self._b_last = None

    # Set-up.

    async def start(self):
        dut = self.dut
        cocotb.start_soon(Clock(dut.clk_i, 2).start())
        for name in (
            "s_axi_arvalid",
            "s_axi_awvalid",
            "s_axi_wvalid",
            "s_axi_rready",
            "s_axi_bready",
            "m_axi_arready",
            "m_axi_awready",
            "m_axi_wready",
            "m_axi_rvalid",
            "m_axi_bvalid",
            "req_ready",
            "rsp_valid",
            "inval_i",
        ):
            getattr(dut, name).value = 0
        dut.mode_i.value, dut.ctx_i.value = self.mode, self.ctx
        dut.rst_ni.value = 0
        for _ in range(3):
            await RisingEdge(dut.clk_i)
        dut.rst_ni.value = 1
        await RisingEdge(dut.clk_i)

    @property
    def table(self):
        return self.tables[-1]

    def submit(self, write, id_, addr, length=0, *, size=3, burst=INCR, earliest=0):
        access = Access(
            write, id_, addr, length, size, burst, number=len(self.accesses) & 0xFFFF, earliest=earliest
        )
        if write:
            access.data = [(self.rng.getrandbits(64), self.rng.getrandbits(8)) for _ in range(length + 1)]
            self.w_queue.extend((access, beat) for beat in range(length + 1))
        self.accesses.append(access)
        self.offer[write].append(access)
        return access

    def change_tables(self):
        """A new version of the tables, for the caller to edit."""
        self.tables.append(self.table.copy())
        return self.table

    @property
    def idle(self):
        return all(a.done is not None for a in self.accesses)

    # One cycle.

    def drive(self, name, value):
        if self._driven.get(name) != value:
            self._driven[name] = value
            getattr(self.dut, name).value = value

    def get(self, name):
        return int(getattr(self.dut, name).value)

    def flowing(self, name):
        stall = self.stall[name]
        return not stall or self.rng.random() >= stall

    def offering(self, name, item):
        """AXI: what was offered stays offered. `item` is None or what could be offered now."""
        if name not in self._offered and item is not None and self.flowing(name):
            self._offered[name] = item
        return self._offered.get(name)

    def _drive_accelerator(self):
        for write, ax in ((READ, "ar"), (WRITE, "aw")):
            queue = self.offer[write]
            access = self.offering(f"s_{ax}", queue[0] if queue and queue[0].earliest <= self.now else None)
            self.drive(f"s_axi_{ax}valid", int(access is not None))
            if access:
                for key, value in (
                    ("id", access.id),
                    ("addr", access.addr),
                    ("len", access.len),
                    ("size", access.size),
                    ("burst", access.burst),
                ):
                    self.drive(f"s_axi_{ax}{key}", value)
                self.drive(f"s_{ax}_attr", access.number)
        beat = self.offering(
            "s_w", self.w_queue[0] if self.w_queue and self.w_allowed(self.w_queue[0][0]) else None
        )
        self.drive("s_axi_wvalid", int(beat is not None))
        if beat:
            access, index = beat
            self.drive("s_axi_wdata", access.data[index][0])
            self.drive("s_axi_wstrb", access.data[index][1])
            self.drive("s_axi_wlast", int(index == access.len))
        self.drive("s_axi_rready", int(self.flowing("s_r")))
        self.drive("s_axi_bready", int(self.flowing("s_b")))

    def w_allowed(self, access):
        """Whether the accelerator has the data of this write yet."""
        return access.earliest <= self.now

    def _pick(self, queues, hold):
        ready = [i for i, q in queues.items() if q and q[0][1] <= self.now and i not in hold]
        if not ready:
            return None
        return self.rng.choice(ready) if self.shuffle else min(ready, key=lambda i: queues[i][0][1])

    def _drive_memory(self):
        for name in ("ar", "aw", "w"):
            self.drive(f"m_axi_{name}ready", int(self.flowing(f"m_{name}")))
        beat = self.offering("m_r", self._pick(self.reads, self.memory_hold))
        self.drive("m_axi_rvalid", int(beat is not None))
        if beat is not None:
            access, _ = self.reads[beat][0]
            self.drive("m_axi_rid", beat)
            self.drive("m_axi_rdata", read_data(access.pa, access.beats))
            self.drive("m_axi_rlast", int(access.beats == access.len))
            self.drive("m_axi_rresp", OKAY)
        answer = self.offering("m_b", self._pick(self.writes, self.write_hold))
        self.drive("m_axi_bvalid", int(answer is not None))
        if answer is not None:
            self.drive("m_axi_bid", answer)
            self.drive("m_axi_bresp", OKAY)

    def _drive_walker(self):
        self.drive("req_ready", 3 if self.flowing("req") else 0)
        self._answer = None
        ready = [w for w in self.walks if w[2] <= self.now]
        if ready and self.flowing("rsp"):
            self._answer = self.rng.choice(ready) if self.shuffle else ready[0]
        self.drive("rsp_valid", 0 if self._answer is None else 1 << self._answer[0])
        if self._answer is None:
            return
        channel, (tag, ctx, vpn), _, version, epoch = self._answer
        result = self.tables[version if self.stale_walks else -1].lookup(ctx, vpn, channel)
        if self.stale_walks and not isinstance(result, tuple):
            result = self.table.lookup(ctx, vpn, channel)
        self.drive("rsp_tag", tag)
        fault = not isinstance(result, tuple)
        self.drive("rsp_fault", int(fault))
        self.drive("rsp_cause", result if fault else self.rng.getrandbits(12))
        ppn, order, perm = (self.rng.getrandbits(44), 31, 0) if fault else result
        self.drive("rsp_ppn", ppn)
        self.drive("rsp_order", order)
        self.drive("rsp_perm", perm)
        self.drive("rsp_cacheable", int(epoch == self.epoch) if not fault else self.rng.getrandbits(1))

    async def step(self):
        self._drive_accelerator()
        self._drive_memory()
        self._drive_walker()
        self.drive("inval_i", int(self.inval_request))
        self.drive("mode_i", self.mode)
        self.drive("ctx_i", self.ctx)
        await ReadOnly()
        self._sample_faults()
        self._sample_accelerator()
        self._sample_memory()
        self._sample_walker()
        self.busy = self.get("inval_busy_o")
        if self.inval_request:
            self.inval_request = False
            self.epoch += 1
            self.epoch_version = len(self.tables) - 1
        self.now += 1
        await RisingEdge(self.dut.clk_i)

    async def run(self, limit=20000, until=None):
        """Until everything submitted is answered (or `until()`)."""
        end = self.now + limit
        while not (until() if until else self.idle):
            assert self.now < end, self.stuck()
            await self.step()

    async def drain_events(self):
        """Events are reported a cycle late."""
        for _ in range(3):
            await self.step()

    def stuck(self):
        left = [a for a in self.accesses if a.done is None][:5]
        return f"no end after cycle {self.now}: {sum(a.done is None for a in self.accesses)} unanswered, first {left}"

    async def invalidate(self, limit=5000):
        """Pulses inval_i and runs until busy has fallen; returns the cycles busy was high."""
        assert not self.busy
        self.inval_request = True
        await self.step()
        await self.step()
        cycles = 0
        while self.busy:
            cycles += 1
            assert cycles < limit, "invalidation does not end: " + self.stuck()
            await self.step()
        return cycles

    # Checks.

    def _known_cause(self, access):
        if self.mode != MODE_TRANSLATE:
            return PORT_OFF
        if crosses(access.addr, access.len, access.size, access.burst):
            return CROSSES
        upper = access.addr >> (12 + 9 * self.levels - 1)
        if upper not in (0, (1 << (64 - 12 - 9 * self.levels + 1)) - 1):
            return PAGE_FAULT[access.write]
        return None

    def _sample_accelerator(self):
        for write, ax in ((READ, "ar"), (WRITE, "aw")):
            valid, ready = f"s_{ax}" in self._offered, self.get(f"s_axi_{ax}ready")
            if valid and not ready:
                self.counted[write][STALL] += 1
            if valid and ready:
                access = self._offered.pop(f"s_{ax}")
                assert self.offer[write].popleft() is access
                access.accepted, access.ctx = self.now, self.ctx
                access.known_cause = self._known_cause(access)
                access.epoch, access.version = self.epoch_version, len(self.tables) - 1
                self.unsent[write].append(access)
                self.unanswered.setdefault((write, access.id), deque()).append(access)
                self.counted[write][REQUEST] += 1
        if "s_w" in self._offered and self.get("s_axi_wready"):
            assert self.w_queue.popleft() is self._offered.pop("s_w")
        if self.get("s_axi_rvalid") and self._driven["s_axi_rready"]:
            access = self.unanswered[READ, self.get("s_axi_rid")][0]
            self._answered(access, self.get("s_axi_rresp"), self.get("s_axi_rlast"), self.get("s_axi_rdata"))
        offered = (self.get("s_axi_bid"), self.get("s_axi_bresp")) if self.get("s_axi_bvalid") else None
        assert self._b_last is None or offered == self._b_last, "an offered B changed"
        taken = offered is not None and self._driven["s_axi_bready"]
        self._b_last = None if taken else offered
        if taken:
            self._answered(self.unanswered[WRITE, offered[0]][0], offered[1], 1, None)

    def _answered(self, access, resp, last, data):
        """One R beat or B of the oldest unanswered access of its ID."""
        access.first = self.now if access.first is None else access.first
        if resp == OKAY:
            assert access.pa is not None and access.cause is None, (
                f"answered without going to the memory: {access}"
            )
            if not access.write:
                assert data == read_data(access.pa, access.beats)
        else:
            assert resp == SLVERR and access.cause is not None, f"error without a fault: {access}"
            if access.write:
                assert not any(a is access for a, _ in self.w_queue), "B before the last W"
        if not access.write:
            access.beats += resp != OKAY
            beat = access.beats - (resp != OKAY)
            assert last == (beat == access.len), f"last is wrong: {access}"
        if last:
            access.done, access.resp = self.now, resp
            self.unanswered[access.write, access.id].popleft()

    def _sample_faults(self):
        valid = self.get("fault_valid")
        for write in (READ, WRITE):
            events = self.get("events") >> (5 * write) & 31
            for bit in self.events[write]:
                self.events[write][bit] += bool(events & bit)
            assert bool(events & FAULT) == bool(valid >> write & 1)
            if not valid >> write & 1:
                continue
            record = self.get("fault") >> (101 * write)
            addr, id_ = record & ((1 << 64) - 1), record >> 64 & 0xFFFF
            is_write, ctx, cause = record >> 80 & 1, record >> 81 & 0xFF, record >> 89 & 0xFFF
            # One that is offered to the memory was translated before.
            ax = "aw" if write else "ar"
            offered = self.get(f"m_{ax}_attr") if self.get(f"m_axi_{ax}valid") else None
            waiting = [a for a in self.unsent[write] if a.number != offered]
            access = next((a for a in waiting if write or a.id == id_), None)
            assert access is not None, f"fault of nobody: id {id_} address {addr:#x}"
            assert (addr, id_, is_write, ctx) == (access.addr, access.id, write, access.ctx)
            assert cause in self._causes(access), f"cause {cause} for {access}"
            access.cause = cause
            self.unsent[write].remove(access)
            self.counted[write][FAULT] += 1

    def _causes(self, access):
        """Causes that are right: known at once, or found in tables that were in force after the access was accepted."""
        if access.known_cause is not None:
            return {access.known_cause}
        results = [t.lookup(access.ctx, access.vpn, access.write) for t in self.tables[access.version :]]
        return {r for r in results if not isinstance(r, tuple)}

    def _frames(self, access):
        """Frames that are right: in tables that were in force since the last invalidation before it was accepted."""
        if access.known_cause is not None:
            return set()
        results = [t.lookup(access.ctx, access.vpn, access.write) for t in self.tables[access.epoch :]]
        return {r[0] for r in results if isinstance(r, tuple)}

    def _sample_memory(self):
        for write, ax in ((READ, "ar"), (WRITE, "aw")):
            if not (self.get(f"m_axi_{ax}valid") and self._driven[f"m_axi_{ax}ready"]):
                continue
            id_, number = self.get(f"m_axi_{ax}id"), self.get(f"m_{ax}_attr")
            queue = self.unsent[write]
            # Writes keep the order of AW in total, reads that of their ID.
            access = next((a for a in queue if write or a.id == id_), None)
            assert access is not None and access.number == number and access.id == id_, (
                f"{ax} {number} id {id_}, oldest is {access}"
            )
            queue.remove(access)
            for key, value in (("len", access.len), ("size", access.size), ("burst", access.burst)):
                assert self.get(f"m_axi_{ax}{key}") == value
            access.pa, access.sent = self.get(f"m_axi_{ax}addr"), self.now
            assert access.pa & 0xFFF == access.addr & 0xFFF
            assert access.pa >> 12 in self._frames(access), f"{access.pa:#x} is no translation of {access}"
            if write:
                self.m_aws.append(access)
            else:
                self.reads.setdefault(id_, deque()).append(
                    (access, self.now + 1 + self.memory_latency(self.rng))
                )
        if self.get("m_axi_wvalid") and self._driven["m_axi_wready"]:
            self.m_w_beats.append((self.get("m_axi_wdata"), self.get("m_axi_wstrb")))
            if self.get("m_axi_wlast"):
                self.m_ws.append(self.m_w_beats)
                self.m_w_beats = []
        while self.m_aws and self.m_ws:
            access, beats = self.m_aws.popleft(), self.m_ws.popleft()
            assert beats == access.data, f"data of another write: {access}"
            self.writes.setdefault(access.id, deque()).append(
                (access, self.now + 1 + self.memory_latency(self.rng))
            )
        if "m_r" in self._offered and self.get("m_axi_rready"):
            id_ = self._offered.pop("m_r")
            access, _ = self.reads[id_][0]
            access.beats += 1
            if access.beats > access.len:
                self.reads[id_].popleft()
        if "m_b" in self._offered and self.get("m_axi_bready"):
            self.writes[self._offered.pop("m_b")].popleft()

    def _sample_walker(self):
        if self._answer is not None:
            self.walks.remove(self._answer)
        valid = self.get("req_valid") & self._driven["req_ready"]
        for channel in (READ, WRITE):
            if not valid >> channel & 1:
                continue
            tag, ctx = (self.get(name) >> (8 * channel) & 0xFF for name in ("req_tag", "req_ctx"))
            vpn = self.get("req_vpn") >> (45 * channel) & ((1 << 45) - 1)
            assert self.get("req_write") >> channel & 1 == channel
            assert not any(w[0] == channel and w[1][0] == tag for w in self.walks), "tag in use"
            self.counted[channel][MISS] += 1
            self.requests[channel].append((self.now, vpn))
            self.walks.append(
                [
                    channel,
                    (tag, ctx, vpn),
                    self.now + self.walk_latency(self.rng),
                    len(self.tables) - 1,
                    self.epoch,
                ]
            )

    def check_events(self):
        """Counted events against what was seen at the ports; hits are what was neither looked up nor refused at once."""
        for write in (READ, WRITE):
            got, seen = self.events[write], self.counted[write]
            for bit in (REQUEST, MISS, FAULT, STALL):
                assert got[bit] == seen[bit], (
                    f"channel {write} event {bit}: {got[bit]} counted, {seen[bit]} seen"
                )
            refused = sum(a.write == write and a.known_cause is not None for a in self.accesses)
            assert got[HIT] == seen[REQUEST] - seen[MISS] - refused
