# SPDX-License-Identifier: Apache-2.0
"""gw_mmu's invalidations as software sees them: by register and by command, what fences wait for, errors, and who is not slowed down."""

from __future__ import annotations

import cocotb
from cocotb.triggers import RisingEdge
from cocotb_mmu import PAGE, ROOTS, Bench
from cocotbext.axi import AxiResp
from commands import iofence, iotinval
from registers import cycles


@cocotb.test()
async def an_acknowledged_invalidation_leaves_nothing_stale(dut):
    """Remaps a page again and again under traffic of the other port; after each acknowledge only the new frame is reached."""
    bench = await Bench(dut).start()
    await bench.bind(0, 1, 1)
    await bench.bind(1, 1, 2)
    bench.map(2, 0x1000, 0x80_0000)
    running = True

    async def traffic():
        while running:
            assert (
                await bench.masters[1].read(0x1000 + 64 * bench.rng.randrange(60), 64)
            ).resp == AxiResp.OKAY

    other = cocotb.start_soon(traffic())
    for round_ in range(12):
        frame = 0x40_0000 + PAGE * round_
        bench.memory.write(frame, bytes([round_]) * 64)
        bench.map(1, 0x3000, frame)
        await bench.invalidate()
        assert (await bench.masters[0].read(0x3000, 64)).data == bytes([round_]) * 64
    bench.unmap(1, 0x3000)
    await bench.invalidate()
    assert (await bench.masters[0].read(0x3000, 64)).resp == AxiResp.SLVERR
    # Mapping something needs none.
    bench.map(1, 0x3000, 0x40_0000)
    assert (await bench.masters[0].read(0x3000, 64)).data == bytes(64)
    running = False
    await other


@cocotb.test()
async def the_command_queue_drops_what_it_says(dut):
    """Pages of two contexts move; a command for one page leaves the others, and a fence says when it is done."""
    bench = await Bench(dut).start()
    await bench.queue_on()
    for port in range(2):
        await bench.bind(port, 1, port + 1)
    for frame in range(4):
        bench.memory.write(0x40_0000 + PAGE * frame, bytes([frame]) * 64)

    async def seen(port, page):
        return (await bench.masters[port].read(page, 64)).data[0]

    for round_ in range(20):
        old, new = round_ & 1, 2 + (round_ & 1)
        for context in ROOTS:
            for page in (0x3000, 0x4000):
                bench.map(context, page, 0x40_0000 + PAGE * old)
        await bench.run_commands(iotinval())
        assert [await seen(p, page) for p in range(2) for page in (0x3000, 0x4000)] == [old] * 4
        for context in ROOTS:
            for page in (0x3000, 0x4000):
                bench.map(context, page, 0x40_0000 + PAGE * new)
        # Cached as before until a command says otherwise.
        assert [await seen(p, page) for p in range(2) for page in (0x3000, 0x4000)] == [old] * 4
        await bench.run_commands(iotinval(1, 3))
        assert [await seen(0, 0x3000), await seen(0, 0x4000)] == [new, old]
        assert [await seen(1, page) for page in (0x3000, 0x4000)] == [old, old]
        await bench.run_commands(iotinval(2, 2, 2) if round_ % 2 else iotinval(2))
        assert [await seen(1, 0x3000), await seen(1, 0x4000)] == [new, old if round_ % 2 else new]
    bench.unmap(1, 0x3000)
    await bench.run_commands(iotinval(1, 3))
    assert (await bench.masters[0].read(0x3000, 64)).resp == AxiResp.SLVERR
    fields = await bench.regs.fields("cqcsr")
    assert not any(fields[name] for name in ("cqmf", "cmd_to", "cmd_ill"))


@cocotb.test()
async def a_fence_waits_for_walks_under_way(dut):
    """Of whatever context: their answers would come behind it."""
    bench = await Bench(dut).start()
    await bench.queue_on()
    await bench.bind(1, 1, 2)
    tables = bench.rams[2].read_if
    for page in range(4):
        bench.map(2, page * PAGE, 0x80_0000 + page * PAGE)
        tables.r_channel.pause = True
        walk = cocotb.start_soon(bench.masters[1].read(page * PAGE, 64))
        await cycles(dut, 40)
        fence = cocotb.start_soon(bench.run_commands(iotinval(1, 3)))
        await cycles(dut, 200)
        assert not fence.done()
        tables.r_channel.pause = False
        await fence
        assert (await walk).resp == AxiResp.OKAY


@cocotb.test()
async def queue_errors_raise_the_interrupt(dut):
    bench = await Bench(dut).start()
    await bench.queue_on()
    await bench.regs.write("cqt", bench.put(iotinval(3), 0x7F))
    while not int(dut.irq_o.value):
        await cycles(dut, 1)
    assert (await bench.regs.fields("cqcsr"))["cmd_ill"] == 1
    assert await bench.regs.read("cqh") == 1
    base, _ = bench.ring
    bench.memory.write(base + 16, iofence(wsi=True).to_bytes(16, "little"))
    keep = bench.regs.pack("cqcsr", cqen=1, cie=1)
    await bench.regs.write("cqcsr", keep | bench.regs.pack("cqcsr", cmd_ill=1))
    while not (await bench.regs.fields("cqcsr"))["fence_w_ip"]:
        pass
    assert await bench.regs.read("cqh") == 2
    assert int(dut.irq_o.value) == 1
    await bench.regs.write("cqcsr", keep | bench.regs.pack("cqcsr", fence_w_ip=1))
    assert int(dut.irq_o.value) == 0


@cocotb.test()
async def other_traffic_runs_at_full_speed_under_a_storm_of_commands(dut):
    """The same reads of context 2 take the same cycles with and without commands for context 1."""
    bench = await Bench(dut).start()
    await bench.queue_on(log2=8)
    await bench.bind(1, 1, 2)
    bench.map(2, 0x1000, 0x80_0000)
    taken, seen = [], 0

    async def pulses():
        nonlocal seen
        while True:
            await RisingEdge(dut.clk_i)
            seen += int(dut.u_dut.inval_valid.value)

    for storm in (False, True, False, True):
        assert (await bench.masters[1].read(0x1000, 64)).resp == AxiResp.OKAY
        await cycles(dut, 20)
        if storm:
            tail = bench.put(*(iotinval(1, page) for page in range(250)))
            await bench.regs.write("cqt", tail)
        watched = cocotb.start_soon(pulses())
        begin = cocotb.utils.get_sim_time("ns")
        reads = [bench.masters[1].init_read(0x1000 + 64 * (i % 60), 64) for i in range(60)]
        for read in reads:
            await read.wait()
        taken.append((cocotb.utils.get_sim_time("ns") - begin) / 4)
        watched.cancel()
        assert seen >= 50 * storm
        seen = 0
        if storm:
            await bench.run_commands()
    assert taken[1] == taken[0] and taken[3] == taken[2], taken
