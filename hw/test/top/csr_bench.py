# SPDX-License-Identifier: Apache-2.0
"""What the benches of gw_csr share: its shape, and a master on its registers after reset."""

from __future__ import annotations

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotbext.axi import AxiLiteBus, AxiLiteMaster
from registers import Registers, cycles

PORTS = int(os.environ["BENCH_PORTS"])
CONTEXTS = int(os.environ["BENCH_CONTEXTS"])
LEVELS = int(os.environ["BENCH_LEVELS"])
PAGE_REQUESTS = int(os.environ["BENCH_PAGE_REQUESTS"])
HEAP = os.environ["BENCH_HEAP"] == "1"
CHANNELS = 2 * PORTS
INPUTS = ("inval_busy_i", "fault_valid_i", "fault_cause_i", "fault_ctx_i", "fault_id_i", "fault_addr_i",
          "chan_event_i", "mmu_event_i", "cq_status_i", "pq_status_i", "range_drop_i")  # fmt: skip


def new_rng() -> random.Random:
    return random.Random(int(os.environ["GODWIT_SEED"]))


async def start(dut, rng: random.Random) -> Registers:
    """Reset released; the master leaves random gaps on every channel."""
    cocotb.start_soon(Clock(dut.clk_i, 4, unit="ns").start())
    for name in INPUTS:
        getattr(dut, name).value = 0
    dut.rst_ni.value = 0
    master = AxiLiteMaster(
        AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk_i, dut.rst_ni, reset_active_level=False
    )
    await cycles(dut, 4)
    dut.rst_ni.value = 1
    await cycles(dut, 2)

    def gaps():
        while True:
            yield rng.random() < 0.3

    for channel in (master.write_if.aw_channel, master.write_if.w_channel, master.write_if.b_channel,
                    master.read_if.ar_channel, master.read_if.r_channel):  # fmt: skip
        channel.set_pause_generator(gaps())
    return Registers(master, CONTEXTS, PORTS)
