# SPDX-License-Identifier: Apache-2.0
"""Tests of kernel array_sum."""

import cocotb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from axi_memory import Policy
from kernel_bench import Kernel

BASE, BITMAP = 0x1_0000, 0x8_0000
DTYPES = {0: np.int32, 1: np.int64}


async def check(kernel: Kernel, dtype: int, count: int, offset: int = 0, policy=None, **more) -> dict:
    """One launch on random data over the whole range of the type, against numpy's wrapping sum."""
    info = np.iinfo(DTYPES[dtype])
    generator = np.random.default_rng(kernel.random.randrange(1 << 30))
    values = generator.integers(info.min, info.max, count, DTYPES[dtype], endpoint=True)
    # What is around the array must not count.
    kernel.memory.data[BASE : BASE + values.nbytes + 256] = generator.bytes(values.nbytes + 256)
    kernel.memory.data[BASE + offset : BASE + offset + values.nbytes] = values.tobytes()
    found = await kernel.launch(policy, values=BASE + offset, count=count, dtype=dtype, **more)
    expected = int(values.astype(np.int64).sum(dtype=np.int64)) % 2**64
    assert (found["sum"], found["status"]) == (expected, 0), f"{count} of {DTYPES[dtype].__name__}"
    return found


@cocotb.test()
async def sizes_and_alignments(dut):
    """No element, one, and sizes around beats and pages, aligned and not."""
    kernel = await Kernel.create(dut, "array_sum")
    for dtype in DTYPES:
        for count in (0, 1, 2, 7, 8, 9, 15, 16, 17, 511, 512, 513, 1024, 1500):
            for offset in (0, 4, 8, 60, 3):
                await check(kernel, dtype, count, offset)


@cocotb.test()
async def random_arrays(dut):
    """Random sizes on a memory that stalls and reorders."""
    kernel = await Kernel.create(dut, "array_sum")
    for _ in range(30):
        await check(
            kernel,
            kernel.random.randrange(2),
            kernel.random.randrange(4000),
            4 * kernel.random.randrange(1000),
            kernel.random_policy(),
            max_cycles=100_000,
        )


async def check_nulls(kernel: Kernel, array: pa.Array, policy=None, **more) -> dict:
    """One launch on a slice of an Arrow array as it lies in memory, against pyarrow's sum of what is not null."""
    bitmap, values = array.buffers()
    kernel.memory.data[BASE : BASE + values.size] = values.to_pybytes()
    if bitmap is not None:
        kernel.memory.data[BITMAP : BITMAP + bitmap.size] = bitmap.to_pybytes()
    found = await kernel.launch(
        policy, values=BASE, count=len(array), dtype=int(array.type == pa.int64()), offset=array.offset,
        validity=BITMAP if bitmap is not None else 0, **more,
    )  # fmt: skip
    expected = (pc.sum(array.cast(pa.int64())).as_py() or 0) % 2**64
    assert (found["sum"], found["status"]) == (expected, 0), (
        f"{len(array)} of {array.type} from {array.offset}"
    )
    return found


def with_nulls(kernel: Kernel, count: int, dtype: int, share: float) -> pa.Array:
    """Random elements, so many of them null; what is in memory for a null is not 0."""
    generator = np.random.default_rng(kernel.random.randrange(1 << 30))
    values = generator.integers(-(1 << 31), 1 << 31, count).astype(DTYPES[dtype])
    return pa.array(values, mask=generator.random(count) < share)


@cocotb.test()
async def nulls_are_left_out_of_slices(dut):
    """Slices that begin and end inside a byte, a beat and a page of the bitmap, none null and all."""
    kernel = await Kernel.create(dut, "array_sum")
    for dtype in DTYPES:
        whole = with_nulls(kernel, 3000, dtype, 0.3)
        for start, count in (
            (0, 3000),
            (0, 0),
            (5, 0),
            (7, 1),
            (3, 8),
            (1, 16),
            (8, 17),
            (511, 513),
            (513, 1025),
            (2999, 1),
        ):
            await check_nulls(kernel, whole.slice(start, count))
        for share in (0, 1):
            await check_nulls(kernel, with_nulls(kernel, 700, dtype, share).slice(9))


@cocotb.test()
async def random_slices(dut):
    """Slices of random arrays on a memory that stalls and reorders."""
    kernel = await Kernel.create(dut, "array_sum")
    for _ in range(30):
        array = with_nulls(
            kernel, kernel.random.randrange(1, 4000), kernel.random.randrange(2), kernel.random.random()
        )
        start = kernel.random.randrange(len(array))
        await check_nulls(kernel, array.slice(start), kernel.random_policy(), max_cycles=100_000)


@cocotb.test()
async def nulls_cost_one_beat_in_33(dut):
    """Ideal memory: the bitmap's beats, and once the values' first burst, which the bus has before the bitmap's."""
    kernel = await Kernel.create(dut, "array_sum")
    found = await check_nulls(
        kernel, with_nulls(kernel, 1024 * kernel.memory.beat // 4, 0, 0.5), Policy(latency=4)
    )
    dut._log.warning(f"{found['cycles']} cycles for 1024 beats and their bitmap")
    assert found["cycles"] <= 1024 + 1024 // 32 + 4 + 45


@cocotb.test()
async def sums_wrap(dut):
    """The sum of the largest elements is taken modulo 2^64, that of the smallest int32 is negative."""
    kernel = await Kernel.create(dut, "array_sum")
    for values in (
        np.full(33, 2**63 - 1, np.int64),
        np.full(20, -(2**63), np.int64),
        np.full(40, -(2**31), np.int32),
    ):
        kernel.memory.data[BASE : BASE + values.nbytes] = values.tobytes()
        found = await kernel.launch(values=BASE, count=len(values), dtype=int(values.itemsize == 8))
        assert found["sum"] == sum(map(int, values)) % 2**64


@cocotb.test()
async def one_beat_a_cycle(dut):
    """Ideal memory: reads have no gap, whatever the latency."""
    kernel = await Kernel.create(dut, "array_sum")
    for dtype, element in ((0, 4), (1, 8)):
        count = 1024 * kernel.memory.beat // element
        for latency in (4, 250):
            found = await check(kernel, dtype, count, policy=Policy(latency=latency))
            cycles = kernel.memory.r_cycles
            assert cycles[-1] - cycles[0] == 1023
            dut._log.warning(f"latency {latency}: {found['cycles']} cycles for 1024 beats")
            assert found["cycles"] <= 1024 + latency + 20


@cocotb.test()
async def bad_arguments_touch_nothing(dut):
    """An unknown type or an impossible count is status 3, without a single access."""
    kernel = await Kernel.create(dut, "array_sum")
    for count, dtype, offset in ((10, 2, 0), (1 << 60, 0, 0), (10, 0x8000_0000, 0), (10, 1, 1 << 60)):
        found = await kernel.launch(values=BASE, validity=BITMAP, count=count, dtype=dtype, offset=offset)
        assert found["status"] == 3
        assert not kernel.memory.read_bursts


@cocotb.test()
async def errors_end_the_run(dut):
    """A read error anywhere is status 1, leaves the bus quiet, and the next run is right."""
    kernel = await Kernel.create(dut, "array_sum")
    for where in (0, 5000, 49_999):
        bad = Policy(
            latency=kernel.random.choice([2, 60]),
            reorder=True,
            stall_percent=kernel.random.choice([0, 40]),
            read_errors=[range(BASE + where, BASE + where + 1)],
        )
        found = await kernel.launch(bad, values=BASE, count=12_500, dtype=0)
        assert found["status"] == 1
        await check(kernel, 0, 700)
    bad = Policy(latency=30, read_errors=[range(BITMAP + 70, BITMAP + 71)])
    found = await kernel.launch(bad, values=BASE, validity=BITMAP, count=12_500, dtype=0)
    assert found["status"] == 1
    await check_nulls(kernel, with_nulls(kernel, 900, 1, 0.5))
