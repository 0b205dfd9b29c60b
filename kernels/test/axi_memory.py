# SPDX-License-Identifier: Apache-2.0
"""Memory behind ``m_axi_gmem``: exact cycles, reordering between IDs, stalls, errors, protocol checks."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field
from typing import Literal

from cocotb.triggers import RisingEdge

OKAY, SLVERR = 0, 2
PATIENCE = 2000
"""Cycles that a kernel that is `independent` may let pass, however the memory stalls."""
ADDRESS = ("VALID", "READY", "ADDR", "ID", "LEN", "SIZE", "BURST")
PINS = (
    *(channel + field for channel in ("AR", "AW") for field in ADDRESS),
    *("R" + field for field in ("VALID", "READY", "ID", "DATA", "LAST", "RESP")),
    *("W" + field for field in ("VALID", "READY", "DATA", "STRB", "LAST")),
    *("B" + field for field in ("VALID", "READY", "ID", "RESP")),
)


@dataclass
class Policy:
    """How the memory behaves. The default is the ideal memory: fixed latency, one beat a cycle, in order."""

    latency: int = 4
    stall_percent: int = 0
    """Chance that a channel does nothing in a cycle: AR, R, AW, W and B each for itself."""
    reorder: bool = False
    """Data and responses of different IDs come in random order, read data interleaved beat by beat."""
    slow_ids: dict[int, int] = field(default_factory=dict)
    """Latency of some IDs instead of the common one."""
    read_errors: list[range] = field(default_factory=list)
    write_errors: list[range] = field(default_factory=list)
    withheld: Literal["", "answers", "writes"] = ""
    """What waits, as it may where accesses are parked: read data and write responses for the data of every write that was
    asked for; or all of a write for the data of every read to be taken. A kernel that is `independent` goes on."""


@dataclass
class Burst:
    """An accepted burst and how far it has got."""

    id: int
    addr: int
    beats: int
    ready: int
    done: int = 0
    error: bool = False


class AxiMemory:
    """Serves one AXI4 port from ``data``. Every address a kernel uses must lie in it."""

    def __init__(self, dut, size: int) -> None:
        self.dut = dut
        self.data = bytearray(size)
        self.policy = Policy()
        self.empty_beats = False
        """Whether write beats without any strobe are allowed."""
        self.random = random.Random(0)
        self.cycle = 0
        self.reset_counts()
        self._reads: list[Burst] = []
        self._writes: deque[Burst] = deque()
        self._answers: list[Burst] = []
        self._held: dict[str, tuple] = {}
        self._withheld_since = 0
        self.beat = len(dut.m_axi_gmem_RDATA) // 8
        """Bytes of a beat."""
        self._pins = {name: getattr(dut, f"m_axi_gmem_{name}") for name in PINS}
        self._driven: dict[str, int] = {}

    def reset_counts(self) -> None:
        """Starts the statistics afresh."""
        self.read_bursts: list[tuple[int, int, int]] = []
        self.write_bursts: list[tuple[int, int, int]] = []
        self.r_cycles: list[int] = []
        self.w_cycles: list[int] = []
        self.max_reads = self.max_writes = 0

    @property
    def quiet(self) -> bool:
        """Nothing is on the bus."""
        return not (self._reads or self._writes or self._answers)

    def _get(self, name: str) -> int:
        """A pin as it was before the edge; what this end drives is known without asking the simulator."""
        known = self._driven.get(name)
        return int(self._pins[name].value) if known is None else known

    def _set(self, name: str, value: int) -> None:
        if self._driven.get(name) != value:
            self._driven[name] = value
            self._pins[name].value = value

    def _awake(self) -> bool:
        return self.random.randrange(100) >= self.policy.stall_percent

    def _withholds(self, what: str) -> bool:
        return self.policy.withheld == what and bool(self._writes if what == "answers" else self._reads)

    def _check_patience(self) -> None:
        moved = self.cycle in (*self.r_cycles[-1:], *self.w_cycles[-1:])
        if moved or not (self._withholds("answers") or self._withholds("writes")):
            self._withheld_since = self.cycle
        waits = "the data of a write wait for an answer" if self._writes else "read data wait for a write"
        assert self.cycle - self._withheld_since < PATIENCE, f"the kernel is not independent: {waits}"

    def _hit(self, ranges: list[range], addr: int) -> bool:
        return any(r.start < addr + self.beat and addr < r.stop for r in ranges)

    def _take_address(self, channel: str) -> Burst | None:
        """Checks the address channel and returns the burst that was accepted in this cycle."""
        if not self._get(f"{channel}VALID"):
            assert channel not in self._held, f"{channel}VALID fell before {channel}READY"
            return None
        fields = tuple(self._get(channel + f) for f in ("ADDR", "ID", "LEN", "SIZE", "BURST"))
        assert self._held.get(channel, fields) == fields, f"{channel} changed before it was taken"
        if not self._get(f"{channel}READY"):
            self._held[channel] = fields
            return None
        self._held.pop(channel, None)
        addr, axi_id, length, size, burst = fields
        end = addr + (length + 1) * self.beat
        assert 1 << size == self.beat and burst == 1 and addr % self.beat == 0, (
            f"{channel}: not an aligned INCR burst of full beats"
        )
        assert addr // 4096 == (end - 1) // 4096, f"{channel}: burst {addr:#x}..{end:#x} crosses 4 KiB"
        assert end <= len(self.data), f"{channel}: {end:#x} is outside of memory"
        latency = self.policy.slow_ids.get(axi_id, self.policy.latency)
        return Burst(axi_id, addr, length + 1, self.cycle + latency)

    def _next_read(self) -> Burst | None:
        """The burst whose beat goes out next: the oldest, or with reordering any that is its ID's oldest."""
        heads: dict[int, Burst] = {}
        for burst in self._reads:
            heads.setdefault(burst.id, burst)
        ready = [b for b in heads.values() if b.ready <= self.cycle]
        if not ready:
            return None
        if self.policy.reorder:
            return self.random.choice(ready)
        if self.policy.slow_ids:
            return ready[0]
        return ready[0] if ready[0] is self._reads[0] else None

    def _read_channel(self) -> None:
        if self._get("RVALID") and self._get("RREADY"):
            self.r_cycles.append(self.cycle)
            self._set("RVALID", 0)
        elif self._get("RVALID"):
            return
        burst = self._next_read()
        if burst is None or self._withholds("answers") or not self._awake():
            return
        addr = burst.addr + burst.done * self.beat
        error = self._hit(self.policy.read_errors, addr)
        burst.done += 1
        last = burst.done == burst.beats
        if last:
            self._reads.remove(burst)
        data = bytes(0xEE for _ in range(self.beat)) if error else self.data[addr : addr + self.beat]
        self._set("RVALID", 1)
        self._set("RID", burst.id)
        self._set("RDATA", int.from_bytes(data, "little"))
        self._set("RLAST", int(last))
        self._set("RRESP", SLVERR if error else OKAY)

    def _write_data(self) -> None:
        if not (self._get("WVALID") and self._get("WREADY")):
            return
        assert self._writes, "write data before its address"
        burst = self._writes[0]
        addr = burst.addr + burst.done * self.beat
        strobe = self._get("WSTRB")
        data = self._get("WDATA").to_bytes(self.beat, "little")
        assert strobe or self.empty_beats, "a beat without any byte"
        self.w_cycles.append(self.cycle)
        if self._hit(self.policy.write_errors, addr):
            burst.error = True
        elif strobe == 2**self.beat - 1:
            self.data[addr : addr + self.beat] = data
        else:
            for i in range(self.beat):
                if strobe >> i & 1:
                    self.data[addr + i] = data[i]
        burst.done += 1
        assert self._get("WLAST") == (burst.done == burst.beats), "WLAST in the wrong beat"
        if burst.done == burst.beats:
            self._writes.popleft()
            burst.ready = self.cycle + self.policy.slow_ids.get(burst.id, self.policy.latency)
            self._answers.append(burst)

    def _write_response(self) -> None:
        if self._get("BVALID") and not self._get("BREADY"):
            return
        self._set("BVALID", 0)
        ready = [b for b in self._answers if b.ready <= self.cycle]
        if not ready or self._withholds("answers") or self._withholds("writes") or not self._awake():
            return
        burst = self.random.choice(ready) if self.policy.reorder else ready[0]
        self._answers.remove(burst)
        self._set("BVALID", 1)
        self._set("BID", burst.id)
        self._set("BRESP", SLVERR if burst.error else OKAY)

    async def run(self) -> None:
        """Serves the port for ever; start it once, before the reset ends."""
        for name in ("RVALID", "RID", "RDATA", "RLAST", "RRESP", "BVALID", "BID", "BRESP"):
            self._set(name, 0)
        for name in ("ARREADY", "AWREADY", "WREADY"):
            self._set(name, 0)
        while True:
            await RisingEdge(self.dut.ap_clk)
            self.cycle += 1
            if not self.dut.ap_rst_n.value:
                continue
            if burst := self._take_address("AR"):
                self.read_bursts.append((burst.id, burst.addr, burst.beats))
                self._reads.append(burst)
            if burst := self._take_address("AW"):
                self.write_bursts.append((burst.id, burst.addr, burst.beats))
                self._writes.append(burst)
            self._write_data()
            self._read_channel()
            self._write_response()
            self.max_reads = max(self.max_reads, len(self._reads))
            self.max_writes = max(self.max_writes, len(self._writes) + len(self._answers))
            self._check_patience()
            for name in ("ARREADY", "AWREADY", "WREADY"):
                waits = name != "ARREADY" and self._withholds("writes")
                self._set(name, int(self._awake() and not waits))
