# SPDX-License-Identifier: Apache-2.0
"""gw_csr over AXI4-Lite: every statement of its contract, with the register map from spec/ as the reference."""

from __future__ import annotations

import cocotb
from cocotb.triggers import FallingEdge
from csr_bench import CHANNELS, CONTEXTS, LEVELS, PAGE_REQUESTS, PORTS, new_rng, start
from registers import OKAY, SLVERR, cycles, random_context


def contexts(dut) -> list[tuple[int, int, int, int]]:
    """(mode, SADE, EN_PRI, root) of every context as the walker gets it."""
    value = int(dut.ctx_o.value)
    fields = [(value >> (50 * i)) & ((1 << 50) - 1) for i in range(CONTEXTS)]
    return [(field >> 46, field >> 45 & 1, field >> 44 & 1, field & ((1 << 44) - 1)) for field in fields]


def as_context(value: int) -> tuple[int, int, int, int]:
    return value >> 60, value >> 59 & 1, value >> 58 & (PAGE_REQUESTS > 0), value & ((1 << 44) - 1)


@cocotb.test()
async def identifies_itself(dut):
    regs = await start(dut, new_rng())
    assert await regs.fields("id") == {"magic": 0x4757, "major": 2, "minor": 7}
    assert await regs.read("spec_hash") == regs.constants["SPEC_HASH"].value
    assert await regs.fields("capabilities") == {
        "levels": LEVELS,
        "page_requests": max(PAGE_REQUESTS.bit_length() - 1, 0),
        "ports": PORTS,
        "contexts": CONTEXTS,
        "ranges": 2,
    }


@cocotb.test()
async def everything_is_off_after_reset(dut):
    regs = await start(dut, new_rng())
    assert contexts(dut) == [(0, 0, 0, 0)] * CONTEXTS
    assert int(dut.port_cfg_o.value) == 0
    assert int(dut.irq_o.value) == 0
    for name, register in regs.all.items():
        if name not in ("id", "spec_hash", "capabilities"):
            assert await regs.read(name, *(0 for _ in register.strides)) == 0, name


@cocotb.test()
async def only_registers_answer(dut):
    """Every word of the map either is a register and answers OKAY, or answers SLVERR and reads zero."""
    regs = await start(dut, new_rng())
    words = set()
    for register in regs.all.values():
        places = [register.offset]
        for array, stride in register.strides:
            count = {"contexts_fsc": CONTEXTS, "ranges_entry": 16}.get(array, PORTS)
            places = [place + i * stride for place in places for i in range(count)]
        words |= {place + 4 * half for place in places for half in range(register.width // 32)}
    # Inside the external blocks the gaps between registers belong to the block: they read zero.
    blocks = [
        (0x80, 0x24),
        (0x100, 0x28),
        (0x1000, 0x40),
        (0x1100, 0x40),
        (0x1200, 0x200),
        (0x1400, 0x38),
        (0x2000, 256 * PORTS),
        (0x4000, 8 * CONTEXTS),
    ]
    beside = (
        {word + 4 for word in words} | {word - 4 for word in words if word} | {0x200, 0x3FC, 0x7F00, 0x7FFC}
    )
    for offset in sorted(words | beside):
        inside = any(first <= offset < first + size for first, size in blocks)
        answer = await regs.raw_read(offset)
        assert answer.resp == (OKAY if offset in words or inside else SLVERR), hex(offset)
        if offset not in words:
            assert int.from_bytes(answer.data, "little") == 0, hex(offset)
            assert (await regs.raw_write(offset, 0xFFFF_FFFF)).resp == answer.resp, hex(offset)


@cocotb.test()
async def a_context_changes_as_a_whole(dut):
    """Random halves and whole writes: the walker sees nothing but complete contexts, and reads show what is in effect."""
    rng = new_rng()
    regs = await start(dut, rng)
    legal = [{(0, 0, 0, 0)} for _ in range(CONTEXTS)]
    model = [0] * CONTEXTS
    hold: tuple[int, int] | None = None
    watching = True

    async def watch():
        while watching:
            await FallingEdge(dut.clk_i)
            for index, context in enumerate(contexts(dut)):
                assert context in legal[index], f"context {index} is {context}, legal are {legal[index]}"

    watcher = cocotb.start_soon(watch())
    index = 0
    for _ in range(250):
        # Often the same context again: what waits of its lower half is for its next upper half alone.
        index = rng.choice((index, rng.randrange(CONTEXTS)))
        offset = regs.offset("contexts_fsc", index)
        value = random_context(rng, PAGE_REQUESTS > 0)
        what = rng.choice(("low", "high", "both", "read", "byte"))
        first, last = {"low": (0, 4), "high": (4, 8), "both": (0, 8)}.get(what, (0, 0))
        if what == "byte":
            # The word's other bytes are those in effect.
            first = rng.randrange(8)
            last = first + 1
        for word in (0, 4):
            start_at, end_at = max(first, word), min(last, word + 4)
            if start_at >= end_at:
                continue
            mask = (1 << 8 * end_at) - (1 << 8 * start_at)
            new = (model[index] & ~mask) | (value & mask)
            if word == 0:
                hold = (index, new & 0xFFFF_FFFF)
            else:
                if hold and hold[0] == index:
                    new = (new >> 32 << 32) | hold[1]
                    hold = None
                legal[index] = {as_context(model[index]), as_context(new)}
                model[index] = new
            await regs.master.write(offset + start_at, value.to_bytes(8, "little")[start_at:end_at])
            legal[index] = {as_context(model[index])}
        if what == "read":
            assert await regs.read("contexts_fsc", index) == model[index]
    watching = False
    await watcher
    for index in range(CONTEXTS):
        assert await regs.read("contexts_fsc", index) == model[index]


@cocotb.test()
async def reads_beside_writes_see_what_is_in_effect(dut):
    """Contexts, ranges, bindings and faults, read while they are written, every channel with gaps: each word is the one before a
    write or the one after, and its neighbours keep theirs.
    """
    rng = new_rng()
    regs = await start(dut, rng)
    model: dict[tuple[str, int], int] = {}
    legal: dict[tuple[str, int], set[int]] = {}
    names = {"contexts_fsc": CONTEXTS, "port_binding": PORTS, "ranges_entry_control": 2}
    for name, count in names.items():
        for index in range(count):
            model[name, index], legal[name, index] = 0, {0}
    faults = [
        {"cause": rng.randrange(1 << 12), "ctx": 1, "id": n, "addr": rng.randrange(1 << 64)} for n in range(8)
    ]
    writing = True

    async def read():
        while writing:
            if rng.random() < 0.2:
                shown = await regs.read("fault_id")
                assert shown < len(faults)
                continue
            key = rng.choice(list(model))
            before = set(legal[key])
            offset = regs.offset(*key)
            found = int.from_bytes((await regs.raw_read(offset)).data, "little")
            words = {value & 0xFFFF_FFFF for value in before | legal[key]}
            assert found in words, f"{key}: {found:#x}, legal are {words}"

    async def write():
        for _ in range(120):
            key = rng.choice(list(model))
            name, index = key
            if name == "contexts_fsc":
                new = random_context(rng, PAGE_REQUESTS > 0)
            elif name == "port_binding":
                new = regs.pack(name, mode=rng.randrange(4), context_id=rng.randrange(256))
            else:
                new = regs.pack(name, valid=1, read=1, write=rng.randrange(2), context_id=rng.randrange(256))
            legal[key] = {model[key], new}
            await regs.write(name, new, index)
            model[key] = new
            legal[key] = {new}

    async def fault():
        for one in faults:
            await cycles(dut, rng.randrange(40))
            await FallingEdge(dut.clk_i)
            drive_fault(dut, {rng.randrange(CHANNELS): one})
            await FallingEdge(dut.clk_i)
            drive_fault(dut, {})

    readers = [cocotb.start_soon(read()) for _ in range(2)]
    faulting = cocotb.start_soon(fault())
    await write()
    await faulting
    writing = False
    for reader in readers:
        await reader
    for (name, index), value in model.items():
        assert await regs.read(name, index) == value, (name, index)
    assert await regs.read("fault_id") == 0
    assert await regs.read("fault_address") == faults[0]["addr"]
    assert await regs.read("faults_lost") == len(faults) - 1


@cocotb.test()
async def an_answer_that_is_not_taken_holds_up_its_own_direction_only(dut):
    rng = new_rng()
    regs = await start(dut, rng)
    reads, writes = regs.master.read_if.r_channel, regs.master.write_if.b_channel
    card = await regs.read("id")
    for channel in (reads, writes):
        channel.clear_pause_generator()
    reads.pause = True
    waiting = [cocotb.start_soon(regs.read("id")) for _ in range(2)]
    await cycles(dut, 20)
    for index in range(CONTEXTS):
        await regs.write("contexts_fsc", 8 << 60 | index, index)
    assert contexts(dut) == [(8, 0, 0, index) for index in range(CONTEXTS)]
    assert not any(task.done() for task in waiting)
    reads.pause = False
    assert [await task for task in waiting] == [card] * 2
    writes.pause = True
    written = cocotb.start_soon(
        regs.write("port_binding", regs.pack("port_binding", mode=1, context_id=7), 0)
    )
    await cycles(dut, 20)
    for index in range(CONTEXTS):
        assert await regs.read("contexts_fsc", index) == 8 << 60 | index
    assert await regs.fields("port_binding", 0) == {"mode": 1, "context_id": 7}
    assert not written.done()
    writes.pause = False
    await written


@cocotb.test()
async def ports_are_bound(dut):
    rng = new_rng()
    regs = await start(dut, rng)
    expected = [(0, 0)] * PORTS
    for _ in range(60):
        port, mode, context = rng.randrange(PORTS), rng.randrange(4), rng.randrange(256)
        await regs.write("port_binding", regs.pack("port_binding", mode=mode, context_id=context), port)
        expected[port] = (0 if mode == 3 else mode, context)  # a mode that does not exist is off
        value = int(dut.port_cfg_o.value)
        assert [(value >> (10 * p + 8) & 3, value >> (10 * p) & 255) for p in range(PORTS)] == expected
        assert await regs.fields("port_binding", port) == {"mode": mode, "context_id": context}


def drive_fault(dut, faults: dict[int, dict[str, int]]) -> None:
    """Faults of one cycle by channel."""
    widths = {"cause": 12, "ctx": 8, "id": 16, "addr": 64}
    dut.fault_valid_i.value = sum(1 << channel for channel in faults)
    for field, width in widths.items():
        getattr(dut, f"fault_{field}_i").value = sum(
            fault[field] << (width * channel) for channel, fault in faults.items()
        )


@cocotb.test()
async def the_first_fault_is_kept(dut):
    """Random faults, several a cycle: the record is the first one since it was cleared; every other is counted as lost."""
    rng = new_rng()
    regs = await start(dut, rng)
    record: tuple[int, dict[str, int]] | None = None
    lost = 0
    for _ in range(80):
        if rng.random() < 0.7:
            channels = rng.sample(range(CHANNELS), rng.randint(1, CHANNELS))
            faults = {c: {"cause": rng.randrange(1 << 12), "ctx": rng.randrange(256), "id": rng.randrange(1 << 16),
                          "addr": rng.randrange(1 << 64)} for c in channels}  # fmt: skip
            await FallingEdge(dut.clk_i)
            drive_fault(dut, faults)
            await FallingEdge(dut.clk_i)
            drive_fault(dut, {})
            if record is None:
                record = (min(channels), faults[min(channels)])
                lost += len(channels) - 1
            else:
                lost += len(channels)
        elif rng.random() < 0.5:
            await regs.write("fault", regs.pack("fault", valid=1))
            record = None
        else:
            # Only a 1 in `valid` clears.
            await regs.write("fault", 0xFFFF_FFFE)
        shown = await regs.fields("fault")
        assert shown["valid"] == int(record is not None)
        assert await regs.read("faults_lost") == lost
        if record is not None:
            channel, fault = record
            assert shown == {"valid": 1, "write": channel % 2, "cause": fault["cause"], "context_id": fault["ctx"],
                             "port": channel // 2}  # fmt: skip
            assert await regs.read("fault_id") == fault["id"]
            assert await regs.read("fault_address") == fault["addr"]
    await regs.write("count_control", regs.pack("count_control", clear=1))
    assert await regs.read("faults_lost") == 0
    assert (await regs.fields("fault"))["valid"] == int(record is not None)


@cocotb.test()
async def interrupts_are_enabled_and_cleared(dut):
    regs = await start(dut, new_rng())
    fault = {"cause": 13, "ctx": 3, "id": 5, "addr": 0x1234_5678_9ABC_D000}

    async def pulse():
        """A fault; it is in the record two cycles later."""
        await FallingEdge(dut.clk_i)
        drive_fault(dut, {1: fault})
        await FallingEdge(dut.clk_i)
        drive_fault(dut, {})
        await FallingEdge(dut.clk_i)

    await pulse()
    assert await regs.fields("irq_pending") == {"fault": 1, "invalidated": 0}
    assert int(dut.irq_o.value) == 0
    await regs.write("irq_enable", regs.pack("irq_enable", invalidated=1))
    assert int(dut.irq_o.value) == 0
    await regs.write("irq_enable", regs.pack("irq_enable", fault=1))
    assert int(dut.irq_o.value) == 1
    await regs.write("irq_pending", regs.pack("irq_pending", invalidated=1))
    assert int(dut.irq_o.value) == 1
    await regs.write("irq_pending", regs.pack("irq_pending", fault=1))
    assert int(dut.irq_o.value) == 0
    # A fault that finds the record occupied raises no second interrupt.
    await pulse()
    assert await regs.fields("irq_pending") == {"fault": 0, "invalidated": 0}
    await regs.write("fault", 1)
    await pulse()
    assert int(dut.irq_o.value) == 1
    await regs.write("invalidate", 1)
    await cycles(dut, 10)
    assert await regs.fields("irq_pending") == {"fault": 1, "invalidated": 1}


@cocotb.test()
async def a_range_takes_effect_as_a_whole(dut):
    rng = new_rng()
    regs = await start(dut, rng)
    entries = [(rng.randrange(1 << 45), rng.randrange(1 << 45), rng.randrange(1 << 44)) for _ in range(2)]
    for index, (base, limit, offset) in enumerate(entries):
        before = int(dut.ranges_o.value)
        await regs.write("ranges_entry_base", base, index)
        await regs.write("ranges_entry_limit", limit, index)
        await regs.write("ranges_entry_offset", offset, index)
        assert int(dut.ranges_o.value) == before
        control = regs.pack("ranges_entry_control", valid=1, read=1, write=index, context_id=77)
        await regs.write("ranges_entry_control", control, index)
        await cycles(dut, 1)
        entry = int(dut.ranges_o.value) >> 145 * index & ((1 << 145) - 1)
        assert entry == ((0b110 | index) << 8 | 77) << 134 | base << 89 | limit << 44 | offset
        for name, value in (("base", base), ("limit", limit), ("offset", offset), ("control", control)):
            assert await regs.read(f"ranges_entry_{name}", index) == value
    dut.range_drop_i.value = 1
    await cycles(dut, 1)
    dut.range_drop_i.value = 0
    assert [(await regs.fields("ranges_entry_control", i))["valid"] for i in (0, 1)] == [0, 1]
    # An entry that the configuration does not have takes nothing.
    before = int(dut.ranges_o.value)
    await regs.write("ranges_entry_control", 1, 2)
    assert await regs.read("ranges_entry_control", 2) == 0
    assert int(dut.ranges_o.value) == before
