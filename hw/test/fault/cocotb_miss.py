# SPDX-License-Identifier: Apache-2.0
"""gw_miss: every access answered once, parked behind nobody, told behind its answer, and nothing of another page held up."""

import os
import random

import cocotb
from miss_bench import AWAY, OK, UNTOUCHED, Bench


def rng(offset):
    return random.Random(int(os.environ["GODWIT_SEED"]) + offset)


def bench(dut, offset):
    return Bench(dut, rng(offset), touch=bool(int(dut.Touch.value)))


@cocotb.test()
async def every_access_is_answered_once(dut):
    b = bench(dut, 0)
    await b.start()
    rounds = ((0, 0.5, 0.05, 6), (0.4, 0.2, 0.02, 20), (0.1, 0.9, 0.3, 1), (0.6, 0.6, 0.01, 40))
    for stall, answer, host, vpns in rounds:
        b.stall, b.answer, b.host, b.vpns = stall, answer, host, vpns if vpns == 1 else vpns * b.pages // 8
        b.limit = 6 * b.pages
        b.ends, b.invals = 0.01, 0.02
        await b.steps(4000)
        await b.drain()
    cocotb.log.info(str(b.counts))
    counts = b.counts
    assert min(counts[n] for n in ("parked", "room", "ok", "fault", "same", "asked", "pass")) > 3
    assert b.room_wakes > 3


@cocotb.test()
async def contexts_stop_asking(dut):
    """What waits when its context changes is refused, or was asked for before; nothing is asked for after."""
    b = bench(dut, 1)
    await b.start()
    b.stall, b.answer, b.vpns, b.kinds = 0.3, 0.6, 10, (OK, AWAY)
    for _ in range(600):
        await b.steps(b.rng.randrange(20))
        b.asks, b.ends = b.rng.getrandbits(4), 0.05
    assert b.counts["refused"] > 10
    await b.drain()


@cocotb.test()
async def others_go_on_while_every_place_is_taken(dut):
    """No host: all places taken, everybody else told that there is no room; answers of mapped pages pass in their cycle, one a cycle."""
    b = bench(dut, 2)
    await b.start()
    b.host, b.vpns, b.kinds, b.asks, b.limit = 0.0, 400, (AWAY,), 0b1111, 400
    await b.steps(900)
    assert len(b.places) == b.pages and b.counts["room"] > 20
    held, passed, answer = b.counts["held"], b.counts["pass"], b.answer
    b.kinds, b.answer, b.limit = (OK,), 1.0, 1 << 9
    await b.steps(500)
    assert b.counts["pass"] - passed == 500, "every one in its cycle"
    assert b.counts["held"] - held <= 16
    b.answer, b.limit = answer, 48
    await b.drain()


@cocotb.test()
async def an_answer_of_here_comes_between_the_walkers(dut):
    """The walker answers in every cycle: hold_o rises 16 cycles later, and lasts until the answer was given."""
    b = bench(dut, 3)
    await b.start()
    b.kinds, b.asks, b.vpns = (AWAY,), 0b1111, 1
    b.answer = 1.0
    await b.steps(2)
    b.kinds = (OK,)
    waited = 0
    while b.waiting:
        await b.step()
        waited += 1
        assert waited < 80
    assert b.counts["held"]
    await b.drain()


@cocotb.test()
async def touched_pages_are_not_kept_over_an_invalidation(dut):
    if not int(dut.Touch.value):
        return
    b = bench(dut, 4)
    await b.start()
    b.kinds, b.answer, b.invals, b.stall = (UNTOUCHED,), 0.05, 0.05, 0.3
    await b.steps(6000)
    assert b.counts["ok"] > 20
    await b.drain()


@cocotb.test()
async def a_settling_waits_for_those_of_before_and_no_others(dut):
    b = bench(dut, 5)
    await b.start()
    b.settles, b.invals = 0.1, 0.02
    for stall, answer in ((0, 0.9), (0.5, 0.5), (0.8, 0.1)):
        b.stall, b.answer = stall, answer
        await b.steps(3000)
    assert b.settled > 100
    await b.drain()
    # Nobody is here: two cycles, the first and the last counted.
    b.settles, b.answer, b.longest_settling = 1.0, 0.0, 0
    await b.steps(20)
    assert b.longest_settling == 1
