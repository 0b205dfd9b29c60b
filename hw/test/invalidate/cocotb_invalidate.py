# SPDX-License-Identifier: Apache-2.0
"""gw_invalidate: order and cycles of its pulses, what a fence waits for, every error, wrap-around, off and on."""

import os
import random

import cocotb
from cocotb.triggers import RisingEdge
from commands import (
    cache_range,
    iofence,
    iotinval,
    random_cache,
    random_illegal,
    random_inval,
    random_response,
)
from invalidate_bench import ALL, ERRORS, Bench

SEED = int(os.environ["GODWIT_SEED"])
LINES = int(os.environ["BENCH_LINES"])


async def bench(dut, rng=None, **kwargs):
    b = await Bench(dut, rng or random.Random(SEED), **kwargs).begin()
    await b.turn_on()
    return b


async def stopped(b, name, number):
    """Runs until the queue stands with this error, and sees that it stays there."""
    await b.run(until=lambda: b.status[name])
    for _ in range(30):
        await b.step()
    assert [b.status[n] for n in ERRORS] == [int(n == name) for n in ERRORS]
    assert b.done == number == b.get("head_o")


@cocotb.test()
async def commands_mean_what_the_specification_says(dut):
    rng = random.Random(SEED)
    b = await bench(dut, rng, log2=8)
    for _ in range(8):
        b.put(*(random_inval(rng, b.contexts) for _ in range(100)))
        await b.run()
    assert {pulse[0] for _, pulse in b.pulses} == {0, 1, 2}
    assert {pulse[3] for _, pulse in b.pulses if pulse[0] == 2} >= {0, 1, 2, 4, 9, 17, 18}


@cocotb.test()
async def pulses_leave_one_a_cycle(dut):
    """As long as the lines read ahead cover the memory's latency. The first: 6 cycles after the tail moved, and that."""
    for latency in (0, 2):
        b = await bench(dut, log2=8, latency=lambda _, n=latency: n)
        begin = b.now
        b.put(*(iotinval(1, page) for page in range(200)))
        await b.run()
        cycles = [cycle for cycle, _ in b.pulses]
        assert cycles[0] - begin == 6 + latency
        if LINES >= 4:
            assert cycles == list(range(cycles[0], cycles[0] + 200))
        assert b.get("head_o") == 200


@cocotb.test()
async def a_fence_waits_for_the_levels_and_nothing_else_does(dut):
    for busy in (0, 1, 2, 17):
        b = await bench(dut, busy=lambda _, n=busy: n, log2=6)
        b.put(
            iotinval(1, 5), iotinval(2), iofence(wsi=True), iotinval(3, 7), iofence(0x1040, 0x1234, wsi=True)
        )
        await b.run()
        (first, _), (second, _), (third, _) = b.pulses
        assert second == first + 1
        # The epoch turns behind the pulse; the levels have four cycles to see it; their end is seen a cycle later.
        assert b.fences[0] == second + max(busy + 2, 7)
        assert third == b.fences[0] + 2
        assert [write[1:] for write in b.writes] == [(0x1040, 0x1234)]
        assert b.writes[0][0] > third + busy


@cocotb.test()
async def random_commands_with_random_stalls(dut):
    rng = random.Random(SEED + 1)
    for log2, stall in ((1, 0.3), (2, 0.0), (2, 0.6), (3, 0.2), (5, 0.5), (8, 0.1)):
        b = await bench(
            dut,
            rng,
            log2=log2,
            stall=stall,
            base=rng.randrange(1, 1 << 40) << 12,
            latency=lambda r: r.choice((0, 1, 5, 20)),
            busy=lambda r: r.choice((0, 0, 1, 3, 30)),
            delay=rng.randrange(1, 5),
        )
        commands = 0
        while commands < 150:
            for _ in range(rng.randrange(8)):
                if b.free:
                    fence = iofence(
                        rng.choice((None, rng.randrange(1 << 62) << 2)),
                        rng.getrandbits(32),
                        wsi=rng.random() < 0.5,
                        pr=rng.random() < 0.2,
                        pw=rng.random() < 0.2,
                    )
                    kind = rng.random()
                    if b.page_cache and kind > 0.85:
                        b.put(random_cache(rng))
                    elif b.page_requests and kind > 0.7:
                        b.put(random_response(rng, b.contexts))
                    else:
                        b.put(fence if kind < 0.25 else random_inval(rng, b.contexts))
                    commands += 1
            for _ in range(rng.choice((0, 1, 1, 3, 40))):
                b.start, b.ctx_write = rng.random() < 0.05, rng.random() < 0.05
                await b.step()
        await b.run()
        wanted = [m for m in (b.meaning(c) for c in b.written) if m[0] == "fence" and m[1] is not None]
        assert len(b.cached) == sum(b.meaning(c)[0] == "cache" for c in b.written)
        assert len(b.responses) == sum(b.meaning(c)[0] == "respond" for c in b.written)
        assert [write[1:] for write in b.writes] == [m[1:3] for m in wanted]
        await b.turn_off()


@cocotb.test()
async def back_to_back_fences(dut):
    b = await bench(dut, log2=6)
    b.put(*(iofence(wsi=True) for _ in range(40)))
    await b.run()
    gaps = {later - earlier for earlier, later in zip(b.fences[8:], b.fences[9:], strict=False)}
    assert len(b.fences) == 40
    assert gaps == {2} or LINES < 4


@cocotb.test()
async def an_illegal_command_stops_the_queue(dut):
    rng = random.Random(SEED + 2)
    for _ in range(25):
        b = await bench(dut, rng, stall=0.2, log2=5)
        before = [random_inval(rng, b.contexts) for _ in range(rng.randrange(6))]
        illegal = random_illegal(rng, b.contexts, b.page_requests, b.page_cache)
        b.put(*before, illegal, iotinval(1), iofence(wsi=True))
        await stopped(b, "illegal", len(before))
        # Cleared without a change it is found again; put right, the queue goes on.
        b.clear_errors()
        await stopped(b, "illegal", len(before))
        b.replace(len(before), iotinval(2, 3))
        b.clear_errors()
        await b.run()
        assert len(b.fences) == 1
        await b.turn_off()


@cocotb.test()
async def a_memory_fault_stops_the_queue(dut):
    b = await bench(dut, log2=4)
    b.put(*(iotinval(1, page) for page in range(10)))
    b.bad_lines = {b.base + 64}
    await stopped(b, "memory_fault", 4)
    b.bad_lines = set()
    b.clear_errors()
    await b.run()
    # A fence that cannot be written.
    b.bad_words = {0x2004}
    b.put(iofence(0x2004, 7, wsi=True), iotinval(3))
    await stopped(b, "memory_fault", 10)
    assert not b.fences
    b.bad_words = set()
    b.clear_errors()
    await b.run()
    assert [write[1:] for write in b.writes] == [(0x2004, 7)]
    assert len(b.fences) == 1


@cocotb.test()
async def a_fence_that_waits_too_long_stops_the_queue(dut):
    b = await bench(dut, log2=4)
    b.config["timeout_i"] = 50
    b.hold_busy = True
    b.put(iotinval(1), iofence(wsi=True), iotinval(2))
    await b.run(until=lambda: b.pulses)
    begin = b.now
    await stopped(b, "timeout", 1)
    assert b.now - 30 - begin == 51
    b.clear_errors()
    await stopped(b, "timeout", 1)
    b.clear_errors()
    b.hold_busy = False
    await b.run()
    assert len(b.fences) == 1 and len(b.pulses) == 2
    # Zero: it waits as long as it takes.
    b.config["timeout_i"] = 0
    b.hold_busy = True
    b.put(iofence(wsi=True, pr=True))
    for _ in range(500):
        await b.step()
    assert not any(b.status[name] for name in ERRORS)
    b.hold_busy = False
    await b.run()


@cocotb.test()
async def maintenance_waits_for_the_levels_and_the_rest_for_it(dut):
    b = await bench(dut, log2=4, busy=lambda _: 12)
    if not b.page_cache:
        return
    b.cache_takes = lambda _: 40
    b.put(iotinval(1, 5), cache_range(7, 3, clean=True, drop=True), iotinval(2), iofence(wsi=True))
    await b.run()
    (first, _), (second, _) = b.pulses
    ((taken, what),) = b.cached
    assert what == 3 << 100 | 7 << 50 | 9
    assert taken > first + 12 and second > taken + 40 and len(b.fences) == 1
    # A line that could not be written stops the queue; what is lost is lost: the second time it is done.
    b.cache_fails = 1
    b.put(cache_range(clean=True), iotinval(3))
    await stopped(b, "memory_fault", 4)
    b.clear_errors()
    await b.run()
    assert len(b.cached) == 3 and b.cached[-1][1] == 2 << 100 | (1 << 50) - 1
    # A wait beyond the timeout does, too; the next one is asked for when the page cache has done the first.
    b.config["timeout_i"] = 30
    b.put(cache_range(drop=True))
    await stopped(b, "timeout", 6)
    b.cache_takes = lambda _: 10
    b.clear_errors()
    await b.run()
    assert len(b.cached) == 5
    # Turned off meanwhile: it is done, and nothing behind it is begun.
    b.put(cache_range(drop=True), iotinval(5))
    await b.run(until=lambda: b.cache_busy is not None)
    pulses = len(b.pulses)
    await b.turn_off()
    assert b.cache_busy is None and len(b.pulses) == pulses


@cocotb.test()
async def off_and_on_again(dut):
    rng = random.Random(SEED + 3)
    b = await bench(
        dut, rng, stall=0.3, log2=3, latency=lambda r: r.choice((0, 3, 12)), busy=lambda r: r.choice((0, 5))
    )
    for round_ in range(60):
        b.put(*(rng.choice((iotinval(1, 2), iofence(0x40, round_), random_inval(rng, 16))) for _ in range(7)))
        for _ in range(rng.randrange(40)):
            await b.step()
        seen = len(b.writes)
        await b.turn_off()
        head = b.get("head_o")
        assert b.done <= head <= b.done + 1
        assert len(b.writes) <= seen + 1
        b.expected.clear()
        await b.turn_on()
        assert b.get("head_o") == 0
    b.put(iotinval(3), iofence(0x80, 99))
    await b.run()
    assert b.writes[-1][1:] == (0x80, 99)


@cocotb.test()
async def starts_and_context_writes_come_first(dut):
    b = await bench(dut, log2=8, busy=lambda _: 4)
    b.put(*(iotinval(1, page) for page in range(60)))
    for cycle in range(40):
        b.start, b.ctx_write = cycle % 10 == 3, cycle % 7 == 2
        assert b.get("busy_o") or cycle < 3
        await b.step()
    await b.run()
    assert sum(pulse[0] == ALL for _, pulse in b.pulses) == len(
        [c for c in range(40) if c % 10 == 3 or c % 7 == 2]
    )
    # Alone: pulse in the next cycle, busy from the start on, done when the levels are.
    await b.run(until=lambda: not b.get("busy_o"))
    assert b.dones
    b.start, begin, ended = True, b.now, len(b.dones)
    await b.step()
    while len(b.dones) == ended:
        assert b.get("busy_o")
        await b.step()
    assert b.pulses[-1][0] == begin + 1
    assert b.dones[-1] == begin + 1 + 6
    # A write of a context alone reports no end.
    b.ctx_write, ended = True, len(b.dones)
    for _ in range(20):
        await b.step()
    assert len(b.dones) == ended and not b.get("busy_o")
    await RisingEdge(dut.clk_i)


@cocotb.test()
async def a_fence_ends_under_a_pulse_in_every_cycle(dut):
    """Every pulse leaves something under way for 10 cycles: a fence takes two periods at most, a start likewise."""
    b = await bench(dut, log2=4, busy=lambda _: 10, delay=4)
    for _ in range(20):
        b.put(iotinval(1, 5), iofence(wsi=True))
        begin, ended = b.now, len(b.fences)
        while len(b.fences) == ended:
            b.ctx_write = bool(b.now % 9)  # a command gets through in between
            await b.step()
        assert b.now - begin < 12 + 9 + 2 * (10 + 4 + 3)
    b.start, begin, ended = True, b.now, len(b.dones)
    while len(b.dones) == ended:
        await b.step()
        b.ctx_write = True
    assert b.now - begin < 2 * (10 + 4 + 3)


@cocotb.test()
async def a_fence_that_ends_at_its_timeout_is_done(dut):
    """The end comes in the last cycle of the timeout, and a cycle later: done, and stopped."""
    for busy, ends in ((20, True), (21, False)):
        b = await bench(dut, log2=4, busy=lambda _, n=busy: n)
        b.config["timeout_i"] = 21
        b.put(iotinval(1), iofence(wsi=True), iotinval(2))
        for _ in range(60):
            await b.step()
        assert (len(b.fences), b.status["timeout"]) == ((1, 0) if ends else (0, 1))
        assert b.get("head_o") == (3 if ends else 1)
        await b.turn_off()


@cocotb.test()
async def only_ports_of_the_contexts_concerned_turn(dut):
    b = await bench(dut, log2=4)
    b.drive("port_ctx_i", 2 << 8 | 1)
    for _ in range(10):
        await b.step()
    b.put(iotinval(), iofence(wsi=True))
    await b.run()
    turned = b.get("port_epoch_o")
    for commands, ports in (
        ((iotinval(1, 5),), 0b01),
        ((iotinval(2),), 0b10),
        ((iotinval(3, 1),), 0b00),
        ((iotinval(1, 5), iotinval(2, 5)), 0b11),
        ((iotinval(2, 5), iotinval(2)), 0b10),
        ((iotinval(),), 0b11),
        ((), 0b11),
    ):
        epoch = b.get("epoch_o")
        b.put(*commands, iofence(wsi=True, pr=not commands))
        await b.run()
        turned ^= ports
        assert b.get("port_epoch_o") == turned
        assert b.get("epoch_o") == 1 - epoch


@cocotb.test()
async def a_port_that_changed_its_context_turns_once_for_the_one_it_had(dut):
    """Accesses of its former context may still be under way."""
    b = await bench(dut, log2=4)
    for before, after in ((0, 1), (1, 3), (3, 3)):
        b.drive("port_ctx_i", 2 << 8 | after)
        for _ in range(10):
            await b.step()
        for concerned in (before != after, False):
            turned = b.get("port_epoch_o") & 1
            b.put(iotinval(before if before != after else 9, 5), iofence(wsi=True))
            await b.run()
            assert b.get("port_epoch_o") & 1 == turned ^ concerned
