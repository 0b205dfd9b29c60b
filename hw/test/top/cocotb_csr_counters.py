# SPDX-License-Identifier: Apache-2.0
"""Counters of gw_csr against a model of all events: inhibit, clear and the filter of a context; reads while everything counts."""

from __future__ import annotations

import random
from collections import Counter

import cocotb
from cocotb.triggers import FallingEdge
from csr_bench import CHANNELS, HEAP, PAGE_REQUESTS, PORTS, new_rng, start
from registers import OKAY

from godwit.spec import events

DECLARED = events.load()
CHANNEL_WIDTH = DECLARED.levels["l1"].width
CHANNEL_AT = events.positions(DECLARED.levels["l1"])
MMU_AT = events.mmu_positions(DECLARED)
GROUPS = {group.name: group.counters for group in DECLARED.counted()}


class EventModel:
    """Draws events and keeps what the counters must be; `only`: the one context that is counted."""

    def __init__(self, dut, rng: random.Random, context_of_port: list[int]) -> None:
        self.dut, self.rng, self.context_of_port = dut, rng, context_of_port
        self.only: int | None = None
        self.clear()

    def clear(self) -> None:
        self.want: Counter[str] = Counter()

    def _passes(self, context: int) -> bool:
        return self.only in (None, context)

    def _add(self, counter: events.Counter, register: str, value: int) -> None:
        old = self.want[register]
        self.want[register] = max(old, value) if counter.max else old + value

    def _of_channel(self, channel: int, counter: events.Counter, value: int) -> None:
        name = f"port_counters_port_{('ar', 'aw')[channel % 2]}_{counter.name}[{channel // 2}]"
        self._add(counter, name, value)

    def draw(self, *, counted: bool, often: bool = False) -> None:
        """The events of the next cycle; `often`: every event there is, with the largest values."""
        rng = self.rng
        width = CHANNELS * CHANNEL_WIDTH
        pulses = (1 << width) - 1 if often else rng.getrandbits(width) & rng.getrandbits(width)
        fields: dict[str, dict[str, int]] = {}
        word = 0
        for name, level in DECLARED.levels.items():
            if name == "l1":
                continue
            found = fields[name] = {}
            for item in level.fields():
                if isinstance(item, events.Owner):  # a channel, and one of few contexts
                    value = rng.choice(self.context_of_port)
                    value |= rng.randrange(CHANNELS) << 8 if item.kind == "channel" else 0
                else:
                    value = (1 << item.width) - 1 if often else rng.getrandbits(item.width)
                if name == "invalidation" and item.name == "inval_scope":
                    value %= 3
                found[item.name] = value
                word |= value << MMU_AT[name][item.name].low
        self.dut.chan_event_i.value, self.dut.mmu_event_i.value = pulses, word
        if counted:
            self._count(pulses, fields)

    def _count(self, pulses: int, fields: dict[str, dict[str, int]]) -> None:
        for group, counters in GROUPS.items():
            for counter in counters:
                level, _, name = counter.counts.partition(".")
                if level == "l1":
                    for channel in range(CHANNELS):
                        at = CHANNEL_WIDTH * channel + CHANNEL_AT[name].low
                        if pulses >> at & 1 and self._passes(self.context_of_port[channel // 2]):
                            self._of_channel(channel, counter, 1)
                    continue
                found, event = fields[level], DECLARED.event(counter.counts)
                owner = found[event.owner] if event.owner else None
                if isinstance(event.ownerless, str) and event.ownerless and found[event.ownerless]:
                    owner = None
                if not found[name] or (owner is not None and not self._passes(owner & 0xFF)):
                    continue
                value = found[event.value] if counter.sum or counter.max else found[name]
                if (group in ("page", "cache") and not PAGE_REQUESTS) or (group == "heap" and not HEAP):
                    continue  # they read zero
                if group == "channel":
                    self._of_channel(found[event.owner] >> 8, counter, value)
                else:
                    self._add(counter, f"{group}_counters_{counter.name}", value)


class Rig:
    """A model beside the registers, ports bound to three contexts."""

    def __init__(self, dut, rng, regs) -> None:
        self.dut, self.rng, self.regs = dut, rng, regs
        self.context_of_port = [3 + 5 * (port % 3) for port in range(PORTS)]
        self.model = EventModel(dut, rng, self.context_of_port)
        self.names = [(f"port_counters_port_{kind}_{counter.name}", port)
                      for port in range(PORTS) for kind in ("ar", "aw") for counter in GROUPS["channel"]]  # fmt: skip
        self.names += [(f"{group}_counters_{counter.name}", None)
                       for group in GROUPS if group != "channel" for counter in GROUPS[group]]  # fmt: skip

    @classmethod
    async def make(cls, dut) -> Rig:
        rng = new_rng()
        rig = cls(dut, rng, await start(dut, rng))
        for port, context in enumerate(rig.context_of_port):
            await rig.regs.write("port_binding", rig.regs.pack("port_binding", context_id=context), port)
        return rig

    async def events(self, count: int, *, counted: bool, often: bool = False) -> None:
        for _ in range(count):
            await FallingEdge(self.dut.clk_i)
            self.model.draw(counted=counted, often=often)
        await FallingEdge(self.dut.clk_i)
        self.dut.chan_event_i.value = self.dut.mmu_event_i.value = 0

    async def read(self, name: str, port: int | None) -> int:
        return await (self.regs.read(name) if port is None else self.regs.read(name, port))

    async def compare(self) -> None:
        for name, port in self.names:
            found = await self.read(name, port)
            want = self.model.want[name if port is None else f"{name}[{port}]"]
            assert found == want, f"{name} of port {port}: {found}, must be {want}"

    async def control(self, **fields: int) -> None:
        await self.regs.write("count_control", self.regs.pack("count_control", **fields))


@cocotb.test()
async def counters_count_events(dut):
    """Random event streams, with inhibit, clear and the filter of a context in between; a stopped counter reads
    consistently."""
    rig = await Rig.make(dut)
    await rig.events(200, counted=True)
    await rig.compare()
    await rig.control(inhibit=1)
    await rig.events(50, counted=False)
    await rig.compare()
    await rig.control(clear=1)
    rig.model.clear()
    await rig.compare()
    await rig.events(100, counted=True)
    await rig.compare()
    for context in (rig.context_of_port[0], 200):
        await rig.control(clear=1, filter=1, context_id=context)
        rig.model.clear()
        rig.model.only = context
        await rig.events(100, counted=True)
        await rig.compare()
    # What is written to a counter is taken and changes nothing.
    assert (await rig.regs.raw_write(rig.regs.offset("walker_counters_walks"), 0xFFFF_FFFF)).resp == OKAY
    assert (
        await rig.regs.raw_write(rig.regs.offset("port_counters_port_ar_hits", 0), 0xFFFF_FFFF)
    ).resp == OKAY
    await rig.compare()


@cocotb.test()
async def nothing_is_lost_when_everything_happens_in_every_cycle(dut):
    """All events with the largest values for longer than any counter's adder holds, while counters are read; then stopped
    in the middle: all are as of the cycle in which `inhibit` was written."""
    rig = await Rig.make(dut)
    stop = False
    counted = [0]

    async def traffic() -> None:
        while not stop:
            await FallingEdge(dut.clk_i)
            # Inhibit is seen by the counters in the cycle in which the register has it.
            inhibited = bool(dut.u_dut.u_counters.inhibit_i.value)
            rig.model.draw(counted=not inhibited, often=True)
            counted[0] += not inhibited

    task = cocotb.start_soon(traffic())
    last: Counter[str] = Counter()
    for _ in range(60):
        name, port = rig.rng.choice(rig.names)
        before = rig.model.want[name if port is None else f"{name}[{port}]"]
        found = await rig.read(name, port)
        after = rig.model.want[name if port is None else f"{name}[{port}]"]
        assert before <= found <= after, f"{name}: {found} while it went from {before} to {after}"
        assert found >= last[f"{name}{port}"]
        last[f"{name}{port}"] = found
    await rig.control(inhibit=1)
    await rig.compare()
    assert counted[0] > 500
    stop = True
    await task


@cocotb.test()
async def the_upper_word_belongs_to_the_lower_one(dut):
    """The sum of latencies goes over 2**32 between the reads of its two words, again and again: no value is torn."""
    rig = await Rig.make(dut)
    await rig.control(clear=1)
    rig.model.clear()
    bank = dut.u_dut.u_counters.u_walker
    index = [counter.name for counter in GROUPS["walker"]].index("latency_sum")
    await FallingEdge(dut.clk_i)
    # A clear counter's word is zero until its first visit, which is over after as many cycles as there are counters.
    for _ in range(2 * len(GROUPS["walker"])):
        await FallingEdge(dut.clk_i)
    while int(bank.slot_q.value) != (index + 5) % len(GROUPS["walker"]):
        await FallingEdge(dut.clk_i)
    bank.word[index].value = (1 << 32) - 40 * 0xFFFF
    rig.model.want["walker_counters_latency_sum"] = (1 << 32) - 40 * 0xFFFF
    stop = False

    async def traffic() -> None:
        while not stop:
            await FallingEdge(dut.clk_i)
            rig.model.draw(counted=True, often=True)

    task = cocotb.start_soon(traffic())
    values = [await rig.regs.read("walker_counters_latency_sum") for _ in range(20)]
    stop = True
    await task
    assert values == sorted(values)
    assert values[0] < 1 << 32 < values[-1] < 2 << 32, values
