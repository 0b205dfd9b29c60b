# SPDX-License-Identifier: Apache-2.0
"""gw_axi_mux: bytes are right whoever else is there, turns are taken, an address is offered a cycle after it was taken."""

from __future__ import annotations

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from cocotbext.axi import AxiBus, AxiMaster, AxiRam

SEED = int(os.environ["GODWIT_SEED"])
MASTERS = 3
REGION = 1 << 14
"""Bytes of memory that a master has for itself."""


def gaps(rng: random.Random, share: float):
    """Stalls in that share of the cycles."""
    while True:
        yield rng.random() < share


async def begin(dut, rng: random.Random, stall: float) -> tuple[list[AxiMaster], AxiRam]:
    """Three public masters and a public memory, reset."""
    dut.rst_ni.value = 0
    cocotb.start_soon(Clock(dut.clk_i, 2, unit="ns").start())

    def bus(name: str) -> AxiBus:
        return AxiBus.from_prefix(dut, name)

    masters = [
        AxiMaster(bus(f"s{i}_axi"), dut.clk_i, dut.rst_ni, reset_active_level=False) for i in range(MASTERS)
    ]
    ram = AxiRam(bus("m_axi"), dut.clk_i, dut.rst_ni, reset_active_level=False, size=MASTERS * REGION)
    for part in (*masters, ram):
        for channel in ("aw_channel", "w_channel", "b_channel"):
            getattr(part.write_if, channel).set_pause_generator(gaps(rng, stall))
        for channel in ("ar_channel", "r_channel"):
            getattr(part.read_if, channel).set_pause_generator(gaps(rng, stall))
    for _ in range(3):
        await RisingEdge(dut.clk_i)
    dut.rst_ni.value = 1
    await RisingEdge(dut.clk_i)
    return masters, ram


async def watch(dut, seen: dict[str, int]) -> None:
    """Turns and latency of both kinds of addresses, cycle by cycle."""
    passed = {kind: [0] * MASTERS for kind in ("ar", "aw")}
    was_taken = dict.fromkeys(passed)
    while True:
        await FallingEdge(dut.clk_i)
        for kind, since in passed.items():
            offered, held = int(getattr(dut, f"m_axi_{kind}valid").value), was_taken[kind]
            assert offered or held is None, f"{kind} taken of master {held} is not offered in the next cycle"
            valid = [int(getattr(dut, f"s{i}_axi_{kind}valid").value) for i in range(MASTERS)]
            ready = [int(getattr(dut, f"s{i}_axi_{kind}ready").value) for i in range(MASTERS)]
            taken = [i for i in range(MASTERS) if valid[i] and ready[i]]
            assert len(taken) <= 1, f"{kind} of masters {taken} in one cycle"
            was_taken[kind] = taken[0] if taken else None
            for i in range(MASTERS):
                since[i] = since[i] + 1 if valid[i] and taken and i not in taken else 0
                assert since[i] < MASTERS, f"{kind} of master {i} saw {since[i]} others taken before it"
            seen[kind] += len(taken)
            seen["waited"] += sum(valid) > 1


async def use(master: AxiMaster, rng: random.Random, base: int, rounds: int) -> None:
    """Writes and reads of one master in its own region, several under way."""
    memory = bytearray(rng.randbytes(REGION))
    assert (await master.write(base, bytes(memory))).resp == 0
    for _ in range(rounds):
        spans = [(rng.randrange(REGION // 2), rng.randrange(1, 600)) for _ in range(3)]
        reads = [cocotb.start_soon(master.read(base + at, size)) for at, size in spans]
        at = rng.randrange(REGION // 2, REGION - 600)
        data = rng.randbytes(rng.randrange(1, 600))
        # The upper half is written while the lower one is read.
        assert (await master.write(base + at, data)).resp == 0
        memory[at : at + len(data)] = data
        for (start, size), read in zip(spans, reads, strict=True):
            assert (await read).data == memory[start : start + size]
        got = await master.read(base + REGION // 2, REGION // 2)
        assert got.data == memory[REGION // 2 :]


async def traffic(dut, seed: int, stall: float) -> None:
    rng = random.Random(seed)
    masters, _ = await begin(dut, rng, stall)
    seen = {"ar": 0, "aw": 0, "waited": 0}
    watcher = cocotb.start_soon(watch(dut, seen))
    tasks = [
        cocotb.start_soon(use(master, random.Random(rng.random()), i * REGION, 4))
        for i, master in enumerate(masters)
    ]
    for task in tasks:
        await task
    watcher.cancel()
    assert min(seen.values()) > 0, seen


@cocotb.test()
async def bytes_and_turns_are_right_without_stalls(dut):
    await traffic(dut, SEED, 0.0)


@cocotb.test()
async def bytes_and_turns_are_right_with_stalls(dut):
    await traffic(dut, SEED + 1, 0.4)
