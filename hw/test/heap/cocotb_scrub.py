# SPDX-License-Identifier: Apache-2.0
"""gw_scrub: what is given as clean was written with zeros, in cycles that memory had left; nothing dirty is forgotten."""

import itertools
import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge

BIG, BEATS, BURSTS = 4, 4, 8
"""Order of the groups that come first, words of a burst, bursts under way."""
SHAPE = (BEATS - 1) << 5 | 6 << 2 | 1
FRAME_BURSTS = 4096 // 64 // BEATS


class Bench:
    def __init__(self, dut, rng):
        self.dut, self.rng = dut, rng
        self.stall = self.bad = 0.0
        self.latency = 0
        self.room = 1.0
        self.lack = 0
        self.orders = [k for k in range(10) if int(dut.Orders.value) >> k & 1]
        self.wanted = [0, 0]  # the largest order that is waited for, by region
        self.tried = []  # orders of the takes since one was not refused
        self.dirty = [{k: [] for k in range(10)} for _ in range(2)]
        self.pulse = 0
        self.command = self.held = None
        self.cleared: dict[int, int] = {}  # bursts of a frame that were acknowledged
        self.bursts, self.beats = [], 0  # address and whether its data came; answers due
        self.answers = []
        self.clean, self.lost = [], []
        self.had_room = False
        self.waited = [[0], [0]]  # of late
        self.now = 0
        self.beats_taken = 0

    async def start(self):
        d = self.dut
        cocotb.start_soon(Clock(d.clk_i, 2).start())
        for name in ("dirty", "lack", "wanted", "room", "cmd_ready", "rsp_valid", "rsp_ok", "rsp_frame"):
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

    def soil(self, region, frame, order=0):
        self.dirty[region][order].append(frame)
        self.pulse |= 1 << region

    async def cycle(self):
        d, rng = self.dut, self.rng
        d.dirty_i.value, self.pulse = self.pulse, 0
        d.lack_i.value = self.lack
        d.wanted_i.value = sum((w > 0) << w + 10 * r for r, w in enumerate(self.wanted))
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
            assert self.held and self.held[1] <= frame < self.held[1] + (1 << self.held[2])
            low = (1 << self.held[2] + 1) - 1
            assert self.get("held_o") == low << 10 * self.held[0]
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
        assert give != dirty and region < 2
        if give:
            assert self.held is not None and self.held[:3] == [region, frame, order] and not self.held[3]
            assert not self.bursts and not self.answers
            for i in range(1 << order):
                assert len(self.cleared.pop(frame + i)) == FRAME_BURSTS, "given as clean, and not all cleared"
            self.clean.append((region, frame, order))
            self.held = None
            return 1, 0
        if self.held is not None:
            assert self.held[3], "a group is forgotten"
            self.lost.append(self.held)
            for i in range(1 << self.held[2]):
                self.cleared.pop(self.held[1] + i, None)
            self.held = None
        # Larger groups that somebody waits for, then 64 KiB, then smaller ones that somebody waits for; single frames last.
        self.tried.append(order)
        assert all(a > b for a, b in itertools.pairwise(self.tried)), self.tried
        assert {0, BIG} >= {order} or order in self.waited[region], "nobody waits for that"
        assert order or BIG in self.tried, "single frames before the groups"
        pool = self.dirty[region]
        at_least = [k for k in range(order, 10) if pool[k]]
        if order == 0 or at_least:
            self.tried.clear()
        if not at_least:
            return 0, 0
        # A group that is whole is also so many smaller ones.
        kind = at_least[0]
        taken = pool[kind].pop(self.rng.randrange(len(pool[kind])))
        for k in range(order, kind):
            pool[k].append(taken + (1 << k))
        self.held = [region, taken, order, False]
        return 1, taken

    def busy(self):
        return self.get("busy_o") or self.command or (self.held and not self.held[3])

    def wait_for(self, region, order):
        """Somebody waits for a group, or nobody does."""
        self.wanted[region] = order
        self.waited[region] = [*self.waited[region][-2:], order]

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
        bench.soil(0, 0x1000, BIG)
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
    bench.soil(1, 0x1000)
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
            bench.soil(region, 0x1000 * (region + 1) + number)
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
        bench.soil(0, 0x100 + number)
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
            order = rng.choice((0, 0, 0, 0, BIG, rng.choice(bench.orders[:-1])))
            bench.soil(rng.randrange(2), 0x1000 * (number + 1), order)
            total += 1 << order
        bench.wait_for(rng.randrange(2), rng.choice((0, rng.choice(bench.orders))))
        for _ in range(rng.randrange(400)):
            await bench.cycle()
    bench.room = 1.0
    await bench.settle()
    assert sum(1 << order for _, _, order in bench.clean) == total and not bench.get("broken_o")


@cocotb.test()
async def who_waits_for_a_group_has_it_after_two(dut):
    bench, _ = await begin(dut)
    for order in bench.orders[1:]:
        bench.clean.clear()
        for number in range(3):
            bench.soil(0, 0x1000 * (number + 1), 4)
        bench.soil(0, 0x8000, order)
        for _ in range(20):
            await bench.cycle()
        bench.wait_for(0, order)
        while (0, 0x8000, order) not in bench.clean and order > BIG:
            await bench.cycle()
        # One was under way.
        assert len(bench.clean) <= 2 or order <= BIG
        bench.wait_for(0, 0)
        await bench.settle(400_000)
    # Smaller groups before single frames, and as a group.
    small = [k for k in bench.orders if 0 < k < BIG]
    for order in small:
        bench.clean.clear()
        bench.soil(0, 0x100)
        bench.soil(0, 0x2000, order)
        bench.wait_for(0, order)
        await bench.settle()
        assert sorted(bench.clean, key=lambda one: -one[2])[0] == (0, 0x2000, order), bench.clean
        bench.wait_for(0, 0)
        for _ in range(50):
            await bench.cycle()
