# SPDX-License-Identifier: Apache-2.0
"""Surroundings of gw_invalidate, cycle by cycle: the registers, a memory, and levels that are busy after a pulse.

`Bench.step` runs one clock cycle and checks: pulses are the commands written, in order, each once, with an InvalAll in
exactly the cycle after a start or a write of a context; a fence is done (its write offered, or its command counted by the
head), and a start has ended, only when the levels are done with everything before it; the head counts the commands done;
memory is read only where commands were in the queue; offers stay. What a level has under way carries the epoch it began in;
the level is busy while something of the other one is left, and learns of a turn up to four cycles late.
"""

from __future__ import annotations

from collections import deque

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge
from commands import ALL, understand

OKAY, SLVERR = 0, 2
LINE = 64
ERRORS = ("memory_fault", "timeout", "illegal")
LINE_READ, WORD_WRITE = 6 << 2 | 1, 2 << 2 | 1  # one beat, size, INCR
EVERYTHING = ("inval", ALL, 0, 0, 0)


class Bench:
    def __init__(
        self,
        dut,
        rng,
        *,
        stall=0.0,
        latency=lambda rng: 3,
        busy=lambda rng: 0,
        log2=4,
        base=0x8_0000,
        delay=1,
    ):
        self.dut, self.rng, self.stall = dut, rng, stall
        self.latency, self.busy_for = latency, busy
        self.contexts = int(dut.NumContexts.value)
        self.page_requests = bool(int(dut.PageRequests.value))
        self.page_cache = bool(int(dut.PageCache.value))
        self.cached = []  # (cycle, maintenance) taken since the queue was turned on
        self.cache_busy = None  # last cycle of what was taken
        self.cache_takes, self.cache_fails = (lambda rng: 3), 0
        self.responses = []  # taken since the queue was turned on
        self.memory = {}
        self.bad_lines, self.bad_words = set(), set()
        self.size, self.base = 1 << log2, base
        self.config = {
            "base_i": base >> 12,
            "log2_size_less1_i": log2 - 1,
            "tail_i": 0,
            "timeout_i": 0,
            "enable_i": 0,
        }
        self.status = dict.fromkeys((*ERRORS, "fence"), 0)
        self.now = 0
        self.written = []  # commands, by how many were written before
        self.done = 0  # commands done, as the head must show
        self.pulses = []  # (cycle, pulse)
        self.expected = (
            deque()
        )  # pulses of commands in the queue, not seen yet: (number of the command, pulse)
        self.forced = False  # a start or a write of a context in the cycle before
        self.start = self.ctx_write = False
        self.hold_busy = False
        self.under_way = []  # in the levels: [number of the pulse it is older than, epoch, last cycle]
        self.delay = delay
        self.command_pulse = 0  # number of the latest pulse of a command
        self.epochs = deque([0] * 5, maxlen=5)  # as seen in the last cycles
        self.begin_all = []  # pulses out when the starts that have not ended were written
        self.reads, self.write = deque(), [None, None]
        self.answer = None
        self.writes = []  # (cycle, address, data) done
        self.fences, self.dones = [], []  # cycles of interrupts and of ended starts
        self._offer = {}
        self._driven = {}

    async def begin(self):
        cocotb.start_soon(Clock(self.dut.clk_i, 2).start())
        self.dut.rst_ni.value = 0
        for name in (
            "start_i",
            "ctx_write_i",
            "ar_ready_i",
            "r_valid_i",
            "aw_ready_i",
            "w_ready_i",
            "b_valid_i",
            "respond_ready_i",
            "cache_ready_i",
            "cache_ack_i",
            "cache_error_i",
        ):
            self.drive(name, 0)
        self.drive("inval_busy_i", 0)
        self.drive("port_ctx_i", 0)
        self.drive("stopped_i", 0)
        for name, value in self.config.items():
            self.drive(name, value)
        for _ in range(3):
            await RisingEdge(self.dut.clk_i)
        self.dut.rst_ni.value = 1
        await RisingEdge(self.dut.clk_i)
        return self

    def drive(self, name, value):
        if self._driven.get(name) != value:
            self._driven[name] = value
            getattr(self.dut, name).value = value

    def get(self, name):
        return int(getattr(self.dut, name).value)

    # Software.

    async def turn_on(self):
        assert not self.config["enable_i"]
        self.config |= {"enable_i": 1, "tail_i": 0}
        self.written, self.expected, self.done, self.responses = [], deque(), 0, []
        self.cached = []
        while not self.get("on_o"):
            await self.step()

    async def turn_off(self, limit=1000):
        self.config["enable_i"] = 0
        for _ in range(limit):
            await self.step()
            if not self.get("on_o"):
                assert not self.reads and self.write == [None, None] and self.answer is None
                return
        raise AssertionError("the queue does not turn off")

    @property
    def free(self):
        return self.size - 1 - (len(self.written) - self.done)

    def put(self, *commands):
        """Writes commands behind the tail; the caller sees to it that there is room."""
        for command in commands:
            assert self.free > 0
            number = len(self.written)
            self.written.append(command)
            self.store(number, command)
            self.expect(number)
        self.config["tail_i"] = len(self.written) % self.size

    def store(self, number, command):
        at = self.base + number % self.size * 16
        for word in range(2):
            self.memory[at + 8 * word] = command >> (64 * word) & (1 << 64) - 1

    def meaning(self, command):
        return understand(command, self.contexts, self.page_requests, self.page_cache)

    def expect(self, number):
        meaning = self.meaning(self.written[number])
        if meaning and meaning[0] == "inval":
            self.expected.append((number, meaning[1:]))
        elif meaning and meaning[0] == "fence" and meaning[4]:
            self.expected.append((number, None))  # waits behind a pulse of any kind

    def replace(self, number, command):
        """Puts right a command that has not been done."""
        self.written[number] = command
        self.store(number, command)
        self.expected = deque(e for e in self.expected if e[0] < number)
        for later in range(number, len(self.written)):
            self.expect(later)

    def clear_errors(self):
        for name in ERRORS:
            self.status[name] = 0

    # One cycle.

    def flowing(self):
        return not self.stall or self.rng.random() >= self.stall

    def line(self, address):
        return sum(self.memory.get(address + 8 * i, 0xDEAD_0000_0000 + i) << (64 * i) for i in range(8))

    def drive_all(self):
        for name, value in self.config.items():
            self.drive(name, value)
        self.drive("stopped_i", int(any(self.status[name] for name in ERRORS)))
        self.drive("start_i", int(self.start))
        self.drive("ctx_write_i", int(self.ctx_write))
        for name in ("ar", "aw", "w", "respond"):
            self.drive(f"{name}_ready_i", int(self.flowing()))
        ends = self.cache_busy == self.now
        self.drive("cache_ack_i", int(ends))
        self.drive("cache_error_i", int(ends and self.cache_fails > 0))
        self.drive("cache_ready_i", int(self.cache_busy is None and self.flowing()))
        if "r" not in self._offer and self.reads and self.reads[0][1] <= self.now and self.flowing():
            self._offer["r"] = self.reads[0][0]
        self.drive("r_valid_i", int("r" in self._offer))
        if "r" in self._offer:
            address = self._offer["r"]
            bad = address in self.bad_lines
            self.drive("r_resp_i", SLVERR if bad else OKAY)
            self.drive("r_data_i", self.rng.getrandbits(512) if bad else self.line(address))
        ready = self.answer is not None and self.answer[1] <= self.now
        if "b" not in self._offer and ready and self.flowing():
            self._offer["b"] = self.answer[0]
        self.drive("b_valid_i", int("b" in self._offer))
        if "b" in self._offer:
            self.drive("b_resp_i", SLVERR if self._offer["b"][0] in self.bad_words else OKAY)
        if not self.hold_busy:
            self.under_way = [item for item in self.under_way if item[2] >= self.now]
        seen = self.epochs[-self.delay]
        self.drive("inval_busy_i", int(any(epoch != seen for _, epoch, _ in self.under_way)))

    async def step(self):
        self.drive_all()
        await ReadOnly()
        self.check_pulse()
        self.check_reads()
        self.check_write()
        self.check_status()
        self.check_response()
        self.check_cache()
        self.epochs.append(self.get("epoch_o"))
        if self.start:
            self.begin_all.append(len(self.pulses) + 1)
        self.forced, self.start, self.ctx_write = self.start or self.ctx_write, False, False
        self.now += 1
        await RisingEdge(self.dut.clk_i)

    async def run(self, limit=5000, until=None):
        end = self.now + limit
        while not (until() if until else self.idle):
            assert self.now < end, f"stands at command {self.done} of {len(self.written)}"
            await self.step()

    @property
    def idle(self):
        return self.done == len(self.written) and not self.under_way and not self.expected

    def check_pulse(self):
        pulse = None
        if self.get("inval_valid_o"):
            word = self.get("inval_o")
            pulse = (word >> 58, word >> 50 & 0xFF, word >> 5 & (1 << 45) - 1, word & 31)
            self.pulses.append((self.now, pulse))
            self.under_way.append([len(self.pulses), self.get("epoch_o"), self.now + self.busy_for(self.rng)])
        assert pulse or not self.forced, "no pulse behind a start or a write of a context"
        if not pulse:
            return
        if self.forced:
            assert pulse[0] == ALL
            return
        assert self.expected, f"a pulse that nobody asked for: {pulse}"
        self.command_pulse = len(self.pulses)
        number, wanted = self.expected.popleft()
        seen = pulse if pulse[0] == 2 else (pulse[0], pulse[1] if pulse[0] == 1 else 0, 0, 0)
        assert wanted is None or seen == wanted, f"{pulse}, expected {wanted} for command {number}"
        earlier = [self.meaning(c) for c in self.written[self.done : number]]
        assert not any(c and c[0] in ("fence", "cache") for c in earlier), "a pulse before a fence was done"

    def check_response(self):
        """It is taken when all before it are done."""
        self.stays("respond_valid_o", "respond_ready_i", ("respond_o",))
        if self.get("respond_valid_o") and self._driven["respond_ready_i"]:
            word = self.get("respond_o")
            _, group, code = self.meaning(self.written[self.done])
            assert (word >> 7 & 7, word & 0x7F, word >> 10) == (group >> 6, group & 63, code)
            self.responses.append(self.done)

    def check_cache(self):
        """Maintenance is asked for when all before it is done, everywhere; what it ends in is what its command does."""
        self.stays("cache_valid_o", "cache_ready_i", ("cache_o",))
        if self.get("cache_valid_o"):
            assert self.settled(self.command_pulse), "maintenance before the levels are done"
            if self.config["enable_i"]:
                _, clean, drop, first, last = self.meaning(self.written[self.done])
                assert self.get("cache_o") == clean << 101 | drop << 100 | first << 50 | last
        if self.cache_busy == self.now:
            self.cache_busy = None
            self.cache_fails = max(0, self.cache_fails - 1)
        elif self.get("cache_valid_o") and self._driven["cache_ready_i"]:
            assert self.cache_busy is None
            self.cache_busy = self.now + 1 + self.cache_takes(self.rng)
            self.cached.append((self.now, self.get("cache_o")))

    def settled(self, pulses):
        """The levels are done with the first `pulses` pulses."""
        return not any(
            number <= pulses and (self.hold_busy or last >= self.now) for number, _, last in self.under_way
        )

    def check_reads(self):
        self.stays("ar_valid_o", "ar_ready_i", ("ar_addr_o", "ar_shape_o"))
        if self.get("ar_valid_o") and self._driven["ar_ready_i"]:
            address = self.get("ar_addr_o")
            assert self.get("ar_shape_o") == LINE_READ and address % LINE == 0
            numbers = range(self.done, len(self.written))
            lines = {self.base + n % self.size * 16 // LINE * LINE for n in numbers}
            off = not self.config["enable_i"] or self._driven["stopped_i"]
            assert address in lines or off, f"read of {address:#x}, no command is there"
            self.reads.append((address, self.now + 1 + self.latency(self.rng)))
        if "r" in self._offer and self.get("r_ready_o"):
            del self._offer["r"]
            self.reads.popleft()

    def check_write(self):
        self.stays("aw_valid_o", "aw_ready_i", ("aw_addr_o", "aw_shape_o"))
        self.stays("w_valid_o", "w_ready_i", ("w_data_o", "w_strb_o"))
        if self.get("aw_valid_o") or self.get("w_valid_o"):
            _, addr, data, _, _ = self.meaning(self.written[self.done])
            assert self.settled(self.command_pulse), "a fence is written before the levels are done"
            if self.get("aw_valid_o"):
                assert (self.get("aw_addr_o"), self.get("aw_shape_o")) == (addr, WORD_WRITE)
            lane = addr % LINE
            if self.get("w_valid_o"):
                assert (self.get("w_strb_o"), self.get("w_last_o")) == (0xF << lane, 1)
                assert self.get("w_data_o") >> 8 * lane & 0xFFFF_FFFF == data
        for part, name in enumerate(("aw", "w")):
            if self.get(f"{name}_valid_o") and self._driven[f"{name}_ready_i"]:
                assert self.write[part] is None
                self.write[part] = self.get("aw_addr_o") if part == 0 else True
        if None not in self.write:
            _, addr, data, _, _ = self.meaning(self.written[self.done])
            self.answer, self.write = ((addr, data), self.now + 1 + self.latency(self.rng)), [None, None]
        if "b" in self._offer and self.get("b_ready_o"):
            addr, data = self._offer.pop("b")
            self.answer = None
            if addr not in self.bad_words:
                self.writes.append((self.now, addr, data))

    def stays(self, valid, ready, payload):
        key = ("held", valid)
        value = tuple(self.get(name) for name in payload) if self.get(valid) else None
        if key in self._offer:
            assert value == self._offer[key], f"{valid}: what was offered changed"
            del self._offer[key]
        if value is not None and not self._driven[ready]:
            self._offer[key] = value

    def check_status(self):
        if self.get("clear_o"):
            self.status = dict.fromkeys(self.status, 0)
        for name in ERRORS:
            self.status[name] |= self.get(f"{name}_o")
        if self.get("fence_o"):
            self.status["fence"] = 1
            self.fences.append(self.now)
        if self.get("done_o"):
            self.dones.append(self.now)
            assert self.settled(self.begin_all[-1]), "a start ended before the levels were done"
            self.begin_all.clear()
        if self.get("on_o") and self.config["enable_i"]:
            head = self.get("head_o")
            if head != self.done % self.size:
                assert head == (self.done + 1) % self.size, "the head jumped"
                meaning = self.meaning(self.written[self.done])
                assert meaning is not None, "an illegal command was done"
                assert meaning[0] != "cache" or self.cache_busy is None, "maintenance is done before its end"
                if meaning[0] == "fence":
                    assert self.settled(self.command_pulse), "a fence is done before the levels are"
                    _, addr, data, wsi, _ = meaning
                    if addr is not None:
                        assert self.writes and self.writes[-1][1:] == (addr, data)
                    assert not wsi or self.fences[-1] == self.now - 1
                self.done += 1
