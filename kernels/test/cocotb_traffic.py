# SPDX-License-Identifier: Apache-2.0
"""Tests of kernel traffic: addresses, data and figures against the plan's reference."""

from dataclasses import replace

import cocotb
import numpy as np
from axi_memory import Policy
from kernel_bench import Kernel

from godwit.run.traffic import Plan, chain

BASE = 0x1_0000
SIZE = 0x8_0000


def ids_of(kernel: Kernel) -> int:
    """AXI IDs of the port under test."""
    return 2 ** len(kernel.dut.m_axi_gmem_ARID)


def fill(kernel: Kernel, base: int) -> np.ndarray:
    """Random memory from `base` on; a view of it as 64-bit words."""
    kernel.memory.data[base : base + SIZE] = kernel.random.randbytes(SIZE)
    return np.frombuffer(kernel.memory.data, np.uint64, SIZE // 8, base)


async def check(kernel: Kernel, plan: Plan, policy=None, base: int = BASE, words=None, **more) -> dict:
    """One launch: every burst where the reference has it, in order; checksum, memory afterwards, limits kept."""
    words = fill(kernel, base) if words is None else words
    before = words.copy()
    found = await kernel.launch(policy, **plan.args(base), **more)
    assert found["status"] == 0
    offsets, writes = plan.accesses(before)
    for bursts, wanted in (
        (kernel.memory.read_bursts, offsets[~writes]),
        (kernel.memory.write_bursts, offsets[writes]),
    ):
        assert [address - base for _, address, _ in bursts] == wanted.tolist()
        assert all(beats == plan.beats for _, _, beats in bursts)
        assert [number for number, _, _ in bursts] == [i % plan.ids for i in range(len(bursts))]
    assert max(kernel.memory.max_reads, kernel.memory.max_writes) <= plan.outstanding + 1
    after = before.copy()
    for offset in offsets[writes].tolist():
        after[offset // 8 : offset // 8 + 8 * plan.beats] = plan.written(offset)
    assert np.array_equal(words, after)
    assert found["reads"] == np.count_nonzero(~writes)
    if not writes.any():
        assert found["checksum"] == plan.checksum(before)
    return found


@cocotb.test()
async def patterns_and_sizes(dut):
    """Linear and strided, random, and reads, writes and both, with bursts of 1 to 64 beats."""
    kernel = await Kernel.create(dut, "traffic")
    for pattern in ("linear", "random"):
        for beats in (1, 2, 3, 33, 64):
            for writes in (0, 128, 256):
                await check(
                    kernel, Plan(37, 64 * beats, 50, pattern, beats, writes, ids_of(kernel), seed=beats)
                )
    await check(kernel, Plan(100, 4096, 130, "linear", ids=1), None)
    await check(kernel, Plan(5, 0, 9, "linear", ids=1))
    await check(kernel, Plan(5, 64, 0, "random", ids=1))


@cocotb.test()
async def random_plans(dut):
    """Random plans on a memory that stalls and reorders."""
    kernel = await Kernel.create(dut, "traffic")
    draw = kernel.random
    for _ in range(25):
        positions = draw.randrange(1, 300)
        plan = Plan(
            positions,
            64 * draw.randrange(SIZE // 64 // positions - 64 // positions),
            draw.randrange(200),
            draw.choice(["linear", "random"]),
            draw.choice([1, 1, 4, draw.randrange(1, 65)]),
            draw.choice([0, 0, 30, 256]),
            draw.randrange(1, ids_of(kernel) + 1),
            draw.choice([1, 2, 16, 64]),
            draw.randrange(1 << 40),
        )
        base = BASE + 4096 * draw.randrange(4)
        await check(kernel, plan, kernel.random_policy(), base, max_cycles=200_000)


@cocotb.test()
async def pointer_chase(dut):
    """A cycle through all positions is followed, one read in flight, with any burst length."""
    kernel = await Kernel.create(dut, "traffic")
    for beats, latency in ((1, 4), (5, 60)):
        words = fill(kernel, BASE)
        chain(words, 40, 4096, beats)
        plan = Plan(40, 4096, 100, "chase", beats, ids=ids_of(kernel))
        found = await check(kernel, plan, Policy(latency=latency), words=words)
        assert kernel.memory.max_reads == 1
        assert found["latency_sum"] == 100 * found["latency_max"]


@cocotb.test()
async def one_burst_a_cycle(dut):
    """Ideal memory: single beats go out one a cycle, reads and writes, and the figures count what happened."""
    kernel = await Kernel.create(dut, "traffic")
    plan = Plan(64, 4096, 500, "random", ids=ids_of(kernel))
    for latency in (4, 40):
        found = await check(kernel, plan, Policy(latency=latency))
        cycles = kernel.memory.r_cycles
        assert cycles[-1] - cycles[0] == plan.count - 1
        assert found["latency_max"] * plan.count == found["latency_sum"]
        # The memory model takes an address one cycle after it is offered and answers so many later.
        assert found["latency_max"] == latency + 1
        assert plan.count < found["run_cycles"] < found["cycles"] <= plan.count + latency + 16
    await check(kernel, replace(plan, writes=256))
    assert kernel.memory.w_cycles[-1] - kernel.memory.w_cycles[0] == plan.count - 1


@cocotb.test()
async def latency_of_the_slowest(dut):
    """The maximum is that of the slow ID, whose bursts the others pass."""
    kernel = await Kernel.create(dut, "traffic")
    ids = ids_of(kernel)
    plan = Plan(64, 4096, ids, ids=ids)
    found = await check(kernel, plan, Policy(latency=10, slow_ids={ids - 1: 300}))
    assert found["latency_max"] == 301
    assert found["latency_sum"] == 301 + 11 * (ids - 1)


@cocotb.test()
async def bad_arguments_touch_nothing(dut):
    """Each argument out of range is status 3, without a single access."""
    kernel = await Kernel.create(dut, "traffic")
    good = Plan(10, 64, 10, ids=1).args(BASE)
    for change in (
        {"base": BASE + 64},
        {"stride": 32},
        {"positions": 0},
        {"pattern": 3},
        {"beats": 0},
        {"beats": 65},
        {"writes": 257},
        {"writes": 1, "pattern": 2},
        {"ids": 0},
        {"ids": ids_of(kernel) + 1},
        {"outstanding": 0},
        {"outstanding": 65},
        {"seed": 0},
    ):
        found = await kernel.launch(**{**good, **change})
        assert found["status"] == 3, change
        assert not kernel.memory.read_bursts and not kernel.memory.write_bursts
    await check(kernel, Plan(10, 64, 10, ids=1))


@cocotb.test()
async def errors_end_the_run(dut):
    """An error anywhere ends the run with its status, leaves the bus quiet, and the next run is right."""
    kernel = await Kernel.create(dut, "traffic")
    for writes, status in ((0, 1), (256, 2), (100, 1), (100, 2)):
        for beats in (1, 9):
            place = [range(BASE + 20 * 640, BASE + 20 * 640 + 64)]
            bad = Policy(
                latency=kernel.random.choice([2, 60]),
                stall_percent=kernel.random.choice([0, 40]),
                reorder=True,
                **{"read_errors" if status == 1 else "write_errors": place},
            )
            plan = Plan(40, 640, 5000, "random", beats, writes, ids=ids_of(kernel))
            found = await kernel.launch(bad, max_cycles=100_000, **plan.args(BASE))
            assert found["status"] == status
            await check(kernel, Plan(40, 640, 60, "random", beats, 90, ids=ids_of(kernel)))
