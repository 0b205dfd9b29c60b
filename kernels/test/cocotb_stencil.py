# SPDX-License-Identifier: Apache-2.0
"""Tests of kernel stencil."""

import cocotb
import numpy as np
from axi_memory import Policy
from kernel_bench import Kernel

from godwit.run.stencil import reference

A, B = 0x1_0000, 0x8_0000
GUARD = 256


def put(kernel: Kernel, start: int, data: np.ndarray) -> None:
    """Places an array in memory."""
    kernel.memory.data[start : start + data.nbytes] = data.tobytes()


async def apply(
    kernel: Kernel,
    width: int,
    height: int,
    points: int = 9,
    iterations: int = 1,
    policy=None,
    *,
    pitch: int | None = None,
    a: int = A,
    b: int = B,
    **more,
) -> dict:
    """One launch on a random picture against numpy; what lies around both buffers and behind the rows stays."""
    pitch = pitch or max(-(-width // 64) * 64, 128)
    generator = np.random.default_rng(kernel.random.randrange(1 << 30))
    rows = generator.integers(0, 256, (height, pitch), np.uint8)
    around = generator.bytes(rows.nbytes + 2 * GUARD)
    for start in (a, b):
        kernel.memory.data[start - GUARD : start + rows.nbytes + GUARD] = around
    put(kernel, a, rows)
    sizes = {"width": width, "height": height, "pitch": pitch, "points": points, "iterations": iterations}
    found = await kernel.launch(policy, a=a, b=b, **sizes, **more)
    assert found["status"] == 0
    wanted = rows.copy()
    wanted[:, :width] = reference(rows[:, :width], points, iterations)
    at = (a, b)[iterations % 2]
    got = np.frombuffer(bytes(kernel.memory.data[at : at + rows.nbytes]), np.uint8).reshape(rows.shape)
    different = np.argwhere(got != wanted)
    assert not len(different), f"{sizes}: row, column {different[0]} of {len(different)} that differ"
    for start in (a, b):
        end = start + rows.nbytes
        assert kernel.memory.data[start - GUARD : start] == around[:GUARD]
        assert kernel.memory.data[end : end + GUARD] == around[-GUARD:]
    return found


@cocotb.test()
async def sizes(dut):
    """Widths around a beat, rows of two beats and more, one row, two and more; both stencils."""
    kernel = await Kernel.create(dut, "stencil")
    for points in (5, 9):
        for width in (1, 2, 3, 63, 64, 65, 128, 129, 200):
            for height in (1, 2, 3, 5):
                await apply(kernel, width, height, points)
    await apply(kernel, 16_384, 3)
    await apply(kernel, 65, 5, pitch=512)
    await apply(kernel, 100, 9, iterations=0)


@cocotb.test()
async def random_pictures(dut):
    """Random sizes, alignments and iterations on a memory that stalls and reorders."""
    kernel = await Kernel.create(dut, "stencil")
    for _ in range(16):
        width = kernel.random.randrange(1, 400)
        await apply(
            kernel,
            width,
            kernel.random.randrange(1, 30),
            kernel.random.choice([5, 9]),
            kernel.random.choice([1, 2, 3, 6]),
            kernel.random_policy(),
            pitch=kernel.random.choice([None, 448, 1024]),
            a=A + kernel.random.randrange(4096),
            b=B + kernel.random.randrange(4096),
            max_cycles=200_000,
        )


@cocotb.test()
async def extremes(dut):
    """Black and white points side by side reach the ends of every sum."""
    kernel = await Kernel.create(dut, "stencil")
    for points in (5, 9):
        for picture in (
            np.full((5, 128), 255, np.uint8),
            np.zeros((5, 128), np.uint8),
            (np.indices((5, 128)).sum(0) % 2 * 255).astype(np.uint8),
        ):
            put(kernel, A, picture)
            sizes = {"width": 128, "height": 5, "pitch": 128, "points": points, "iterations": 1}
            found = await kernel.launch(a=A, b=B, **sizes)
            assert found["status"] == 0
            got = np.frombuffer(bytes(kernel.memory.data[B : B + picture.nbytes]), np.uint8)
            assert (got.reshape(picture.shape) == reference(picture, points, 1)).all()


@cocotb.test()
async def one_beat_a_cycle(dut):
    """Ideal memory: reads have no gap, each beat is read once; an iteration costs its beats, a row and two latencies."""
    kernel = await Kernel.create(dut, "stencil")
    row_beats, height = 8, 16
    beats = row_beats * height
    for latency in (4, 71, 250):
        cycles = []
        for iterations in (1, 2, 4):
            found = await apply(
                kernel, 512, height, iterations=iterations, policy=Policy(latency=latency), max_cycles=50_000
            )
            cycles.append(found["cycles"])
            memory = kernel.memory
            assert len(memory.r_cycles) == len(memory.w_cycles) == iterations * beats
            assert all(burst[2] == 64 for burst in (*memory.read_bursts, *memory.write_bursts))
            if iterations == 1:
                assert memory.r_cycles[-1] - memory.r_cycles[0] == beats - 1
        dut._log.warning(f"latency {latency}: {cycles} cycles for {beats} beats, 1, 2 and 4 iterations")
        assert cycles[2] - cycles[1] == 2 * (cycles[1] - cycles[0])
        assert cycles[1] - cycles[0] <= beats + row_beats + 2 * latency + 64 + 20


@cocotb.test()
async def bad_arguments(dut):
    """What cannot be served is refused before any access, and the next run works."""
    kernel = await Kernel.create(dut, "stencil")
    good = {"width": 100, "height": 4, "pitch": 128, "points": 9, "iterations": 2}
    for bad in (
        {"width": 0},
        {"width": 129},
        {"height": 0},
        {"pitch": 64, "width": 60},
        {"pitch": 130},
        {"pitch": 16_448},
        {"pitch": 1 << 31},
        {"points": 0},
        {"points": 7},
        {"points": 13},
    ):
        found = await kernel.launch(a=A, b=B, **{**good, **bad})
        assert found["status"] == 3, f"{bad}: {found}"
        assert not kernel.memory.read_bursts
        assert not kernel.memory.write_bursts
    await apply(kernel, 100, 4)


@cocotb.test()
async def errors_end_the_run(dut):
    """A read or write error in any iteration gives its status, leaves the bus quiet, and the next run works."""
    kernel = await Kernel.create(dut, "stencil")
    size = 192 * 100
    for policy, status in (("read_errors", 1), ("write_errors", 2)):
        for base in (A, B):
            for where in (0, 4096, size - 1):
                bad = Policy(
                    latency=kernel.random.choice([2, 50]),
                    reorder=True,
                    stall_percent=kernel.random.choice([0, 30]),
                    **{policy: [range(base + where, base + where + 1)]},
                )
                sizes = {"width": 150, "height": 100, "pitch": 192, "points": 9, "iterations": 3}
                found = await kernel.launch(bad, a=A, b=B, **sizes)
                assert found["status"] == status, f"{policy} at {where}: {found}"
        await apply(kernel, 150, 20, iterations=3)
