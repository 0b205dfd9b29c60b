# SPDX-License-Identifier: Apache-2.0
"""gw_mmu as software sees it: contexts and ports bound through registers, accesses through real page tables in memory."""

from __future__ import annotations

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiMaster, AxiRam, AxiResp
from cocotbext.axi.sparse_memory import SparseMemory
from commands import iofence
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
        pins = [*(dut.gen_port[p].u_memory for p in range(2)), dut.u_tables, dut.u_queue]
        self.rams = [AxiRam(AxiBus.from_prefix(pin, "axi"), *clocks, mem=self.memory) for pin in pins]
        dut.heap_ctx_id_i.value = 0
        await cycles(dut, 4)
        dut.rst_ni.value = 1
        await cycles(dut, 2)
        cocotb.start_soon(self.levels_are_quiet_when_a_period_ends())
        self.regs = Registers(axil, 16, 2)
        for context, root in ROOTS.items():
            await self.regs.write("contexts_fsc", 9 << 60 | root >> 12, context)
        return self

    async def levels_are_quiet_when_a_period_ends(self) -> None:
        """What a fence waits for: at its end no level has anything that began before it."""
        mmu = self.dut.u_dut
        ends = mmu.u_invalidate.u_issue.period_end
        while True:
            await RisingEdge(ends)
            await ReadOnly()
            levels = ("walker_busy", "l2_busy", "pages_busy", "port_busy")
            busy = [level for level in levels if int(getattr(mmu, level).value)]
            assert not (int(ends.value) and busy), f"a period ended, and busy are {busy}"

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

    async def queue_on(self, base: int = 0x60_0000, log2: int = 6) -> None:
        """Turns the command queue on, a ring of 2**log2 commands."""
        self.ring, self.commands, self.fences = (base, 1 << log2), 0, 0
        await self.regs.write("cqb", base >> 12 << 10 | log2 - 1)
        await self.regs.write("cqcsr", self.regs.pack("cqcsr", cqen=1, cie=1))
        while not (await self.regs.fields("cqcsr"))["cqon"]:
            pass

    def put(self, *commands: int) -> int:
        """Writes commands into the ring; returns what the tail has to be."""
        base, size = self.ring
        for command in commands:
            self.memory.write(base + self.commands % size * 16, command.to_bytes(16, "little"))
            self.commands += 1
        return self.commands % size

    async def run_commands(self, *commands: int) -> None:
        """Executes commands and waits for the write of the fence behind them."""
        word, self.fences = 0x61_0000, self.fences + 1
        await self.regs.write("cqt", self.put(*commands, iofence(word, self.fences)))
        while int.from_bytes(self.memory.read(word, 4), "little") != self.fences:
            await cycles(self.dut, 1)

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
    second = {name: await bench.regs.read(f"l2_counters_{name}") for name in ("hits", "range_hits", "misses")}
    assert total["requests"] >= 40
    assert total["hits"] + total["misses"] == total["requests"]
    assert sum(second.values()) == total["misses"] > 0
    assert walks == second["misses"] > 0


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
        await cycles(dut, 2)
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
async def a_heap_finds_the_contexts_that_there_are(dut):
    bench = await Bench(dut).start()
    for context in range(16):
        await bench.regs.write("contexts_fsc", 9 << 60 | 0x100 + context, context)
    for context in (*range(20), 31, 32, 255):
        dut.heap_ctx_id_i.value = context
        await cycles(dut, 3)
        assert int(dut.heap_root_o.value) == (0x100 + context if context < 16 else 0)


@cocotb.test()
async def a_context_that_is_taken_away_fails_closed(dut):
    """Cached or not: after the write of its entry every access faults, without an invalidation by software."""
    bench = await Bench(dut).start()
    await bench.bind(0, 1, 1)
    for page in range(8):
        bench.map(1, page * PAGE, 0x40_0000 + page * PAGE)
    for _ in range(5):
        for page in range(8):
            assert (await bench.masters[0].read(page * PAGE, 64)).resp == AxiResp.OKAY
        await bench.regs.write("contexts_fsc", 0, 1)
        for page in range(8):
            for access in (bench.masters[0].read(page * PAGE, 64), bench.masters[0].write(page * PAGE, b"x")):
                assert (await access).resp == AxiResp.SLVERR
                assert (await bench.fault())["cause"] == 258
        # Another process in the same place: its tables, none of the old one's translations.
        await bench.regs.write("contexts_fsc", 9 << 60 | ROOTS[2] >> 12, 1)
        assert (await bench.masters[0].read(0, 64)).resp == AxiResp.SLVERR
        assert (await bench.fault())["cause"] == 13
        await bench.regs.write("contexts_fsc", 9 << 60 | ROOTS[1] >> 12, 1)


@cocotb.test()
async def no_accelerator_reaches_the_registers(dut):
    """Physical addresses of the register page, even from a bare port, are memory: nothing of it is read or changed."""
    bench = await Bench(dut).start()
    for context, root in ROOTS.items():
        assert await bench.regs.read("contexts_fsc", context) == 9 << 60 | root >> 12
    await bench.bind(0, 2)
    await bench.bind(1, 1, 1)
    for page in range(8):
        bench.map(1, page * PAGE, page * PAGE)
    before = {}
    for name, register in bench.regs.all.items():
        if "counters" not in name:
            before[name] = await bench.regs.read(name, *(1 for _ in register.strides))
    for port in range(2):
        for offset in range(0, 8 * PAGE, 512):
            data = bench.rng.randbytes(64)
            assert (await bench.masters[port].write(offset, data)).resp == AxiResp.OKAY
            assert bytes(bench.memory.read(offset, 64)) == data
            assert (await bench.masters[port].read(offset, 64)).data == data
    for name, value in before.items():
        assert await bench.regs.read(name, *(1 for _ in bench.regs.all[name].strides)) == value, name


@cocotb.test()
async def a_range_entry_needs_no_walk_and_ends_with_an_invalidation(dut):
    bench = await Bench(dut).start()
    await bench.bind(0, 1, 1)
    regs, base, frame = bench.regs, 0x5000_0000, 0x20_0000
    await regs.write("ranges_entry_base", base >> 12, 1)
    await regs.write("ranges_entry_limit", (base >> 12) + 9, 1)
    await regs.write("ranges_entry_offset", (frame - base >> 12) % (1 << 44), 1)
    control = regs.pack("ranges_entry_control", valid=1, read=1, write=0, context_id=1)
    await regs.write("ranges_entry_control", control, 1)
    for page in (0, 9):
        bench.memory.write(frame + PAGE * page, b"buffer %d" % page)
        assert (await bench.masters[0].read(base + PAGE * page, 8)).data == b"buffer %d" % page
    assert await regs.read("walker_counters_walks") == 0
    assert await regs.read("l2_counters_range_hits") == 2
    # What the entry does not allow, or does not cover, is decided by the page tables.
    assert (await bench.masters[0].write(base, b"x")).resp == AxiResp.SLVERR
    assert (await bench.fault())["cause"] == 15
    assert (await bench.masters[0].read(base + 10 * PAGE, 8)).resp == AxiResp.SLVERR
    assert (await bench.fault())["cause"] == 13
    await bench.invalidate()
    assert (await regs.fields("ranges_entry_control", 1))["valid"] == 0
    assert (await bench.masters[0].read(base, 8)).resp == AxiResp.SLVERR
    assert (await bench.fault())["cause"] == 13
