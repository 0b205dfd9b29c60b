# SPDX-License-Identifier: Apache-2.0
"""A master and a memory around gw_axi_adapt, driven cycle by cycle: stalls, bursts in flight, interleaved read data."""

from __future__ import annotations

import random
from collections import defaultdict, deque
from collections.abc import Callable

import cocotb
from bursts import EXOKAY, OKAY, SLVERR, Burst
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge

ADDRESS = ("id", "addr", "len", "size", "burst", "lock", "cache")


class Bench:
    """Both ends. Inputs change after a rising edge, outputs are read at the falling one."""

    def __init__(self, dut, rng: random.Random, memory: bytearray) -> None:
        self.dut, self.rng, self.memory = dut, rng, memory
        self.slave_bytes = len(dut.s_axi_rdata) // 8
        self.master_bytes = len(dut.m_axi_rdata) // 8
        self.stall = 0.0
        self.latency: Callable[[], int] = lambda: 0
        self.interleave = False
        self.error_words: set[int] = set()
        """Words of the bus, by number, whose accesses fail."""
        self.exclusive = False
        """The memory supports exclusive accesses."""
        self.cycle = 0
        self.todo = {"ar": deque(), "aw": deque(), "w": deque()}
        self.reads: dict[int, deque[Burst]] = defaultdict(deque)
        self.writes: dict[int, deque[Burst]] = defaultdict(deque)
        self.seen: dict[str, list[Burst]] = {"ar": [], "aw": []}
        """Addresses that arrived at the memory."""
        self.on_beat: Callable[[Burst, int, int], None] = lambda burst, data, resp: None
        self.on_answer: Callable[[Burst, int], None] = lambda burst, resp: None
        self.cycles: dict[str, list[int]] = defaultdict(list)
        """Cycles of the handshakes, by channel: s_ar, m_r, ..."""
        self._held: dict[str, tuple] = {}
        self._reading: list[Burst] = []
        self._awaiting_data: deque[Burst] = deque()
        self._early: deque[tuple[int, int, int]] = deque()
        self._answers: list[Burst] = []
        self._r: Burst | None = None
        self._b: Burst | None = None

    async def start(self) -> None:
        """Clock and reset; then both ends run for as long as the simulation does."""
        dut = self.dut
        cocotb.start_soon(Clock(dut.clk_i, 2, unit="ns").start())
        dut.rst_ni.value = 0
        for side, channels in (("s", ("ar", "aw", "w")), ("m", ("r", "b"))):
            for channel in channels:
                getattr(dut, f"{side}_axi_{channel}valid").value = 0
        for name in ("s_axi_rready", "s_axi_bready", "m_axi_arready", "m_axi_awready", "m_axi_wready"):
            getattr(dut, name).value = 0
        for _ in range(3):
            await RisingEdge(dut.clk_i)
        dut.rst_ni.value = 1
        cocotb.start_soon(self._run())

    def read(self, burst: Burst) -> None:
        """Queues a read."""
        self.todo["ar"].append(burst)

    def write(self, burst: Burst) -> None:
        """Queues a write with the beats in its `data`."""
        self.todo["aw"].append(burst)
        for index, (data, strb) in enumerate(burst.data):
            self.todo["w"].append((data, strb, int(index == burst.len)))

    async def finish(self, limit: int = 200_000) -> None:
        """Until everything queued is answered."""
        end = self.cycle + limit
        while any(self.todo.values()) or any(self.reads.values()) or any(self.writes.values()):
            await RisingEdge(self.dut.clk_i)
            assert self.cycle < end, f"not answered: {dict(self.reads)} {dict(self.writes)} {self.todo}"

    # ---------------------------------------------------------------------------------------------------------------

    def _awake(self) -> bool:
        return self.rng.random() >= self.stall

    def _pin(self, name: str):
        return getattr(self.dut, name)

    def _get(self, name: str) -> int:
        return int(self._pin(name).value)

    async def _run(self) -> None:
        valid = dict.fromkeys(("s_ar", "s_aw", "s_w", "m_r", "m_b"), False)
        while True:
            self._drive(valid)
            await FallingEdge(self.dut.clk_i)
            self._sample(valid)
            await RisingEdge(self.dut.clk_i)
            self.cycle += 1

    def _drive(self, valid: dict[str, bool]) -> None:
        for channel in ("ar", "aw"):
            if not valid[f"s_{channel}"] and self.todo[channel] and self._awake():
                burst = self.todo[channel][0]
                for name in ADDRESS:
                    self._pin(f"s_axi_{channel}{name}").value = getattr(burst, name)
                valid[f"s_{channel}"] = True
        if not valid["s_w"] and self.todo["w"] and self._awake():
            data, strb, last = self.todo["w"][0]
            self._pin("s_axi_wdata").value = data
            self._pin("s_axi_wstrb").value = strb
            self._pin("s_axi_wlast").value = last
            valid["s_w"] = True
        if not valid["m_r"] and self._awake():
            self._r = self._next_read()
            if self._r:
                self._offer_read(self._r)
                valid["m_r"] = True
        if not valid["m_b"] and self._awake():
            self._b = self._oldest(self._answers)
            if self._b:
                self._pin("m_axi_bid").value = self._b.id
                answer = EXOKAY if self._b.lock and self.exclusive else OKAY
                self._pin("m_axi_bresp").value = SLVERR if self._b.error else answer
                valid["m_b"] = True
        for channel, is_valid in valid.items():
            self._pin(f"{channel.replace('_', '_axi_')}valid").value = int(is_valid)
        for name in ("s_axi_rready", "s_axi_bready", "m_axi_arready", "m_axi_awready", "m_axi_wready"):
            self._pin(name).value = int(self._awake())

    def _oldest(self, bursts: list[Burst]) -> Burst | None:
        """One that is the oldest of its ID and whose time has come: the first such, or any."""
        found, ids = [], set()
        for burst in bursts:
            if burst.id not in ids and burst.ready <= self.cycle:
                found.append(burst)
            ids.add(burst.id)
        if not found:
            return None
        return self.rng.choice(found) if self.interleave else found[0]

    def _next_read(self) -> Burst | None:
        return self._oldest(self._reading)

    def _offer_read(self, burst: Burst) -> None:
        span = burst.span(burst.beat)
        word = span.start // self.master_bytes
        base = word * self.master_bytes
        junk = self.rng.getrandbits(8 * self.master_bytes).to_bytes(self.master_bytes, "little")
        data = bytearray(junk)
        data[span.start - base : span.stop - base] = self.memory[span.start : span.stop]
        okay = EXOKAY if burst.lock and self.exclusive else OKAY
        self._pin("m_axi_rid").value = burst.id
        self._pin("m_axi_rdata").value = int.from_bytes(data, "little")
        self._pin("m_axi_rresp").value = SLVERR if word in self.error_words else okay
        self._pin("m_axi_rlast").value = int(burst.beat == burst.len)

    # ---------------------------------------------------------------------------------------------------------------

    def _taken(self, name: str) -> bool:
        """The handshake of a channel whose valid the design drives; its payload must wait unchanged."""
        side, channel = name.split("_")
        if not self._get(f"{side}_axi_{channel}valid"):
            assert name not in self._held, f"{name}valid fell before ready came"
            return False
        fields = {"ar": ADDRESS, "aw": ADDRESS, "w": ("data", "strb", "last"), "b": ("id", "resp")}
        names = fields.get(channel, ("id", "data", "resp", "last"))
        payload = tuple(self._get(f"{side}_axi_{channel}{field}") for field in names)
        assert self._held.get(name, payload) == payload, f"{name} changed before it was taken"
        if not self._get(f"{side}_axi_{channel}ready"):
            self._held[name] = payload
            return False
        self._held.pop(name, None)
        self.cycles[name].append(self.cycle)
        return True

    def _sample(self, valid: dict[str, bool]) -> None:
        for channel in list(valid):
            if valid[channel] and self._get(f"{channel.replace('_', '_axi_')}ready"):
                valid[channel] = False
                self.cycles[channel].append(self.cycle)
                self._driven(channel)
        if self._taken("m_ar"):
            burst = self._arrived("ar")
            burst.ready = self.cycle + 1 + self.latency()
            self._reading.append(burst)
        if self._taken("m_aw"):
            self._awaiting_data.append(self._arrived("aw"))
        if self._taken("m_w"):
            self._early.append(tuple(self._get(f"m_axi_w{field}") for field in ("data", "strb", "last")))
        while self._early and self._awaiting_data:
            self._store(*self._early.popleft())
        if self._taken("s_r"):
            self._beat()
        if self._taken("s_b"):
            queue = self.writes[self._get("s_axi_bid")]
            assert queue, "B that nothing asked for"
            self.on_answer(queue.popleft(), self._get("s_axi_bresp"))

    def _driven(self, channel: str) -> None:
        """Something that this end offered was taken."""
        if channel in ("s_ar", "s_aw"):
            burst = self.todo[channel[2:]].popleft()
            (self.reads if channel == "s_ar" else self.writes)[burst.id].append(burst)
        elif channel == "s_w":
            self.todo["w"].popleft()
        elif channel == "m_r":
            self._r.beat += 1
            if self._r.beat > self._r.len:
                self._reading.remove(self._r)
            self._r = None
        else:
            self._answers.remove(self._b)
            self._b = None

    def _arrived(self, channel: str) -> Burst:
        burst = Burst(*(self._get(f"m_axi_{channel}{name}") for name in ADDRESS))
        assert burst.step <= self.master_bytes, f"{burst} is wider than the bus"
        assert burst.burst == 1 or burst.len in (0, 1, 3, 7, 15) or burst.burst == 0
        assert not burst.leaves_page(), f"{burst} leaves its page"
        self.seen[channel].append(burst)
        return burst

    def _store(self, data: int, strb: int, last: int) -> None:
        burst = self._awaiting_data[0]
        span = burst.span(burst.beat)
        base = span.start // self.master_bytes * self.master_bytes
        for lane in range(self.master_bytes):
            if strb >> lane & 1:
                assert base + lane in span, (
                    f"strobe of byte {base + lane:#x} outside beat {burst.beat} of {burst}"
                )
                self.memory[base + lane] = data >> (8 * lane) & 0xFF
        burst.error |= span.start // self.master_bytes in self.error_words
        assert last == (burst.beat == burst.len), f"WLAST {last} in beat {burst.beat} of {burst}"
        burst.beat += 1
        if last:
            self._awaiting_data.popleft()
            burst.ready = self.cycle + 1 + self.latency()
            self._answers.append(burst)

    def _beat(self) -> None:
        queue = self.reads[self._get("s_axi_rid")]
        assert queue, "R that nothing asked for"
        burst = queue[0]
        self.on_beat(burst, self._get("s_axi_rdata"), self._get("s_axi_rresp"))
        last = burst.beat == burst.len
        assert self._get("s_axi_rlast") == last, f"RLAST in beat {burst.beat} of {burst}"
        burst.beat += 1
        if last:
            queue.popleft()
