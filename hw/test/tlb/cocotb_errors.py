# SPDX-License-Identifier: Apache-2.0
"""gw_translator: every way an access can fail, as a read and as a write; the reference checks the rest."""

import os

import cocotb
from model import Bench
from tables import (
    ACCESS_FAULT,
    CONTEXT_OFF,
    CROSSES,
    FIXED,
    INCR,
    MODE_OFF,
    MODE_TRANSLATE,
    OKAY,
    ORDER_2M,
    PAGE_FAULT,
    PORT_OFF,
    READ,
    SLVERR,
    WRAP,
    WRITE,
)

LEVELS = int(os.environ.get("BENCH_LEVELS", "4"))
BOTH = (READ, WRITE)


async def bench(dut, **kwargs):
    b = Bench(dut, levels=LEVELS, **kwargs)
    await b.start()
    b.table.map(1, 1, 0x11)
    return b


async def faults(b, write, addr, cause, length=0, lookups=1, **kwargs):
    """One access that must fail with `cause`, after `lookups` lookups; nothing of it reaches the memory."""
    before = len(b.requests[write])
    a = b.submit(write, 2, addr, length, **kwargs)
    await b.run()
    await b.drain_events()
    assert (a.cause, a.resp, a.sent) == (cause, SLVERR, None)
    assert len(b.requests[write]) == before + lookups
    if not write:
        assert a.taken == length + 1
    return a


async def passes(b, write, addr, length=0, **kwargs):
    a = b.submit(write, 2, addr, length, **kwargs)
    await b.run()
    assert (a.cause, a.resp) == (None, OKAY)
    return a


@cocotb.test()
async def unmapped_page(dut):
    b = await bench(dut)
    for write in BOTH:
        for length in (0, 1, 7, 255):
            await faults(b, write, 0x55000, PAGE_FAULT[write], length, size=3 if length < 255 else 0)
        await passes(b, write, 0x1000)
    b.check_events()


@cocotb.test()
async def permission_is_asked_for_anew_and_never_granted_from_the_l1(dut):
    b = await bench(dut)
    b.table.map(1, 2, 0x22, r=True, w=False)
    b.table.map(1, 3, 0x33, r=False, w=True)
    await passes(b, READ, 0x2000)
    await faults(b, WRITE, 0x2000, PAGE_FAULT[WRITE])
    await passes(b, WRITE, 0x3000)
    await faults(b, READ, 0x3000, PAGE_FAULT[READ])
    # A fault is never remembered: the page becomes writable without an invalidation.
    b.change_tables().map(1, 2, 0x22)
    await passes(b, WRITE, 0x2000)


@cocotb.test()
async def fault_is_not_remembered(dut):
    b = await bench(dut)
    for write in BOTH:
        await faults(b, write, 0x7000 + 0x1000 * write, PAGE_FAULT[write])
        b.change_tables().map(1, 7 + write, 0x77 + write)
        await passes(b, write, 0x7000 + 0x1000 * write)


@cocotb.test()
async def causes_of_the_walker_are_reported_as_they_are(dut):
    b = await bench(dut)
    for cause in (CONTEXT_OFF, 259, ACCESS_FAULT[READ], ACCESS_FAULT[WRITE]):
        b.table.lookup = lambda ctx, vpn, write, c=cause: c
        for write in BOTH:
            await faults(b, write, 0x1000, cause)


@cocotb.test()
async def port_off_asks_nobody(dut):
    b = await bench(dut)
    for write in BOTH:
        await passes(b, write, 0x1000)
    # 2 is PortBare, 3 is no mode at all: neither may let anything through here.
    for mode in (MODE_OFF, 2, 3):
        b.mode = mode
        await b.step()
        for write in BOTH:
            await faults(b, write, 0x1000, PORT_OFF, 3, lookups=0)
    b.mode = MODE_TRANSLATE
    await b.step()
    for write in BOTH:
        await passes(b, write, 0x1000)
    b.check_events()


@cocotb.test()
async def upper_address_bits_must_repeat_the_highest(dut):
    b = await bench(dut)
    top = 12 + 9 * LEVELS
    mask = (1 << 64) - 1
    high = -4096 & mask
    b.table.map(1, (high >> 12) & (1 << 45) - 1, 0x44)
    for write in BOTH:
        await passes(b, write, high)
        for bit in range(top, 64):
            await faults(b, write, 0x1000 | 1 << bit, PAGE_FAULT[write], lookups=0)
        await faults(b, write, 0x1000 | 1 << (top - 1), PAGE_FAULT[write], lookups=0)
        await faults(b, write, high & ~(1 << 63), PAGE_FAULT[write], lookups=0)


@cocotb.test()
async def bursts_stay_in_their_page(dut):
    b = await bench(dut)
    b.table.map(1, 0, 0x200, ORDER_2M)
    for write in BOTH:
        await passes(b, write, 0x1000, 255, size=3)  # 2 KiB
        await passes(b, write, 0x1800, 255, size=3)  # ends with the page
        await passes(b, write, 0x1FF8, 0, size=3)
        await passes(b, write, 0x1FFF, 0, size=3)  # unaligned: ends with its aligned beat
        await passes(b, write, 0x1FF1, 1, size=2)
        await passes(b, write, 0x1FFC, 255, burst=FIXED)
        await passes(b, write, 0x1FF8, 15, burst=WRAP)
        # The next page is mapped, and by the same entry: AXI forbids the burst all the same.
        for addr, length, size, burst in (
            (0x1808, 255, 3, INCR),
            (0x1FF8, 1, 3, INCR),
            (0x1FFF, 1, 0, INCR),
            (0x1F81, 1, 7, INCR),
            (0x1000, 32, 7, INCR),
            (0x1FF0, 2, 3, WRAP),
            (0x1800, 255, 3, WRAP),
            (0x1000, 0, 3, 3),
        ):
            await faults(b, write, addr, CROSSES, length, lookups=0, size=size, burst=burst)
    b.check_events()


@cocotb.test()
async def random_bursts_against_the_rule(dut):
    b = await bench(dut)
    b.rng.seed(int(os.environ["GODWIT_SEED"]))
    b.table.map(1, 0, 0x200, ORDER_2M)
    for _ in range(150):
        burst = b.rng.choice((INCR, INCR, INCR, WRAP, FIXED))
        size = b.rng.randrange(8)
        room = b.rng.randrange(1, 20)
        b.submit(
            b.rng.randrange(2),
            b.rng.randrange(8),
            0x2000 - room * b.rng.choice((1, 1 << size)),
            b.rng.choice((0, 1, 3, 7, room)),
            size=size,
            burst=burst,
        )
    await b.run()
    await b.drain_events()
    assert 20 < sum(a.cause == CROSSES for a in b.accesses) < 140
    b.check_events()


@cocotb.test()
async def read_error_waits_for_earlier_reads_of_its_id_only(dut):
    b = await bench(dut, walk_latency=lambda rng: 3)
    await passes(b, READ, 0x1000)
    b.memory_hold = {4}
    held = b.submit(READ, 4, 0x1000, 3)
    bad = b.submit(READ, 4, 0x99000, 3)
    after = b.submit(READ, 4, 0x1000)
    others = [b.submit(READ, 5, 0x1000 + 8 * i) for i in range(20)]
    other_bad = b.submit(READ, 6, 0x98000)
    await b.run(until=lambda: all(a.done for a in (*others, other_bad)), limit=60)
    for _ in range(50):
        await b.step()
    assert held.done is None and bad.first is None and after.sent is None
    b.memory_hold = set()
    await b.run()
    assert held.done < bad.first and bad.done < after.first


@cocotb.test()
async def write_error_waits_for_earlier_writes_of_its_id_only(dut):
    b = await bench(dut, walk_latency=lambda rng: 3)
    await passes(b, WRITE, 0x1000)
    b.write_hold = {4}
    held = b.submit(WRITE, 4, 0x1000, 3)
    bad = b.submit(WRITE, 4, 0x99000, 3)
    bad_too = b.submit(WRITE, 4, 0x99000, 0)
    after = b.submit(WRITE, 4, 0x1000)
    others = [b.submit(WRITE, 5, 0x1000 + 8 * i) for i in range(5)]
    other_bad = b.submit(WRITE, 6, 0x98000)
    await b.run(until=lambda: all(a.done for a in (*others, other_bad)), limit=60)
    for _ in range(50):
        await b.step()
    assert held.done is None and bad.done is None and after.done is None
    b.write_hold = set()
    await b.run()
    assert held.done < bad.done < bad_too.done < after.done


@cocotb.test()
async def hits_flow_while_faults_wait(dut):
    """Reads of one ID fault and wait for a slow one of their ID: hits of others stay at one a cycle."""
    b = await bench(dut)
    await passes(b, READ, 0x1000)
    b.memory_hold = {4}
    b.submit(READ, 4, 0x1000)
    waiting = [b.submit(READ, 4, 0x99000 + 4096 * i) for i in range(5)]
    for _ in range(20):
        await b.step()
    hits = [b.submit(READ, 1 + i % 3, 0x1000 + 8 * i) for i in range(200)]
    await b.run(until=lambda: all(a.done for a in hits))
    assert [a.sent - a.accepted for a in hits] == [2] * 200
    assert hits[-1].sent - hits[0].sent == 199
    assert not any(a.done for a in waiting)
    b.memory_hold = set()
    await b.run()


@cocotb.test()
async def more_faulted_writes_than_the_unit_holds(dut):
    b = await bench(dut)
    await passes(b, WRITE, 0x1000)
    b.write_hold = {4}
    b.submit(WRITE, 4, 0x1000)
    bad = [b.submit(WRITE, 4, 0x99000, i % 3) for i in range(12)]
    for _ in range(100):
        await b.step()
    assert not any(a.done for a in bad)
    b.write_hold = set()
    await b.run()
    assert all(a.cause == PAGE_FAULT[WRITE] for a in bad)


@cocotb.test()
async def swallowed_data_takes_one_cycle_a_beat(dut):
    b = await bench(dut)
    bad = b.submit(WRITE, 0, 0x99000, 99)
    good = b.submit(WRITE, 0, 0x1000, 0)
    await b.run()
    assert good.done - bad.accepted < 120
    assert bad.done < good.done


@cocotb.test()
async def bursts_that_end_one_behind_the_other_are_counted_each(dut):
    """An error's last beat, then one of the memory: both bursts end, and there is room for as many as before."""
    limit = int(dut.Outstanding.value)
    b = await bench(dut)
    for write in BOTH:
        await passes(b, write, 0x1000)
        answers = "s_b" if write else "s_r"
        for _ in range(limit):
            for ident in range(8):
                b.submit(write, ident, 0x55000 if ident % 2 else 0x1000)
            # All are answered before one answer is taken, so that they leave one behind the other.
            b.stall[answers] = 1.0
            for _ in range(60):
                await b.step()
            b.stall[answers] = 0.0
            await b.run()
        held = b.memory_hold if write == READ else b.write_hold
        held |= set(range(8))
        accesses = [b.submit(write, i % 8, 0x1000) for i in range(limit + 10)]
        for _ in range(limit + 30):
            await b.step()
        assert sum(a.sent is not None for a in accesses) == limit
        held.clear()
        await b.run()
