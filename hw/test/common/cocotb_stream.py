# SPDX-License-Identifier: Apache-2.0
"""Stream primitives (gw_fifo, gw_slice): data integrity under random stalls, latency and throughput."""

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge

DEPTH = int(os.environ.get("BENCH_DEPTH", "0"))  # 0: a slice
PASS_THROUGH = os.environ.get("BENCH_PASS_THROUGH") == "1"
CAPACITY = DEPTH or 2


async def start(dut):
    cocotb.start_soon(Clock(dut.clk_i, 2).start())
    dut.rst_ni.value = 0
    dut.in_valid_i.value = 0
    dut.in_data_i.value = 0
    dut.out_ready_i.value = 0
    if not DEPTH:
        dut.cancel_i.value = 0
    for _ in range(3):
        await RisingEdge(dut.clk_i)
    dut.rst_ni.value = 1
    await RisingEdge(dut.clk_i)


async def stream(dut, cycles, offer, take):
    """Drives `cycles` cycles; offer() and take() decide each cycle. Returns [(cycle, item)] put and taken.

    Starts with nothing offered and ends the same way: an item that is offered at the end is still put.
    """
    put, taken, item, offering = [], [], 0, False
    held, cycle = None, 0
    while cycle < cycles or offering:
        if not offering and cycle < cycles and offer():
            offering, item = True, item + 1
        dut.in_valid_i.value = int(offering)
        dut.in_data_i.value = (item * 37) & 0xFF
        dut.out_ready_i.value = int(take() or cycle >= cycles)
        await ReadOnly()
        if DEPTH:
            held = int(dut.usage_o.value) if held is None else held
            assert int(dut.usage_o.value) == held + len(put) - len(taken)
        if offering and dut.in_ready_o.value == 1:
            put.append((cycle, (item * 37) & 0xFF))
            offering = False
        if dut.out_valid_o.value == 1 and dut.out_ready_i.value == 1:
            taken.append((cycle, int(dut.out_data_o.value)))
        cycle += 1
        await RisingEdge(dut.clk_i)
    return put, taken


@cocotb.test()
async def keeps_order_and_data_under_random_stalls(dut):
    rng = random.Random(int(os.environ["GODWIT_SEED"]))
    await start(dut)
    total = 0
    for p_offer, p_take in ((0.5, 0.5), (0.95, 0.3), (0.3, 0.95), (0.9, 0.9)):
        put, taken = await stream(
            dut, 400, lambda p=p_offer: rng.random() < p, lambda p=p_take: rng.random() < p
        )
        _, rest = await stream(dut, 2 * CAPACITY + 4, lambda: False, lambda: True)
        assert [d for _, d in taken + rest] == [d for _, d in put]
        total += len(put)
    assert total > 300


@cocotb.test()
async def latency_and_throughput_are_those_of_the_contract(dut):
    await start(dut)
    put, taken = await stream(dut, 100, lambda: True, lambda: True)
    assert taken[0][0] - put[0][0] == (0 if PASS_THROUGH else 1)
    assert len(taken) >= (49 if CAPACITY == 1 and not PASS_THROUGH else 99)


@cocotb.test()
async def takes_exactly_its_capacity_while_the_output_stalls(dut):
    await start(dut)
    put, taken = await stream(dut, 3 * CAPACITY + 3, lambda: True, lambda: False)
    # The one more is the item that was on offer; it went in when the drain at the end began.
    assert len(put) == CAPACITY + 1
    assert [cycle < 3 * CAPACITY + 3 for cycle, _ in put].count(True) == CAPACITY
    assert all(cycle >= 3 * CAPACITY + 3 for cycle, _ in taken)
