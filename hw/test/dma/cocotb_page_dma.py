# SPDX-License-Identifier: Apache-2.0
"""gw_page_dma: what every descriptor does, order, fences, bandwidth."""

import os
import random

import cocotb
from descriptors import (
    CLEAR,
    COPY,
    ENTRY,
    EVERY,
    HOST,
    LINE,
    NONE,
    PAGE,
    RESPOND,
    WAIT,
    Descriptor,
)
from dma_bench import Bench

SEED = int(os.environ["GODWIT_SEED"])
SMALL = os.environ["BENCH_SHAPE"] == "small"


async def bench(dut, rng=None, **kwargs):
    b = await Bench(dut, rng or random.Random(SEED), **kwargs).begin()
    await b.turn_on()
    return b


class Places:
    """Pages of both memories, each given once; ring and fence number keep theirs."""

    def __init__(self, b, rng):
        pages = [page * PAGE for page in range(b.memory.size // PAGE - 3)]
        self.free = {0: pages[:], HOST: pages[:]}
        for part in self.free.values():
            rng.shuffle(part)

    def page(self, side):
        return side + self.free[side].pop()


def random_work(rng, places):
    """A descriptor whose places nobody else has."""
    kind = rng.choice(("page", "page", "masked", "lines", "clear", "entry"))
    source, dest = places.page(rng.choice((0, HOST))), places.page(rng.choice((0, HOST)))
    if kind == "page":
        return Descriptor(COPY, source, dest, 64)
    if kind == "masked":
        mask = rng.choice((rng.getrandbits(64), rng.getrandbits(64) & rng.getrandbits(64), 0, EVERY, 1 << 63))
        return Descriptor(COPY, source, dest, 64, mask=mask)
    if kind == "lines":
        lines = rng.randrange(1, 40)
        return Descriptor(
            COPY, source + rng.randrange(65 - lines) * LINE, dest + rng.randrange(65 - lines) * LINE, lines
        )
    if kind == "clear":
        first = rng.randrange(64)
        return Descriptor(CLEAR, 0, dest + first * LINE, rng.randrange(1, 65 - first))
    return Descriptor(ENTRY, rng.getrandbits(64), dest + rng.randrange(512) * 8)


@cocotb.test()
async def every_operation_does_what_it_says(dut):
    rng = random.Random(SEED)
    b = await bench(dut, rng)
    for source_side in (0, HOST):
        for dest_side in (0, HOST):
            b.put(Descriptor(COPY, source_side + 3 * PAGE, dest_side + 5 * PAGE, 64))
            await b.run()
            b.put(
                Descriptor(COPY, source_side + 8 * PAGE, dest_side + 9 * PAGE, 64, mask=0x8000_0F00_0000_0001)
            )
            await b.run()
    # A range of several pages whose ends lie differently in their pages.
    b.put(Descriptor(COPY, 3 * LINE, HOST + 20 * PAGE + 61 * LINE, 200))
    await b.run()
    b.put(Descriptor(CLEAR, 0, HOST + 30 * PAGE + LINE, 130))
    b.put(Descriptor(CLEAR, 0, 30 * PAGE, 1))
    b.put(Descriptor(ENTRY, 0x1122_3344_5566_7788, 12 * PAGE + 8 * 5))
    b.put(Descriptor(ENTRY, 0x99, HOST + 12 * PAGE))
    b.put(Descriptor(RESPOND, 0xABCD_EF01_2345_6789), Descriptor(NONE, fence=7, irq=True))
    await b.run()
    assert [value for _, value in b.responses] == [0xABCD_EF01_2345_6789]
    assert [number for _, number in b.fences] == [7] and [number for _, number in b.irqs] == [7]
    assert b.irqs[0][0] > b.fences[0][0]


@cocotb.test()
async def random_lists_with_random_stalls(dut):
    rng = random.Random(SEED + 1)
    for stall, log2, spread in ((0.0, 6, 5), (0.3, 3, 30), (0.6, 1, 3), (0.1, 5, 120)):
        b = await bench(dut, rng, stall=stall, log2=log2, latency=lambda r, n=spread: r.randrange(n))
        places = Places(b, rng)
        number = 0
        for _ in range(10 if SMALL else 40):
            for _ in range(min(rng.randrange(1, 9), b.room)):
                work = random_work(rng, places)
                if rng.random() < 0.3:
                    number += 1
                    work.fence, work.irq = number, rng.random() < 0.5
                work.after = rng.random() < 0.15
                b.put(work)
            for _ in range(rng.choice((0, 1, 20, 200))):
                await b.step()
            if min(map(len, places.free.values())) < 20:
                break
        await b.run()
        assert [seen for _, seen in b.fences] == list(range(1, number + 1))
        assert len(b.irqs) == sum(work.irq for work in b.written)
        await b.turn_off()


@cocotb.test()
async def a_fence_means_that_everything_before_is_in_memory(dut):
    """The bench compares at each fence number; here writes are answered late, and clears come behind everything."""
    rng = random.Random(SEED + 2)
    b = await bench(dut, rng, latency=lambda r: r.choice((1, 150)))
    places = Places(b, rng)
    for number in range(1, 20):
        b.put(Descriptor(CLEAR, 0, places.page(0), 64))
        b.put(Descriptor(COPY, places.page(HOST), places.page(0), 64, fence=number))
        await b.until(lambda: b.room > 2)
    await b.run()
    assert [seen for _, seen in b.fences] == list(range(1, 20))


@cocotb.test()
async def a_whole_migration_is_posted_at_once(dut):
    """Pages in, entries when they are there, answer when the entries are; the other way behind an invalidation."""
    rng = random.Random(SEED + 3)
    b = await bench(dut, rng, latency=lambda r: r.randrange(40), stall=0.2)
    pages = [(HOST + (3 + 2 * i) * PAGE, (40 + i) * PAGE) for i in range(8)]
    table = 60 * PAGE
    b.put(*(Descriptor(COPY, source, dest, 64) for source, dest in pages))
    for i, (_, dest) in enumerate(pages):
        b.put(Descriptor(ENTRY, dest >> 2 | 0xD7, table + 8 * i, after=i == 0))
    b.put(Descriptor(RESPOND, 0x42, after=True), Descriptor(WAIT, 5))
    b.put(Descriptor(COPY, 50 * PAGE, HOST + 50 * PAGE, 64, mask=0xFF00, fence=1, irq=True))
    seen_at = []

    def entries_wait_for_pages():
        for i in range(len(pages)):
            if b.memory.read(table + 8 * i, 8) == b.wanted.read(table + 8 * i, 8):
                seen_at.append(i)
                assert all(b.memory.read(d, PAGE) == b.wanted.read(d, PAGE) for _, d in pages)
        if b.responses:
            assert b.memory.read(table, 64) == b.wanted.read(table, 64)
        return bool(b.responses)

    await b.until(entries_wait_for_pages)
    assert seen_at
    b.sequence = 4
    for _ in range(500):
        await b.step()
    assert not b.fences and b.get("head_o") == 8 + 8 + 1
    b.sequence = 5
    await b.run()
    assert len(b.irqs) == 1
    # The sequence goes around its end.
    b.sequence = 0xFFFF_FFFE
    for _ in range(3):
        await b.step()
    b.put(Descriptor(WAIT, 1), Descriptor(NONE, fence=2))
    for _ in range(300):
        await b.step()
    assert len(b.fences) == 1
    b.sequence = 2
    await b.run()


async def carry(dut, work, *, latency, rate, seed):
    """Cycles a line from the first to the last beat on the host port, in and out, for lists of scattered pages."""
    rng = random.Random(seed)
    b = await Bench(dut, rng, log2=8, latency=lambda _: latency, size=1 << 20).begin()
    places = Places(b, rng)
    for direction in work:
        source, dest = (HOST, 0) if direction == "in" else (0, HOST)
        b.put(Descriptor(COPY, places.page(source), places.page(dest), 64))
    for port in b.ports:
        port.rate = rate
    await b.turn_on()
    await b.run()
    host = b.ports[1]
    shares = []
    if "in" in work:
        shares.append(host.r_beats / (host.last_r - host.first_r + 1) / rate)
    if "out" in work:
        shares.append(host.w_beats / (host.last_w - host.first_w + 1) / rate)
    return shares


@cocotb.test(skip=SMALL)
async def scattered_pages_take_95_percent_of_the_link(dut):
    """A line a cycle at 100 cycles latency, half of it (as PCIe 3.0 x8 at 200 MHz) at 200; in, out, and both at once."""
    mixed = ["in", "out"] * 24
    blocks = (["in"] * 8 + ["out"] * 8) * 3
    for latency, rate, lists in (
        (100, 1.0, (["in"] * 32, ["out"] * 32, mixed, blocks)),
        (200, 0.5, (mixed,)),
    ):
        for work in lists:
            shares = await carry(dut, work, latency=latency, rate=rate, seed=SEED + 4)
            text = ", ".join(f"{100 * share:.1f} %" for share in shares)
            dut._log.info(
                f"latency {latency}, {rate} lines a cycle, {len(work)} pages {'+'.join(work[:2])}: {text}"
            )
            assert min(shares) >= 0.95, (latency, rate, work[:2], shares)


@cocotb.test()
async def without_a_place_for_it_the_fence_number_is_a_register(dut):
    b = await Bench(dut, random.Random(SEED)).begin()
    b.drive(fence_write_i=0)
    await b.turn_on()
    b.put(Descriptor(COPY, HOST, 0, 64, fence=11, irq=True))
    await b.until(lambda: b.get("fence_o") == 11)
    b.compare()
    await b.run()
    assert len(b.irqs) == 1 and not b.fences


@cocotb.test()
async def a_ring_in_device_memory_works_as_well(dut):
    b = await bench(dut, random.Random(SEED), base=64 * PAGE)
    b.fence_addr = 63 * PAGE + 12
    b.drive(fence_addr_i=b.fence_addr >> 2)
    b.put(Descriptor(COPY, HOST, 0, 64, fence=1), Descriptor(COPY, 8 * PAGE, HOST + 8 * PAGE, 64, fence=2))
    await b.run()
    assert [number for _, number in b.fences] == [1, 2]


@cocotb.test(skip=SMALL)
async def clears_take_idle_cycles(dut):
    """A long clear with as many pages behind it as there are slots: they keep the device port to themselves."""
    b = await Bench(dut, random.Random(SEED), log2=8, latency=lambda _: 50, size=1 << 20).begin()
    b.put(Descriptor(CLEAR, 0, 0x80000, 4096))
    b.put(*(Descriptor(COPY, HOST + page * PAGE, page * PAGE, 64) for page in range(30)))
    await b.turn_on()
    host, device = b.ports[1], b.ports[0]
    await b.until(lambda: host.r_beats == 30 * 64)
    assert host.r_beats / (host.last_r - host.first_r + 1) >= 0.95
    await b.run()
    # Then the clear has the port, and there is no idle cycle in all that.
    assert device.w_beats / (device.last_w - device.first_w + 1) >= 0.97


@cocotb.test()
async def an_entry_and_a_fence_number_in_one_cycle_both_have_room(dut):
    """Entries wait for a host that takes no data; the fence number of what ended meanwhile comes in between, at every cycle there is."""
    rng = random.Random(SEED + 8)
    for _ in range(120):
        b = await bench(dut, rng, log2=4, latency=lambda r: r.randrange(12))
        places = Places(b, rng)
        b.ports[1].takes_data = False
        table = places.page(HOST)
        entries = [Descriptor(ENTRY, rng.getrandbits(53), table + 8 * i) for i in range(8)]
        b.put(Descriptor(CLEAR, 0, places.page(0), rng.randrange(1, 24), fence=1), *entries)
        for _ in range(80):
            await b.step()
        assert not b.fences
        b.ports[1].takes_data = True
        await b.run()
        assert [number for _, number in b.fences] == [1]
        await b.turn_off()
