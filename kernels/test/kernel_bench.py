# SPDX-License-Identifier: Apache-2.0
"""Drives a kernel in a cocotb test: clock, reset, control block, memory."""

from __future__ import annotations

import logging
import os
import random

import cocotb
from axi_memory import AxiMemory, Policy
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster
from kernel_run import manifest_path

from godwit.card import manifest

AP_CTRL, GIE, IER, ISR = 0x00, 0x04, 0x08, 0x0C
START, DONE, IDLE, READY, AUTO_RESTART = 1, 2, 4, 8, 0x80


class Kernel:
    """A kernel under test. ``await Kernel.create(dut, "split")`` resets it; ``launch`` makes one run."""

    def __init__(self, dut, name: str, memory_bytes: int) -> None:
        self.dut = dut
        self.manifest = manifest.load(manifest_path(name))
        self.memory = AxiMemory(dut, memory_bytes)
        self.random = random.Random(int(os.environ["GODWIT_SEED"]))
        self.memory.random = self.random
        logging.getLogger("cocotb." + dut._name).setLevel(logging.WARNING)
        self.control = AxiLiteMaster(
            AxiLiteBus.from_prefix(dut, "s_axi_control"), dut.ap_clk, dut.ap_rst_n, False
        )

    @classmethod
    async def create(cls, dut, name: str, memory_bytes: int = 1 << 20) -> Kernel:
        """Starts clock and memory, resets the kernel."""
        dut.ap_rst_n.value = 0
        self = cls(dut, name, memory_bytes)
        cocotb.start_soon(Clock(dut.ap_clk, 4, unit="ns").start())
        cocotb.start_soon(self.memory.run())
        for _ in range(4):
            await RisingEdge(dut.ap_clk)
        dut.ap_rst_n.value = 1
        await RisingEdge(dut.ap_clk)
        await self.write(GIE, 1)
        await self.write(IER, 1)
        return self

    async def write(self, offset: int, value: int) -> None:
        """Writes one register."""
        await self.control.write_dword(offset, value)

    async def read(self, offset: int) -> int:
        """Reads one register."""
        return await self.control.read_dword(offset)

    async def set_args(self, **values: int) -> None:
        """Writes arguments by name; those that are not given as the manifest has them."""
        defaults = {arg.name: arg.default for arg in self.manifest.args if arg.default is not None}
        for name, value in {**defaults, **values}.items():
            arg = self.manifest.arg(name)
            for word in range(arg.kind.words):
                await self.write(arg.offset + 4 * word, value >> (32 * word) & 0xFFFF_FFFF)

    async def results(self) -> dict[str, int]:
        """All result registers by name."""
        found = {}
        for arg in self.manifest.args:
            if arg.kind.is_result:
                words = [await self.read(arg.offset + 4 * word) for word in range(arg.kind.words)]
                found[arg.name] = sum(value << (32 * word) for word, value in enumerate(words))
        return found

    async def wait(self, max_cycles: int) -> int:
        """Waits for the interrupt; the cycles that took."""
        for cycle in range(max_cycles):
            await RisingEdge(self.dut.ap_clk)
            if self.dut.interrupt.value == 1:
                return cycle
        raise AssertionError(f"no interrupt after {max_cycles} cycles")

    async def launch(
        self, policy: Policy | None = None, max_cycles: int = 20_000, **args: int
    ) -> dict[str, int]:
        """One run with these arguments; its results, and ``cycles`` from start to interrupt."""
        self.memory.policy = policy or Policy()
        self.memory.reset_counts()
        await self.set_args(**args)
        await self.write(AP_CTRL, START)
        cycles = await self.wait(max_cycles)
        assert self.memory.quiet, "done with bursts on the bus"
        found = await self.results()
        await self.write(ISR, 1)
        assert await self.read(AP_CTRL) == DONE | READY | IDLE
        assert await self.read(AP_CTRL) == IDLE
        return {**found, "cycles": cycles}

    def random_policy(self) -> Policy:
        """A memory with random latency, stalls and reordering, that withholds what a kernel must not wait for."""
        return Policy(
            latency=self.random.choice([1, 4, 30, 100]),
            stall_percent=self.random.choice([0, 20, 50]),
            reorder=self.random.random() < 0.7,
            withheld=self.random.choice(["", "answers", "writes"]) if self.manifest.independent else "",
        )
