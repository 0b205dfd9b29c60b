# SPDX-License-Identifier: Apache-2.0
"""Registers of the page-request queue: what is written is handed on, status bits, interrupt; without page requests nothing."""

from __future__ import annotations

import cocotb
from cocotb.triggers import FallingEdge
from csr_bench import PAGE_REQUESTS, new_rng, start
from registers import cycles

WIDTHS = {"enable": 1, "stopped": 1, "base": 44, "log2": 5, "head": 32, "unsent": 32, "sent": 32, "count": 8, "time": 32}  # fmt: skip
SENT, TIMEOUT, FAULT, ON = 1, 2, 4, 8


def config(dut) -> dict[str, int]:
    """cfg_o by field."""
    value, found = int(dut.pq_cfg_o.value), {}
    for name, width in reversed(WIDTHS.items()):
        found[name] = value & (1 << width) - 1
        value >>= width
    return found


async def pulse(dut, bits: int) -> None:
    await FallingEdge(dut.clk_i)
    before = int(dut.pq_status_i.value)
    dut.pq_status_i.value = before | bits
    await FallingEdge(dut.clk_i)
    dut.pq_status_i.value = before


async def status(regs) -> dict[str, int]:
    return await regs.fields("page_queue_pqcsr")


async def shown(regs) -> set[str]:
    """Status bits that are set."""
    return {name for name, value in (await status(regs)).items() if value and name in ("pip", "pqto", "pqmf")}


def keep(name: str) -> int:
    """Bits of a register that can be written."""
    return {"pqb": (1 << 54) - (1 << 10) | 31, "pq_irq_count": 255}.get(name, (1 << 32) - 1)


@cocotb.test(skip=not PAGE_REQUESTS)
async def what_is_written_is_handed_on(dut):
    rng = new_rng()
    regs = await start(dut, rng)
    names = {"pqb": None, "pqh": "head", "pq_unsent": "unsent", "pq_sent": "sent", "pq_irq_count": "count",
             "pq_irq_time": "time"}  # fmt: skip
    model = dict.fromkeys(names, 0)
    for _ in range(120):
        name = rng.choice(list(names))
        width = 8 if name == "pqb" else 4
        # Any bytes of it.
        at = rng.randrange(width)
        data = rng.randbytes(rng.randint(1, 4 - at % 4))
        await regs.master.write(regs.offset(f"page_queue_{name}") + at, data)
        mask = (1 << 8 * len(data)) - 1 << 8 * at
        value = model[name] & ~mask | int.from_bytes(data, "little") << 8 * at
        model[name] = value & keep(name)
        assert await regs.read(f"page_queue_{name}") == model[name]
        found = config(dut)
        assert (found["base"], found["log2"]) == (model["pqb"] >> 10, model["pqb"] & 31)
        assert {n: found[f] for n, f in names.items() if f} == {n: model[n] for n, f in names.items() if f}
    assert config(dut)["enable"] == 0
    dut.pq_status_i.value = 0x1234_5678 << 4
    assert await regs.read("page_queue_pqt") == 0x1234_5678
    await regs.write("page_queue_pqt", 5)
    assert await regs.read("page_queue_pqt") == 0x1234_5678


@cocotb.test(skip=not PAGE_REQUESTS)
async def status_bits_and_interrupt(dut):
    rng = new_rng()
    regs = await start(dut, rng)
    names = {SENT: "pip", TIMEOUT: "pqto", FAULT: "pqmf"}
    for enable in (0, 1):
        control = regs.pack("page_queue_pqcsr", pqen=1, pie=enable)
        await regs.write("page_queue_pqcsr", control)
        found = await status(regs)
        assert (found["pqen"], found["pqon"], found["busy"]) == (1, 0, 1)
        dut.pq_status_i.value = ON
        assert (await status(regs))["busy"] == 0
        for bits, name in names.items():
            await pulse(dut, bits)
            assert await shown(regs) == {name}
            assert int(dut.irq_o.value) == enable
            assert config(dut)["stopped"] == (bits == FAULT)
            # Only a 1 clears, and not a pulse of the same cycle; nothing else of the register changes.
            await regs.write("page_queue_pqcsr", control)
            assert await shown(regs) == {name}
            await regs.write("page_queue_pqcsr", control | regs.pack("page_queue_pqcsr", **{name: 1}))
            assert not await shown(regs)
            assert int(dut.irq_o.value) == 0
            assert config(dut)["enable"] == 1
        # Turned off and on: head and status begin anew.
        await regs.write("page_queue_pqh", 9)
        await pulse(dut, SENT | TIMEOUT | FAULT)
        await regs.write("page_queue_pqcsr", 0)
        assert (await status(regs))["busy"] == 1
        dut.pq_status_i.value = 0
        await regs.write("page_queue_pqcsr", control)
        assert config(dut)["head"] == config(dut)["stopped"] == 0
        assert not await shown(regs)
        await regs.write("page_queue_pqcsr", 0)


@cocotb.test(skip=PAGE_REQUESTS)
async def without_page_requests_there_is_nothing(dut):
    regs = await start(dut, new_rng())
    dut.pq_status_i.value = (1 << 36) - 1
    for name in (name for name in regs.all if name.startswith("page_queue_")):
        await regs.write(name, (1 << regs.all[name].width) - 1)
        assert await regs.read(name) == 0
    await cycles(dut, 4)
    assert int(dut.pq_cfg_o.value) == 0
    assert int(dut.irq_o.value) == 0
