# SPDX-License-Identifier: Apache-2.0
"""Tests of kernel array_sum."""

import cocotb
import numpy as np
from axi_memory import Policy
from kernel_bench import Kernel

BASE = 0x1_0000
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
    for dtype, count in ((0, 16 * 1024), (1, 8 * 1024)):
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
    for count, dtype in ((10, 2), (1 << 60, 0), (10, 0x8000_0000)):
        found = await kernel.launch(values=BASE, count=count, dtype=dtype)
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
