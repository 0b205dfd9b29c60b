# SPDX-License-Identifier: Apache-2.0
"""Tests of kernel split_malloc: outputs that it allocates, on a heap that is modelled here, with pyarrow as the reference."""

from __future__ import annotations

from dataclasses import dataclass, field

import cocotb
import numpy as np
import pyarrow as pa
from axi_memory import AxiMemory, Policy
from cocotb.triggers import RisingEdge
from cocotb_split import OPS, TYPES, Case, column
from cocotb_split_rows import Rows, same
from kernel_bench import Kernel

STEP = 4096
"""What the bench's kernel is given at once; 64 KiB by default."""
SLOTS = range(0x10_0000, 0x40_0000, 0x4_0000)
MALLOC, REALLOC, FREE = 0, 1, 2
SIZE_ZERO, TOO_LARGE, NO_SLOT, NOT_LIVE, QUOTA = 1, 2, 4, 7, 9
GRANULE = 5


@dataclass
class Heap:
    """The heap at the kernel's streams: answers after a while, refuses what it is told to."""

    kernel: Kernel
    latency: int = 4
    stall_percent: int = 0
    live: dict[int, int] = field(default_factory=dict)
    """Size by address."""
    log: list[tuple[int, int, int]] = field(default_factory=list)
    """op, address, size of every command."""
    refuse: dict[int, int] = field(default_factory=dict)
    """Answer of the n-th command, instead of what would hold."""
    slot_bytes: int = SLOTS.step
    most: int = 1 << 30
    """Allocations that there may be."""

    def answer(self, pointer: int, size: int, how: int) -> tuple[int, int]:
        """Address and status."""
        op = how & 3
        number = len(self.log)
        self.log.append((op, pointer, size))
        if op == MALLOC:
            assert how >> 2 == 1 | GRANULE << 2, f"how {how:#x}: writable, and the granule that was asked for"
        if number in self.refuse:
            return 0, self.refuse[number]
        if op == FREE:
            return (0, 0) if self.live.pop(pointer, 0) else (0, NOT_LIVE)
        if not size or size > self.slot_bytes:
            return 0, TOO_LARGE if size else SIZE_ZERO
        if op == REALLOC:
            if pointer not in self.live:
                return 0, NOT_LIVE
            self.live[pointer] = size
            return pointer, 0
        free = [slot for slot in SLOTS if slot not in self.live]
        if not free or len(self.live) >= self.most:
            return 0, QUOTA if free else NO_SLOT
        pointer = self.kernel.random.choice(free)
        self.live[pointer] = size
        return pointer, 0

    def holds(self, start: int, end: int) -> bool:
        """Whether bytes are all in one allocation."""
        return any(first <= start and end <= first + size for first, size in self.live.items())

    async def run(self) -> None:
        """Serves the streams for ever."""
        dut, random = self.kernel.dut, self.kernel.random
        held = None
        while True:
            await RisingEdge(dut.ap_clk)
            if not dut.ap_rst_n.value:
                continue
            offered = int(dut.heap_command_TDATA.value) if dut.heap_command_TVALID.value else None
            if held is not None:
                assert offered == held, "a command was changed or withdrawn before it was taken"
            held = offered
            if offered is not None and dut.heap_command_TREADY.value:
                dut.heap_command_TREADY.value = 0
                held = None
                words = [offered >> 64 * word & (1 << 64) - 1 for word in range(3)]
                for _ in range(self.latency):
                    await RisingEdge(dut.ap_clk)
                    assert not dut.heap_command_TVALID.value, "a command before the response"
                pointer, status = self.answer(*words)
                dut.heap_response_TDATA.value = status << 64 | pointer
                dut.heap_response_TVALID.value = 1
                await RisingEdge(dut.ap_clk)
                while not dut.heap_response_TREADY.value:
                    await RisingEdge(dut.ap_clk)
                dut.heap_response_TVALID.value = 0
                continue
            dut.heap_command_TREADY.value = int(random.randrange(100) >= self.stall_percent)


class Checked(AxiMemory):
    """A memory in which nothing is written that is not allocated at that moment."""

    heap: Heap | None = None

    def _write_data(self) -> None:
        if self._get("WVALID") and self._get("WREADY") and self.heap:
            burst = self._writes[0]
            first = burst.addr + burst.done * 64
            strobe = self._get("WSTRB")
            low, high = (strobe & -strobe).bit_length() - 1, strobe.bit_length()
            assert self.heap.holds(first + low, first + high), f"{first:#x}: written, and not allocated"
        super()._write_data()


async def create(dut, name: str = "split_malloc", **how) -> tuple[Kernel, Heap]:
    """A kernel with a heap."""
    for pin in ("heap_command_TREADY", "heap_response_TVALID", "heap_response_TDATA"):
        getattr(dut, pin).value = 0
    kernel = await Kernel.create(dut, name, 0x40_0000)
    kernel.memory.__class__ = Checked
    heap = Heap(kernel, **how)
    kernel.memory.heap = heap
    cocotb.start_soon(heap.run())
    return kernel, heap


def arguments(kernel: Kernel, case: Rows) -> dict[str, int]:
    """What the kernel is given: the input only."""
    args = case.place(kernel.memory.data)
    for name in ("matches", "rest", "rest_validity"):
        del args[name]
    return {**args, "granule": GRANULE}


async def check(kernel: Kernel, heap: Heap, case: Rows, policy=None, **more) -> dict:
    """One launch: the arrays, the allocations behind them, and nothing else."""
    before = dict(heap.live)
    heap.log.clear()
    found = await kernel.launch(policy, **arguments(kernel, case), **more)
    assert found["status"] == 0, found
    matches, rest = case.expected()
    assert found["match_count"] == len(matches)
    case.matches, case.rest, case.rest_validity = (
        found[name] for name in ("matches", "rest", "rest_validity")
    )
    # An output without bytes has address 0.
    data = {where: held for where, held in case.outputs().items() if held}
    for where, held in data.items():
        assert bytes(kernel.memory.data[where : where + len(held)]) == held, f"wrong bytes at {where:#x}"
    assert {k: v for k, v in heap.live.items() if k not in before} == {w: len(h) for w, h in data.items()}
    for array, rows in zip(case.arrays(kernel.memory.data), (matches, rest), strict=True):
        array.validate(full=True)
        assert same(array, case.array.take(pa.array(rows)))
    growths = [size for op, _, size in heap.log if op == REALLOC and size % STEP == 0]
    assert found["grown"] <= len(growths)
    # Its caller frees it.
    for where in data:
        del heap.live[where]
    assert heap.live == before
    return found


@cocotb.test()
async def all_types_and_operators(dut):
    """Each type with each operator, with and without NULLs."""
    kernel, heap = await create(dut)
    for dtype in TYPES:
        for op in range(len(OPS)):
            for nulls in (False, True):
                rows = kernel.random.randrange(1, 300)
                array = column(kernel, dtype, rows, nulls)
                await check(kernel, heap, Rows(array, op, kernel.random.randrange(-1, 2)))


@cocotb.test()
async def sizes(dut):
    """No row, one, and sizes around beats and around what the heap gives at once."""
    kernel, heap = await create(dut)
    step = STEP // 8
    for rows in (
        0,
        1,
        7,
        8,
        9,
        511,
        512,
        513,
        step - 1,
        step + 1,
        2 * step - 8,
        2 * step,
        2 * step + 1,
        3000,
    ):
        for nulls in (False, True):
            await check(kernel, heap, Rows(column(kernel, pa.float64(), rows, nulls), 0, 0))
        array = pa.array(np.arange(rows), pa.int64())
        assert (await check(kernel, heap, Rows(array, 1, 0)))["match_count"] == rows
        assert (await check(kernel, heap, Rows(array, 2, 0)))["match_count"] == 0


@cocotb.test()
async def random_launches(dut):
    """Random columns and slices, a memory that stalls and reorders, a heap that answers soon or late."""
    kernel, heap = await create(dut)
    for _ in range(40):
        dtype = kernel.random.choice(TYPES)
        array = column(kernel, dtype, kernel.random.randrange(1, 9000), kernel.random.random() < 0.6)
        heap.latency = kernel.random.choice([1, 4, 60, 900])
        heap.stall_percent = kernel.random.choice([0, 50, 95])
        case = Rows(
            array.slice(kernel.random.randrange(len(array))),
            kernel.random.randrange(len(OPS)),
            kernel.random.randrange(-2, 3),
        )
        await check(kernel, heap, case, kernel.random_policy(), max_cycles=300_000)


@cocotb.test()
async def growing_stops_nobody(dut):
    """Ideal memory: a beat read and as many bytes written in a cycle, as if the outputs had been there, by a heap as quick as the card's."""
    kernel, heap = await create(dut, latency=8)
    for dtype in (pa.int32(), pa.float64()):
        for nulls in (False, True):
            for threshold in (-100, 0, 100):
                rows = 64 * 1024 * 8 // dtype.bit_width
                case = Rows(column(kernel, dtype, rows, nulls, special=False), 0, threshold)
                found = await check(kernel, heap, case, Policy(latency=20))
                beats, bitmap = 1024, rows // 512 if nulls else 0
                dut._log.warning(
                    f"{dtype} nulls={nulls} > {threshold}: {found['cycles']} cycles for {beats} beats"
                )
                assert found["cycles"] <= beats + 2 * bitmap + 2 * 20 + 2 * 64 + 30
                most = 65536 // STEP
                assert most - 2 <= found["grown"] <= most + 2


@cocotb.test()
async def bad_arguments_touch_nothing(dut):
    """Too many rows, unknown types, operators and granules: status 3 without a single access or command."""
    kernel, heap = await create(dut)
    good = arguments(kernel, Rows(column(kernel, pa.int32(), 10, True), 0, 0))
    for bad in ({"rows": 1 << 32}, {"dtype": 4}, {"op": 6}, {"granule": 16}):
        found = await kernel.launch(**{**good, **bad})
        assert found["status"] == 3 and not heap.log
        assert not kernel.memory.read_bursts and not kernel.memory.write_bursts


@cocotb.test()
async def a_refusal_ends_the_run_and_leaves_nothing(dut):
    """Whichever command is refused: its status, everything freed, a quiet bus, and the next run is right."""
    kernel, heap = await create(dut)
    array = column(kernel, pa.int64(), 4000, True)
    case = Rows(array, 0, 0)
    await check(kernel, heap, case)
    commands = len(heap.log)
    assert commands > 3 + 3 + 6
    for number in range(commands):
        heap.log.clear()
        heap.latency = kernel.random.choice([1, 4, 300])
        heap.refuse = {number: kernel.random.choice([NO_SLOT, QUOTA, TOO_LARGE])}
        found = await kernel.launch(kernel.random_policy(), **arguments(kernel, case), max_cycles=100_000)
        # A growth that was refused and then not needed is no error; its output is cut to its length all the same.
        if found["status"] == 0:
            assert number >= len(heap.log) or heap.log[number][0] == REALLOC
            for name in ("matches", "rest", "rest_validity"):
                assert heap.live.pop(found[name])
        else:
            assert found["status"] == 16 + heap.refuse[number], found
            assert found["matches"] == found["rest"] == found["rest_validity"] == 0
        assert not heap.live, f"command {number} refused"
        heap.refuse = {}
        heap.latency = 4
        await check(kernel, heap, Rows(array.slice(3, 700), 2, 1))


@cocotb.test()
async def a_heap_that_is_full_ends_the_run(dut):
    """No slot, no more allocations, and an output that outgrows its slot, however the memory stalls."""
    kernel, heap = await create(dut)
    array = pa.array(np.arange(3000), pa.int64())
    case = Rows(array, 1, 0)
    for most in (0, 1):
        heap.most = most
        found = await kernel.launch(kernel.random_policy(), **arguments(kernel, case), max_cycles=100_000)
        assert found["status"] == 16 + QUOTA and not heap.live
    heap.most = 1 << 30
    for slot_bytes in (STEP, 3 * STEP):
        heap.slot_bytes = slot_bytes
        found = await kernel.launch(kernel.random_policy(), **arguments(kernel, case), max_cycles=100_000)
        assert found["status"] == 16 + TOO_LARGE and not heap.live
        # What fills a slot to its last byte has all of it.
        fits = Rows(array.slice(0, slot_bytes // 8), 1, 0)
        assert (await check(kernel, heap, fits))["match_count"] == slot_bytes // 8


@cocotb.test()
async def errors_end_the_run(dut):
    """An error anywhere gives its status and a quiet bus, nothing stays allocated, and the next run is right."""
    kernel, heap = await create(dut)
    rows = 6000
    array = column(kernel, pa.int32(), rows, True)
    place = Case.place.__get__(Rows(array, 0, 0))(kernel.memory.data)
    size = {place["values"]: 4 * rows, place["validity"]: rows // 8}
    for base, length in size.items():
        for where in (0, length // 2, length - 1):
            await broken(kernel, heap, array, 1, read_errors=[range(base + where, base + where + 1)])
    for offset in (0, 100, STEP, 2 * STEP + 1):
        places = [range(slot + offset, slot + offset + 1) for slot in SLOTS]
        await broken(kernel, heap, array, 2, write_errors=places)


async def broken(kernel: Kernel, heap: Heap, array: pa.Array, status: int, **errors) -> None:
    """A run on a memory with errors, and one without."""
    heap.latency = kernel.random.choice([1, 40])
    bad = Policy(
        latency=kernel.random.choice([2, 60]),
        stall_percent=kernel.random.choice([0, 40]),
        reorder=True,
        **errors,
    )
    found = await kernel.launch(bad, **arguments(kernel, Rows(array, 0, 0)), max_cycles=100_000)
    assert found["status"] == status, found
    assert not heap.live
    await check(kernel, heap, Rows(array.slice(3, 700), 2, 1))
