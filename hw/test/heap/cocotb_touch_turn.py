# SPDX-License-Identifier: Apache-2.0
"""gw_touch_turn between a gw_miss, a host and a gw_touch that stall: each is asked for once, answered once, and neither waits for long."""

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge

WIDTHS = {"req": 68, "level": 3, "entry": 53}


def ask(rng):
    return {name: rng.getrandbits(bits) for name, bits in WIDTHS.items()}


async def begin(dut):
    cocotb.start_soon(Clock(dut.clk_i, 2).start())
    inputs = ("miss_valid", "miss_ans_ready", "host_start", "touch_ready", "ans_valid")
    for name in (*inputs, *(f"{who}_{what}" for who in ("miss", "host") for what in WIDTHS)):
        getattr(dut, f"{name}_i").value = 0
    dut.rst_ni.value = 0
    for _ in range(3):
        await RisingEdge(dut.clk_i)
    dut.rst_ni.value = 1
    await RisingEdge(dut.clk_i)


@cocotb.test()
async def each_is_asked_for_and_answered_once(dut):
    rng = random.Random(int(os.environ["GODWIT_SEED"]))
    await begin(dut)
    miss = host = under_way = None
    due = False  # gw_touch answers
    counts = {"miss": 0, "host": 0}
    passed = longest = 0  # requests of the host while one of gw_miss waits
    for _ in range(int(os.environ.get("BENCH_OPERATIONS", "4000"))):
        stall = rng.choice((0.0, 0.3, 0.8))
        starts = host is None and rng.random() < 0.2
        if starts:
            host = ask(rng)
        if miss is None and rng.random() < 0.3:
            miss = ask(rng)
        for who, wanted in (("miss", miss), ("host", host)):
            for what, value in (wanted or ask(rng)).items():
                getattr(dut, f"{who}_{what}_i").value = value
        dut.miss_valid_i.value, dut.host_start_i.value = int(miss is not None), int(starts)
        dut.touch_ready_i.value = int(under_way is None and rng.random() >= stall)
        dut.miss_ans_ready_i.value = int(rng.random() >= stall)
        due = due or (under_way is not None and rng.random() >= stall)
        dut.ans_valid_i.value = int(due)
        await ReadOnly()
        get = {
            n: int(getattr(dut, f"{n}_o").value)
            for n in ("miss_ready", "miss_ans_valid", "host_busy", "host_done")
        }
        valid, ans_ready = int(dut.touch_valid_o.value), int(dut.ans_ready_o.value)
        assert get["host_busy"] == int(host is not None and not starts)
        assert (get["miss_ans_valid"], get["host_done"]) == (
            due and under_way == "miss",
            due and under_way == "host",
        )
        assert not (valid and under_way), "two under way"
        assert valid or under_way or (miss is None and (host is None or starts)), "who waits is not offered"
        done = due and ans_ready
        if done:
            counts[under_way] += 1
            if under_way == "host":
                host = None
            under_way, due = None, False
        if valid and int(dut.touch_ready_i.value):
            asked = {what: int(getattr(dut, f"touch_{what}_o").value) for what in WIDTHS}
            under_way = "miss" if get["miss_ready"] else "host"
            assert asked == (miss if under_way == "miss" else host)
            if under_way == "miss":
                miss, passed = None, 0
            elif miss is not None:
                passed += 1
                longest = max(longest, passed)
        else:
            assert not get["miss_ready"] or not miss
        await RisingEdge(dut.clk_i)
    assert min(counts.values()) > 50, counts
    assert longest == 1, "one of the host's at most goes before"
