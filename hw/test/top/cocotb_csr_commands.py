# SPDX-License-Identifier: Apache-2.0
"""Registers that invalidate: starts and their answers, and the command queue's pointers, status and interrupt."""

from __future__ import annotations

import cocotb
from cocotb.triggers import Event, FallingEdge, RisingEdge
from csr_bench import CONTEXTS, PAGE_REQUESTS, new_rng, start
from registers import cycles, random_context


@cocotb.test()
async def invalidations_are_answered(dut):
    """A pulse a start and a context written, also while busy; `busy` covers all of it, and its end is an interrupt."""
    rng = new_rng()
    regs = await start(dut, rng)
    pulses, busy = [], 0

    async def levels():
        """Busy from the cycle after a pulse for a random time, or not at all."""
        nonlocal busy
        while True:
            await RisingEdge(dut.clk_i)
            busy = max(busy - 1, 0)
            if int(dut.inval_o.value):
                pulses.append(cocotb.utils.get_sim_time("ns"))
                busy = rng.choice((0, 1, 5, 40))
            dut.inval_busy_i.value = int(busy > 0)

    cocotb.start_soon(levels())
    busy_bit, start_bit = regs.pack("invalidate", busy=1), regs.pack("invalidate", start=1)
    for _ in range(30):
        before = len(pulses)
        await regs.write("irq_pending", 3)
        starts, written = rng.choice((0, 1, 1, 2, 3)), rng.randrange(2)
        for _ in range(written):
            await regs.write("contexts_fsc", random_context(rng, PAGE_REQUESTS > 0), rng.randrange(CONTEXTS))
        for _ in range(starts):
            await regs.write("invalidate", start_bit)
        while await regs.read("invalidate") & busy_bit:
            pass
        assert len(pulses) - before == starts + written
        assert busy == 0
        assert (await regs.fields("irq_pending"))["invalidated"] == int(starts > 0)
    # A start whose invalidation has not begun is seen as busy, however soon it is read.
    await regs.write("invalidate", start_bit)
    assert await regs.read("invalidate") & busy_bit or busy == 0
    # Writing 0 starts nothing, nor does the lower half of a context.
    while await regs.read("invalidate") & busy_bit:
        pass
    before = len(pulses)
    await regs.write("invalidate", 0)
    await regs.raw_write(regs.offset("contexts_fsc", 3), 0x1234)
    await cycles(dut, 60)
    assert len(pulses) == before


@cocotb.test()
async def a_start_during_an_invalidation_is_a_pulse_too(dut):
    regs = await start(dut, new_rng())
    pulses = 0
    ended = Event()

    async def levels():
        """Busy from the first pulse until the test says so."""
        nonlocal pulses
        while not ended.is_set():
            await RisingEdge(dut.clk_i)
            pulses += int(dut.inval_o.value)
            dut.inval_busy_i.value = int(pulses > 0)
        dut.inval_busy_i.value = 0

    cocotb.start_soon(levels())
    start_bit, busy_bit = regs.pack("invalidate", start=1), regs.pack("invalidate", busy=1)
    for count in range(1, 5):
        await regs.write("invalidate", start_bit)
        await cycles(dut, 5)
        assert pulses == count
        assert await regs.read("invalidate") & busy_bit
        assert (await regs.fields("irq_pending"))["invalidated"] == 0
    ended.set()
    await cycles(dut, 20)
    assert not await regs.read("invalidate") & busy_bit
    assert (await regs.fields("irq_pending"))["invalidated"] == 1


@cocotb.test()
async def the_command_queue_s_registers(dut):
    """What is written reaches the queue, what it reports is read, and its status bits raise the interrupt."""
    rng = new_rng()
    regs = await start(dut, rng)
    assert int(dut.cq_cfg_o.value) == 0
    for _ in range(10):
        log2, ppn, tail, timeout = (rng.getrandbits(n) for n in (5, 44, 32, 32))
        await regs.write("cqb", ppn << 10 | log2)
        await regs.write("cqt", tail)
        await regs.write("cq_timeout", timeout)
        enable, cie = rng.getrandbits(1), rng.getrandbits(1)
        await regs.write("cqcsr", regs.pack("cqcsr", cqen=enable, cie=cie))
        on, head = rng.getrandbits(1), rng.getrandbits(32)
        dut.cq_status_i.value = head << 6 | on << 5
        await cycles(dut, 2)
        assert int(dut.cq_cfg_o.value) == enable << 114 | ppn << 69 | log2 << 64 | tail << 32 | timeout
        assert await regs.read("cqh") == head
        fields = await regs.fields("cqcsr")
        assert (fields["cqon"], fields["busy"]) == (on, on ^ enable)
    dut.cq_status_i.value = 0
    bits = {"cqmf": 3, "cmd_to": 2, "cmd_ill": 1, "fence_w_ip": 0}
    for name, bit in bits.items():
        for cie in (0, 1):
            keep = regs.pack("cqcsr", cqen=1, cie=cie)
            await regs.write("cqcsr", keep)
            await FallingEdge(dut.clk_i)
            dut.cq_status_i.value = 1 << bit
            await FallingEdge(dut.clk_i)
            dut.cq_status_i.value = 0
            fields = await regs.fields("cqcsr")
            assert {n: fields[n] for n in bits} == {n: int(n == name) for n in bits}
            assert int(dut.irq_o.value) == cie
            assert int(dut.cq_cfg_o.value) >> 113 & 1 == int(name != "fence_w_ip")
            for other in bits:
                if other != name:
                    await regs.write("cqcsr", keep | regs.pack("cqcsr", **{other: 1}))
            assert (await regs.fields("cqcsr"))[name] == 1
            await regs.write("cqcsr", keep | regs.pack("cqcsr", **{name: 1}))
            assert (await regs.fields("cqcsr"))[name] == 0
            assert int(dut.irq_o.value) == 0
    # Turning the queue on clears what is left from before.
    await FallingEdge(dut.clk_i)
    dut.cq_status_i.value = 0xF
    await FallingEdge(dut.clk_i)
    dut.cq_status_i.value = 1 << 4
    await FallingEdge(dut.clk_i)
    dut.cq_status_i.value = 0
    fields = await regs.fields("cqcsr")
    assert not any(fields[name] for name in bits)
