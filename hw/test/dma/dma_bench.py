# SPDX-License-Identifier: Apache-2.0
"""Surroundings of gw_page_dma: software with a ring in host memory, and a memory on either port, cycle by cycle.

Memory commits a write when it answers it, so whoever counts on data before the answer is found out. Every cycle is checked:
bursts are whole lines within a 4 KiB page (or a word), an address comes before or with data of as many beats, a read takes no
data before there is room (data is never refused), and at each fence number memory holds what the descriptors before it wrote.
"""

from __future__ import annotations

from collections import deque

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge
from descriptors import BYTES, HOST, LINE, Descriptor, Memory

OKAY, SLVERR = 0, 2
LINE_SIZE = 6


class Port:
    """A slave with one queue of reads an ID and one of writes; data moves at `rate` beats a cycle each way."""

    def __init__(self, bench, pins, name):
        self.bench, self.pins, self.name = bench, pins, name
        self.reads = {0: deque(), 1: deque()}  # [ready at, address, beat, beats]
        self.writes, self.data, self.answers = deque(), deque(), deque()
        self.turn = 0
        self.rate, self.budget_r, self.budget_w = 1.0, 0.0, 0.0
        self.takes_data = True
        self.r_beats = self.w_beats = 0
        self.first_r = self.last_r = self.first_w = self.last_w = None
        self.driven = {}
        self.held = {}

    def drive(self, name, value):
        if self.driven.get(name) != value:
            self.driven[name] = value
            getattr(self.pins, f"axi_{name}").value = value

    def get(self, name):
        return int(getattr(self.pins, f"axi_{name}").value)

    def offer(self):
        """Inputs of the cycle that begins."""
        bench, now = self.bench, self.bench.now
        stalls = bench.stall
        self.budget_r = min(self.budget_r + self.rate, 1.0 + self.rate)
        self.budget_w = min(self.budget_w + self.rate, 1.0 + self.rate)
        self.drive("arready", int(bench.rng.random() >= stalls))
        self.drive("awready", int(bench.rng.random() >= stalls))
        self.drive("wready", int(bench.rng.random() >= stalls and self.budget_w >= 1 and self.takes_data))
        # An answer that is offered stays; here it is always taken.
        ready = [i for i, queue in self.reads.items() if queue and queue[0][0] <= now]
        if ready and self.budget_r >= 1 and bench.rng.random() >= stalls:
            number = ready[self.turn % len(ready)]
            self.turn += 1
            read = self.reads[number][0]
            addr, last = read[1] + read[2] * LINE, read[2] + 1 == read[3]
            bad = addr in bench.bad_reads
            self.drive("rid", number)
            self.drive(
                "rdata", int.from_bytes(bytes(LINE) if bad else bench.memory.read(addr, LINE), "little")
            )
            self.drive("rresp", SLVERR if bad else OKAY)
            self.drive("rlast", int(last))
            self.drive("rvalid", 1)
            self.r_given = (number, last)
        else:
            self.drive("rvalid", 0)
            self.r_given = None
        if self.answers and self.answers[0][0] <= now and bench.rng.random() >= stalls:
            _, addr, beats, words = self.answers[0]
            bad = any(addr // LINE * LINE + i * LINE in bench.bad_writes for i in range(beats))
            if not bad:
                for index, (data, strb) in enumerate(words):
                    bench.commit(addr // LINE * LINE + index * LINE, data, strb)
            self.drive("bresp", SLVERR if bad else OKAY)
            self.drive("bid", 0)
            self.drive("bvalid", 1)
            self.answers.popleft()
        else:
            self.drive("bvalid", 0)

    def take(self):
        """Outputs of the cycle, and what was taken of it."""
        bench, now = self.bench, self.bench.now
        if self.r_given:
            number, last = self.r_given
            assert self.get("rready"), "read data was refused"
            self.budget_r -= 1
            read = self.reads[number][0]
            read[2] += 1
            if number == 0:
                self.r_beats += 1
                self.first_r, self.last_r = self.first_r or now, now
            if last:
                self.reads[number].popleft()
        if self.driven["bvalid"]:
            assert self.get("bready")
        if self.get("arvalid") and self.driven["arready"]:
            addr, beats, number = self.get("araddr"), self.get("arlen") + 1, self.get("arid")
            assert self.get("arsize") == LINE_SIZE and self.get("arburst") == 1 and addr % LINE == 0
            assert addr // 4096 == (addr + beats * LINE - 1) // 4096 and beats <= 16
            assert (addr >= HOST) == (self.name == "host")
            self.reads[number].append([now + bench.latency(bench.rng), addr, 0, beats])
        if self.get("awvalid") and self.driven["awready"]:
            addr, beats, size = self.get("awaddr"), self.get("awlen") + 1, self.get("awsize")
            assert (addr >= HOST) == (self.name == "host") and self.get("awburst") == 1
            assert addr % (1 << size) == 0 and size in (2, 3, LINE_SIZE)
            assert beats == 1 if size != LINE_SIZE else addr // 4096 == (addr + beats * LINE - 1) // 4096
            self.writes.append((addr, beats, size))
        if self.get("wvalid") and self.driven["wready"]:
            self.budget_w -= 1
            self.w_beats += 1
            self.first_w, self.last_w = self.first_w or now, now
            self.data.append((self.get("wdata"), self.get("wstrb"), self.get("wlast")))
        while self.writes and len(self.data) >= self.writes[0][1]:
            addr, beats, size = self.writes.popleft()
            words = [self.data.popleft() for _ in range(beats)]
            assert [last for *_, last in words] == [0] * (beats - 1) + [1]
            wanted = ((1 << (1 << size)) - 1) << addr % LINE
            assert all(strb == wanted for _, strb, _ in words)
            due = now + bench.latency(bench.rng)
            self.answers.append(
                (
                    max(due, self.answers[-1][0] if self.answers else 0),
                    addr,
                    beats,
                    [(data, strb) for data, strb, _ in words],
                )
            )
        # Data may be early, not by more than a burst.
        assert len(self.data) <= 16 or self.writes

    @property
    def quiet(self):
        return not (any(self.reads.values()) or self.writes or self.data or self.answers)


class Bench:
    """Software: `put` descriptors, `run` until they are done."""

    def __init__(
        self, dut, rng, *, log2=6, stall=0.0, latency=lambda rng: 3, size=1 << 19, base=None, first=0
    ):
        self.dut, self.rng, self.stall, self.latency = dut, rng, stall, latency
        self.memory = Memory(rng, size)
        self.entries = 1 << log2
        # The ring lies at the end of host memory, the fence number in the page before.
        self.base = HOST + size - max(4096, self.entries * BYTES) if base is None else base
        self.fence_addr = self.base - 4096 + 20
        self.wanted = self.memory.copy()
        self.written, self.first, self.tail = [], first, first
        self.now, self.sequence = 0, 0
        self.bad_reads, self.bad_writes = set(), set()
        self.irqs, self.responses, self.fences = [], [], []
        self.respond_stall = stall
        self._driven = {}

    async def begin(self):
        cocotb.start_soon(Clock(self.dut.clk_i, 2).start())
        self.dut.rst_ni.value = 0
        self.ports = [Port(self, self.dut.u_device, "device"), Port(self, self.dut.u_host, "host")]
        for port in self.ports:
            for name in (
                "arready",
                "awready",
                "wready",
                "rvalid",
                "bvalid",
                "rlast",
                "rid",
                "bid",
                "rdata",
                "rresp",
                "bresp",
            ):
                port.drive(name, 0)
        self.drive(
            enable_i=0,
            cancel_i=0,
            base_i=self.base >> 12,
            log2_size_less1_i=self.entries.bit_length() - 2,
            first_i=self.first,
            tail_i=self.tail,
            fence_write_i=1,
            fence_addr_i=self.fence_addr >> 2,
            sequence_i=0,
            respond_ready_i=0,
        )
        for _ in range(3):
            await RisingEdge(self.dut.clk_i)
        self.dut.rst_ni.value = 1
        await RisingEdge(self.dut.clk_i)
        return self

    def drive(self, **values):
        for name, value in values.items():
            if self._driven.get(name) != value:
                self._driven[name] = value
                getattr(self.dut, name).value = value

    def get(self, name):
        return int(getattr(self.dut, name).value)

    def commit(self, line, data, strb):
        before = bytearray(self.memory.read(line, LINE))
        for index, byte in enumerate(data.to_bytes(LINE, "little")):
            if strb >> index & 1:
                before[index] = byte
        if line == self.fence_addr // LINE * LINE:
            at = self.fence_addr % LINE
            assert strb == 0xF << at, "more than the fence number was written"
            self.fences.append((self.now, int.from_bytes(before[at : at + 4], "little")))
            self.see_fence(self.fences[-1][1])
        self.memory.write(line, bytes(before))

    def see_fence(self, number):
        """All before the fence is in memory: checked against descriptors that nothing behind may have overwritten."""
        for index, descriptor in enumerate(self.written):
            if descriptor.fence == number:
                for expected in self.written[self.checked : index + 1]:
                    self.check(expected)
                return
        raise AssertionError(f"fence number {number} is nobody's")

    checked = 0

    def check(self, descriptor):
        """The destination holds what it will hold in the end (bench lists write every place once)."""
        for addr, count in descriptor_places(descriptor):
            assert self.memory.read(addr, count) == self.wanted.read(addr, count), (
                f"{descriptor} is not there"
            )

    @property
    def room(self):
        return self.entries - 1 - ((self.tail - self.get("head_o")) % self.entries)

    def put(self, *descriptors: Descriptor, legal=True):
        for descriptor in descriptors:
            assert self.room > 0
            self.memory.write(self.base + self.tail * BYTES, descriptor.words())
            self.wanted.write(self.base + self.tail * BYTES, descriptor.words())
            self.written.append(descriptor)
            if legal:
                descriptor.apply(self.wanted)
            self.tail = (self.tail + 1) % self.entries
        self.drive(tail_i=self.tail)

    async def turn_on(self):
        self.drive(enable_i=1, cancel_i=0, first_i=self.first, tail_i=self.tail)
        while not self.get("on_o"):
            await self.step()

    async def turn_off(self, limit=5000):
        self.drive(enable_i=0)
        await self.until(lambda: not self.get("on_o"), limit)
        assert all(port.quiet for port in self.ports)
        self.drive(cancel_i=0)
        await self.step()

    async def step(self):
        for port in self.ports:
            port.offer()
        self.drive(respond_ready_i=int(self.rng.random() >= self.respond_stall), sequence_i=self.sequence)
        await ReadOnly()
        for port in self.ports:
            port.take()
        if self.get("irq_o"):
            self.irqs.append((self.now, self.get("fence_o")))
        if self.get("respond_valid_o") and self._driven["respond_ready_i"]:
            self.responses.append((self.now, self.get("respond_o")))
        await RisingEdge(self.dut.clk_i)
        self.now += 1

    async def until(self, condition, limit=100_000):
        end = self.now + limit
        while not condition():
            await self.step()
            assert self.now < end, f"nothing came: head {self.get('head_o')}, tail {self.tail}"

    async def run(self, limit=100_000):
        """Until all descriptors are done; then memory is as it should be."""
        await self.until(lambda: self.get("head_o") == self.tail, limit)
        assert not self.get("stopped_o")
        self.compare()

    def compare(self):
        at = self.fence_addr
        self.wanted.write(at, self.memory.read(at, 4))
        assert self.memory.parts[0] == self.wanted.parts[0], "device memory differs"
        assert self.memory.parts[1] == self.wanted.parts[1], "host memory differs"

    def restart(self):
        """Forgets what was written; the ring goes on where it stands."""
        self.written, self.wanted = [], self.memory.copy()
        self.first = self.tail


def descriptor_places(descriptor):
    """[(address, bytes)] that it writes."""
    from descriptors import CLEAR, COPY, ENTRY

    if descriptor.op == ENTRY:
        return [(descriptor.dest, 8)]
    if descriptor.op not in (COPY, CLEAR):
        return []
    return [
        (descriptor.dest + i * LINE, LINE)
        for i in range(descriptor.lines)
        if descriptor.mask is None or descriptor.mask >> i & 1
    ]
