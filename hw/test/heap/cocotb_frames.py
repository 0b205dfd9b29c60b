# SPDX-License-Identifier: Apache-2.0
"""gw_frames against one state a frame: whoever takes, from bitmap or stock, in whatever order, a frame has one owner and none is lost."""

import os
import random

import cocotb
import numpy as np
from cocotb.triggers import ReadOnly, RisingEdge, Timer
from groups_bench import Bench

CLEAN, DIRTY, OUT = 0, 1, 2
BASE = (0x400, 0x12_3456_0000)
BLOCKS = (16, 12)
MASK44 = (1 << 44) - 1


class Frames(Bench):
    """Two clients with one command each under way, and the stock; `state`: of every frame, of what it is last known to be."""

    inputs = (
        "start",
        "start_clean",
        "cmd_valid",
        "cmd_give",
        "cmd_dirty",
        "cmd_region",
        "cmd_order",
        "cmd_frame",
        "stock_take",
        "wanted",
        "held",
    )

    def __init__(self, dut, rng):
        super().__init__(dut, rng)
        self.orders = [k for k in range(10) if int(dut.Orders.value) >> k & 1]
        self.wanted, self.only = 0, None
        self.state = [np.full(blocks * 512, OUT) for blocks in BLOCKS]
        self.offered = [None, None]  # commands
        self.accepted = [False, False]
        self.answers = [None, None]
        self.take_stock = 0.0
        self.held = []  # (region, order, frame)
        self.stock_takes = 0
        self.worst = 0
        self._since = [0, 0]

    def region_of(self, region, frame, order):
        """The states of a group, or None if it is not the region's."""
        if region > 1:
            return None
        at = frame - BASE[region]
        if at % (1 << order) or not 0 <= at < BLOCKS[region] * 512:
            return None
        return self.state[region][at : at + (1 << order)]

    def any_group(self, region, order, what):
        return bool((self.state[region].reshape(-1, 1 << order) == what).all(axis=1).any())

    async def cycle(self):
        d = self.dut
        values = dict.fromkeys(("valid", "give", "dirty", "region", "order", "frame"), 0)
        for c, command in enumerate(self.offered):
            if command is None:
                continue
            give, dirty, region, order, frame = command
            if not self.accepted[c]:
                values["valid"] |= 1 << c
            values["give"] |= give << c
            values["dirty"] |= dirty << c
            values["region"] |= region << 3 * c
            values["order"] |= order << 4 * c
            values["frame"] |= frame << 44 * c
        for name, value in values.items():
            getattr(d, f"cmd_{name}_i").value = value
        await self.step_with_stock()
        for c in range(2):
            if self.offered[c] is not None and not self.accepted[c] and self.get("cmd_ready_o") >> c & 1:
                self.accepted[c], self._since[c] = True, self.now
            elif self.get("rsp_valid_o") >> c & 1:
                assert self.accepted[c], "an answer to nothing"
                self.worst = max(self.worst, self.now - self._since[c])
                self.finish(c, self.get("rsp_ok_o"), self.get("rsp_frame_o"))
        await RisingEdge(d.clk_i)

    async def step_with_stock(self):
        """A cycle up to where outputs are read; of what the stock offers some is taken."""
        d = self.dut
        d.stock_take_i.value = 0
        self._drive_memory()
        await Timer(1, "step")
        offers = self.get("stock_valid_o")
        take = sum(
            1 << i
            for i in range(20)
            if self.only in (None, i) and offers >> i & 1 and self.rng.random() < self.take_stock
        )
        d.stock_take_i.value = take
        d.wanted_i.value = self.wanted
        await ReadOnly()
        self._watch_memory()
        self.now += 1
        for i in range(20):
            if take >> i & 1:
                frame = self.get("stock_frame_o") >> 44 * i & MASK44
                self.taken(i // 10, i % 10, frame, CLEAN)
                self.stock_takes += 1

    def taken(self, region, order, frame, what):
        part = self.region_of(region, frame, order)
        assert part is not None, f"frame {frame:#x} is not region {region}'s, or not aligned to order {order}"
        assert (part == what).all(), f"frame {frame:#x}, order {order}: not all of it was free"
        part[:] = OUT
        self.held.append((region, order, frame))

    def finish(self, c, ok, frame):
        give, dirty, region, order, wanted = self.offered[c]
        what = DIRTY if dirty else CLEAN
        if give:
            part = self.region_of(region, wanted, order)
            legal = part is not None and (part != what).all()
            assert ok == legal, f"give of {wanted:#x}, order {order}, region {region}: {ok}"
            if ok:
                part[:] = what
        elif ok:
            self.taken(region, order, frame, what)
        else:
            assert region > 1 or not self.any_group(region, order, what), (
                f"region {region} has a group of order {order}"
            )
        self.offered[c], self.accepted[c], self.answers[c] = None, False, bool(ok)

    async def command(self, c, give, dirty, region, order, frame=0, limit=5000):
        self.offered[c], self.answers[c] = (give, dirty, region, order, frame), None
        end = self.now + limit
        while self.offered[c] is not None:
            assert self.now < end, "no answer"
            await self.cycle()
        return self.answers[c]

    async def begin_regions(self, clean=0):
        self.dut.start_clean_i.value = clean
        self.dut.start_i.value = 3
        await self.cycle()
        self.dut.start_i.value = 0
        for region in range(2):
            self.state[region][:] = CLEAN if clean >> region & 1 else DIRTY
        for _ in range(400):
            await self.cycle()

    def check_counts(self):
        for region in range(2):
            state = self.state[region]
            for name, number in (("free_o", state != OUT), ("clean_o", state == CLEAN)):
                assert self.get(name) >> 14 * region & 0x3FFF == int(number.sum()), name


async def begin(dut):
    rng = random.Random(int(os.environ["GODWIT_SEED"]))
    return await Frames(dut, rng).start(), rng


@cocotb.test()
async def a_frame_has_one_owner_and_none_is_lost(dut):
    bench, rng = await begin(dut)
    assert not await bench.command(0, 0, 1, 0, 0), "a region that did not begin has nothing"
    await bench.begin_regions(clean=2)
    for number in range(1600):
        if number % 100 == 0:
            bench.stall, bench.latency = rng.choice((0.0, 0.3)), rng.choice((1, 10))
            bench.take_stock = rng.choice((0.0, 0.0, 0.01, 0.1))
            bench.wanted = rng.getrandbits(20) & sum(0x401 << k for k in bench.orders)
            growing = rng.random() < 0.6
        for c in range(2):
            if bench.offered[c] is not None or rng.random() < 0.3:
                continue
            kind = rng.random()
            order = min(9, int(rng.expovariate(0.35)))
            if kind < 0.04:
                # What is not ours, or not taken.
                region = rng.choice((0, 1, 1, 5))
                frame = rng.choice(
                    (BASE[0] + 16 * 512, BASE[1] + 12 * 512, BASE[0] - 512, rng.getrandbits(44))
                )
                bench.offered[c] = (1, rng.randrange(2), region, order, frame >> order << order)
            elif bench.held and kind < (0.4 if growing else 0.7):
                region, order, frame = bench.held.pop(rng.randrange(len(bench.held)))
                bench.offered[c] = (1, 1, region, order, frame)
            elif kind < 0.85 and not bench.offered[1 - c]:
                # Scrub: take dirty, give the same back as clean.
                if bench.held and rng.random() < 0.5:
                    region, order, frame = bench.held.pop(rng.randrange(len(bench.held)))
                    bench.offered[c] = (1, 0, region, order, frame)
                else:
                    bench.offered[c] = (0, 1, rng.randrange(2), order, 0)
            else:
                bench.offered[c] = (0, 0, rng.randrange(2), order, 0)
        for _ in range(rng.randrange(60)):
            await bench.cycle()
    while bench.offered != [None, None]:
        await bench.cycle()
    assert bench.stock_takes > 20 and bench.reads and bench.writes
    bench.take_stock = 0.0
    for region, order, frame in bench.held[:]:
        assert await bench.command(0, 1, 1, region, order, frame)
    bench.held.clear()
    for _ in range(5):
        await bench.cycle()
    bench.check_counts()
    for region in range(2):
        # All of it again: what is dirty is taken and given as clean, then every block is one group.
        for order in range(9, -1, -1):
            while bench.any_group(region, order, DIRTY):
                assert await bench.command(1, 0, 1, region, order)
                _, _, frame = bench.held.pop()
                assert await bench.command(1, 1, 0, region, order, frame)
        for _ in range(BLOCKS[region]):
            assert await bench.command(0, 0, 0, region, 9), "a refusal before the stock was put back"
        assert not await bench.command(0, 0, 0, region, 0)
    cocotb.log.info("longest command: %d cycles; stock takes: %d", bench.worst, bench.stock_takes)


@cocotb.test()
async def the_stock_serves_touches_in_a_cycle(dut):
    bench, _ = await begin(dut)
    await bench.begin_regions(clean=3)
    full = sum(1 << region * 10 + k for region in range(2) for k in bench.orders)
    for _ in range(100 * len(bench.orders) * 4):
        await bench.cycle()
    assert bench.get("stock_valid_o") == full
    begin_at = bench.now
    bench.take_stock = 1.0
    # Shelves of four, above 64 KiB of one: four cycles, and the first again while they run dry.
    while bench.stock_takes < 2 * sum(4 if k <= 4 else 1 for k in bench.orders):
        await bench.cycle()
    assert bench.now - begin_at <= 5
    bench.take_stock = 0.0
    for _ in range(200 * len(bench.orders) * 4):
        await bench.cycle()
    bench.check_counts()
    assert bench.get("stock_valid_o") == full


async def drain(bench, region, order):
    """Takes all groups of an order from the stock, until none comes again."""
    while True:
        for _ in range(600):
            await bench.cycle()
            if bench.get("stock_valid_o") >> region * 10 + order & 1:
                break
        else:
            return
        bench.only = region * 10 + order
        bench.take_stock = 1.0
        await bench.cycle()
        bench.take_stock, bench.only = 0.0, None


@cocotb.test()
async def who_waits_for_a_group_gets_one_or_hears_that_there_is_none(dut):
    bench, _ = await begin(dut)
    await bench.begin_regions(clean=1)
    for order in reversed(bench.orders):
        bench.wanted = 1 << order
        await drain(bench, 0, order)
        # But those of which a part is in stock.
        pieces = sum(4 if k <= 4 else 1 for k in bench.orders if k < order)
        part = bench.state[0].reshape(-1, 1 << order)
        left = int((part == CLEAN).all(axis=1).sum())
        assert left <= pieces, f"{left} groups of order {order} are not given"
        soon = bench.get("soon_o")
        assert soon & 1 and not soon >> 1 & 0x1FF & ~((1 << order) - 1) >> 1, (
            f"{soon:#x} behind order {order}"
        )
    assert (bench.state[0] == OUT).all()
    # What is being cleared counts, and what comes back, clean or dirty: for its order and those below.
    biggest = bench.orders[-1]
    below = sum(1 << k for k in bench.orders)
    dut.held_i.value = below
    for _ in range(3):
        await bench.cycle()
    assert bench.get("soon_o") & 0x3FF == below
    dut.held_i.value = 0
    for _ in range(3):
        await bench.cycle()
    assert bench.get("soon_o") & 0x3FF == 1
    groups = [at for at, (_, order, _) in enumerate(bench.held) if order == biggest]
    region, order, frame = bench.held.pop(groups[0])
    assert await bench.command(0, 1, 1, region, order, frame)
    for _ in range(60):
        await bench.cycle()
    assert bench.get("soon_o") & 0x3FF == below and not bench.get("stock_valid_o") & 0x3FF


@cocotb.test()
async def a_larger_group_of_the_stock_is_broken_for_who_waits(dut):
    bench, _ = await begin(dut)
    await bench.begin_regions(clean=3)
    for _ in range(400 * len(bench.orders)):
        await bench.cycle()
    for _ in range(13):
        assert await bench.command(0, 0, 0, 0, 9)
    biggest = bench.orders[-1]
    assert bench.get("stock_valid_o") >> biggest & 1
    for order in reversed(bench.orders[:-1]):
        bench.wanted = 1 << order
        await drain(bench, 0, order)
        assert not bench.get("stock_valid_o") & 0x3FF & ~((1 << order) - 1), "a larger one is kept"
    assert not (bench.state[0] == CLEAN).any()
    assert not bench.get("free_o") & 0x3FFF
