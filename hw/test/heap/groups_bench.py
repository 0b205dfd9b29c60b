# SPDX-License-Identifier: Apache-2.0
"""Drives tb_groups, with a memory that stalls at random behind it."""

from __future__ import annotations

import random

from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge

TAKE, GIVE, RESET = 0, 1, 2
OKAY, SLVERR = 0, 2
INPUTS = ("cmd_valid", "cmd_op", "cmd_pool", "cmd_order", "cmd_unit", "cmd_count", "rsp_ready")
MEMORY_INPUTS = (
    "ar_ready",
    "r_valid",
    "r_data",
    "r_lane",
    "r_last",
    "r_resp",
    "aw_ready",
    "w_ready",
    "b_valid",
    "b_resp",
)
EIGHT_BEATS = 7 << 5 | 3 << 2 | 1


class Bench:
    """One command after the other. `stall`: how often a handshake waits; `latency`: of the memory, in cycles."""

    inputs = INPUTS

    def __init__(self, dut, rng: random.Random):
        self.dut, self.rng = dut, rng
        self.stall, self.latency, self.bad = 0.0, 1, False
        self.memory: dict[int, int] = {}
        self.reads, self.writes = 0, 0
        self.some = 0  # some_o as the last command was taken
        self.now = 0
        self._read = self._write = None  # [address, beat, from cycle], [address, beats]
        self._answer = None

    async def start(self):
        import cocotb

        cocotb.start_soon(Clock(self.dut.clk_i, 2).start())
        for name in (*self.inputs, *MEMORY_INPUTS):
            getattr(self.dut, f"{name}_i").value = 0
        self.dut.rst_ni.value = 0
        for _ in range(3):
            await RisingEdge(self.dut.clk_i)
        self.dut.rst_ni.value = 1
        await RisingEdge(self.dut.clk_i)
        return self

    def flowing(self) -> bool:
        return not self.stall or self.rng.random() >= self.stall

    def get(self, name) -> int:
        return int(getattr(self.dut, name).value)

    def _drive_memory(self):
        d = self.dut
        d.ar_ready_i.value = int(self._read is None and self.flowing())
        d.aw_ready_i.value = int(self._write is None and self._answer is None and self.flowing())
        d.w_ready_i.value = int(self._write is not None and self.flowing())
        offered = self._read is not None and self._read[2] <= self.now and (self._read[3] or self.flowing())
        d.r_valid_i.value = int(offered)
        if offered:
            address, beat = self._read[:2]
            self._read[3] = True
            d.r_data_i.value = self.memory.get(address + 8 * beat, self.rng.getrandbits(64))
            d.r_lane_i.value, d.r_last_i.value = beat, int(beat == 7)
            d.r_resp_i.value = SLVERR if self.bad else OKAY
        d.b_valid_i.value = int(self._answer is not None and self._answer <= self.now)
        d.b_resp_i.value = SLVERR if self.bad else OKAY

    def _watch_memory(self):
        if self._read is not None and self.get("r_valid_i") and self.get("r_ready_o"):
            self._read[1] += 1
            self._read[3] = False
            if self._read[1] == 8:
                self._read = None
        if self.get("ar_valid_o") and self.get("ar_ready_i"):
            assert self.get("ar_shape_o") == EIGHT_BEATS and self.get("ar_addr_o") % 64 == 0
            assert all(self.get("ar_addr_o") + 8 * i in self.memory for i in range(8)), (
                "bits that were never stored are read"
            )
            self._read = [self.get("ar_addr_o"), 0, self.now + self.latency, False]
            self.reads += 1
        if self.get("b_valid_i") and self.get("b_ready_o"):
            self._answer = None
        if self.get("w_valid_o") and self.get("w_ready_i"):
            address, beat = self._write
            assert self.get("w_strb_o") == 0xFF << 8 * beat and self.get("w_last_o") == (beat == 7)
            self.memory[address + 8 * beat] = self.get("w_data_o")
            self._write[1] += 1
            if beat == 7:
                self._write, self._answer = None, self.now + self.latency
        if self.get("aw_valid_o") and self.get("aw_ready_i"):
            assert self.get("aw_shape_o") == EIGHT_BEATS and self.get("aw_addr_o") % 64 == 0
            self._write = [self.get("aw_addr_o"), 0]
            self.writes += 1

    async def step(self):
        self._drive_memory()
        await ReadOnly()
        self._watch_memory()
        self.now += 1

    async def command(self, op, pool, order=0, unit=0, count=0, limit=20000):
        """(ok, unit, cycles from acceptance to answer, cycles it waited before)."""
        d = self.dut
        begin = self.now
        while not self.flowing():
            await self.step()
            await RisingEdge(d.clk_i)
        d.cmd_valid_i.value, d.cmd_op_i.value, d.cmd_pool_i.value = 1, op, pool
        d.cmd_order_i.value, d.cmd_unit_i.value, d.cmd_count_i.value = order, unit, count
        accepted = None
        while True:
            d.rsp_ready_i.value = int(self.flowing())
            await self.step()
            assert self.now - begin < limit, "no answer"
            taken = accepted is None and self.get("cmd_ready_o")
            some = self.get("some_o") if taken else None
            if self.get("rsp_valid_o") and self.get("rsp_ready_i"):
                assert accepted is not None, "an answer to nothing"
                answer = (
                    self.get("rsp_ok_o"),
                    self.get("rsp_unit_o"),
                    self.now - 1 - accepted,
                    accepted - begin,
                )
                await RisingEdge(d.clk_i)
                d.rsp_ready_i.value = 0
                return answer
            await RisingEdge(d.clk_i)
            if taken:
                accepted = self.now - 1
                self.some = some
                d.cmd_valid_i.value = 0
