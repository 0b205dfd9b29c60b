# SPDX-License-Identifier: Apache-2.0
"""gw_heap_stream between a kernel and a gw_heap that stall, while its port is bound anew: one command at a time, as it was said."""

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge

OFF, TRANSLATE, BARE = range(3)


def expected(command, ctx):
    """The packed command: op, context, pointer, size, region, granule, write, compact."""
    pointer, size, how = (command >> 64 * i & (1 << 64) - 1 for i in range(3))
    packed = (how & 3) << 8 | ctx
    packed = (packed << 64 | pointer) << 64 | size
    return ((packed << 3 | how >> 16 & 7) << 4 | how >> 4 & 15) << 2 | (how >> 2 & 1) << 1 | how >> 3 & 1


@cocotb.test()
async def commands_pass_one_at_a_time_and_say_whether_they_may(dut):
    rng = random.Random(int(os.environ["GODWIT_SEED"]))
    cocotb.start_soon(Clock(dut.clk_i, 2).start())
    for name in ("port", "cmd_valid", "cmd", "rsp_ready", "heap_ready", "heap_rsp_valid", "heap_rsp"):
        getattr(dut, f"{name}_i").value = 0
    dut.rst_ni.value = 0
    for _ in range(3):
        await RisingEdge(dut.clk_i)
    dut.rst_ni.value = 1
    await RisingEdge(dut.clk_i)
    mode, ctx = TRANSLATE, 3
    command = taken_ctx = answer = None
    counts = {"done": 0, "bound": 0, "taken away": 0}
    for _ in range(int(os.environ.get("BENCH_OPERATIONS", "4000"))):
        stall = rng.choice((0.0, 0.3, 0.8))
        if rng.random() < 0.05:
            mode, ctx = rng.choice((OFF, TRANSLATE, TRANSLATE, BARE)), rng.choice((3, 4))
        if command is None and rng.random() >= stall:
            command = rng.getrandbits(192)
        if taken_ctx is not None and answer is None and rng.random() >= stall:
            answer = rng.getrandbits(68)
        dut.port_i.value = mode << 8 | ctx
        dut.cmd_valid_i.value, dut.cmd_i.value = int(command is not None), command or rng.getrandbits(192)
        dut.heap_ready_i.value, dut.rsp_ready_i.value = int(rng.random() >= stall), int(rng.random() >= stall)
        dut.heap_rsp_valid_i.value, dut.heap_rsp_i.value = (
            int(answer is not None),
            answer or rng.getrandbits(68),
        )
        await ReadOnly()
        get = {
            n: int(getattr(dut, f"{n}_o").value)
            for n in ("cmd_ready", "heap_valid", "rsp_valid", "heap_rsp_ready")
        }
        assert get["heap_valid"] == int(command is not None and taken_ctx is None)
        assert get["rsp_valid"] == int(answer is not None)
        if taken_ctx is not None:
            bound = int(dut.bound_o.value)
            assert bound == int(mode == TRANSLATE and ctx == taken_ctx)
            counts["bound" if bound else "taken away"] += 1
        ready = int(dut.heap_ready_i.value)
        assert get["cmd_ready"] == (ready and taken_ctx is None)
        if answer is not None:
            status, pointer = answer >> 64, answer & (1 << 64) - 1
            assert int(dut.rsp_o.value) == status << 64 | pointer
            if int(dut.rsp_ready_i.value):
                assert get["heap_rsp_ready"]
                counts["done"] += 1
                taken_ctx = answer = None
        if get["heap_valid"]:
            assert int(dut.heap_cmd_o.value) == expected(command, ctx)
            if ready:
                command, taken_ctx = None, ctx
        await RisingEdge(dut.clk_i)
    assert min(counts.values()) > 50, counts
