# SPDX-License-Identifier: Apache-2.0
"""gw_l2_replace beside the times of every way's latest touch and fill."""

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge

SETS = int(os.environ["BENCH_SETS"])
WAYS = int(os.environ["BENCH_WAYS"])
POLICY = os.environ["BENCH_POLICY"]


def of_tree(times: list[int]) -> int:
    """At every node away from the half that was touched last."""
    low, size = 0, len(times)
    while size > 1:
        size //= 2
        if max(times[low : low + size]) > max(times[low + size : low + 2 * size]):
            low += size
    return low


@cocotb.test()
async def the_victim_is_the_one_that_the_policy_names(dut):
    rng = random.Random(int(os.environ["GODWIT_SEED"]))
    cocotb.start_soon(Clock(dut.clk_i, 2).start())
    dut.rst_ni.value = 0
    dut.touch_i.value, dut.fill_i.value, dut.set_i.value = 0, 0, 0
    dut.touch_set_i.value, dut.touch_way_i.value = 0, 0
    await RisingEdge(dut.clk_i)
    await RisingEdge(dut.clk_i)
    dut.rst_ni.value = 1
    await RisingEdge(dut.clk_i)
    touched = [[0] * WAYS for _ in range(SETS)]
    filled = [[0] * WAYS for _ in range(SETS)]
    first = [(number, way) for number in range(SETS) for way in range(WAYS)]
    rng.shuffle(first)
    chosen = [0] * WAYS
    for cycle in range(1, len(first) + 6000):
        warm = cycle > len(first)
        number, way = first[cycle - 1] if not warm else (rng.randrange(SETS), rng.randrange(WAYS))
        touch, fill = not warm or rng.random() < 0.7, not warm or rng.random() < 0.4
        asked = rng.randrange(SETS)
        dut.touch_i.value, dut.fill_i.value = int(touch), int(fill)
        dut.touch_set_i.value, dut.touch_way_i.value, dut.set_i.value = number, way, asked
        await ReadOnly()
        if warm:
            victim = int(dut.victim_o.value)
            if POLICY == "lru":
                assert victim == touched[asked].index(min(touched[asked]))
            elif POLICY == "fifo":
                assert victim == filled[asked].index(min(filled[asked]))
            elif POLICY == "plru":
                assert victim == of_tree(touched[asked])
            chosen[victim] += 1
        await RisingEdge(dut.clk_i)
        if touch:
            touched[number][way] = cycle
            if fill:
                filled[number][way] = cycle
    # Nobody is left out. But for random ones a victim stays one until it is touched, so that there are far fewer than cycles.
    assert min(chosen) > (0.7 if POLICY == "random" else 0.2) * sum(chosen) / WAYS
