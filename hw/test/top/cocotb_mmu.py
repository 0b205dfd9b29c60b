# SPDX-License-Identifier: Apache-2.0
"""gw_mmu as software sees it: contexts and ports bound through registers, accesses through real page tables in memory."""

from __future__ import annotations

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiMaster, AxiRam, AxiResp
from cocotbext.axi.sparse_memory import SparseMemory
from registers import Registers, cycles

PAGE = 4096
ROOTS = {1: 0x10_0000, 2: 0x20_0000}
V, R, W, U, A, D = 1, 2, 4, 16, 64, 128
LEAF = V | R | W | U | A | D


class Bench:
    """Two masters, one memory behind both ports and the walker, and the registers."""

    def __init__(self, dut):
        self.dut = dut
        self.rng = random.Random(int(os.environ["GODWIT_SEED"]))
        self.memory = SparseMemory(1 << 56)
        self.next_table = 0x100_0000

    async def start(self) -> Bench:
        dut = self.dut
        cocotb.start_soon(Clock(dut.clk_i, 4, unit="ns").start())
        dut.rst_ni.value = 0
        clocks = (dut.clk_i, dut.rst_ni, False)
        axil = AxiLiteMaster(AxiLiteBus.from_prefix(dut.u_registers, "s"), *clocks)
        self.masters = [
            AxiMaster(AxiBus.from_prefix(dut.gen_port[p].u_master, "axi"), *clocks) for p in range(2)
        ]
        pins = [*(dut.gen_port[p].u_memory for p in range(2)), dut.u_tables]
        self.rams = [AxiRam(AxiBus.from_prefix(pin, "axi"), *clocks, mem=self.memory) for pin in pins]
        await cycles(dut, 4)
        dut.rst_ni.value = 1
        await cycles(dut, 2)
        self.regs = Registers(axil, 16, 2)
        for context, root in ROOTS.items():
            await self.regs.write("contexts_fsc", 9 << 60 | root >> 12, context)
        return self

    async def bind(self, port: int, mode: int, context: int = 0) -> None:
        await self.regs.write(
            "port_binding", self.regs.pack("port_binding", mode=mode, context_id=context), port
        )

    def word(self, address: int) -> int:
        return int.from_bytes(self.memory.read(address, 8), "little")

    def map(self, context: int, va: int, pa: int, flags: int = LEAF) -> None:
        """Maps one 4 KiB page."""
        table = ROOTS[context]
        for level in (3, 2, 1):
            entry = table + 8 * (va >> (12 + 9 * level) & 511)
            if not self.word(entry) & V:
                self.memory.write(entry, (self.next_table >> 12 << 10 | V).to_bytes(8, "little"))
                self.next_table += PAGE
            table = self.word(entry) >> 10 << 12
        self.memory.write(table + 8 * (va >> 12 & 511), (pa >> 12 << 10 | flags).to_bytes(8, "little"))

    def unmap(self, context: int, va: int) -> None:
        self.map(context, va, 0, 0)

    async def invalidate(self) -> None:
        await self.regs.write("invalidate", self.regs.pack("invalidate", start=1))
        while (await self.regs.fields("invalidate"))["busy"]:
            pass

    async def fault(self) -> dict[str, int]:
        """Takes the fault record."""
        record = await self.regs.fields("fault")
        record["address"] = await self.regs.read("fault_address")
        await self.regs.write("fault", 1)
        return record


@cocotb.test()
async def accesses_are_translated_by_their_ports_context(dut):
    bench = await Bench(dut).start()
    pages = [bench.rng.randrange(1 << 35) << 12 for _ in range(6)]
    frames = bench.rng.sample(range(0x2000, 0x3000), 12)
    for context in ROOTS:
        await bench.bind(context - 1, 1, context)
        for i, page in enumerate(pages):
            bench.map(context, page, frames[6 * (context - 1) + i] * PAGE)
    for _ in range(40):
        port = bench.rng.randrange(2)
        i = bench.rng.randrange(6)
        offset = bench.rng.randrange(PAGE - 256)
        data = bench.rng.randbytes(bench.rng.randint(1, 256))
        physical = frames[6 * port + i] * PAGE + offset
        if bench.rng.random() < 0.5:
            answer = await bench.masters[port].write(pages[i] + offset, data)
            assert answer.resp == AxiResp.OKAY
            assert bytes(bench.memory.read(physical, len(data))) == data
        else:
            bench.memory.write(physical, data)
            answer = await bench.masters[port].read(pages[i] + offset, len(data))
            assert answer.resp == AxiResp.OKAY
            assert answer.data == data
    assert (await bench.regs.fields("fault"))["valid"] == 0
    total = dict.fromkeys(("requests", "hits", "misses"), 0)
    for port in range(2):
        for channel in ("ar", "aw"):
            for name in total:
                total[name] += await bench.regs.read(f"port_counters_port_{channel}_{name}", port)
    walks = await bench.regs.read("walker_counters_walks")
    assert total["requests"] >= 40
    assert total["hits"] + total["misses"] == total["requests"]
    assert walks == total["misses"] > 0


@cocotb.test()
async def what_is_not_allowed_is_refused_and_recorded(dut):
    bench = await Bench(dut).start()
    await bench.bind(0, 1, 1)
    await bench.bind(1, 1, 5)  # a context that is off
    await bench.regs.write("irq_enable", bench.regs.pack("irq_enable", fault=1))
    bench.map(1, 0x7000, 0x9000, LEAF & ~(W | D))
    cases = [
        (0, False, 0x5008, 13, 1),
        (0, True, 0x5010, 15, 1),
        (0, True, 0x7020, 15, 1),
        (1, False, 0x7000, 258, 5),
        (0, False, 1 << 60, 13, 1),
    ]
    for port, write, address, cause, context in cases:
        master = bench.masters[port]
        before = bytes(bench.memory.read(0x9000, PAGE))
        answer = await (master.write(address, b"\xaa" * 8) if write else master.read(address, 8))
        assert answer.resp == AxiResp.SLVERR
        assert int(dut.irq_o.value) == 1
        record = await bench.fault()
        assert record == {
            "valid": 1,
            "write": int(write),
            "cause": cause,
            "context_id": context,
            "port": port,
            "address": address,
        }
        await bench.regs.write("irq_pending", 1)
        assert int(dut.irq_o.value) == 0
        assert bytes(bench.memory.read(0x9000, PAGE)) == before
    assert (await bench.masters[0].read(0x7020, 8)).resp == AxiResp.OKAY


@cocotb.test()
async def ports_that_are_off_or_bare(dut):
    bench = await Bench(dut).start()
    bench.memory.write(0x4_0000, b"physical")
    assert (await bench.masters[0].read(0x4_0000, 8)).resp == AxiResp.SLVERR
    assert (await bench.fault())["cause"] == 256
    await bench.bind(0, 2)
    answer = await bench.masters[0].read(0x4_0000, 8)
    assert (answer.resp, answer.data) == (AxiResp.OKAY, b"physical")
    await bench.bind(0, 0)
    assert (await bench.masters[0].write(0x4_0000, b"changed!")).resp == AxiResp.SLVERR
    assert bytes(bench.memory.read(0x4_0000, 8)) == b"physical"


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
