# SPDX-License-Identifier: Apache-2.0
"""gw_translator, directed: cycles of hits and misses, page sizes, who passes whom, replacement."""

import os

import cocotb
from model import Bench
from tables import ORDER_1G, ORDER_2M, ORDER_4K, ORDER_64K, READ, WRITE

LEVELS = int(os.environ.get("BENCH_LEVELS", "4"))
L1 = int(os.environ.get("BENCH_L1", "4"))
MISS = int(os.environ.get("BENCH_MISS", "8"))


async def bench(dut, **kwargs):
    b = Bench(dut, levels=LEVELS, **kwargs)
    await b.start()
    return b


async def warm(b, vpn, write=READ):
    b.submit(write, 0, vpn << 12)
    await b.run()
    for _ in range(4):
        await b.step()


@cocotb.test()
async def hit_takes_two_cycles(dut):
    b = await bench(dut)
    b.table.map(1, 0x10, 0x99)
    for write in (READ, WRITE):
        await warm(b, 0x10, write)
        a = b.submit(write, 3, 0x10040)
        await b.run()
        assert a.sent - a.accepted == 2
    assert [len(b.requests[w]) for w in (READ, WRITE)] == [1, 1]


@cocotb.test()
async def hits_flow_at_one_a_cycle(dut):
    b = await bench(dut)
    for page in range(L1):
        b.table.map(1, page, 0x100 + 3 * page)
    for write in (READ, WRITE):
        for page in range(L1):
            await warm(b, page, write)
        begin = len(b.requests[write])
        hits = [b.submit(write, i % 5, (i % L1) << 12 | (8 * i) & 0xFF8) for i in range(400)]
        await b.run()
        assert [a.sent - a.accepted for a in hits] == [2] * 400
        assert hits[-1].sent - hits[0].sent == 399
        assert len(b.requests[write]) == begin


@cocotb.test()
async def miss_adds_one_cycle_before_and_one_after_the_walk(dut):
    for latency in (1, 5, 20):
        b = await bench(dut, walk_latency=lambda rng, n=latency: n)
        for write in (READ, WRITE):
            vpn = 0x40 + write
            b.table.map(1, vpn, 0x7)
            a = b.submit(write, 1, vpn << 12)
            await b.run()
            assert b.requests[write][-1][0] == a.accepted + 1
            assert a.sent == a.accepted + 1 + latency + 1
            # The fill is used two cycles after the answer.
            again = b.submit(write, 1, vpn << 12 | 0x80)
            await b.run()
            assert again.sent - again.accepted == 2
        dut.rst_ni.value = 0
        b = None


@cocotb.test()
async def misses_flow_at_one_a_cycle(dut):
    """Every address another page; the walker is a pipeline of four cycles, less than the slots cover."""
    for spread in (1, 5):
        b = await bench(dut, walk_latency=lambda rng: 4)
        for page in range(300):
            b.table.map(1, page, page ^ 0x155)
        for write in (READ, WRITE):
            accesses = [b.submit(write, i % spread, i << 12) for i in range(300)]
            await b.run()
            # The first of an order waits for its step; from then on one a cycle.
            assert accesses[-1].sent - accesses[0].sent <= 299 + (1 if write else 2)
            assert accesses[-1].sent - accesses[50].sent == 249
            assert len(b.requests[write]) == 300


@cocotb.test()
async def hits_behind_misses_leave_nearly_without_an_idle_cycle(dut):
    """A new page every eight addresses: most miss, for an answer is in the L1 three cycles later, the others hit while these come back;
    the output pauses while the first order is turned into a queue, and never again."""
    b = await bench(dut, walk_latency=lambda rng: 3)
    for page in range(40):
        b.table.map(1, page, page ^ 0x155)
    accesses = [b.submit(READ, i % 8, i // 8 << 12 | 64 * (i % 8)) for i in range(320)]
    await b.run()
    sent = sorted(a.sent for a in accesses)
    assert sent[-1] - sent[0] <= 319 + 6
    assert sent[-1] - sent[24] == 319 - 24
    assert max(a.sent - a.accepted for a in accesses) <= 14
    assert len(b.requests[READ]) < 320


@cocotb.test()
async def every_page_size_is_one_entry(dut):
    b = await bench(dut)
    base = 1 << 18
    for order in (ORDER_4K, ORDER_64K, ORDER_2M, ORDER_1G, 1, 7):
        base += 1 << 19
        ppn = base >> order << order ^ (1 << 30)
        b.table.map(1, base, ppn, order)
        for write in (READ, WRITE):
            before = len(b.requests[write])
            await warm(b, base + b.rng.randrange(1 << order), write)
            for offset in {0, 1, (1 << order) - 1, b.rng.randrange(1 << order)} & set(range(1 << order)):
                a = b.submit(write, 0, (base + offset) << 12 | 0x238)
                await b.run()
                assert a.pa == (ppn + offset) << 12 | 0x238
            assert len(b.requests[write]) == before + 1
    # One page beyond the mapping misses.
    a = b.submit(READ, 0, (base + (1 << order)) << 12)
    await b.run()
    assert a.cause == 13


@cocotb.test()
async def hit_passes_a_miss_of_another_id(dut):
    b = await bench(dut, walk_latency=lambda rng: 200)
    b.table.map(1, 1, 0x11)
    b.table.map(1, 2, 0x22)
    await warm(b, 1)
    missing = b.submit(READ, 0, 2 << 12)
    hits = [b.submit(READ, 1 + i % 7, 1 << 12 | 8 * i) for i in range(100)]
    await b.run(until=lambda: all(a.done for a in hits))
    assert missing.sent is None
    assert [a.sent - a.accepted for a in hits] == [2] * 100
    assert hits[-1].sent - hits[0].sent == 99
    await b.run()


@cocotb.test()
async def hit_passes_while_every_slot_but_none_waits(dut):
    """All slots are taken by misses of other IDs: hits still pass at one a cycle."""
    b = await bench(dut, walk_latency=lambda rng: 300)
    b.table.map(1, 1, 0x11)
    for i in range(MISS):
        b.table.map(1, 0x100 + i, 0x500 + i)
    await warm(b, 1)
    missing = [b.submit(READ, i % 3, (0x100 + i) << 12) for i in range(MISS)]
    # Outstanding bounds them all, so only so many at a time.
    hits = [b.submit(READ, 3 + i % 4, 1 << 12 | 8 * i) for i in range(60)]
    await b.run(until=lambda: all(a.done for a in hits))
    assert all(a.sent is None for a in missing)
    assert [a.sent - a.accepted for a in hits] == [2] * 60
    await b.run()


@cocotb.test()
async def hit_waits_behind_a_miss_of_its_id(dut):
    b = await bench(dut, walk_latency=lambda rng: 50)
    b.table.map(1, 1, 0x11)
    b.table.map(1, 2, 0x22)
    await warm(b, 1)
    missing = b.submit(READ, 4, 2 << 12)
    hit = b.submit(READ, 4, 1 << 12)
    other = b.submit(READ, 5, 1 << 12)
    await b.run()
    assert missing.sent < hit.sent and other.sent < missing.sent
    assert hit.sent == missing.sent + 3


@cocotb.test()
async def writes_keep_their_order_and_look_up_together(dut):
    b = await bench(dut, walk_latency=lambda rng: 60)
    for page in range(MISS):
        b.table.map(1, page, 0x300 + page)
    writes = [b.submit(WRITE, i % 8, i << 12) for i in range(MISS)]
    await b.run()
    assert [c for c, _ in b.requests[WRITE]] == list(
        range(writes[0].accepted + 1, writes[0].accepted + 1 + MISS)
    )
    assert [w.sent for w in writes] == list(range(writes[0].sent, writes[0].sent + MISS))


@cocotb.test()
async def neither_hits_nor_released_addresses_starve(dut):
    """Hits of one ID and misses of others, both without end: each gets its share of the output."""
    b = await bench(dut, walk_latency=lambda rng: 3)
    b.table.map(1, 1, 0x11)
    for i in range(400):
        b.table.map(1, 0x100 + i, 0x500 + i)
    await warm(b, 1)
    mixed = []
    for i in range(300):
        mixed.append(b.submit(READ, 1 + i % 3, 1 << 12 | 8 * i & 0xFF8))
        if i % 2:
            mixed.append(b.submit(READ, 4 + i % 3, (0x100 + i) << 12))
            # Keep page 1 in the L1.
    await b.run()
    assert max(a.sent - a.accepted for a in mixed) < 40
    assert mixed[-1].sent - mixed[0].sent < 1.3 * len(mixed)


@cocotb.test()
async def fill_replaces_every_entry_it_overlaps(dut):
    b = await bench(dut)
    base = 1 << 18
    for page in range(3):
        b.table.map(1, base + page, 0x800 + page)
    for page in range(min(3, L1)):
        await warm(b, base + page)
    # The same pages in one 64 KiB mapping, asked for through a page that is not cached.
    b.change_tables()
    for page in range(3):
        del b.table.maps[1, base + page]
    b.table.map(1, base, 0x4000, ORDER_64K)
    before = len(b.requests[READ])
    await warm(b, base + 9)
    assert len(b.requests[READ]) == before + 1
    for page in range(16):
        a = b.submit(READ, 0, (base + page) << 12)
        await b.run()
        assert a.pa == (0x4000 + page) << 12
    assert len(b.requests[READ]) == before + 1


@cocotb.test()
async def used_entries_stay(dut):
    """A page used between any two fills is never the victim (L1 of two entries or more)."""
    b = await bench(dut)
    for page in range(60):
        b.table.map(1, page, 0x100 + page)
    await warm(b, 0)
    for page in range(1, 60):
        await warm(b, page)
        before = len(b.requests[READ])
        await warm(b, 0)
        assert L1 == 1 or len(b.requests[READ]) == before


@cocotb.test()
async def contexts_do_not_share_entries(dut):
    b = await bench(dut)
    b.table.map(1, 5, 0x51)
    b.table.map(2, 5, 0x52)
    for ctx in (1, 2, 1):
        b.ctx = ctx
        await b.step()
        await warm(b, 5)
        a = b.submit(READ, 0, 5 << 12)
        await b.run()
        assert a.pa == (0x50 + ctx) << 12


@cocotb.test()
async def answers_that_are_not_cacheable_are_used_once(dut):
    b = await bench(dut)
    b.table.map(1, 5, 0x51)
    b.epoch = 1
    real = b._drive_walker

    def uncacheable():
        real()
        if b._answer is not None:
            b.drive("rsp_cacheable", 0)

    b._drive_walker = uncacheable
    for count in (1, 2, 3):
        await warm(b, 5)
        assert len(b.requests[READ]) == count


@cocotb.test()
async def outstanding_bounds_bursts_under_way(dut):
    limit = int(dut.Outstanding.value)
    b = await bench(dut)
    b.table.map(1, 1, 0x11)
    for write in (READ, WRITE):
        await warm(b, 1, write)
        held = b.memory_hold if write == READ else b.write_hold
        held |= set(range(8))
        accesses = [b.submit(write, i % 8, 1 << 12) for i in range(limit + 10)]
        for _ in range(limit + 30):
            await b.step()
        assert sum(a.sent is not None for a in accesses) == limit
        # Two more are taken, and wait.
        assert sum(a.accepted is not None for a in accesses) == limit + 2
        held.clear()
        await b.run()


@cocotb.test()
async def write_data_passes_with_its_address_and_not_before(dut):
    b = await bench(dut, walk_latency=lambda rng: 30)
    b.table.map(1, 1, 0x11)
    a = b.submit(WRITE, 0, 1 << 12, 3)
    while a.sent is None:
        await b.step()
        assert a.sent is not None or not b.m_w_beats
    assert len(b.m_w_beats) == 1  # offered in the same cycle as the address
    await b.run()
    assert a.done - a.sent == 4


@cocotb.test()
async def data_channels_add_no_cycle(dut):
    b = await bench(dut)
    b.table.map(1, 1, 0x11)
    await warm(b, 1)
    a = b.submit(READ, 0, 1 << 12, 15)
    await b.run()
    assert (a.first - a.sent, a.done - a.sent) == (1, 16)
