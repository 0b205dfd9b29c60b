# SPDX-License-Identifier: Apache-2.0
"""gw_walker: an invalidation drops what it names; everything else goes on at full speed."""

import random

import cocotb
from page_tables import SV48, Memory, pte
from walker_bench import EVERYTHING, STEP, Bench, Inval, Request
from walker_bench import WARM as WARM_BASE

LATENCY = 20
WARM = WARM_BASE + LATENCY  # one read
LINE = 8 << 9  # pages that a line of pointers to leaf tables spans
BASE = 1 << 20


def cold(reads):
    return WARM + (reads - 1) * (STEP + LATENCY)


async def bench(dut, pages):
    """Contexts 0 and 1 map each page alike, through tables of their own."""
    memory, contexts = Memory(), {}
    for ctx in range(2):
        root = memory.frame()
        contexts[ctx] = SV48, root
        for vpn in pages:
            for i in range(64):
                memory.map(root, 4, vpn + i, pte(ctx << 24 | vpn + i))
    b = Bench(dut, memory, latency=LATENCY, rng=random.Random(1))
    await b.start(contexts)
    return b


async def cycles(b, ctx, vpn):
    [r] = await b.run([Request(ctx, vpn)])
    assert r.answer.ppn == ctx << 24 | vpn and r.cacheable
    return r.cycles


@cocotb.test()
async def pointers_of_other_contexts_and_ranges_survive(dut):
    pages = [BASE, BASE + LINE, BASE + (1 << 30)]
    steps = [
        # what is invalidated, then reads of context 0 at each of the pages, and of context 1 at the first
        (EVERYTHING, (4, 2, 4), 4),
        (Inval(1), (1, 1, 1), 4),
        (Inval(1, BASE, 0), (1, 1, 1), 4),
        # A page: the way to it, and what shares its lines of pointers; the next 16 MiB keep theirs.
        (Inval(0, BASE + LINE + 7, 0), (1, 4, 1), 1),
        (Inval(0, BASE, 12), (4, 1, 1), 1),
        # 1 GiB: the leaf tables of both lines; the line above them is shared.
        (Inval(0, BASE >> 18 << 18, 18), (4, 2, 1), 1),
        (Inval(0, BASE + (1 << 30), 4), (1, 1, 4), 1),
    ]
    b = await bench(dut, pages)
    for ctx in range(2):
        for vpn in pages:
            await cycles(b, ctx, vpn)
    offset = 0
    for inval, expected, of_other in steps:
        offset += 8  # other lines of the leaf tables than before, so each takes a read of its own
        b.invalidate = inval
        await b.idle(2)
        found = [await cycles(b, 0, vpn + offset) for vpn in pages]
        assert found == [cold(n) for n in expected], f"{inval}: {found}"
        assert await cycles(b, 1, BASE + offset) == cold(of_other), f"{inval}"


@cocotb.test()
async def requests_in_the_cycle_of_a_pulse_begin_at_the_root(dut):
    """Those in the cycle after it find what it did not name."""
    b = await bench(dut, [BASE])
    for inval, after in (
        (Inval(1), 1),
        (Inval(0, BASE + LINE, 12), 1),
        (Inval(0, BASE + 1, 0), 4),
        (EVERYTHING, 4),
    ):
        await cycles(b, 0, BASE)
        b.invalidate = inval
        before = len(b.reads)
        [r] = await b.run([Request(0, BASE + 8)])
        assert b.pulses[-1] == (r.accepted, inval)
        assert (r.cycles, len(b.reads) - before) == (cold(4), 4)
        await cycles(b, 0, BASE)
        b.invalidate = inval
        await b.step()
        before = len(b.reads)
        [r] = await b.run([Request(0, BASE + 8)])
        assert r.accepted == b.pulses[-1][0] + 1
        assert (r.cycles, len(b.reads) - before) == (cold(after), after)
        b.invalidate = EVERYTHING
        await b.idle(2)


@cocotb.test()
async def answers_on_their_way_stay_cacheable_unless_named(dut):
    b = await bench(dut, [BASE])
    await cycles(b, 0, BASE)
    others = [Inval(1), Inval(0, BASE + 32, 0), Inval(0, BASE + LINE, 12), Inval(1, BASE + 16, 4)]
    for pulses, kept in (
        (others, True),
        ([*others, *[Inval(1)] * 3], False),  # more than are remembered
        ([Inval(0, BASE + 31, 0)], False),  # a neighbour that the answer may cover
        ([others[0], Inval(0, BASE + 16, 3), others[1]], False),
        ([Inval(0)], False),
        ([EVERYTHING], False),
    ):
        # At once; up to the cycle before the answer; up to the answer's own, in which any is one too many.
        for delay in (1, WARM - len(pulses) - 1, WARM - len(pulses)):
            request = Request(0, BASE + 16)
            b.submit(request)
            await b.idle(delay)
            for inval in pulses:
                b.invalidate = inval
                await b.step()
            while b.flying:
                await b.step()
                assert b.busy, "not acknowledged before the answer"
            assert request.cycles == WARM
            assert request.cacheable == (kept and delay < WARM - len(pulses)), (pulses, delay)
            b.invalidate = EVERYTHING
            await b.idle(2)
            await cycles(b, 0, BASE)
