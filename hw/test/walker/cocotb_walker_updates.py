# SPDX-License-Identifier: Apache-2.0
"""gw_walker: A and D set by hardware (Svadu): when, how, and never over what somebody else wrote."""

import os
import random

import cocotb
from page_tables import (
    LEAF,
    LEVELS,
    LOAD_ACCESS,
    LOAD_PAGE,
    STORE_ACCESS,
    STORE_PAGE,
    A,
    D,
    Memory,
    R,
    U,
    V,
    W,
    X,
    napot,
    pte,
)
from walker_bench import EVERYTHING, LINE_BEATS, WARM, Bench, Inval, Request

MAX_LEVELS = int(os.environ["BENCH_LEVELS"])
MODES = [mode for mode, levels in LEVELS.items() if levels <= MAX_LEVELS]
BASE = 1 << 20
LATENCY = 10
FROZEN = 1 << 60  # a reserved bit: no access is allowed while it is set


async def bench(dut, mode=MODES[0], sade=True, latency=LATENCY):
    memory = Memory()
    b = Bench(dut, memory, latency=latency, rng=random.Random(int(os.environ["GODWIT_SEED"])))
    b.root, b.levels = memory.frame(), LEVELS[mode]
    await b.start({0: (mode, b.root, sade)})
    return b


def where(b, vpn, level=0):
    return b.memory.table(b.root, b.levels, vpn, level) << 12 | (vpn >> 9 * level & 511) << 3


BARE = LEAF & ~A & ~D
# entry, level, bits that a read adds, bits that a write adds (None: it faults)
RULES = {
    "neither": (pte(64, BARE), 0, A, A | D),
    "accessed": (pte(64, BARE | A), 0, 0, A | D),
    "dirty but not accessed": (pte(64, BARE | D), 0, A, A | D),
    "both": (pte(64), 0, 0, 0),
    "read only": (pte(64, BARE & ~W), 0, A, None),
    "executable too": (pte(64, BARE | X), 0, A, A | D),
    "execute only": (pte(64, V | X | U), 0, None, None),
    "supervisor": (pte(64, BARE & ~U), 0, None, None),
    "not valid": (pte(64, BARE & ~V), 0, None, None),
    "write without read": (pte(64, BARE & ~R), 0, None, None),
    "frozen": (pte(64, BARE) | FROZEN, 0, None, None),
    "napot": (napot(64, BARE), 0, A, A | D),
    "napot, another pattern": (pte(64 + 4, BARE) | 1 << 63, 0, None, None),
    "2 MiB": (pte(512, BARE), 1, A, A | D),
    "2 MiB misaligned": (pte(513, BARE), 1, None, None),
    "1 GiB": (pte(1 << 18, BARE), 2, A, A | D),
    "pointer": (pte(0x999, V), 1, None, None),
}


@cocotb.test()
async def bits_are_set_as_the_access_needs(dut):
    for mode in MODES:
        b = await bench(dut, mode)
        vpn = BASE
        for name, (entry, level, on_read, on_write) in RULES.items():
            for write, adds in ((False, on_read), (True, on_write)):
                vpn += 1 << 18
                b.memory.map(b.root, b.levels, vpn, entry, level)
                done = len(b.updates.done)
                [r] = await b.run([Request(0, vpn, write)])
                after = b.memory.words[where(b, vpn, level)]
                if adds is None:
                    assert r.answer.cause == (STORE_PAGE if write else LOAD_PAGE), name
                    assert after == entry and len(b.updates.done) == done, name
                    continue
                assert after == entry | adds, f"{name}, write {write}: {after:#x}"
                assert len(b.updates.done) == done + (after != entry), name
                assert r.answer == b.memory.walk(mode, b.root, MAX_LEVELS, vpn, write), name
                # And once more, by what is there now.
                [r] = await b.run([Request(0, vpn, write)])
                assert r.answer.cause is None and b.memory.words[where(b, vpn, level)] == after
                assert len(b.updates.done) == done + (after != entry), name


@cocotb.test()
async def a_context_without_it_faults_and_writes_nothing(dut):
    b = await bench(dut, sade=False)
    b.memory.map(b.root, b.levels, BASE, pte(64, BARE))
    b.memory.map(b.root, b.levels, BASE + 1, pte(65, BARE | A))
    for vpn, write, cause in (
        (BASE, False, LOAD_PAGE),
        (BASE, True, STORE_PAGE),
        (BASE + 1, True, STORE_PAGE),
    ):
        [r] = await b.run([Request(0, vpn, write)])
        assert r.answer.cause == cause
    assert b.updates.reads == 0 and not b.updates.done


@cocotb.test()
async def one_update_serves_all_that_wait(dut):
    for latency in (0, 10):
        b = await bench(dut, latency=latency)
        b.memory.map(b.root, b.levels, BASE, pte(64, BARE))
        b.memory.map(b.root, b.levels, BASE + 8, pte(72))
        await b.run([Request(0, BASE + 8)])
        reads = len(b.reads)
        waiting = min(32, int(os.environ["BENCH_REQUESTS"]))
        requests = await b.run([Request(0, BASE, write=i % 3 == 0) for i in range(waiting)])
        assert all(r.answer.ppn == 64 and r.answer.perm == 3 for r in requests)
        assert [(x[0], x[2]) for x in b.updates.done] == [(where(b, BASE), pte(64))]
        assert b.updates.reads == 1
        assert len(b.reads) - reads <= 4, "before, for those that did not begin that read, and after"


@cocotb.test()
async def bits_that_the_host_takes_away_come_back(dut):
    """Each touch of the page sets them again, also when no other entry was updated in between."""
    b = await bench(dut)
    b.memory.map(b.root, b.levels, BASE, pte(64, BARE))
    for touch in range(4):
        b.memory.words[where(b, BASE)] = pte(64, BARE)
        b.invalidate = EVERYTHING
        await b.idle(2)
        [r] = await b.run([Request(0, BASE, write=touch % 2 == 0)], limit=500)
        assert r.answer.cause is None
        assert b.memory.words[where(b, BASE)] == pte(64, BARE | A | (D if touch % 2 == 0 else 0))
        assert len(b.updates.done) == touch + 1


@cocotb.test()
async def first_touch_costs_two_lines_and_two_accesses(dut):
    for latency in (0, 1, 10):
        b = await bench(dut, latency=latency)
        b.updates.delay = lambda: 0
        b.memory.map(b.root, b.levels, BASE, pte(64, BARE))
        other = BASE + 8 * LINE_BEATS  # in another line
        b.memory.map(b.root, b.levels, other, pte(72))
        await b.run([Request(0, other)])
        [r] = await b.run([Request(0, BASE, write=True)])
        # The walk; exclusive read 3 + L; exclusive write and its answer 3 with this memory; the step after it WARM - 2 + L.
        assert r.cycles == (WARM + latency) + (3 + latency) + 3 + (WARM - 2 + latency), r.cycles
        assert r.latency == r.cycles and r.cacheable


@cocotb.test()
async def memory_that_does_not_do_it_makes_access_faults(dut):
    for write, cause in ((False, LOAD_ACCESS), (True, STORE_ACCESS)):
        b = await bench(dut)
        entry = pte(64, BARE)
        b.memory.map(b.root, b.levels, BASE, entry)
        b.updates.supported = False
        [r] = await b.run([Request(0, BASE, write)])
        assert r.answer.cause == cause and not b.updates.done and b.memory.words[where(b, BASE)] == entry
        b.updates.supported = True
        b.updates.error = lambda: True
        [r] = await b.run([Request(0, BASE, write)])
        assert r.answer.cause == cause and not b.updates.done and b.memory.words[where(b, BASE)] == entry
        b.updates.error = lambda: False
        [r] = await b.run([Request(0, BASE, write)])
        assert r.answer.cause is None


@cocotb.test()
async def a_write_of_the_host_in_between_is_never_undone(dut):
    """The host's plain write comes in each cycle of an update; whatever it writes stays, but for bits set in it after."""
    for new in (0, pte(99, BARE), pte(64, BARE & ~W), pte(64, BARE) | FROZEN):
        for cycle in range(60):
            b = await bench(dut)
            b.memory.map(b.root, b.levels, BASE, pte(64, BARE))
            b.submit(request := Request(0, BASE, True))
            await b.idle(cycle)
            b.memory.map(b.root, b.levels, BASE, new)
            await b.run()
            after = b.memory.words[where(b, BASE)]
            assert after & ~(A | D) == new & ~(A | D)
            assert after == new or new == pte(99, BARE), f"{after:#x} after {new:#x} in cycle {cycle}"
            if request.answer.cause is None and request.answer.ppn == 99:
                assert after == pte(99)


@cocotb.test()
async def the_hosts_protocol_loses_no_dirty_bit(dut):
    """Freeze (one byte, away from A and D), invalidate, wait: then A and D are final, and the entry is the host's alone."""
    for round_ in range(60):
        b = await bench(dut, latency=b_latency(round_))
        pages = [BASE + i for i in range(6)]
        for vpn in pages:
            b.memory.map(b.root, b.levels, vpn, pte(64 + vpn - BASE, BARE))
        rng = b.rng
        b.updates.ready = lambda rng=rng: rng.random() < 0.5
        b.updates.delay = lambda rng=rng: rng.randrange(4)
        requests = [Request(0, rng.choice(pages), rng.random() < 0.5) for _ in range(40)]
        b.submit(*requests)
        await b.idle(rng.randrange(150))
        victim = rng.choice(pages)
        frozen_at = b.cycle
        address = where(b, victim)
        b.memory.words[address] |= FROZEN
        b.memory.on_write(address)
        b.invalidate = Inval(0, victim, 0) if rng.random() < 0.5 else EVERYTHING
        await b.idle(2)
        while b.busy:
            await b.step()
        final = b.memory.words[address]
        wrote = any(r.vpn == victim and r.write and r.answer and r.answer.cause is None for r in requests)
        assert bool(final & D) == wrote or final & D, "written, and not dirty"
        await b.run()
        assert b.memory.words[address] == final, "changed after the acknowledge"
        for r in requests:
            if r.vpn == victim and r.accepted > frozen_at + 1:
                assert r.answer.cause in (LOAD_PAGE, STORE_PAGE)


def b_latency(round_):
    return (0, 1, 3, 12)[round_ % 4]
