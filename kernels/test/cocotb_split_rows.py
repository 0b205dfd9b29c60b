# SPDX-License-Identifier: Apache-2.0
"""Tests of kernel split_rows, with pyarrow as the reference."""

from dataclasses import dataclass

import cocotb
import numpy as np
import pyarrow as pa
from axi_memory import Policy
from cocotb_split import GUARD, MATCHES, OPS, REST, TYPES, VALIDITY, VALUES, Case, column
from kernel_bench import Kernel

REST_VALIDITY = 0x7_0000


@dataclass
class Rows(Case):
    """One launch whose outputs are rows."""

    rest_validity: int = REST_VALIDITY

    def place(self, memory: bytearray) -> dict[str, int]:
        """As `Case.place`, with a place for the validity of rest."""
        return {**super().place(memory), "rest_validity": self.rest_validity}

    def outputs(self) -> dict[int, bytes]:
        """What has to be at the address of each output: values as they are in the column, also below NULLs, and bits."""
        bitmap, data = self.array.buffers()
        values = np.frombuffer(data, self.array.type.to_pandas_dtype())[self.array.offset :]
        matches, rest = self.expected()
        valid = self.array.is_valid().to_numpy(zero_copy_only=False)
        bits = np.packbits(valid[rest], bitorder="little") if bitmap is not None else np.zeros(0, np.uint8)
        return {
            self.matches: values[matches].tobytes(),
            self.rest: values[rest].tobytes(),
            self.rest_validity: bits.tobytes(),
        }

    def arrays(self, memory: bytearray) -> tuple[pa.Array, pa.Array]:
        """Both outputs as Arrow arrays on what is in memory."""
        count = len(self.expected()[0])
        rest = len(self.array) - count
        nullable = self.array.buffers()[0] is not None and rest

        def at(address: int, nbytes: int) -> pa.Buffer:
            return pa.py_buffer(bytes(memory[address : address + nbytes]))

        width = self.array.type.bit_width // 8
        bits = at(self.rest_validity, (rest + 7) // 8) if nullable else None
        return (
            pa.Array.from_buffers(self.array.type, count, [None, at(self.matches, count * width)]),
            pa.Array.from_buffers(self.array.type, rest, [bits, at(self.rest, rest * width)]),
        )


def same(found: pa.Array, wanted: pa.Array) -> bool:
    """Equal with NULLs in the same places; NaN is equal to NaN."""
    found_values, wanted_values = (
        a.to_numpy(zero_copy_only=False) for a in (found.drop_null(), wanted.drop_null())
    )
    return found.is_null().equals(wanted.is_null()) and np.array_equal(
        found_values, wanted_values, equal_nan=found_values.dtype.kind == "f"
    )


async def check(kernel: Kernel, case: Rows, policy=None, **more) -> dict:
    """One launch, checked against pyarrow: bytes of all outputs and around them, and the arrays on them."""
    memory = kernel.memory.data
    args = case.place(memory)
    wanted = case.outputs()
    before = {}
    for start, data in wanted.items():
        before[start] = kernel.random.randbytes(len(data) + 2 * GUARD)
        memory[start - GUARD : start + len(data) + GUARD] = before[start]
    found = await kernel.launch(policy, **args, **more)
    assert found["status"] == 0
    matches, rest = case.expected()
    assert found["match_count"] == len(matches), f"{found['match_count']} matches, not {len(matches)}"
    for start, data in wanted.items():
        around = before[start][:GUARD] + data + before[start][GUARD + len(data) :]
        assert bytes(memory[start - GUARD : start + len(data) + GUARD]) == around, (
            f"wrong bytes at {start:#x}"
        )
    for array, rows in zip(case.arrays(memory), (matches, rest), strict=True):
        array.validate(full=True)
        assert same(array, case.array.take(pa.array(rows)))
    return found


@cocotb.test()
async def all_types_and_operators(dut):
    """Each type with each operator, with and without NULLs."""
    kernel = await Kernel.create(dut, "split_rows")
    for dtype in TYPES:
        for op in range(len(OPS)):
            for nulls in (False, True):
                rows = kernel.random.randrange(1, 300)
                await check(
                    kernel, Rows(column(kernel, dtype, rows, nulls), op, kernel.random.randrange(-1, 2))
                )


@cocotb.test()
async def sizes(dut):
    """No row, one, and sizes around beats of values and of both bitmaps."""
    kernel = await Kernel.create(dut, "split_rows")
    for dtype in (pa.int32(), pa.float64()):
        for rows in (0, 1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 511, 512, 513, 1023, 1024, 1025, 3000):
            for nulls in (False, True):
                await check(kernel, Rows(column(kernel, dtype, rows, nulls), 0, 0))


@cocotb.test()
async def all_or_none_match(dut):
    """One output full and the other empty, both ways, a column of NULLs only, and a bitmap without a NULL."""
    kernel = await Kernel.create(dut, "split_rows")
    for rows in (1, 16, 160, 511, 512, 1024, 1500):
        array = pa.array(np.arange(rows), pa.int32())
        assert (await check(kernel, Rows(array, 1, 0)))["match_count"] == rows
        assert (await check(kernel, Rows(array, 2, 0)))["match_count"] == 0
        assert (await check(kernel, Rows(pa.array([None] * rows, pa.int64()), 5, 1)))["match_count"] == 0
        with_bitmap = pa.Array.from_buffers(
            pa.int32(), rows, [pa.py_buffer(b"\xff" * ((rows + 7) // 8)), array.buffers()[1]]
        )
        for op in (1, 2):
            await check(kernel, Rows(with_bitmap, op, 0))


@cocotb.test()
async def sliced_arrays(dut):
    """Slices at any element: bitmap and values begin anywhere, the outputs at their first bit and byte."""
    kernel = await Kernel.create(dut, "split_rows")
    for dtype in TYPES:
        array = column(kernel, dtype, 2500, True)
        for offset in [*range(9), 15, 16, 63, 64, 505, 511, 512, 1023]:
            rows = kernel.random.choice([1, 8, 16, 504, 505, 511, 512, 513, 1024, 1100])
            await check(kernel, Rows(array.slice(offset, rows), kernel.random.randrange(len(OPS)), 1))


@cocotb.test()
async def random_launches(dut):
    """Random columns, slices, buffer addresses and operators on a memory that stalls and reorders."""
    kernel = await Kernel.create(dut, "split_rows")
    for _ in range(40):
        dtype = kernel.random.choice(TYPES)
        width = dtype.bit_width // 8
        array = column(kernel, dtype, kernel.random.randrange(1, 6000), kernel.random.random() < 0.6)
        case = Rows(
            array.slice(kernel.random.randrange(len(array))),
            kernel.random.randrange(len(OPS)),
            kernel.random.randrange(-2, 3),
            MATCHES + kernel.random.randrange(4000),
            REST + kernel.random.randrange(4000),
            VALUES + width * kernel.random.randrange(100),
            VALIDITY + kernel.random.randrange(100),
            REST_VALIDITY + kernel.random.randrange(4000),
        )
        await check(kernel, case, kernel.random_policy(), max_cycles=200_000)


@cocotb.test()
async def one_beat_of_values_a_cycle(dut):
    """Ideal memory: a beat read and as many bytes written in a cycle; bitmaps only add their own beats."""
    kernel = await Kernel.create(dut, "split_rows")
    for dtype in (pa.int32(), pa.float64()):
        for nulls in (False, True):
            for threshold in (-100, 0, 100):
                rows = 64 * 1024 * 8 // dtype.bit_width
                case = Rows(column(kernel, dtype, rows, nulls, special=False), 0, threshold)
                found = await check(kernel, case, Policy(latency=20))
                beats = 1024
                bitmap = rows // 512 if nulls else 0
                assert len(kernel.memory.r_cycles) == beats + bitmap
                assert len(kernel.memory.w_cycles) <= beats + bitmap + 3
                dut._log.warning(
                    f"{dtype} nulls={nulls} > {threshold}: {found['cycles']} cycles for {beats} beats"
                )
                # The bound of split, and the bitmap is written, too.
                assert found["cycles"] <= beats + 2 * bitmap + 2 * 20 + 2 * 64 + 30


@cocotb.test()
async def bad_arguments_touch_nothing(dut):
    """Too many rows, unknown types and operators: status 3 without a single access."""
    kernel = await Kernel.create(dut, "split_rows")
    good = Rows(column(kernel, pa.int32(), 10, True), 0, 0).place(kernel.memory.data)
    for bad in ({"rows": 1 << 32}, {"dtype": 4}, {"op": 6}, {"op": 0x100}):
        found = await kernel.launch(**{**good, **bad})
        assert found["status"] == 3
        assert not kernel.memory.read_bursts and not kernel.memory.write_bursts


@cocotb.test()
async def errors_end_the_run(dut):
    """An error anywhere on any buffer gives its status and a quiet bus, and the next run is right."""
    kernel = await Kernel.create(dut, "split_rows")
    rows = 6000
    array = column(kernel, pa.int32(), rows, True)
    size = {VALUES: 4 * rows, VALIDITY: rows // 8, MATCHES: 4 * 1000, REST: 4 * 1000, REST_VALIDITY: 100}
    for base, status in ((VALUES, 1), (VALIDITY, 1), (MATCHES, 2), (REST, 2), (REST_VALIDITY, 2)):
        for where in (0, size[base] // 2, size[base] - 1):
            place = [range(base + where, base + where + 1)]
            bad = Policy(
                latency=kernel.random.choice([2, 60]),
                stall_percent=kernel.random.choice([0, 40]),
                reorder=True,
                **{"read_errors" if status == 1 else "write_errors": place},
            )
            args = Rows(array, 0, 0).place(kernel.memory.data)
            found = await kernel.launch(bad, **args, max_cycles=100_000)
            assert found["status"] == status, f"error at {base + where:#x}: {found}"
            await check(kernel, Rows(array.slice(3, 700), 2, 1))
