# SPDX-License-Identifier: Apache-2.0
"""gw_axil_demux between a master and three memories: every access reaches its slave, everything else is DECERR."""

from __future__ import annotations

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import Combine
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiLiteRam
from registers import DECERR, OKAY, cycles

REGIONS = ((0x0000_0000, 0x1000), (0x0010_0000, 0x1_0000), (0x0011_0000, 0x1_0000))
OUTSIDE = (0x0000_1000, 0x000F_FFFC, 0x0012_0000, 0x8000_0000, 0xFFFF_FFFC)


async def start(dut, rng: random.Random):
    cocotb.start_soon(Clock(dut.clk_i, 4, unit="ns").start())
    dut.rst_ni.value = 0
    master = AxiLiteMaster(
        AxiLiteBus.from_prefix(dut.u_master, "s"), dut.clk_i, dut.rst_ni, reset_active_level=False
    )
    rams = []
    for index, (_, size) in enumerate(REGIONS):
        pins = AxiLiteBus.from_prefix(dut.gen_slave[index].u_pins, "m")
        rams.append(AxiLiteRam(pins, dut.clk_i, dut.rst_ni, reset_active_level=False, size=size))
    await cycles(dut, 4)
    dut.rst_ni.value = 1
    await cycles(dut, 2)

    def gaps(share: float):
        while True:
            yield rng.random() < share

    for part in (master, *rams):
        share = rng.choice((0.0, 0.3, 0.7))
        for interface, channels in ((part.write_if, ("aw", "w", "b")), (part.read_if, ("ar", "r"))):
            for channel in channels:
                getattr(interface, f"{channel}_channel").set_pause_generator(gaps(share))
    return master, rams


@cocotb.test()
async def accesses_reach_their_slave(dut):
    rng = random.Random(int(os.environ["GODWIT_SEED"]))
    master, rams = await start(dut, rng)
    model: dict[int, int] = {}

    async def write(address: int, value: int) -> None:
        answer = await master.write(address, value.to_bytes(4, "little"))
        assert answer.resp == OKAY, hex(address)

    async def read(address: int) -> None:
        answer = await master.read(address, 4)
        assert answer.resp == OKAY, hex(address)
        assert int.from_bytes(answer.data, "little") == model.get(address, 0), hex(address)

    async def outside(address: int, is_write: bool) -> None:
        answer = await (master.write(address, b"\xff" * 4) if is_write else master.read(address, 4))
        assert answer.resp == DECERR, hex(address)

    for _ in range(150):
        # A write and a read at the same time, of different words.
        base, size = rng.choice(REGIONS)
        address = base + 4 * rng.randrange(size // 4)
        value = rng.getrandbits(32)
        running = [cocotb.start_soon(write(address, value))]
        others = [known for known in model if known != address]
        if rng.random() < 0.3:
            running.append(cocotb.start_soon(outside(rng.choice(OUTSIDE), rng.random() < 0.5)))
        elif others:
            running.append(cocotb.start_soon(read(rng.choice(others))))
        await Combine(*running)
        model[address] = value
        await read(address)
    for address, value in model.items():
        index = next(i for i, (base, size) in enumerate(REGIONS) if base <= address < base + size)
        held = rams[index].read(address - REGIONS[index][0], 4)
        assert int.from_bytes(held, "little") == value, hex(address)


@cocotb.test()
async def a_slave_that_never_answers_holds_up_its_direction_only(dut):
    master, rams = await start(dut, random.Random(1))
    rams[1].read_if.r_channel.clear_pause_generator()
    rams[1].read_if.r_channel.pause = True
    stuck = cocotb.start_soon(master.read(REGIONS[1][0], 4))
    for index, (base, _) in enumerate(REGIONS):
        assert (await master.write(base + 8, bytes([index] * 4))).resp == OKAY
    await cycles(dut, 100)
    assert not stuck.done()
    rams[1].read_if.r_channel.pause = False
    assert (await stuck).resp == OKAY
