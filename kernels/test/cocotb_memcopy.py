# SPDX-License-Identifier: Apache-2.0
"""Tests of kernel memcopy."""

from itertools import pairwise

import cocotb
from axi_memory import Policy
from kernel_bench import Kernel

SRC, DST = 0x1_0000, 0x8_0000
GUARD = 256


def fill(kernel: Kernel, start: int, size: int) -> bytes:
    """Random bytes at ``start``; returns them."""
    data = kernel.random.randbytes(size)
    kernel.memory.data[start : start + size] = data
    return data


async def copy(
    kernel: Kernel, src: int, dst: int, size: int, iterations: int = 1, policy=None, **more
) -> dict:
    """One launch; checks the copy and that nothing around it changed."""
    data = fill(kernel, src, size)
    before = fill(kernel, dst - GUARD, size + 2 * GUARD)
    found = await kernel.launch(policy, src=src, dst=dst, bytes=size, iterations=iterations, **more)
    assert found["status"] == 0
    after = bytes(kernel.memory.data[dst - GUARD : dst + size + GUARD])
    expected = (
        before[:GUARD] + (data if iterations else before[GUARD : GUARD + size]) + before[GUARD + size :]
    )
    assert after == expected, f"copy of {size} bytes from {src:#x} to {dst:#x} differs"
    return found


@cocotb.test()
async def sizes_and_alignments(dut):
    """Every mix of a few offsets and sizes, edges of beats and pages among them."""
    kernel = await Kernel.create(dut, "memcopy")
    beat = kernel.memory.beat
    for size in (0, 1, 2, beat - 1, beat, beat + 1, 2 * beat - 1, 2 * beat, 4095, 4096, 4097, 9000):
        for src_offset, dst_offset in ((0, 0), (1, 0), (0, 1), (63, 63), (5, 60), (4095, 2)):
            await copy(kernel, SRC + src_offset, DST + dst_offset, size)
    await copy(kernel, SRC, DST, 0, iterations=3)
    await copy(kernel, SRC, DST, 100, iterations=0)


@cocotb.test()
async def random_copies(dut):
    """Random sizes, alignments and iterations on a memory that stalls and reorders."""
    kernel = await Kernel.create(dut, "memcopy")
    for _ in range(40):
        size = kernel.random.choice([kernel.random.randrange(300), kernel.random.randrange(20_000)])
        await copy(
            kernel,
            SRC + kernel.random.randrange(4096),
            DST + kernel.random.randrange(4096),
            size,
            kernel.random.choice([1, 1, 2, 5]),
            kernel.random_policy(),
            max_cycles=200_000,
        )


@cocotb.test()
async def reads_and_writes_no_more_than_asked(dut):
    """Bursts cover exactly the beats of the two ranges, in the longest bursts where they can: of 4 KiB, or of 64 narrower beats."""
    kernel = await Kernel.create(dut, "memcopy")
    beat = kernel.memory.beat
    longest = min(64, 4096 // beat)
    await copy(kernel, SRC + 100, DST + 4000, 10_000)
    for bursts, start, end in (
        (kernel.memory.read_bursts, SRC + 100, SRC + 10_100),
        (kernel.memory.write_bursts, DST + 4000, DST + 14_000),
    ):
        first, past = start // beat, -(-end // beat)
        assert bursts[0][1] == first * beat
        assert sum(beats for _, _, beats in bursts) == past - first
        assert all(
            addr + beats * beat == following for (_, addr, beats), (_, following, _) in pairwise(bursts)
        )
        assert sum(beats == longest for _, _, beats in bursts) == past // longest - -(-first // longest)


@cocotb.test()
async def one_beat_a_cycle_both_ways(dut):
    """Ideal memory: neither reads nor writes have a gap; latency is hidden by bursts in flight."""
    kernel = await Kernel.create(dut, "memcopy")
    beats = 1024
    size = beats * kernel.memory.beat
    for latency in (4, 71, 250):
        found = await copy(kernel, SRC, DST, size, policy=Policy(latency=latency))
        memory = kernel.memory
        assert memory.r_cycles[-1] - memory.r_cycles[0] == beats - 1
        assert memory.w_cycles[-1] - memory.w_cycles[0] == beats - 1
        # The bound: read latency, one burst stored before it goes out, write latency, a few registers.
        dut._log.warning(f"latency {latency}: {found['cycles']} cycles for {beats} beats")
        assert found["cycles"] <= beats + 2 * latency + 64 + 20
        assert len({burst[0] for burst in memory.read_bursts}) == min(16, 2 ** len(dut.m_axi_gmem_ARID))
    found = await copy(kernel, SRC + 3, DST + kernel.memory.beat // 4 + 1, size)
    assert kernel.memory.r_cycles[-1] - kernel.memory.r_cycles[0] == beats
    assert kernel.memory.w_cycles[-1] - kernel.memory.w_cycles[0] <= beats + 1


@cocotb.test()
async def iterations_follow_without_waiting(dut):
    """A further iteration costs its beats and three cycles, not the memory's latency."""
    kernel = await Kernel.create(dut, "memcopy")
    size = 128 * kernel.memory.beat
    one = await copy(kernel, SRC, DST, size, 1, Policy(latency=100))
    nine = await copy(kernel, SRC, DST, size, 9, Policy(latency=100))
    assert nine["cycles"] - one["cycles"] <= 8 * (128 + 3)


@cocotb.test()
async def sixteen_reads_in_flight(dut):
    """With a slow memory all sixteen slots are used."""
    kernel = await Kernel.create(dut, "memcopy")
    await copy(kernel, SRC, DST, 2048 * kernel.memory.beat, policy=Policy(latency=1500))
    assert kernel.memory.max_reads == 16


@cocotb.test()
async def a_slow_id_does_not_delay_the_others(dut):
    """One ID much slower than the rest: bursts behind it are read meanwhile."""
    kernel = await Kernel.create(dut, "memcopy")
    longest = min(64, 4096 // kernel.memory.beat)
    slow = Policy(latency=4, slow_ids={1: 600 * longest // 64})
    await copy(kernel, SRC, DST, 1024 * kernel.memory.beat, policy=slow, max_cycles=50_000)
    if len(dut.m_axi_gmem_ARID) >= 4:
        gaps = [b - a for a, b in pairwise(kernel.memory.r_cycles)]
        # 15 other bursts come while the slow one waits: its delay is hidden.
        assert max(gaps) <= 2


@cocotb.test()
async def errors_end_the_run(dut):
    """A read or write error anywhere gives its status, leaves the bus quiet, and the next run works."""
    kernel = await Kernel.create(dut, "memcopy")
    for policy, status in (("read_errors", 1), ("write_errors", 2)):
        base = SRC if status == 1 else DST
        for where in (0, 4096, 30_000, 39_999):
            fill(kernel, SRC, 40_000)
            bad = Policy(
                latency=kernel.random.choice([2, 50]),
                reorder=True,
                stall_percent=kernel.random.choice([0, 30]),
                **{policy: [range(base + where, base + where + 1)]},
            )
            found = await kernel.launch(bad, src=SRC, dst=DST + 5 * (status == 1), bytes=40_000, iterations=2)
            assert found["status"] == status, f"{policy} at {where}: {found}"
            await copy(kernel, SRC + 1, DST + 2, 5000)


@cocotb.test()
async def nothing_is_written_from_bad_data(dut):
    """Read errors in the whole source: the destination stays as it was."""
    kernel = await Kernel.create(dut, "memcopy")
    before = fill(kernel, DST, 8192)
    bad = Policy(read_errors=[range(SRC, SRC + 8192)])
    found = await kernel.launch(bad, src=SRC, dst=DST, bytes=8192, iterations=4)
    assert found["status"] == 1
    assert bytes(kernel.memory.data[DST : DST + 8192]) == before
    assert not kernel.memory.write_bursts
