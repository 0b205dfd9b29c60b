# SPDX-License-Identifier: Apache-2.0
"""The translator's surroundings: an accelerator, a memory and a walker, advanced together cycle by cycle.

`Bench.step` runs one clock cycle. What the translator must do is checked on every handshake (checks.py): an
address on the memory side is the oldest unsent one of its ID with the address the tables give it, responses
keep the order of their ID, data is what was sent, each fault is reported once with its cause. Accesses are
numbered; the number travels in the AXI attributes.
"""

from __future__ import annotations

import os
import random
from collections import deque

import cocotb
from checks import Checks
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge
from tables import (
    EVERYTHING,
    FAULT,
    HIT,
    INCR,
    MISS,
    MODE_TRANSLATE,
    OKAY,
    READ,
    REQUEST,
    STALL,
    WRITE,
    Access,
    Tables,
    read_data,
)


class Bench(Checks):
    """One translator between an accelerator and a memory, with a walker. `stall`: share of stalled cycles."""

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
        self.buffered = (
            os.environ.get("BENCH_BUFFER") == "1"
        )  # gw_port_buffer before the translator: it takes first
        self.walk_latency, self.memory_latency = walk_latency, memory_latency
        self.stall = dict.fromkeys(
            ("s_ar", "s_aw", "s_w", "s_r", "s_b", "m_ar", "m_aw", "m_w", "m_r", "m_b", "req", "rsp"), stall
        )
        self.shuffle, self.stale_walks = shuffle, stale_walks
        self.late = lambda: self.rng.randrange(4)  # cycles after an invalidation with answers from before it
        self.tables = [Tables()]
        self.mode, self.ctx = MODE_TRANSLATE, 1
        self.now = 0
        self.accesses, self.answered = [], 0
        self.offer = {READ: deque(), WRITE: deque()}
        self.w_queue = deque()
        self.unsent = {READ: deque(), WRITE: deque()}  # accepted and neither sent nor faulted, in order
        self.unanswered = {}  # (write, id) -> deque
        self.walks = []  # [channel, request, answer cycle, version, epoch]
        self.reads, self.writes = {}, {}  # at the memory: id -> deque
        self.m_aws, self.m_ws, self.m_w_beats = deque(), deque(), []
        self.epoch, self.pulses = 0, []  # pulses: what each dropped, and the table version then
        self.inval_request, self.what, self.pulse = False, EVERYTHING, -100
        self.busy = 0
        self.turned = -100
        self.turn_request = False  # the epoch turns in the next cycle without a pulse
        self.events = {
            READ: dict.fromkeys((REQUEST, HIT, MISS, FAULT, STALL), 0),
            WRITE: dict.fromkeys((REQUEST, HIT, MISS, FAULT, STALL), 0),
        }
        self.counted = {
            READ: dict.fromkeys((REQUEST, MISS, FAULT, STALL), 0),
            WRITE: dict.fromkeys((REQUEST, MISS, FAULT, STALL), 0),
        }
        self.requests = {READ: [], WRITE: []}  # lookups: (cycle, vpn)
        self.park = lambda rng: False  # whether an answer parks its access
        self.parked = {}  # number -> [(channel, ctx, vpn)]
        self.parks = 0
        self.wake_request = None  # (number, ok) in the next cycle
        self.failed = {}  # (channel, ctx, vpn) -> accesses that a wake-up made fail
        self.ctx_write = None  # this context is written in the next cycle
        self.settled_pulses = []  # of pulses, those whose fence has ended
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
            "inval_valid_i",
            "epoch_i",
            "rsp_parked",
            "rsp_park",
            "wake_valid_i",
            "wake_ok_i",
            "wake_park_i",
            "ctx_write_valid_i",
            "ctx_write_ctx_i",
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
        return self.answered == len(self.accesses)

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
        self.drive("rsp_ctx", ctx)
        self.drive("rsp_vpn", vpn)
        self._parks = self.park(self.rng)
        self.drive("rsp_parked", int(self._parks))
        if self._parks:
            woken = self.wake_request[0] if self.wake_request else None
            free = [k for k in range(64) if k != woken]
            self._number = self.rng.choice(
                [k for k in self.parked if k != woken] * 2 + [self.rng.choice(free)]
            )
            self.drive("rsp_park", self._number)
        fault = not isinstance(result, tuple) and not self._parks
        self.drive("rsp_fault", int(fault))
        self.drive("rsp_cause", result if fault else self.rng.getrandbits(12))
        garbage = (self.rng.getrandbits(44), 31, self.rng.getrandbits(2), 0)
        ppn, order, perm, is_global = garbage if fault or self._parks else result
        self.drive("rsp_ppn", ppn)
        self.drive("rsp_order", order)
        self.drive("rsp_perm", perm)
        self.drive("rsp_global", int(is_global))
        # An answer on its way when the invalidation comes may still say that it is cacheable.
        late = epoch == self.epoch - 1 and self.now - self.pulse <= self.late()
        self.drive(
            "rsp_cacheable",
            int(epoch == self.epoch or late) if not fault and not self._parks else self.rng.getrandbits(1),
        )

    def _drive_wakes(self):
        number, ok = self.wake_request or (self.rng.randrange(64), self.rng.randrange(2))
        self.drive("wake_valid_i", int(self.wake_request is not None))
        self.drive("wake_park_i", number)
        self.drive("wake_ok_i", int(ok))
        self.drive("ctx_write_valid_i", int(self.ctx_write is not None))
        self.drive("ctx_write_ctx_i", self.ctx_write or 0)

    async def step(self):
        self._drive_accelerator()
        self._drive_memory()
        self._drive_walker()
        self._drive_wakes()
        self.drive("inval_valid_i", int(self.inval_request))
        if self.turn_request and not self.inval_request:
            self.drive("epoch_i", 1 - self._driven.get("epoch_i", 0))
            self.turn_request, self.turned = False, self.now
        for key in ("scope", "ctx", "vpn", "order"):
            self.drive(f"inval_{key}_i", getattr(self.what, key))
        self.drive("mode_i", self.mode)
        self.drive("ctx_i", self.ctx)
        await ReadOnly()
        self._sample_faults()
        self._sample_accelerator()
        self._sample_memory()
        self._sample_walker()
        self._sample_wakes()
        self.busy = self.get("inval_busy_o")
        if self.inval_request:
            self.inval_request, self.pulse = False, self.now
            self.epoch += 1
            self.pulses.append((self.what, len(self.tables) - 1))
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
        return f"no end at cycle {self.now}: {len(self.accesses) - self.answered} unanswered, first {left}"

    @property
    def settled(self):
        """Nothing of the other epoch is left: the epoch may turn."""
        return not self.turn_request and self.now - self.turned > 4 and not self.busy

    async def turn(self):
        """Turns the epoch, as a fence does when nothing of the other one is left; busy tells then."""
        self.turn_request = True
        for _ in range(3):
            await self.step()

    async def invalidate(self, what=EVERYTHING, limit=5000):
        """Pulses inval_valid_i, turns the epoch and runs until busy has fallen; returns the cycles busy was high."""
        self.inval_request, self.what = True, what
        await self.step()
        pulses = len(self.pulses)
        await self.turn()
        cycles = 0
        while self.busy:
            cycles += 1
            assert cycles < limit, "invalidation does not end: " + self.stuck()
            await self.step()
        self.settled_pulses = self.pulses[:pulses]
        return cycles
