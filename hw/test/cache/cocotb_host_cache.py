# SPDX-License-Identifier: Apache-2.0
"""gw_host_cache: bytes of two ports on both sides of the host aperture's border, what each sees of the other, maintenance."""

from __future__ import annotations

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from cocotbext.axi import AxiBus, AxiMaster, AxiRam
from cocotbext.axi.sparse_memory import SparseMemory

SEED = int(os.environ["GODWIT_SEED"])
HOST = 1 << 55
PAGE, LINE = 4096, 64
REGION = 6 * PAGE
"""Bytes that a port has for itself on either side: more than the cache holds."""


def gaps(rng: random.Random, share: float):
    """Stalls in that share of the cycles."""
    while True:
        yield rng.random() < share


class Bench:
    """Two public masters, a public memory behind each device port and behind the link: addresses tell them apart."""

    def __init__(self, dut, stall: float, seed: int) -> None:
        self.dut, self.stall, self.rng = dut, stall, random.Random(seed)
        self.memory = SparseMemory(1 << 56)

    async def start(self) -> Bench:
        dut = self.dut
        dut.rst_ni.value = 0
        dut.cmd_valid_i.value = 0
        cocotb.start_soon(Clock(dut.clk_i, 2, unit="ns").start())
        clocks = (dut.clk_i, dut.rst_ni, False)
        self.ports = [AxiMaster(AxiBus.from_prefix(dut.gen_port[i].u_port, "axi"), *clocks) for i in range(2)]
        pins = [dut.gen_port[0].u_device, dut.gen_port[1].u_device, dut.u_link]
        rams = [AxiRam(AxiBus.from_prefix(pin, "axi"), *clocks, mem=self.memory) for pin in pins]
        for part in (*self.ports, *rams):
            for channel in ("aw_channel", "w_channel", "b_channel"):
                getattr(part.write_if, channel).set_pause_generator(gaps(self.rng, self.stall))
            for channel in ("ar_channel", "r_channel"):
                getattr(part.read_if, channel).set_pause_generator(gaps(self.rng, self.stall))
        for _ in range(3):
            await RisingEdge(dut.clk_i)
        dut.rst_ni.value = 1
        await RisingEdge(dut.clk_i)
        return self

    async def maintain(self, address: int, size: int, *, clean: bool = False, drop: bool = False) -> int:
        """Returns what the acknowledge says: 1 if a line was lost."""
        first, last = address // LINE, (address + size - 1) // LINE
        self.dut.cmd_i.value = clean << 101 | drop << 100 | first << 50 | last
        self.dut.cmd_valid_i.value = 1
        while True:
            await FallingEdge(self.dut.clk_i)
            taken = int(self.dut.cmd_ready_o.value)
            await RisingEdge(self.dut.clk_i)
            if taken:
                break
        self.dut.cmd_valid_i.value = 0
        for _ in range(100_000):
            await FallingEdge(self.dut.clk_i)
            if int(self.dut.ack_o.value):
                return int(self.dut.ack_error_o.value)
        raise AssertionError("maintenance has no end")


async def use(bench: Bench, port: int, rounds: int) -> bytes:
    """Writes and reads of a port in its own regions of both sides, several of one ID and of different ones under way; returns the
    host's region as it must be."""
    rng = random.Random(bench.rng.random())
    master = bench.ports[port]
    bases = (port * REGION, HOST + port * REGION)
    wanted = [bytearray(rng.randbytes(REGION)) for _ in bases]
    for base, data in zip(bases, wanted, strict=True):
        await master.write(base, bytes(data))
    for _ in range(rounds):
        reads = []
        for _ in range(6):
            side = rng.randrange(2)
            at, size = rng.randrange(REGION - 600), rng.choice((1, 8, 64, rng.randrange(1, 600)))
            read = cocotb.start_soon(master.read(bases[side] + at, size, arid=rng.randrange(3)))
            reads.append((read, bytes(wanted[side][at : at + size])))
        for read, data in reads:
            assert (await read).data == data
        writes = []
        for _ in range(5):
            side, at = rng.randrange(2), rng.randrange(REGION - 300)
            data = rng.randbytes(rng.choice((1, 64, rng.randrange(1, 300))))
            # Of one ID: they are done in their order.
            writes.append(cocotb.start_soon(master.write(bases[side] + at, data, awid=1)))
            wanted[side][at : at + len(data)] = data
        for write in writes:
            assert (await write).resp == 0
    return bytes(wanted[1])


async def both(dut, stall: float, seed: int) -> None:
    bench = await Bench(dut, stall, seed).start()
    tasks = [cocotb.start_soon(use(bench, port, 8)) for port in range(2)]
    wanted = [await task for task in tasks]
    # Each sees in host memory what the other one wrote; the host after the flush.
    for port in range(2):
        got = await bench.ports[1 - port].read(HOST + port * REGION, REGION)
        assert got.data == wanted[port]
    assert await bench.maintain(0, 1 << 56, clean=True, drop=True) == 0
    for port in range(2):
        assert bench.memory.read(HOST + port * REGION, REGION) == wanted[port]


@cocotb.test()
async def bytes_are_right_without_stalls(dut):
    await both(dut, 0.0, SEED)


@cocotb.test()
async def bytes_are_right_with_stalls(dut):
    await both(dut, 0.4, SEED + 1)


@cocotb.test()
async def maintenance_says_what_is_seen(dut):
    """The host sees a store after a clean, not before; the port what the host writes after a drop."""
    bench = await Bench(dut, 0.0, SEED).start()
    port = bench.ports[0]
    bench.memory.write(HOST, b"h" * PAGE)
    await port.write(HOST + 100, b"card")
    assert bench.memory.read(HOST + 100, 4) == b"hhhh"
    await bench.maintain(HOST + PAGE, PAGE, clean=True)
    assert bench.memory.read(HOST + 100, 4) == b"hhhh"
    await bench.maintain(HOST, PAGE, clean=True)
    assert bench.memory.read(HOST + 98, 8) == b"hhcardhh"
    bench.memory.write(HOST + 100, b"HOST")
    assert (await port.read(HOST + 100, 4)).data == b"card"
    await bench.maintain(HOST, PAGE, drop=True)
    assert (await port.read(HOST + 100, 4)).data == b"HOST"


@cocotb.test()
async def device_memory_is_no_cycle_further_away(dut):
    """An address leaves, and read data comes, in the cycle in which it is offered, whatever the host's side does."""
    bench = await Bench(dut, 0.0, SEED).start()
    port, pins, device = bench.ports[0], dut.gen_port[0].u_port, dut.gen_port[0].u_device
    seen = {"ar": 0, "r": 0}

    async def watch() -> None:
        while True:
            await FallingEdge(dut.clk_i)
            if int(pins.axi_arvalid.value) and not int(pins.axi_araddr.value) & HOST:
                assert int(device.axi_arvalid.value)
                seen["ar"] += 1
            if int(device.axi_rvalid.value) and int(device.axi_rready.value):
                assert int(pins.axi_rvalid.value)
                seen["r"] += 1

    watcher = cocotb.start_soon(watch())
    far = cocotb.start_soon(port.read(HOST, REGION, arid=2))
    for at in range(0, 40 * LINE, LINE):
        await port.read(at, LINE, arid=1)
    await far
    watcher.cancel()
    assert min(seen.values()) >= 40
