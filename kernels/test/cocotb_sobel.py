# SPDX-License-Identifier: Apache-2.0
"""Tests of kernel sobel."""

import cocotb
import numpy as np
from axi_memory import Policy
from kernel_bench import Kernel

from godwit.run.sobel import reference

SRC, DST = 0x1_0000, 0x8_0000
GUARD = 256


async def apply(
    kernel: Kernel, picture: np.ndarray, policy=None, *, late: int = 0, src: int = SRC, dst: int = DST, **more
) -> dict:
    """One launch against numpy; what lies around the result stays."""
    height, width = picture.shape
    around = bytes(kernel.random.randrange(256) for _ in range(GUARD))
    end = dst + picture.size
    kernel.memory.data[dst - GUARD : dst] = kernel.memory.data[end : end + GUARD] = around
    kernel.memory.data[src : src + picture.size] = picture.tobytes()
    found = await kernel.launch(policy, src=src, dst=dst, width=width, height=height, late=late, **more)
    assert found["status"] == 0
    got = np.frombuffer(bytes(kernel.memory.data[dst:end]), np.uint8).reshape(picture.shape)
    different = np.argwhere(got != reference(picture))
    assert not len(different), f"{picture.shape}: row, column {different[0]} of {len(different)} that differ"
    assert kernel.memory.data[dst - GUARD : dst] == around
    assert kernel.memory.data[end : end + GUARD] == around
    return found


def picture_of(kernel: Kernel, height: int, width: int) -> np.ndarray:
    """Points at random."""
    return np.random.default_rng(kernel.random.randrange(1 << 30)).integers(0, 256, (height, width), np.uint8)


@cocotb.test()
async def sizes(dut):
    """Rows of one point, of two and three, and around a beat; one row, two and more; both ways to access memory."""
    kernel = await Kernel.create(dut, "sobel")
    for late in (0, 1):
        for width in (1, 2, 3, 4, 63, 64, 65, 130):
            for height in (1, 2, 3, 6):
                await apply(kernel, picture_of(kernel, height, width), late=late)
        await apply(kernel, picture_of(kernel, 4, 4096), late=late, max_cycles=40_000)


@cocotb.test()
async def random_pictures(dut):
    """Random sizes and alignments on a memory that stalls and reorders."""
    kernel = await Kernel.create(dut, "sobel")
    for turn in range(20):
        picture = picture_of(kernel, kernel.random.randrange(1, 30), kernel.random.randrange(1, 300))
        places = {"src": SRC + kernel.random.randrange(4096), "dst": DST + kernel.random.randrange(4096)}
        await apply(kernel, picture, kernel.random_policy(), late=turn % 2, **places, max_cycles=200_000)


@cocotb.test()
async def extremes(dut):
    """Black beside white reaches the end of the sum, in both directions."""
    kernel = await Kernel.create(dut, "sobel")
    rows, columns = np.indices((8, 70))
    for pattern in (
        columns > 30,
        columns < 30,
        rows > 3,
        rows < 3,
        (rows + columns) % 2,
        rows > columns,
        rows * 0 + 1,
    ):
        await apply(kernel, (pattern * 255).astype(np.uint8))


@cocotb.test()
async def a_byte_a_cycle(dut):
    """Ideal memory: a picture costs its points, a row and two latencies, early and late; bursts are of a page, or of a beat."""
    kernel = await Kernel.create(dut, "sobel")
    width, height = 256, 48
    points = width * height
    for latency in (4, 71, 200):
        for late in (0, 1):
            picture = picture_of(kernel, height, width)
            found = await apply(kernel, picture, Policy(latency=latency), late=late, max_cycles=50_000)
            dut._log.warning(f"latency {latency}, late {late}: {found['cycles']} cycles for {points} points")
            assert found["cycles"] <= points + width + 2 * latency + 64 + 100
            lengths = {burst[2] for burst in (*kernel.memory.read_bursts, *kernel.memory.write_bursts)}
            assert lengths == ({1} if late else {64})


@cocotb.test()
async def bad_arguments(dut):
    """What cannot be served is refused before any access, and the next run works."""
    kernel = await Kernel.create(dut, "sobel")
    for bad in (
        {"width": 0},
        {"width": 4097},
        {"width": 1 << 31},
        {"height": 0},
        {"late": 2},
        {"late": 1 << 31},
    ):
        found = await kernel.launch(src=SRC, dst=DST, **{"width": 100, "height": 4, "late": 0, **bad})
        assert found["status"] == 3, f"{bad}: {found}"
        assert not kernel.memory.read_bursts
        assert not kernel.memory.write_bursts
    await apply(kernel, picture_of(kernel, 4, 100))


@cocotb.test()
async def errors_end_the_run(dut):
    """A read or write error anywhere gives its status, leaves the bus quiet, and the next run works."""
    kernel = await Kernel.create(dut, "sobel")
    size = 150 * 100
    for policy, base, status in (("read_errors", SRC, 1), ("write_errors", DST, 2)):
        for late in (0, 1):
            for where in (0, 4096, size - 1):
                bad = Policy(
                    latency=kernel.random.choice([2, 50]),
                    reorder=True,
                    stall_percent=kernel.random.choice([0, 30]),
                    **{policy: [range(base + where, base + where + 1)]},
                )
                sizes = {"width": 150, "height": 100, "late": late}
                found = await kernel.launch(bad, src=SRC, dst=DST, **sizes, max_cycles=100_000)
                assert found["status"] == status, f"{policy} at {where}: {found}"
            await apply(kernel, picture_of(kernel, 20, 150), late=late)
