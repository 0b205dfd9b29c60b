# SPDX-License-Identifier: Apache-2.0
"""Tests of the example kernel scale_add."""

import cocotb
import numpy as np
from axi_memory import Policy
from kernel_bench import Kernel

X, Y = 0x1_0000, 0x4_0000


async def check(kernel: Kernel, n: int, x_at: int = X, y_at: int = Y, policy=None, **more) -> dict:
    """One launch on random arrays against numpy; what is around y must stay."""
    generator = np.random.default_rng(kernel.random.randrange(1 << 30))
    x, y = (generator.integers(-(2**31), 2**31, n + 32, np.int32) for _ in range(2))
    scale = kernel.random.getrandbits(32)
    kernel.memory.data[x_at : x_at + x.nbytes] = x.tobytes()
    kernel.memory.data[y_at : y_at + y.nbytes] = y.tobytes()
    found = await kernel.launch(policy, x=x_at, y=y_at, n=n, scale=scale, **more)
    expected = y.copy()
    expected[:n] += x[:n] * np.uint32(scale).astype(np.int32)
    assert found["status"] == 0
    after = np.frombuffer(kernel.memory.data[y_at : y_at + y.nbytes], np.int32)
    assert (after == expected).all(), f"n = {n}"
    return found


@cocotb.test()
async def sizes_and_places(dut):
    """Sizes around beats and bursts; x and y at different places of their pages."""
    kernel = await Kernel.create(dut, "scale_add")
    for n in (0, 1, 15, 16, 17, 255, 256, 257, 1024, 1500):
        for x_offset, y_offset in ((0, 0), (64, 0), (4096 - 64, 1024)):
            await check(kernel, n, X + x_offset, Y + y_offset)


@cocotb.test()
async def random_memory(dut):
    """Stalls and reordering."""
    kernel = await Kernel.create(dut, "scale_add")
    for _ in range(15):
        await check(kernel, kernel.random.randrange(2000), policy=kernel.random_policy(), max_cycles=200_000)


@cocotb.test()
async def errors_end_the_run(dut):
    """Read and write errors give status 1; bad data is never written; the next run is right."""
    kernel = await Kernel.create(dut, "scale_add")
    for field, base in (("read_errors", X), ("read_errors", Y), ("write_errors", Y)):
        before = bytes(kernel.memory.data[Y : Y + 4000])
        bad = Policy(latency=9, reorder=True, **{field: [range(base, base + 1)]})
        kernel.memory.empty_beats = True
        found = await kernel.launch(bad, x=X, y=Y, n=1000, scale=3)
        kernel.memory.empty_beats = False
        assert found["status"] == 1
        assert bytes(kernel.memory.data[Y : Y + 64]) == before[:64]
        await check(kernel, 100)


@cocotb.test(expect_error=AssertionError)
async def it_is_not_independent(dut):
    """The data of its writes wait for what it reads, so its manifest does not say `independent`; the memory finds that out."""
    kernel = await Kernel.create(dut, "scale_add")
    assert not kernel.manifest.independent
    await check(kernel, 1000, policy=Policy(latency=30, withheld="answers"))
