# SPDX-License-Identifier: Apache-2.0
"""gw_pte_unit: three clients and another writer on a few entries, a memory that stalls, refuses and knows exclusive accesses."""

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge

STORED, CHANGED, DENIED = 0, 1, 2
OKAY, EXOKAY, SLVERR = 0, 1, 2
CLIENTS = 3
BASE = 0xABC_DEF0_1000 // 8


class Bench:
    def __init__(self, dut, rng):
        self.dut, self.rng = dut, rng
        self.stall = self.refuse = self.plain = self.others = 0.0
        self.latency = 0
        self.memory = {BASE + i: 0 for i in range(16)}
        self.reserved = None
        self.together = int(dut.Together.value)
        self.commands = [None] * CLIENTS  # [entry, expected, wanted, accepted, whether it is a group]
        self.read = self.aw = self.w = self.answer = None
        self.log = []  # (client, entries, expected, wanted, result, found, cycles)
        self.now = 0

    async def start(self):
        cocotb.start_soon(Clock(self.dut.clk_i, 2).start())
        for name in (
            "cmd_valid",
            "cmd_group",
            "cmd_entry",
            "cmd_expected",
            "cmd_wanted",
            "ar_ready",
            "r_valid",
            "r_data",
            "r_resp",
        ):
            getattr(self.dut, f"{name}_i").value = 0
        for name in ("aw_ready", "w_ready", "b_valid", "b_resp"):
            getattr(self.dut, f"{name}_i").value = 0
        self.dut.rst_ni.value = 0
        for _ in range(3):
            await RisingEdge(self.dut.clk_i)
        self.dut.rst_ni.value = 1
        await RisingEdge(self.dut.clk_i)
        return self

    def get(self, name):
        return int(getattr(self.dut, name).value)

    def flowing(self):
        return not self.stall or self.rng.random() >= self.stall

    def store(self, entry, value):
        """Another writer."""
        self.memory[entry] = value
        if self.reserved and entry in self.reserved:
            self.reserved = None

    def entries(self, command):
        """What a command is about."""
        count = self.together if command[4] else 1
        first = command[0] // count * count
        return range(first, first + count)

    def shape(self, name):
        """The entries of an access, which is exclusive and one beat."""
        shape, first = self.get(f"{name}_shape_o"), self.get(f"{name}_addr_o") // 8
        count = 1 << (shape >> 2 & 7) - 3
        assert shape & ~(7 << 2) == 1 << 13 | 1 and count in (1, self.together) and first % count == 0
        return range(first, first + count)

    async def cycle(self):
        d = self.dut
        waiting = [c is not None and c[3] is None for c in self.commands]
        d.cmd_valid_i.value = sum(w << i for i, w in enumerate(waiting))
        for name, at, width in (("entry", 0, 53), ("expected", 1, 64), ("wanted", 2, 64)):
            value = sum(c[at] << width * i for i, c in enumerate(self.commands) if c is not None)
            getattr(d, f"cmd_{name}_i").value = value
        d.cmd_group_i.value = sum(c[4] << i for i, c in enumerate(self.commands) if c is not None)
        d.ar_ready_i.value = int(self.flowing())
        d.aw_ready_i.value = int(self.aw is None and self.flowing())
        d.w_ready_i.value = int(self.w is None and self.flowing())
        show_read = self.read is not None and self.read[0] <= self.now and (self.read[3] or self.flowing())
        d.r_valid_i.value = int(show_read)
        if show_read:
            self.read[3] = True
            lanes = [self.rng.getrandbits(64) for _ in range(8)]
            for entry, value in self.read[1].items():
                lanes[entry % 8] = value
            d.r_data_i.value = sum(value << 64 * lane for lane, value in enumerate(lanes))
            d.r_resp_i.value = self.read[2]
        d.b_valid_i.value = int(self.answer is not None and self.answer[0] <= self.now)
        d.b_resp_i.value = self.answer[1] if self.answer else 0
        await ReadOnly()
        if self.others and self.rng.random() < self.others:
            self.store(BASE + self.rng.randrange(4), self.rng.choice((0, 1, 2)))
        self.memory_cycle()
        for i in range(CLIENTS):
            if waiting[i] and self.get("cmd_ready_o") >> i & 1:
                self.commands[i][3] = self.now
            if self.get("rsp_valid_o") >> i & 1:
                entries = self.entries(self.commands[i])
                _, expected, wanted, accepted, _ = self.commands[i]
                assert accepted is not None, "an answer to nothing"
                self.log.append(
                    (
                        i,
                        entries,
                        expected,
                        wanted,
                        self.get("rsp_result_o"),
                        self.get("found_o"),
                        self.now - accepted,
                    )
                )
                self.commands[i] = None
        self.now += 1
        await RisingEdge(d.clk_i)

    def memory_cycle(self):
        if self.read is not None and self.get("r_valid_i") and self.get("r_ready_o"):
            self.read = None
        if self.answer is not None and self.get("b_valid_i") and self.get("b_ready_o"):
            self.answer = None
        if self.get("ar_valid_o") and self.get("ar_ready_i"):
            assert self.read is None and self.answer is None
            entries = self.shape("ar")
            plain = self.rng.random() < self.plain
            self.reserved = None if plain else entries
            self.read = [
                self.now + 1 + self.latency,
                {entry: self.memory[entry] for entry in entries},
                OKAY if plain else EXOKAY,
                False,
            ]
        if self.get("aw_valid_o") and self.get("aw_ready_i"):
            self.aw = self.shape("aw")
        if self.get("w_valid_o") and self.get("w_ready_i"):
            strb = self.get("w_strb_o")
            lanes = [i for i in range(8) if strb >> 8 * i & 0xFF]
            assert strb == sum(0xFF << 8 * i for i in lanes)
            (value,) = {self.get("w_data_o") >> 64 * lane & (1 << 64) - 1 for lane in lanes}
            self.w = lanes, value
            assert self.get("w_last_o")
        if self.aw is not None and self.w is not None:
            assert self.w[0] == [entry % 8 for entry in self.aw]
            resp = OKAY
            if self.rng.random() < self.refuse:
                resp = SLVERR
            elif self.reserved == self.aw:
                self.memory.update(dict.fromkeys(self.aw, self.w[1]))
                resp = EXOKAY
            self.reserved = None
            self.aw = self.w = None
            self.answer = (self.now + 1 + self.latency, resp)

    async def all(self, limit=2000):
        end = self.now + limit
        while any(self.commands):
            assert self.now < end, "no answer"
            await self.cycle()


@cocotb.test()
async def of_several_that_fill_an_empty_entry_one_is_told_stored(dut):
    rng = random.Random(int(os.environ["GODWIT_SEED"]))
    bench = await Bench(dut, rng).start()
    for number in range(300):
        bench.stall, bench.latency = rng.choice((0.0, 0.4)), rng.choice((0, 7))
        entry = BASE + rng.randrange(16)
        bench.store(entry, 0)
        bench.log.clear()
        for c in range(CLIENTS):
            bench.commands[c] = [entry, 0, 1000 * number + c + 1, None, False]
        await bench.all()
        stored = [line for line in bench.log if line[4] == STORED]
        assert len(stored) == 1 and bench.memory[entry] == stored[0][3]
        assert all(line[4] == CHANGED and line[5] == stored[0][3] for line in bench.log if line not in stored)


@cocotb.test()
async def a_group_is_filled_whole_or_not_at_all(dut):
    rng = random.Random(int(os.environ["GODWIT_SEED"]) + 2)
    bench = await Bench(dut, rng).start()
    outcomes = set()
    for number in range(300):
        bench.stall, bench.latency = rng.choice((0.0, 0.4)), rng.choice((0, 7))
        group = range(BASE + 8, BASE + 8 + bench.together)
        for entry in group:
            bench.store(entry, 0)
        if rng.random() < 0.3:
            bench.store(rng.choice(group), 5)
        bench.log.clear()
        # Two groups, and a third command for one entry of it.
        for c in range(CLIENTS):
            bench.commands[c] = [rng.choice(group), 0, 1000 * number + c + 7, None, c < 2]
        await bench.all()
        for entry in group:
            stored = [line[3] for line in bench.log if line[4] == STORED and entry in line[1]]
            assert len(stored) <= 1 and bench.memory[entry] in (*stored, *([] if stored else [0, 5]))
        for line in bench.log:
            assert line[4] == (STORED if line[5] == 0 else CHANGED), line
            outcomes.add((line[0] < 2, line[4]))
    assert len(outcomes) == 4, outcomes


@cocotb.test()
async def nothing_but_expected_becomes_wanted(dut):
    rng = random.Random(int(os.environ["GODWIT_SEED"]) + 1)
    bench = await Bench(dut, rng).start()
    results = set()
    for number in range(3000):
        if number % 100 == 0:
            bench.stall, bench.latency = rng.choice((0.0, 0.4)), rng.choice((0, 7))
            bench.refuse, bench.plain = rng.choice((0.0, 0.2)), rng.choice((0.0, 0.2))
            bench.others = rng.choice((0.0, 0.05, 0.9))
        for c in range(CLIENTS):
            if bench.commands[c] is None and rng.random() < 0.7:
                group = rng.random() < 0.3
                bench.commands[c] = [
                    BASE + rng.randrange(16),
                    0 if group else rng.choice((0, 1, 2)),
                    rng.getrandbits(64),
                    None,
                    group,
                ]
        before = dict(bench.memory)
        known = len(bench.log)
        await bench.cycle()
        for _, _, expected, _, result, found, _ in bench.log[known:]:
            results.add((result, found == expected))
            if result == STORED:
                assert found == expected
        # What changed did so by another writer (small numbers) or by a command from what it expected.
        for entry, value in bench.memory.items():
            if value != before[entry] and value > 2:
                assert any(
                    c is not None and entry in bench.entries(c) and c[1] == before[entry] and c[2] == value
                    for c in bench.commands
                ), "an entry changed that was not what was expected"
    bench.refuse = bench.plain = 0.0
    await bench.all()
    wanted = {(STORED, True), (CHANGED, False), (CHANGED, True), (DENIED, True)}
    assert wanted <= results, results


@cocotb.test()
async def cycles_are_those_of_the_contract(dut):
    bench = await Bench(dut, random.Random(1)).start()
    for latency in (0, 10):
        bench.latency = latency
        for group in (False, True):
            bench.commands[0] = [BASE, 0, 77 + latency, None, group]
            bench.memory.update(dict.fromkeys(bench.entries(bench.commands[0]), 0))
            await bench.all()
            assert bench.log[-1][4] == STORED and bench.log[-1][6] == 4 + 2 * (latency + 1)
        bench.commands[1] = [BASE, 1, 2, None, False]
        await bench.all()
        assert bench.log[-1][4] == CHANGED and bench.log[-1][6] == 3 + latency + 1
