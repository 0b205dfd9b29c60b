# SPDX-License-Identifier: Apache-2.0
"""Tests of kernel hashjoin: the pairs it writes against those of a dictionary."""

from collections import Counter, defaultdict

import cocotb
import numpy as np
from axi_memory import Policy
from kernel_bench import Kernel

BUILD, PROBE, HEADS, NODES, PAIRS = 0x1_0000, 0x3_0000, 0x5_0000, 0x8_0000, 0xC_0000
DTYPES = {0: np.int32, 1: np.int64}
MAX_CYCLES = 3_000_000
"""One lane that follows chains of a dozen nodes through a memory that stalls works for 400,000 cycles and more."""
GUARD = bytes(range(64))


def expected(build: np.ndarray, probe: np.ndarray) -> Counter:
    """All pairs {build row, probe row} with equal keys."""
    rows = defaultdict(list)
    for row, key in enumerate(build.tolist()):
        rows[key].append(row)
    return Counter((b, p) for p, key in enumerate(probe.tolist()) for b in rows[key])


async def check(
    kernel: Kernel,
    build: np.ndarray,
    probe: np.ndarray,
    bucket_bits: int = 6,
    capacity: int | None = None,
    offset: int = 0,
    policy: Policy | None = None,
    **more,
) -> dict:
    """One launch: count and pairs as expected, nothing written past them. Memory is full of garbage before."""
    memory = kernel.memory.data
    memory[HEADS:] = kernel.random.randbytes(len(memory) - HEADS)
    for place, keys in ((BUILD, build), (PROBE, probe)):
        memory[place + offset : place + offset + keys.nbytes] = keys.tobytes()
    wanted = expected(build, probe)
    total = wanted.total()
    room = total if capacity is None else capacity
    end = PAIRS + offset + 8 * min(room, total)
    memory[end : end + len(GUARD)] = GUARD
    found = await kernel.launch(
        policy,
        build=BUILD + offset,
        build_rows=len(build),
        probe=PROBE + offset,
        probe_rows=len(probe),
        dtype=int(build.itemsize == 8),
        heads=HEADS,
        bucket_bits=bucket_bits,
        nodes=NODES,
        pairs=PAIRS + offset,
        capacity=room,
        **{"max_cycles": MAX_CYCLES, **more},
    )
    assert (found["status"], found["match_count"]) == (0, total)
    pairs = np.frombuffer(memory, np.uint32, 2 * min(room, total), PAIRS + offset).reshape(-1, 2)
    got = Counter(map(tuple, pairs.tolist()))
    assert got == wanted if room >= total else got <= wanted
    assert memory[end : end + len(GUARD)] == GUARD
    return found


def keys(kernel: Kernel, dtype: int, count: int, distinct: int) -> np.ndarray:
    """Random keys over the whole range of the type, of which `distinct` differ."""
    info = np.iinfo(DTYPES[dtype])
    generator = np.random.default_rng(kernel.random.randrange(1 << 30))
    pool = generator.integers(info.min, info.max, distinct, DTYPES[dtype], endpoint=True)
    return generator.choice(pool, count) if count else np.zeros(0, DTYPES[dtype])


@cocotb.test()
async def sizes(dut):
    """No row, one, and row counts around a beat, on either side; int32 and int64; misaligned columns."""
    kernel = await Kernel.create(dut, "hashjoin")
    for dtype in DTYPES:
        for build_rows, probe_rows in ((0, 0), (0, 5), (5, 0), (1, 1), (15, 16), (16, 17), (33, 40)):
            for offset in (0, 8, 60):
                pool = keys(kernel, dtype, 40, 20)
                await check(kernel, pool[:build_rows], pool[:probe_rows][::-1].copy(), offset=offset)


@cocotb.test()
async def random_joins(dut):
    """Random tables: unique keys, repeated keys, few buckets and many, on a memory that stalls and reorders."""
    kernel = await Kernel.create(dut, "hashjoin")
    draw = kernel.random
    for _ in range(12):
        dtype = draw.randrange(2)
        pool = keys(kernel, dtype, 300, draw.choice([30, 300]))
        build, probe = pool[: draw.randrange(1, 200)], pool[draw.randrange(200) :]
        bits = draw.choice([4, 8, 12])
        await check(kernel, build, probe, bits, offset=4 * draw.randrange(16), policy=kernel.random_policy())


@cocotb.test()
async def one_key_for_all(dut):
    """Every row has the same key: insertions wait for each other, and every pair comes out once."""
    kernel = await Kernel.create(dut, "hashjoin")
    await check(kernel, np.full(40, -7, np.int32), np.full(30, -7, np.int32), policy=Policy(latency=30))


@cocotb.test()
async def matches_beyond_capacity_are_counted(dut):
    """Nothing is written past the capacity, the count is that of all matches."""
    kernel = await Kernel.create(dut, "hashjoin")
    pool = keys(kernel, 1, 100, 10)
    for capacity in (0, 1, 7, 8, 9, 100):
        await check(kernel, pool[:50], pool[50:], capacity=capacity)


@cocotb.test()
async def rows_are_worked_on_side_by_side(dut):
    """With a slow memory a probe that misses costs a read's latency divided by the lanes."""
    kernel = await Kernel.create(dut, "hashjoin")
    lanes = 2 ** (len(dut.m_axi_gmem_ARID) - 1)
    rows, latency = 400, 200
    found = await check(
        kernel,
        np.arange(1, dtype=np.int64),
        np.arange(1, rows + 1, dtype=np.int64),
        12,
        policy=Policy(latency),
    )
    assert found["probe_cycles"] <= rows * (latency + 6) / lanes + 3 * latency + 60
    assert found["build_cycles"] + found["probe_cycles"] < found["cycles"]


@cocotb.test()
async def bad_arguments_touch_nothing(dut):
    """Each argument out of range is status 3, without a single access."""
    kernel = await Kernel.create(dut, "hashjoin")
    good = {
        "build": BUILD,
        "build_rows": 4,
        "probe": PROBE,
        "probe_rows": 4,
        "dtype": 0,
        "heads": HEADS,
        "bucket_bits": 4,
        "nodes": NODES,
        "pairs": PAIRS,
        "capacity": 0,
    }
    for change in (
        {"dtype": 2},
        {"bucket_bits": 3},
        {"bucket_bits": 32},
        {"heads": HEADS + 4},
        {"nodes": NODES + 16},
    ):
        found = await kernel.launch(**{**good, **change})
        assert found["status"] == 3, change
        assert not kernel.memory.read_bursts and not kernel.memory.write_bursts
    await check(kernel, np.arange(9), np.arange(5))


@cocotb.test()
async def errors_end_the_run(dut):
    """An error in keys, table or output ends the run, leaves the bus quiet, and the next run is right."""
    kernel = await Kernel.create(dut, "hashjoin")
    everywhere = range(HEADS, HEADS + 4 * 64)
    for status, errors in (
        (1, {"read_errors": [range(BUILD + 256, BUILD + 257)]}),
        (1, {"read_errors": [range(PROBE + 256, PROBE + 257)]}),
        (1, {"read_errors": [everywhere]}),
        (1, {"read_errors": [range(NODES, NODES + 64)]}),
        (1, {"write_errors": [range(NODES, NODES + 64)]}),
        (2, {"write_errors": [everywhere]}),
        (2, {"write_errors": [range(PAIRS, PAIRS + 64)]}),
    ):
        pool = keys(kernel, 1, 200, 200)
        policy = Policy(
            latency=kernel.random.choice([2, 60]),
            stall_percent=kernel.random.choice([0, 40]),
            reorder=True,
            **errors,
        )
        for place, side in ((BUILD, pool), (PROBE, pool[::-1].copy())):
            kernel.memory.data[place : place + side.nbytes] = side.tobytes()
        found = await kernel.launch(
            policy,
            build=BUILD,
            build_rows=200,
            probe=PROBE,
            probe_rows=200,
            dtype=1,
            heads=HEADS,
            bucket_bits=6,
            nodes=NODES,
            pairs=PAIRS,
            capacity=1000,
            max_cycles=400_000,
        )
        assert found["status"] == status, errors
        await check(kernel, pool[:30], pool[20:60], policy=kernel.random_policy())
