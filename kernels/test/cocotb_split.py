# SPDX-License-Identifier: Apache-2.0
"""Tests of kernel split, with pyarrow as the reference."""

from dataclasses import dataclass

import cocotb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from axi_memory import Policy
from kernel_bench import Kernel

VALUES, VALIDITY, MATCHES, REST = 0x1_0000, 0x6_0000, 0x8_0000, 0xC_0000
GUARD = 64
TYPES = [pa.int32(), pa.int64(), pa.float32(), pa.float64()]
OPS = [pc.greater, pc.greater_equal, pc.less, pc.less_equal, pc.equal, pc.not_equal]


@dataclass
class Case:
    """One launch: a column, possibly sliced, and a comparison."""

    array: pa.Array
    op: int
    constant: float
    matches: int = MATCHES
    rest: int = REST
    values: int = VALUES
    validity: int = VALIDITY

    def place(self, memory: bytearray) -> dict[str, int]:
        """Copies the buffers as they are, slice offset included, and returns the arguments."""
        bitmap, data = self.array.buffers()
        memory[self.values : self.values + data.size] = data.to_pybytes()
        if bitmap is not None:
            memory[self.validity : self.validity + bitmap.size] = bitmap.to_pybytes()
        scalar = np.array([self.constant], self.array.type.to_pandas_dtype())
        return {
            "values": self.values,
            "validity": self.validity if bitmap is not None else 0,
            "rows": len(self.array),
            "offset": self.array.offset,
            "dtype": TYPES.index(self.array.type),
            "op": self.op,
            "constant": int.from_bytes(scalar.tobytes(), "little"),
            "matches": self.matches,
            "rest": self.rest,
        }

    def expected(self) -> tuple[np.ndarray, np.ndarray]:
        """Row indices by pyarrow; NULL rows are rest."""
        mask = OPS[self.op](self.array, pa.scalar(self.constant, self.array.type)).fill_null(False)
        mask = mask.to_numpy(zero_copy_only=False).astype(bool)
        return np.flatnonzero(mask).astype(np.uint32), np.flatnonzero(~mask).astype(np.uint32)


def take(memory: bytearray, start: int, expected: np.ndarray, before: bytes, name: str) -> None:
    """Checks an output buffer and that nothing around it was written."""
    found = bytes(memory[start - GUARD : start + len(before) - GUARD])
    data = expected.tobytes()
    assert found[GUARD : GUARD + len(data)] == data, f"{name}: wrong indices"
    assert found[:GUARD] == before[:GUARD], f"{name}: written before the buffer"
    assert found[GUARD + len(data) :] == before[GUARD + len(data) :], f"{name}: written past the last index"


async def check(kernel: Kernel, case: Case, policy=None, **more) -> dict:
    """One launch, checked against pyarrow."""
    args = case.place(kernel.memory.data)
    size = 4 * len(case.array) + 2 * GUARD
    before = {}
    for start in (case.matches, case.rest):
        before[start] = kernel.random.randbytes(size)
        kernel.memory.data[start - GUARD : start - GUARD + size] = before[start]
    matches, rest = case.expected()
    found = await kernel.launch(policy, **args, **more)
    assert found["status"] == 0
    assert found["match_count"] == len(matches), f"{found['match_count']} matches, not {len(matches)}"
    take(kernel.memory.data, case.matches, matches, before[case.matches], "matches")
    take(kernel.memory.data, case.rest, rest, before[case.rest], "rest")
    return found


def column(kernel: Kernel, dtype: pa.DataType, rows: int, nulls: bool, special: bool = True) -> pa.Array:
    """Random column with many repeated values, NaN, infinities and both zeros, and NULLs."""
    generator = np.random.default_rng(kernel.random.randrange(1 << 30))
    kind = dtype.to_pandas_dtype()
    if pa.types.is_integer(dtype):
        info = np.iinfo(kind)
        values = generator.integers(-4, 5, rows).astype(kind)
        extremes = np.array([info.min, info.max, -1, 0, 1], kind)
    else:
        values = (generator.integers(-4, 5, rows) / 2).astype(kind)
        tiny = np.finfo(kind).smallest_subnormal
        extremes = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, tiny, -tiny], kind)
    if special and rows:
        places = generator.integers(0, rows, max(1, rows // 4))
        values[places] = extremes[generator.integers(0, len(extremes), len(places))]
    mask = generator.random(rows) < 0.3 if nulls else None
    return pa.array(values, dtype, mask=mask)


@cocotb.test()
async def all_types_and_operators(dut):
    """Each type with each operator, with and without NULLs; constants among them NaN and extremes."""
    kernel = await Kernel.create(dut, "split")
    for dtype in TYPES:
        integer = pa.types.is_integer(dtype)
        info = np.iinfo(dtype.to_pandas_dtype()) if integer else None
        constants = [0, -1, info.min, info.max] if integer else [0.0, -0.0, -0.5, float("nan"), float("-inf")]
        for op in range(6):
            for constant in constants:
                rows = kernel.random.randrange(1, 120)
                await check(
                    kernel, Case(column(kernel, dtype, rows, kernel.random.random() < 0.5), op, constant)
                )


@cocotb.test()
async def sizes(dut):
    """No row, one, and sizes around beats of values, of indices and of the bitmap."""
    kernel = await Kernel.create(dut, "split")
    for dtype in (pa.int32(), pa.float64()):
        for rows in (0, 1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 511, 512, 513, 1023, 1024, 1025, 3000):
            for nulls in (False, True):
                await check(kernel, Case(column(kernel, dtype, rows, nulls), 0, 0))


@cocotb.test()
async def all_or_none_match(dut):
    """One output full and the other empty, both ways, and a column of NULLs only."""
    kernel = await Kernel.create(dut, "split")
    for rows in (1, 16, 160, 1024, 1500):
        array = pa.array(np.arange(rows), pa.int32())
        assert (await check(kernel, Case(array, 1, 0)))["match_count"] == rows
        assert (await check(kernel, Case(array, 2, 0)))["match_count"] == 0
        nothing = pa.array([None] * rows, pa.int64())
        assert (await check(kernel, Case(nothing, 5, 1)))["match_count"] == 0


@cocotb.test()
async def sliced_arrays(dut):
    """Slices at any element: the bitmap begins at any bit, the values at any element, the indices at 0."""
    kernel = await Kernel.create(dut, "split")
    for dtype in TYPES:
        array = column(kernel, dtype, 2500, True)
        for offset in [*range(9), 15, 16, 63, 64, 505, 511, 512, 1023]:
            rows = kernel.random.choice([1, 8, 16, 504, 505, 511, 512, 513, 1024, 1100])
            await check(kernel, Case(array.slice(offset, rows), kernel.random.randrange(6), 1))


@cocotb.test()
async def random_launches(dut):
    """Random columns, slices, buffer addresses and operators on a memory that stalls and reorders."""
    kernel = await Kernel.create(dut, "split")
    for _ in range(40):
        dtype = kernel.random.choice(TYPES)
        array = column(kernel, dtype, kernel.random.randrange(1, 6000), kernel.random.random() < 0.6)
        offset = kernel.random.randrange(len(array))
        width = dtype.bit_width // 8
        case = Case(
            array.slice(offset),
            kernel.random.randrange(6),
            kernel.random.randrange(-2, 3),
            MATCHES + 4 * kernel.random.randrange(2000),
            REST + 4 * kernel.random.randrange(2000),
            VALUES + width * kernel.random.randrange(100),
            VALIDITY + kernel.random.randrange(100),
        )
        await check(kernel, case, kernel.random_policy(), max_cycles=200_000)


@cocotb.test()
async def one_beat_of_values_a_cycle(dut):
    """Ideal memory: 16 (64-bit types: 8) rows a cycle; a bitmap only adds its own beats of reading."""
    kernel = await Kernel.create(dut, "split")
    for dtype in (pa.int32(), pa.float64()):
        for nulls in (False, True):
            for threshold in (-100, 0, 100):
                rows = 64 * 1024 * 8 // dtype.bit_width
                case = Case(column(kernel, dtype, rows, nulls, special=False), 0, threshold)
                found = await check(kernel, case, Policy(latency=20))
                memory = kernel.memory
                beats = 1024
                bitmap = rows // 512 if nulls else 0
                assert len(memory.r_cycles) == beats + bitmap
                dut._log.warning(
                    f"{dtype} nulls={nulls} > {threshold}: {found['cycles']} cycles for {beats} beats"
                )
                # Both latencies, the last bursts of both outputs, which are stored first, and registers.
                assert found["cycles"] <= beats + bitmap + 2 * 20 + 2 * 64 + 30


@cocotb.test()
async def a_slow_bitmap_does_not_hold_up_values(dut):
    """While the bitmap's first burst waits, values are read until all their slots are full."""
    kernel = await Kernel.create(dut, "split")
    lower = 2 ** (len(dut.m_axi_gmem_ARID) - 1)
    slow = Policy(slow_ids=dict.fromkeys(range(lower, 2 * lower), 1500))
    await check(kernel, Case(column(kernel, pa.int32(), 16 * 1200, True), 0, 0), slow)
    cycles = kernel.memory.r_cycles
    assert cycles[1023] - cycles[0] == 1023


@cocotb.test()
async def bad_arguments_touch_nothing(dut):
    """Too many rows, unknown types and operators: status 3 without a single access."""
    kernel = await Kernel.create(dut, "split")
    good = Case(column(kernel, pa.int32(), 10, True), 0, 0).place(kernel.memory.data)
    for bad in ({"rows": 1 << 32}, {"dtype": 4}, {"op": 6}, {"op": 0x100}):
        found = await kernel.launch(**{**good, **bad})
        assert found["status"] == 3
        assert not kernel.memory.read_bursts and not kernel.memory.write_bursts


@cocotb.test()
async def errors_end_the_run(dut):
    """An error anywhere on any buffer gives its status and a quiet bus, and the next run is right."""
    kernel = await Kernel.create(dut, "split")
    rows = 6000
    array = column(kernel, pa.int32(), rows, True)
    size = {VALUES: 4 * rows, VALIDITY: rows // 8, MATCHES: 4 * 1000, REST: 4 * 1000}
    for base, status in ((VALUES, 1), (VALIDITY, 1), (MATCHES, 2), (REST, 2)):
        for where in (0, size[base] // 2, size[base] - 1):
            place = [range(base + where, base + where + 1)]
            bad = Policy(
                latency=kernel.random.choice([2, 60]),
                stall_percent=kernel.random.choice([0, 40]),
                reorder=True,
                **{"read_errors" if status == 1 else "write_errors": place},
            )
            args = Case(array, 0, 0).place(kernel.memory.data)
            found = await kernel.launch(bad, **args, max_cycles=100_000)
            assert found["status"] == status, f"error at {base + where:#x}: {found}"
            await check(kernel, Case(array.slice(3, 700), 2, 1))
