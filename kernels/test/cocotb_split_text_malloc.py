# SPDX-License-Identifier: Apache-2.0
"""Tests of kernel split_text_malloc: columns of text that it allocates, on a heap that is modelled here, with pyarrow as the reference."""

from __future__ import annotations

import cocotb
import numpy as np
import pyarrow as pa
from axi_memory import Policy
from cocotb_split import TYPES, column
from cocotb_split_malloc import (
    FREE,
    GRANULE,
    MALLOC,
    NO_SLOT,
    QUOTA,
    REALLOC,
    SLOTS,
    STEP,
    TOO_LARGE,
    Heap,
    create,
)
from cocotb_split_text import BITS, OFFSETS, OUTPUTS, Texts, case, nullable, texts, with_nulls
from kernel_bench import Kernel

NAME = "split_text_malloc"
TEXT = 0x7_0000
"""More room than with outputs behind it."""


def arguments(kernel: Kernel, given: Texts) -> dict[str, int]:
    """What the kernel is given: the input only."""
    given.text_at = TEXT
    args = given.place(kernel.memory.data)
    for name in OUTPUTS:
        del args[name]
    return {**args, "granule": GRANULE}


async def check(kernel: Kernel, heap: Heap, given: Texts, policy=None, **more) -> dict:
    """One launch: the arrays, the allocations behind them, and nothing else."""
    before = dict(heap.live)
    heap.log.clear()
    found = await kernel.launch(policy, **arguments(kernel, given), **more)
    assert found["status"] == 0, found
    wanted = given.wanted()
    assert found["match_count"] == len(given.sides()[0])
    assert found["match_bytes"] == len(wanted[1])
    given.places = tuple(found[name] for name in OUTPUTS)
    # An output without bytes has address 0.
    assert [bool(where) for where in given.places] == [bool(data) for data in wanted]
    data = {where: held for where, held in zip(given.places, wanted, strict=True) if held}
    for where, held in data.items():
        assert bytes(kernel.memory.data[where : where + len(held)]) == held, f"wrong bytes at {where:#x}"
    assert {k: v for k, v in heap.live.items() if k not in before} == {w: len(h) for w, h in data.items()}
    given.compare(kernel.memory.data)
    ops = [op for op, *_ in heap.log]
    outputs = 6 if given.text.buffers()[0] is not None and len(given.text) else 4
    assert ops.count(MALLOC) == outputs and ops.count(FREE) == outputs - len(data)
    assert found["grown"] <= ops.count(REALLOC) - len(data)
    # Its caller frees it.
    for where in data:
        del heap.live[where]
    assert heap.live == before
    return found


async def nothing_left(kernel: Kernel, heap: Heap, status: int, policy=None, **args) -> None:
    """A launch that ends with `status`, nothing allocated and no pointer; the next one is right."""
    found = await kernel.launch(policy, **args, max_cycles=100_000)
    assert found["status"] == status, found
    assert not any(found[name] for name in OUTPUTS) and not heap.live
    heap.refuse = {}
    await check(kernel, heap, case(kernel, pa.int32(), 300, 20))


@cocotb.test()
async def sizes(dut):
    """No row, one, and sizes around beats and around what the heap gives at once; rows that are empty, short, and longer than beats."""
    kernel, heap = await create(dut, NAME)
    step = STEP // 4
    for rows in (0, 1, 2, 15, 16, 17, 128, 129, step - 2, step - 1, step, step + 1, 2 * step - 1):
        for longest in (0, 3, 64):
            await check(kernel, heap, case(kernel, pa.float64(), rows, longest, nulls=longest == 3))
    for length in (STEP - 1, STEP, STEP + 1, 3 * STEP):
        for op, matches in ((1, 1), (2, 0)):
            one = Texts(pa.array([0], pa.int32()), op, 0, text=pa.array(["x" * length]))
            assert (await check(kernel, heap, one))["match_count"] == matches


@cocotb.test()
async def all_or_none_match(dut):
    """One side full and the other empty, both ways, compared columns and texts of NULLs only, and texts without a byte."""
    kernel, heap = await create(dut, NAME)
    for rows in (1, 16, 160, 1500):
        for op, matches in ((1, rows), (2, 0)):
            full = Texts(pa.array(np.arange(rows), pa.int32()), op, 0, text=texts(kernel, rows, 20))
            assert (await check(kernel, heap, full))["match_count"] == matches
        nothing = Texts(pa.array([None] * rows, pa.int64()), 5, 1, text=texts(kernel, rows, 20))
        assert (await check(kernel, heap, nothing))["match_count"] == 0
        for text in (pa.array([None] * rows, pa.utf8()), pa.array([""] * rows)):
            for op in (1, 2, 4):
                await check(kernel, heap, Texts(pa.array(np.arange(rows) % 3, pa.int32()), op, 0, text=text))


@cocotb.test()
async def random_launches(dut):
    """Random columns and slices, a memory that stalls and reorders, a heap that answers soon or late."""
    kernel, heap = await create(dut, NAME)
    for _ in range(40):
        dtype = kernel.random.choice(TYPES)
        whole = case(kernel, dtype, kernel.random.randrange(1, 3000), kernel.random.choice([4, 20, 100]))
        offset = kernel.random.randrange(len(whole.array))
        whole.array, whole.text = whole.array.slice(offset), whole.text.slice(offset)
        heap.latency = kernel.random.choice([1, 4, 60, 900])
        heap.stall_percent = kernel.random.choice([0, 50, 95])
        await check(kernel, heap, whole, kernel.random_policy(), max_cycles=400_000)


@cocotb.test()
async def growing_stops_nobody(dut):
    """Ideal memory and a heap as quick as the card's: a row a cycle, as if the outputs had been there."""
    kernel, heap = await create(dut, NAME, latency=8)
    for length, rows, nulls in ((4, 4000, False), (4, 4000, True), (16, 4000, False), (256, 800, False)):
        text = pa.array(["x" * length] * rows)
        if nulls:
            text = with_nulls(kernel, text)
        given = Texts(pa.array(np.arange(rows) % 2, pa.int32()), 4, 1, text=text)
        found = await check(kernel, heap, given, Policy(latency=20))
        dut._log.warning(f"{rows} rows of {length} bytes, NULLs {nulls}: {found['cycles']} cycles")
        assert found["cycles"] <= rows + length * rows // 64 + 2 * 20 + 2 * 64 + 40
        assert found["grown"] >= (length + 4) * rows // STEP - 4


@cocotb.test()
async def bad_arguments_touch_nothing(dut):
    """Too many rows or bytes, unknown types, operators and granules: status 3 without a single access or command."""
    kernel, heap = await create(dut, NAME)
    good = arguments(kernel, case(kernel, pa.int32(), 10, 5))
    no_ids = [] if nullable(kernel) else [{"text_validity": BITS}]
    for bad in (
        *({"rows": 1 << 32}, {"dtype": 4}, {"op": 6}, {"text_bytes": 1 << 31}, {"granule": 16}),
        *no_ids,
    ):
        found = await kernel.launch(**{**good, **bad})
        assert found["status"] == 3 and not heap.log
        assert not any(found[name] for name in OUTPUTS)
        assert not kernel.memory.read_bursts and not kernel.memory.write_bursts


@cocotb.test()
async def offsets_that_do_not_fit_the_text_leave_nothing(dut):
    """More or fewer bytes than the offsets say, offsets that fall: status 3 however memory and heap stall."""
    kernel, heap = await create(dut, NAME)
    rows = 1000
    values = pa.array(np.arange(rows), pa.int32())
    for threshold in (rows // 2, rows):
        given = Texts(values, 0, threshold, text=pa.array(["abcdefgh"] * rows))
        for change in (-8 * rows, -1, 1, 64, 1000):
            heap.latency = kernel.random.choice([1, 4, 300])
            args = arguments(kernel, given)
            args["text_bytes"] += change
            await nothing_left(kernel, heap, 3, kernel.random_policy(), **args)
        for row in (10, rows - 1, rows):
            args = arguments(kernel, given)
            at = OFFSETS + 4 * row
            kernel.memory.data[at : at + 4] = (1).to_bytes(4, "little")
            await nothing_left(kernel, heap, 3, kernel.random_policy(), **args)


@cocotb.test()
async def a_refusal_ends_the_run_and_leaves_nothing(dut):
    """Whichever command is refused: its status, everything freed, a quiet bus, and the next run is right."""
    kernel, heap = await create(dut, NAME)
    given = case(kernel, pa.int64(), 3000, 12)
    await check(kernel, heap, given)
    commands = len(heap.log)
    assert commands > 2 * 4 + 4
    for number in range(commands):
        heap.log.clear()
        heap.latency = kernel.random.choice([1, 4, 300])
        heap.refuse = {number: kernel.random.choice([NO_SLOT, QUOTA, TOO_LARGE])}
        refusal = heap.refuse[number]
        found = await kernel.launch(kernel.random_policy(), **arguments(kernel, given), max_cycles=100_000)
        # A growth that was refused and then not needed is no error; its output is cut to its length all the same.
        if found["status"] == 0:
            assert number >= len(heap.log) or heap.log[number][0] == REALLOC
            for name in OUTPUTS:
                assert not found[name] or heap.live.pop(found[name])
        else:
            assert found["status"] == 16 + refusal, found
            assert not any(found[name] for name in OUTPUTS)
        assert not heap.live, f"command {number} refused"
        heap.refuse = {}
        heap.latency = 4
        await check(kernel, heap, case(kernel, pa.int32(), 300, 20))


@cocotb.test()
async def a_heap_that_is_full_ends_the_run(dut):
    """No slot, no more allocations, and texts that outgrow their slot, however the memory stalls."""
    kernel, heap = await create(dut, NAME)
    given = Texts(pa.array(np.arange(1500), pa.int64()), 1, 0, text=pa.array(["x" * 10] * 1500))
    for most in (0, 1, 3):
        heap.most = most
        found = await kernel.launch(kernel.random_policy(), **arguments(kernel, given), max_cycles=100_000)
        assert found["status"] == 16 + QUOTA and not heap.live
    heap.most = 1 << 30
    for slot_bytes in (STEP, 3 * STEP):
        heap.slot_bytes = slot_bytes
        found = await kernel.launch(kernel.random_policy(), **arguments(kernel, given), max_cycles=100_000)
        assert found["status"] == 16 + TOO_LARGE and not heap.live
        # What fills a slot to its last byte has all of it.
        rows = slot_bytes // 16
        fits = Texts(pa.array(np.arange(rows), pa.int64()), 1, 0, text=pa.array(["x" * 16] * rows))
        assert (await check(kernel, heap, fits))["match_bytes"] == slot_bytes


@cocotb.test()
async def errors_end_the_run(dut):
    """An error anywhere gives its status and a quiet bus, nothing stays allocated, and the next run is right."""
    kernel, heap = await create(dut, NAME)
    given = case(kernel, pa.int32(), 2000, 20, nulls=nullable(kernel))
    given.array = column(kernel, pa.int32(), 2000, True, special=False)
    args = arguments(kernel, given)
    reads = [given.values, given.validity, OFFSETS, TEXT, *([BITS] if nullable(kernel) else [])]
    errors = [(1, {"read_errors": [range(base + at, base + at + 1)]}) for base in reads for at in (0, 200)]
    for at in (0, 100, STEP):
        errors.append((2, {"write_errors": [range(slot + at, slot + at + 1) for slot in SLOTS]}))
    for status, where in errors:
        heap.latency = kernel.random.choice([1, 40])
        bad = Policy(
            latency=kernel.random.choice([2, 60]),
            stall_percent=kernel.random.choice([0, 40]),
            reorder=True,
            **where,
        )
        args = arguments(kernel, given)
        await nothing_left(kernel, heap, status, bad, **args)
