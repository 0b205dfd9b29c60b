# SPDX-License-Identifier: Apache-2.0
"""gw_access_counters beside a table written down a second time: what is counted, displaced, reported, cleared, missed."""

from __future__ import annotations

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge

SEED = int(os.environ["GODWIT_SEED"])
GROUPS, DEPTH, REPORTS = (int(os.environ[f"BENCH_{name}"]) for name in ("GROUPS", "DEPTH", "REPORTS"))
CONTROL, THRESHOLD, STATUS, TAKE, REPORT, LINES, CLEARED, CLEAR = 0x0, 0x4, 0x8, 0xC, 0x10, 0x18, 0x1C, 0x20
ENABLE, IRQ, FORGET, VALID = 1, 2, 4, 1 << 63
LARGEST, HOST = (1 << 16) - 1, 1 << 55
QUIET = 12
"""Cycles in which a burst is counted, with room to spare."""


class Table:
    """What the table holds: place -> group, counts, whether it was reported; reports in their order."""

    def __init__(self, threshold: int) -> None:
        self.threshold, self.places = threshold, {}
        self.reports: list[tuple[int, int, int]] = []

    def burst(self, group: int, lines: int, write: bool) -> None:
        place = group % GROUPS
        owner, counts, reported = self.places.get(place, (group, [0, 0], False))
        if owner == group:
            counts[write] = min(counts[write] + lines, LARGEST)
        else:
            rest = max(0, lines - counts[0])
            counts = [max(0, counts[0] - lines), max(0, counts[1] - rest)]
            if counts == [0, 0]:
                owner, reported = group, False
                counts[write] = lines
        if (
            owner == group
            and sum(counts) >= self.threshold > 0
            and not reported
            and len(self.reports) < REPORTS
        ):
            self.reports.append((group, *counts))
            reported = True
        self.places[place] = (owner, counts, reported)

    def clear(self, group: int) -> tuple[int, int]:
        """What its counts were."""
        if self.places.get(group % GROUPS, (None,))[0] != group:
            return 0, 0
        fills, writebacks = self.places.pop(group % GROUPS)[1]
        return fills, writebacks


class Bench:
    def __init__(self, dut, seed: int) -> None:
        self.dut, self.rng = dut, random.Random(seed)

    async def start(self, threshold: int, control: int = ENABLE | IRQ) -> Bench:
        dut = self.dut
        dut.rst_ni.value = 0
        for name in ("ar_i", "aw_i", "req_i", "ar_addr_i", "aw_addr_i", "ar_len_i", "aw_len_i"):
            getattr(dut, name).value = 0
        cocotb.start_soon(Clock(dut.clk_i, 2, unit="ns").start())
        for _ in range(3):
            await RisingEdge(dut.clk_i)
        dut.rst_ni.value = 1
        await FallingEdge(dut.clk_i)
        while await self.read(CONTROL) & FORGET:
            pass
        await self.write(THRESHOLD, threshold)
        await self.write(CONTROL, control)
        return self

    async def request(self, write: bool, address: int, data: int = 0, mask: int = 0xFFFF_FFFF) -> int:
        self.dut.req_i.value = 1 << 71 | write << 70 | address << 64 | data << 32 | mask
        await FallingEdge(self.dut.clk_i)
        self.dut.req_i.value = write << 70 | address << 64 | data << 32 | mask
        for _ in range(GROUPS + 100):
            response = int(self.dut.rsp_o.value)
            if response >> 33:
                await FallingEdge(self.dut.clk_i)
                return response >> 1 & 0xFFFF_FFFF
            await FallingEdge(self.dut.clk_i)
        raise AssertionError("no acknowledge")

    async def read(self, address: int) -> int:
        return await self.request(False, address)

    async def write(self, address: int, data: int, mask: int = 0xFFFF_FFFF) -> None:
        await self.request(True, address, data, mask)

    async def quiet(self, cycles: int = QUIET) -> None:
        for _ in range(cycles):
            await FallingEdge(self.dut.clk_i)

    async def clear(self, group: int) -> tuple[int, int]:
        """What its counts were, read as soon as can be."""
        await self.write(CLEAR, group & 0xFFFF_FFFF)
        await self.write(CLEAR + 4, group >> 32)
        lines = await self.read(CLEARED)
        return lines & LARGEST, lines >> 16

    def show(self, write: bool, group: int, lines: int) -> None:
        """A burst of this cycle, within 4 KiB."""
        at = HOST | group << 16 | self.rng.randrange(16) << 12 | self.rng.randrange(65 - lines) * 64
        name = "aw" if write else "ar"
        getattr(self.dut, f"{name}_i").value = 1
        getattr(self.dut, f"{name}_addr_i").value = at
        getattr(self.dut, f"{name}_len_i").value = lines - 1

    def hide(self) -> None:
        self.dut.ar_i.value = self.dut.aw_i.value = 0

    def irq(self) -> int:
        return int(self.dut.rsp_o.value) & 1

    async def report(self) -> tuple[int, int, int] | None:
        """The oldest one: group, lines read, lines written."""
        group = await self.read(REPORT) | await self.read(REPORT + 4) << 32
        lines = await self.read(LINES)
        if not group & VALID:
            assert (group, lines) == (0, 0)
            return None
        return group & ~VALID, lines & LARGEST, lines >> 16


def some_groups(rng: random.Random) -> list[int]:
    """Groups of the host aperture, three a place of some places."""
    places = [rng.randrange(GROUPS) for _ in range(4)]
    return [rng.getrandbits(38) // GROUPS * GROUPS + place for place in places for _ in range(3)]


def number(group: int) -> int:
    """As registers have it: with the aperture's bit."""
    return group | HOST >> 16


@cocotb.test()
async def counts_reports_and_clears_are_the_models(dut):
    """Burst after burst, both directions; reports are taken, groups cleared, at random, so that the queue of reports is often full."""
    bench = await Bench(dut, SEED).start(threshold := 40)
    rng, model = bench.rng, Table(threshold)
    groups = some_groups(rng)
    taken = full = known = 0
    for _ in range(4000):
        group, lines, write = (
            rng.choice(groups),
            rng.choice((1, 1, 4, rng.randint(1, 64))),
            rng.random() < 0.3,
        )
        bench.show(write, group, lines)
        await FallingEdge(dut.clk_i)
        bench.hide()
        await bench.quiet()
        model.burst(number(group), lines, write)
        full += len(model.reports) == REPORTS
        assert bench.irq() == bool(model.reports)
        if rng.random() < 0.12:
            assert await bench.report() == (model.reports[0] if model.reports else None)
            await bench.write(TAKE, rng.getrandbits(32))
            taken += bool(model.reports)
            model.reports = model.reports[1:]
        if rng.random() < 0.1:
            group = number(rng.choice(groups))
            cleared = await bench.clear(group)
            await bench.quiet()
            assert cleared == model.clear(group)
            known += cleared != (0, 0)
        assert await bench.read(STATUS) == len(model.reports)
    assert taken > 20 and full > 5 and known > 20


@cocotb.test()
async def nothing_is_counted_too_high_at_full_speed(dut):
    """Bursts of both directions in most cycles, with pauses: what is not counted is missed, what is reported was seen, and once."""
    bench = await Bench(dut, SEED + 1).start(threshold := 64)
    rng, groups = bench.rng, some_groups(random.Random(SEED))[::3]
    groups = list({group % GROUPS: group for group in groups}.values())
    seen = {number(group): [0, 0] for group in groups}
    sent, steps = 0, []

    async def watch() -> None:
        while True:
            await FallingEdge(dut.clk_i)
            steps.extend([1] * int(dut.taken.value).bit_count())

    watcher = cocotb.start_soon(watch())
    for _ in range(120):
        share = rng.choice((0.02, 0.1, 0.9))
        for _ in range(rng.randint(1, 30)):
            for write in (False, True):
                if rng.random() < share:
                    group, lines = rng.choice(groups), rng.randint(1, 3)
                    bench.show(write, group, lines)
                    seen[number(group)][write] += lines
                    sent += 1
            await FallingEdge(dut.clk_i)
            bench.hide()
        await bench.quiet(rng.randint(1, 4 * DEPTH))
    await bench.quiet(8 * DEPTH + QUIET)
    missed = await bench.read(STATUS) >> 16
    watcher.cancel()
    assert missed > 0 and missed + len(steps) == sent
    reported = []
    while (found := await bench.report()) is not None:
        group, fills, writebacks = found
        assert fills <= seen[group][0] and writebacks <= seen[group][1]
        assert threshold <= fills + writebacks < threshold + 3 + 1
        reported.append(group)
        await bench.write(TAKE, 0)
    assert len(set(reported)) == len(reported) > 0
    # A cleared group starts again, the others do not; what was counted of it behind its report is told.
    cleared = await bench.clear(reported[0])
    assert threshold <= sum(cleared)
    assert all(count <= most for count, most in zip(cleared, seen[reported[0]], strict=True))
    assert await bench.clear(reported[0]) == (0, 0)
    for group in reported:
        bench.show(False, group & ~(HOST >> 16), 64)
        await FallingEdge(dut.clk_i)
        bench.hide()
        await bench.quiet()
    assert await bench.report() == (reported[0], 64, 0)
    await bench.write(TAKE, 0)
    assert await bench.report() is None


@cocotb.test()
async def counts_stay_at_the_largest(dut):
    bench = await Bench(dut, SEED).start(2 * LARGEST)
    for write in (False, True):
        for _ in range((LARGEST + 1) // 64 + 8):
            bench.show(write, 5, 64)
            await FallingEdge(dut.clk_i)
            bench.hide()
            await bench.quiet(5)
    await bench.quiet()
    assert await bench.report() == (number(5), LARGEST, LARGEST)
    assert await bench.clear(number(5)) == (LARGEST, LARGEST)


@cocotb.test()
async def registers_switch_it_off_and_forget(dut):
    bench = await Bench(dut, SEED).start(8, control=0)
    assert await bench.read(CONTROL) == (GROUPS.bit_length() - 1) << 8

    async def burst(group: int) -> None:
        bench.show(False, group, 16)
        await FallingEdge(dut.clk_i)
        bench.hide()
        await bench.quiet()

    await burst(3)
    assert await bench.report() is None
    await bench.write(CONTROL, ENABLE)
    await burst(3)
    assert await bench.report() == (number(3), 16, 0) and not bench.irq()
    await bench.write(CONTROL, IRQ, mask=IRQ)
    assert bench.irq()
    # What is forgotten is counted from zero; it takes a cycle a place.
    await burst(4)
    await bench.write(CONTROL, FORGET, mask=FORGET)
    assert not bench.irq() and await bench.read(CONTROL) & FORGET
    await bench.quiet(GROUPS + QUIET)
    assert not await bench.read(CONTROL) & FORGET and await bench.read(STATUS) == 0
    await bench.write(THRESHOLD, 0x1_FFFF)
    assert await bench.read(THRESHOLD) == 0x1_FFFF
    await bench.write(THRESHOLD, 17)
    await burst(3)
    assert await bench.report() is None
    await burst(3)
    assert await bench.report() == (number(3), 32, 0)
    # 0: never.
    await bench.write(TAKE, 0)
    await bench.write(THRESHOLD, 0)
    await burst(9)
    await burst(9)
    assert await bench.report() is None
    assert await bench.read(CLEARED) == 0 and await bench.read(0x28) == 0
