# SPDX-License-Identifier: Apache-2.0
"""gw_scrub: what is given as clean was written with zeros, in cycles that memory had left; nothing dirty is forgotten."""

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge

BIG, BEATS, BURSTS = 16, 4, 8
SHAPE = (BEATS - 1) << 5 | 6 << 2 | 1
FRAME_BURSTS = 4096 // 64 // BEATS


class Bench:
    def __init__(self, dut, rng):
        self.dut, self.rng = dut, rng
        self.stall = self.bad = 0.0
        self.latency = 0
        self.room = 1.0
        self.lack = 0
        self.dirty = [{"single": [], "big": []} for _ in range(2)]
        self.pulse = 0
        self.command = self.held = None
        self.cleared: dict[int, int] = {}  # bursts of a frame that were acknowledged
        self.bursts, self.beats = [], 0  # address and whether its data came; answers due
        self.answers = []
        self.clean, self.lost = [], []
        self.had_room = False
        self.now = 0
        self.beats_taken = 0

    async def start(self):
        d = self.dut
        cocotb.start_soon(Clock(d.clk_i, 2).start())
        for name in ("dirty", "lack", "room", "cmd_ready", "rsp_valid", "rsp_ok", "rsp_frame"):
            getattr(d, f"{name}_i").value = 0
        for name in ("aw_ready", "w_ready", "b_valid", "b_resp"):
            getattr(d, f"{name}_i").value = 0
        d.rst_ni.value = 0
        for _ in range(3):
            await RisingEdge(d.clk_i)
        d.rst_ni.value = 1
        await RisingEdge(d.clk_i)
        return self

    def get(self, name):
        return int(getattr(self.dut, name).value)

    def flowing(self):
        return not self.stall or self.rng.random() >= self.stall

    def soil(self, region, frame, big):
        self.dirty[region]["big" if big else "single"].append(frame)
        self.pulse |= 1 << region

    async def cycle(self):
        d, rng = self.dut, self.rng
        d.dirty_i.value, self.pulse = self.pulse, 0
        d.lack_i.value = self.lack
        room = rng.random() < self.room
        d.room_i.value = int(room)
        d.cmd_ready_i.value = int(self.command is None and self.flowing())
        d.aw_ready_i.value, d.w_ready_i.value = int(self.flowing()), int(self.flowing())
        answered = self.command is not None and self.command[0] <= self.now
        d.rsp_valid_i.value = int(answered)
        if answered:
            d.rsp_ok_i.value, d.rsp_frame_i.value = self.serve(self.command[1])
        acknowledged = bool(self.answers) and self.answers[0][0] <= self.now
        d.b_valid_i.value = int(acknowledged)
        d.b_resp_i.value = 2 if acknowledged and self.answers[0][2] else 0
        await ReadOnly()
        if answered:
            self.command = None
        elif self.get("cmd_valid_o") and self.get("cmd_ready_i"):
            self.command = [self.now + 1 + (rng.randrange(20) if self.stall else 0), self.get("cmd_o")]
        if self.get("aw_valid_o"):
            # Offered in the cycle after it was decided.
            assert self.offering or self.had_room or self.had_lack, (
                "a burst in a cycle that memory did not have left"
            )
            assert self.get("aw_shape_o") == SHAPE
        self.offering = self.get("aw_valid_o") and not self.get("aw_ready_i")
        if self.get("aw_valid_o") and self.get("aw_ready_i"):
            self.bursts.append(self.get("aw_addr_o"))
            assert len(self.bursts) + len(self.answers) <= BURSTS
        if self.get("w_valid_o") and self.get("w_ready_i"):
            assert self.bursts, "data without an address"
            assert self.get("w_clears_o")
            self.beats += 1
            self.beats_taken += 1
            assert self.get("w_last_o") == (self.beats == BEATS)
            if self.beats == BEATS:
                self.beats = 0
                bad = rng.random() < self.bad
                self.answers.append([self.now + 1 + self.latency, self.bursts.pop(0), bad])
        if acknowledged and self.get("b_ready_o"):
            _, address, bad = self.answers.pop(0)
            frame = address >> 12
            assert self.held and self.held[1] <= frame < self.held[1] + (BIG if self.held[2] else 1)
            if bad:
                self.held[3] = True
            else:
                self.cleared.setdefault(frame, set()).add(address % 4096)
        self.had_room, self.had_lack = room, bool(self.lack)
        self.now += 1
        await RisingEdge(d.clk_i)

    offering = had_lack = False

    def serve(self, cmd):
        """(ok, frame) as gw_frames tells; a take hands out a group, of which all is unknown."""
        give, dirty, region = cmd >> 52, cmd >> 51 & 1, cmd >> 48 & 7
        order, frame = cmd >> 44 & 15, cmd & (1 << 44) - 1
        assert order in (0, 4) and give != dirty and region < 2
        kind = "big" if order else "single"
        if give:
            assert (
                self.held is not None and self.held[:3] == [region, frame, bool(order)] and not self.held[3]
            )
            assert not self.bursts and not self.answers
            for i in range(1 << order):
                assert len(self.cleared.pop(frame + i)) == FRAME_BURSTS, "given as clean, and not all cleared"
            self.clean.append((region, frame, order))
            self.held = None
            return 1, 0
        if self.held is not None:
            assert self.held[3], "a group is forgotten"
            self.lost.append(self.held)
            for i in range(1 << (4 if self.held[2] else 0)):
                self.cleared.pop(self.held[1] + i, None)
            self.held = None
        # A group that is whole is also so many single ones.
        pool = self.dirty[region]
        if order == 0 and not pool["single"] and pool["big"]:
            raise AssertionError("single frames before the groups")
        if not pool[kind]:
            return 0, 0
        taken = pool[kind].pop(self.rng.randrange(len(pool[kind])))
        self.held = [region, taken, bool(order), False]
        return 1, taken

    def busy(self):
        return self.get("busy_o") or self.command or (self.held and not self.held[3])

    async def settle(self, limit=100_000):
        end = self.now + limit
        while any(p for pool in self.dirty for p in pool.values()) or self.busy():
            await self.cycle()
            assert self.now < end, "something stays dirty"


async def begin(dut, stall=0.0):
    rng = random.Random(int(os.environ["GODWIT_SEED"]))
    bench = await Bench(dut, rng).start()
    bench.stall = stall
    return bench, rng


@cocotb.test()
async def cycles_are_those_of_the_contract(dut):
    bench, _ = await begin(dut)
    for latency in (0, 20):
        bench.latency = latency
        bench.soil(0, 0x1000, True)
        begin_at = bench.now
        while not bench.clean:
            await bench.cycle()
        bench.clean.clear()
        # 1,024 beats, a take and a give of two cycles each; eight bursts under way hide the latency.
        assert bench.now - begin_at == 1034 + latency
        for _ in range(20):
            await bench.cycle()


@cocotb.test()
async def only_cycles_that_are_left(dut):
    bench, _ = await begin(dut)
    bench.room = 0.0
    bench.soil(1, 0x1000, False)
    for _ in range(200):
        await bench.cycle()
    assert not bench.beats_taken
    bench.lack = 1
    await bench.settle()
    assert bench.beats_taken == 64 and bench.clean == [(1, 0x1000, 0)]


@cocotb.test()
async def who_lacks_frames_comes_first(dut):
    bench, _ = await begin(dut)
    bench.room = 0.0
    for region in (0, 1):
        for number in range(3):
            bench.soil(region, 0x1000 * (region + 1) + number, False)
    bench.lack = 2
    await bench.settle()
    # The lowest was begun before anybody lacked anything, at most.
    assert [region for region, *_ in bench.clean].index(1) <= 1
    assert [region for region, *_ in bench.clean[1:4]].count(1) >= 2


@cocotb.test()
async def a_write_that_is_refused_loses_its_group_only(dut):
    bench, _ = await begin(dut, stall=0.2)
    bench.bad = 0.01
    for number in range(60):
        bench.soil(0, 0x100 + number, False)
    await bench.settle()
    bench.bad = 0.0
    for _ in range(200):
        await bench.cycle()
    assert bench.get("broken_o") and len(bench.clean) + len(bench.lost) >= 59 and bench.clean


@cocotb.test()
async def all_that_is_dirty_is_cleared_under_random_stalls(dut):
    bench, rng = await begin(dut, stall=0.3)
    total = 0
    for number in range(int(os.environ.get("BENCH_OPERATIONS", "40"))):
        bench.stall, bench.latency = rng.choice((0.0, 0.3)), rng.choice((0, 5, 30))
        bench.room, bench.lack = rng.choice((0.1, 0.7, 1.0)), rng.choice((0, 0, 1, 2, 3))
        if rng.random() < 0.7:
            bench.soil(rng.randrange(2), 0x1000 * (number + 1), big=rng.random() < 0.2)
            total += 1
        for _ in range(rng.randrange(400)):
            await bench.cycle()
    bench.room = 1.0
    await bench.settle()
    assert len(bench.clean) == total and not bench.get("broken_o")
