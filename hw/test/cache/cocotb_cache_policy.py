# SPDX-License-Identifier: Apache-2.0
"""gw_cache_policy beside a list of pages in the order of their use or filling, or their marks."""

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge

PAGES = 8
LRU, PLRU, FIFO, RANDOM = range(4)
REPLACEMENT = int(os.environ["BENCH_REPLACEMENT"])


@cocotb.test()
async def the_victim_is_the_one_that_the_policy_names(dut):
    rng = random.Random(int(os.environ["GODWIT_SEED"]))
    cocotb.start_soon(Clock(dut.clk_i, 2).start())
    dut.rst_ni.value = 0
    dut.use_i.value, dut.fill_i.value, dut.eligible_i.value = 0, 0, 0
    dut.use_idx_i.value, dut.fill_idx_i.value = 0, 0
    await RisingEdge(dut.clk_i)
    await RisingEdge(dut.clk_i)
    dut.rst_ni.value = 1
    await RisingEdge(dut.clk_i)
    order, marks, chosen = [], set(), {}
    for page in range(PAGES):
        dut.fill_i.value, dut.fill_idx_i.value = 1, page
        await RisingEdge(dut.clk_i)
        order.append(page)
        marks = {page} if len(marks | {page}) == PAGES else marks | {page}
    for _ in range(2000):
        use, fill = rng.random() < 0.6, rng.random() < 0.1
        used, filled = rng.randrange(PAGES), rng.randrange(PAGES)
        eligible = rng.choice((0xFF, rng.getrandbits(PAGES)))
        dut.use_i.value, dut.use_idx_i.value = int(use), used
        dut.fill_i.value, dut.fill_idx_i.value = int(fill), filled
        dut.eligible_i.value = eligible
        await ReadOnly()
        assert int(dut.any_o.value) == int(eligible != 0)
        if eligible:
            victim = int(dut.victim_o.value)
            assert eligible >> victim & 1
            allowed = [page for page in order if eligible >> page & 1]
            if REPLACEMENT in (LRU, FIFO):
                assert victim == allowed[0]
            elif REPLACEMENT == PLRU:
                assert victim == min([page for page in allowed if page not in marks] or allowed)
            elif eligible == 0xFF:
                chosen[victim] = chosen.get(victim, 0) + 1
        await RisingEdge(dut.clk_i)
        touched = ({used} if use else set()) | ({filled} if fill else set())
        marks = touched if len(marks | touched) == PAGES else marks | touched
        moved = touched if REPLACEMENT == LRU else ({filled} if fill else set())
        # Of two in one cycle the lower one counts as the older.
        order = [page for page in order if page not in moved] + sorted(moved)
    if REPLACEMENT == RANDOM:
        assert len(chosen) == PAGES and max(chosen.values()) < 2 * sum(chosen.values()) / PAGES
