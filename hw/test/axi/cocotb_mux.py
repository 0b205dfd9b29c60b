# SPDX-License-Identifier: Apache-2.0
"""gw_axi_mux: bytes are right whoever else is there, turns are taken, and an address that was taken is offered from the next cycle on."""

from __future__ import annotations

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from cocotbext.axi import AxiBus, AxiMaster, AxiRam

SEED = int(os.environ["GODWIT_SEED"])
MASTERS = 3
ID_WIDTH = 3
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
    """Turns of both kinds of addresses, and that a read's is offered as long as one waits, cycle by cycle."""
    waiting = {kind: [0] * MASTERS for kind in ("ar", "aw")}
    passed = {kind: [0] * MASTERS for kind in waiting}

    def both(name: str) -> tuple[int, int]:
        return int(getattr(dut, f"{name}valid").value), int(getattr(dut, f"{name}ready").value)

    while True:
        await FallingEdge(dut.clk_i)
        for kind, queued in waiting.items():
            valid, ready = both(f"m_axi_{kind}")
            assert valid or kind == "aw" or not any(queued), f"{queued} reads wait and none is offered"
            if valid and ready:
                one = int(getattr(dut, f"m_axi_{kind}id").value) >> ID_WIDTH
                assert queued[one], f"{kind} of master {one}, which has none"
                queued[one] -= 1
                passed[kind][one] = 0
                seen[kind] += 1
                for i in range(MASTERS):
                    passed[kind][i] += i != one and queued[i] > 0
                    assert passed[kind][i] < MASTERS, (
                        f"{kind} of master {i}: {passed[kind][i]} left before it"
                    )
            seen["waited"] += sum(count > 0 for count in queued) > 1
            for i in range(MASTERS):
                queued[i] += both(f"s{i}_axi_{kind}") == (1, 1)


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
