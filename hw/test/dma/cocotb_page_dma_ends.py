# SPDX-License-Identifier: Apache-2.0
"""gw_page_dma: how work ends before its time: errors by descriptor, abort, off and on again, reset."""

import random

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from cocotb_page_dma import SEED, Places, bench, random_work
from descriptors import (
    ABORTED,
    CLEAR,
    COPY,
    ENTRY,
    FENCE,
    FETCH,
    HOST,
    ILLEGAL,
    LINE,
    NONE,
    PAGE,
    READ,
    RESPOND,
    WAIT,
    WRITE,
    Descriptor,
)


async def stopped(b, cause, index):
    """Until it stands with this error at this descriptor, and stays there with nothing under way."""
    await b.until(lambda: b.get("stopped_o"))
    assert (b.get("cause_o"), b.get("head_o")) == (cause, index)
    assert all(port.quiet for port in b.ports)
    for _ in range(30):
        await b.step()
    assert b.get("stopped_o") and b.get("head_o") == index


@cocotb.test()
async def errors_name_the_descriptor(dut):
    rng = random.Random(SEED + 5)
    for cause in (READ, WRITE, FETCH, ILLEGAL, FENCE) * 4:
        b = await bench(dut, rng, stall=rng.choice((0, 0.3)), log2=5, latency=lambda r: r.randrange(60))
        places = Places(b, rng)
        before, behind = rng.randrange(8), rng.randrange(8)
        work = [random_work(rng, places) for _ in range(before)]
        bad = Descriptor(COPY, places.page(HOST), places.page(0), 64, fence=99)
        wanted = before
        if cause == READ:
            b.bad_reads.add(bad.source + rng.randrange(64) * LINE)
        elif cause == WRITE:
            b.bad_writes.add(bad.dest + rng.randrange(64) * LINE)
        elif cause == ILLEGAL:
            bad = random_illegal(rng)
        elif cause == FETCH:
            wanted = before // 2 * 2
            b.bad_reads.add(b.base + wanted * 32)
        else:
            b.bad_writes.add(b.fence_addr // LINE * LINE)
        b.put(*work)
        b.put(bad, legal=cause != ILLEGAL)
        b.put(*(random_work(rng, places) for _ in range(behind)))
        await stopped(b, cause, wanted)
        assert len(b.irqs) == 1 and not b.fences
        for done in work[:wanted]:
            b.check(done)
        # Put right, it goes on from there.
        await b.turn_off()
        b.bad_reads.clear()
        b.bad_writes.clear()
        if cause == ILLEGAL:
            right = Descriptor(NONE, fence=99)
            b.written[wanted] = right
            for memory in (b.memory, b.wanted):
                memory.write(b.base + wanted * 32, right.words())
        b.first = wanted
        await b.turn_on()
        await b.run()
        assert [number for _, number in b.fences] == [99]
        await b.turn_off()


def random_illegal(rng):
    """A descriptor that is none, by one fault."""
    page = HOST + 3 * PAGE
    return rng.choice(
        (
            Descriptor(0),
            Descriptor(7),
            Descriptor(15),
            Descriptor(COPY, page, 0, 0),
            Descriptor(COPY, page + 32, 0, 64),
            Descriptor(COPY, page, 8, 64),
            Descriptor(COPY, 1 << 56, 0, 64),
            Descriptor(COPY, page, 1 << 60, 1),
            Descriptor(COPY, HOST - PAGE, 0, 65),
            Descriptor(COPY, 0, (1 << 56) - LINE, 2),
            Descriptor(COPY, page + LINE, 0, 64, mask=1),
            Descriptor(COPY, page, 0, 63, mask=1),
            Descriptor(COPY, page, 0, 64, extra=1 << 200),
            Descriptor(CLEAR, page, 0, 64),
            Descriptor(CLEAR, 0, 0, 64, mask=0),
            Descriptor(ENTRY, 1, 4),
            Descriptor(ENTRY, 1, 8, 1),
            Descriptor(WAIT, 1 << 32),
            Descriptor(WAIT, 1, 64),
            Descriptor(RESPOND, 1, 64),
            Descriptor(NONE, 1),
            Descriptor(NONE, irq=True),
            Descriptor(NONE, extra=1 << 40),
        )
    )


@cocotb.test()
async def the_first_error_in_the_order_of_the_ring_counts(dut):
    """The second of two bad descriptors fails first, as its data comes at once."""
    b = await bench(dut, latency=lambda _: 5)
    slow = Descriptor(COPY, HOST, 8 * PAGE, 64 * 8)
    b.bad_writes.add(8 * PAGE + 7 * PAGE)
    b.bad_writes.add(HOST + 40 * PAGE)
    b.put(slow, Descriptor(ENTRY, 5, HOST + 40 * PAGE), Descriptor(NONE, fence=3), legal=False)
    await stopped(b, WRITE, 0)
    assert not b.fences
    await b.turn_off()


@cocotb.test()
async def abort_ends_everything_and_says_where(dut):
    rng = random.Random(SEED + 6)
    for _ in range(25):
        b = await bench(dut, rng, stall=0.2, log2=5, latency=lambda r: r.randrange(80))
        places = Places(b, rng)
        work = [random_work(rng, places) for _ in range(12)]
        if rng.random() < 0.3:
            work.insert(rng.randrange(12), Descriptor(WAIT, 1000))
        for number, descriptor in enumerate(work):
            descriptor.fence = number
        b.put(*work)
        for _ in range(rng.randrange(900)):
            await b.step()
        b.drive(cancel_i=1)
        await b.until(lambda b=b: b.get("stopped_o"), 3000)
        head = b.get("head_o")
        assert b.get("cause_o") == ABORTED
        assert [number for _, number in b.fences] == list(range(head))
        await stopped(b, ABORTED, head)
        await b.turn_off()
        # From the head on everything is done again.
        b.first, b.sequence = head, 1000
        await b.turn_on()
        await b.run()
        await b.turn_off()


@cocotb.test()
async def abort_ends_an_answer_that_nobody_takes(dut):
    b = await bench(dut)
    b.respond_stall = 1.0
    b.put(Descriptor(RESPOND, 1), Descriptor(NONE, fence=1))
    for _ in range(200):
        await b.step()
    b.drive(cancel_i=1)
    await stopped(b, ABORTED, 0)
    assert not b.responses and not b.fences


@cocotb.test()
async def off_and_on_again(dut):
    rng = random.Random(SEED + 7)
    b = await bench(dut, rng, stall=0.2, log2=3, latency=lambda r: r.choice((0, 3, 50)))
    for _ in range(15):
        places = Places(b, rng)
        b.put(*(random_work(rng, places) for _ in range(7)))
        for _ in range(rng.randrange(300)):
            await b.step()
        await b.turn_off()
        assert b.get("cause_o") == 0
        head = b.get("head_o")
        b.first = head
        await b.turn_on()
        await b.run()
        await b.turn_off()
        b.restart()
        await b.turn_on()


@cocotb.test()
async def reset_in_the_middle_of_anything(dut):
    """In reset nothing is offered, whatever was under way; what was begun before is forgotten."""
    rng = random.Random(SEED + 9)
    offered = set()
    for turn in range(16):
        b = await bench(dut, rng, stall=0.3, log2=5, latency=lambda r: r.randrange(40))
        places = Places(b, rng)
        b.respond_stall = 1.0
        b.put(*(random_work(rng, places) for _ in range(turn % 4)), Descriptor(RESPOND, turn))
        until = rng.randrange(400)
        await b.until(lambda b=b, until=until: b.now >= until or b.get("respond_valid_o"))
        valids = {(b.dut, name) for name in ("respond_valid_o", "irq_o", "on_o", "stopped_o")}
        valids |= {
            (port.pins, f"axi_{name}") for port in b.ports for name in ("arvalid", "awvalid", "wvalid")
        }
        offered |= {name for where, name in valids if int(getattr(where, name).value)}
        b.drive(enable_i=0)
        b.dut.rst_ni.value = 0
        for _ in range(2):
            await RisingEdge(b.dut.clk_i)
            await ReadOnly()
            assert not [name for where, name in valids if int(getattr(where, name).value)]
        await RisingEdge(b.dut.clk_i)
        b = await bench(dut, rng)
        b.put(Descriptor(COPY, HOST, 0, 64), Descriptor(RESPOND, turn))
        await b.run()
        assert [value for _, value in b.responses] == [turn]
        await b.turn_off()
    assert {"respond_valid_o", "on_o"} <= offered
