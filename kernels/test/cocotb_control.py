# SPDX-License-Identifier: Apache-2.0
"""Tests of the control block through the pins of a kernel (array_sum)."""

import itertools

import cocotb
from axi_memory import Policy
from cocotb.triggers import ClockCycles, RisingEdge
from kernel_bench import AP_CTRL, AUTO_RESTART, DONE, GIE, IDLE, IER, ISR, READY, START, Kernel

BASE = 0x1000


async def create(dut) -> Kernel:
    """A kernel with interrupts off and an array of ones to add."""
    kernel = await Kernel.create(dut, "array_sum")
    await kernel.write(GIE, 0)
    await kernel.write(IER, 0)
    kernel.memory.data[BASE : BASE + 4 * 4096] = (1).to_bytes(4, "little") * 4096
    await kernel.set_args(values=BASE, count=16, dtype=0)
    return kernel


async def until_done(kernel: Kernel) -> int:
    """Polls ap_ctrl until done; its value then."""
    for _ in range(1000):
        value = await kernel.read(AP_CTRL)
        if value & DONE:
            return value
    raise AssertionError("never done")


@cocotb.test()
async def start_done_idle_ready(dut):
    """start reads 1 during the run; done and ready are cleared by the read that shows them."""
    kernel = await create(dut)
    assert await kernel.read(AP_CTRL) == IDLE
    await kernel.write(AP_CTRL, 0)
    await ClockCycles(dut.ap_clk, 20)
    assert await kernel.read(AP_CTRL) == IDLE
    kernel.memory.policy = Policy(latency=200)
    await kernel.write(AP_CTRL, START)
    assert await kernel.read(AP_CTRL) == START
    await kernel.write(AP_CTRL, 0)
    assert await kernel.read(AP_CTRL) == START, "writing 0 took the start back"
    assert await until_done(kernel) == DONE | READY | IDLE
    assert await kernel.read(AP_CTRL) == IDLE
    assert await kernel.results() == {"sum": 16, "status": 0}


@cocotb.test()
async def done_is_never_lost(dut):
    """Reads of ap_ctrl in every cycle around done: exactly one of them shows it."""
    kernel = await create(dut)
    for latency in range(1, 12):
        kernel.memory.policy = Policy(latency=latency)
        await kernel.write(AP_CTRL, START)
        shown = 0
        for _ in range(30):
            shown += bool(await kernel.read(AP_CTRL) & DONE)
        assert shown == 1, f"done was shown {shown} times with latency {latency}"


@cocotb.test()
async def arguments_read_back_and_take_strobes(dut):
    """Arguments are read as written, byte by byte; everything else ignores writes, or reads 0."""
    kernel = await create(dut)
    values = kernel.manifest.arg("values").offset
    await kernel.set_args(values=0x0123_4567_89AB_CDEF)
    assert (await kernel.read(values), await kernel.read(values + 4)) == (0x89AB_CDEF, 0x0123_4567)
    await kernel.control.write_byte(values + 1, 0x5A)
    assert await kernel.read(values) == 0x89AB_5AEF
    for offset in (
        values + 8,
        kernel.manifest.arg("sum").offset,
        kernel.manifest.arg("status").offset,
        0x200,
        0xFFC,
    ):
        await kernel.write(offset, 0xFFFF_FFFF)
        assert await kernel.read(offset) == 0, f"{offset:#x}"
    # The strobe of byte 0 is what starts a run.
    await kernel.control.write_byte(AP_CTRL + 1, 0xFF)
    assert await kernel.read(AP_CTRL) == IDLE


@cocotb.test()
async def interrupts(dut):
    """The line is high while globally enabled and a status bit is set; writing 1 toggles the bit."""
    kernel = await create(dut)

    async def run() -> None:
        await kernel.write(AP_CTRL, START)
        await until_done(kernel)

    await run()
    assert await kernel.read(ISR) == 0
    for enable in (1, 2, 3):
        await kernel.write(IER, enable)
        assert await kernel.read(IER) == enable
        await run()
        assert await kernel.read(ISR) == enable
        assert dut.interrupt.value == 0
        await kernel.write(GIE, 1)
        await RisingEdge(dut.ap_clk)
        assert dut.interrupt.value == 1
        await kernel.write(ISR, enable)
        assert await kernel.read(ISR) == 0
        assert dut.interrupt.value == 0
        await kernel.write(GIE, 0)
    await kernel.write(ISR, 2)
    assert await kernel.read(ISR) == 2, "writing 1 to a clear bit sets it, as HLS says"


@cocotb.test()
async def auto_restart(dut):
    """Runs follow each other while auto-restart is set, each with the arguments of its start."""
    kernel = await create(dut)
    await kernel.write(AP_CTRL, START | AUTO_RESTART)
    for count in (100, 7, 2000):
        await kernel.set_args(count=count)
        before = len(kernel.memory.read_bursts)
        await ClockCycles(dut.ap_clk, 600)
        assert len(kernel.memory.read_bursts) > before + 2
        assert (await kernel.results())["sum"] == count
        assert await kernel.read(AP_CTRL) & (START | AUTO_RESTART) == START | AUTO_RESTART
    await kernel.write(AP_CTRL, 0)
    await ClockCycles(dut.ap_clk, 600)
    assert await kernel.read(AP_CTRL) == DONE | READY | IDLE
    before = len(kernel.memory.read_bursts)
    await ClockCycles(dut.ap_clk, 600)
    assert len(kernel.memory.read_bursts) == before


@cocotb.test()
async def a_start_around_done_is_never_lost(dut):
    """A start before the cycle of done belongs to the run that ends; in that cycle or later it begins one."""
    kernel = await create(dut)
    starts, dones = [], []

    async def watch() -> None:
        while True:
            await RisingEdge(dut.ap_clk)
            if dut.s_axi_control_AWVALID.value == 1 and dut.s_axi_control_AWREADY.value == 1:
                starts.append(kernel.memory.cycle)
            if dut.done.value == 1:
                dones.append(kernel.memory.cycle)

    cocotb.start_soon(watch())
    distances = set()
    for delay in range(20):
        starts.clear()
        dones.clear()
        await kernel.write(AP_CTRL, START)
        await ClockCycles(dut.ap_clk, 1 + delay)
        await kernel.write(AP_CTRL, START)
        await ClockCycles(dut.ap_clk, 100)
        assert len(dones) == 1 + (starts[1] >= dones[0]), f"start {starts[1] - dones[0]} cycles after done"
        distances.add(starts[1] - dones[0])
        assert await kernel.read(AP_CTRL) == DONE | READY | IDLE
    assert {-1, 0, 1} <= distances, "the interesting cycles were not met"


@cocotb.test()
async def channels_in_any_order(dut):
    """Address and data of a write apart, and answers taken late: every access still counts once."""
    kernel = await create(dut)
    values = kernel.manifest.arg("values").offset
    write, read = kernel.control.write_if, kernel.control.read_if
    channels = (write.aw_channel, write.w_channel, write.b_channel, read.ar_channel, read.r_channel)
    for slow in range(1, 2 ** len(channels)):
        for bit, channel in enumerate(channels):
            pattern = [1] * (3 + bit) + [0] if slow >> bit & 1 else [0]
            channel.set_pause_generator(itertools.cycle(pattern))
        value = kernel.random.getrandbits(32)
        await kernel.write(values, value)
        await kernel.write(values + 4, ~value & 0xFFFF_FFFF)
        assert await kernel.read(values) == value
        assert await kernel.read(values + 4) == ~value & 0xFFFF_FFFF
