# SPDX-License-Identifier: Apache-2.0
"""Counters of gw_csr against a model of all events, with inhibit, clear and the filter of a context."""

from __future__ import annotations

import random
from collections import Counter

import cocotb
from cocotb.triggers import FallingEdge
from csr_bench import CHANNELS, PORTS, new_rng, start
from registers import OKAY

CHANNEL_EVENTS = ("requests", "hits", "misses", "faults", "stalls")
# Counters by their bit of `walk_event_i` and `l2_event_i`.
WALK_EVENTS = {4: "faults", 3: "merges", 2: "line_hits", 1: "cache_hits", 0: "pte_reads",
               5: "prefetches", 6: "prefetches_used", 7: "prefetches_useless", 8: "updates"}  # fmt: skip
WALK_OWNERS = {"faults": "done", "cache_hits": "start", "merges": "step", "line_hits": "step", "pte_reads": "step",
               "prefetches_used": "step", "updates": "update"}  # fmt: skip
L2_EVENTS = {11: "hits", 10: "range_hits", 9: "misses", 8: "fills", 7: "merges", 6: "evictions", 5: "drops"}


class EventModel:
    """Draws events and keeps what the counters must be; `only`: the one context that is counted."""

    def __init__(self, dut, rng: random.Random, context_of_port: list[int]) -> None:
        self.dut, self.rng, self.context_of_port = dut, rng, context_of_port
        self.only: int | None = None
        self.clear()

    def clear(self) -> None:
        self.want: Counter[str] = Counter()

    def _owner(self) -> tuple[int, int]:
        """A channel, and one of few contexts."""
        return self.rng.randrange(CHANNELS), self.rng.choice(self.context_of_port)

    def _passes(self, context: int) -> bool:
        return self.only in (None, context)

    def _count(self, name: str, by: int = 1) -> None:
        self.want[name] += by

    def _count_channel(self, channel: int, name: str) -> None:
        self._count(f"port_counters_port_{('ar', 'aw')[channel % 2]}_{name}[{channel // 2}]")

    def draw(self, *, counted: bool) -> None:
        """The events of the next cycle."""
        dut, rng = self.dut, self.rng
        pulses = rng.getrandbits(5 * CHANNELS) & rng.getrandbits(5 * CHANNELS)
        done, latency, walk = rng.random() < 0.5, rng.randrange(1 << 16), rng.getrandbits(9)
        walk &= ~16 if not done else ~0  # a fault comes with `done`
        l2 = rng.getrandbits(12)
        owners = {name: self._owner() for name in ("lookup", "start", "done", "step", "update")}
        lookup_of, done_of = owners["lookup"], owners["done"]
        fill_ctx = rng.choice(self.context_of_port)
        dut.chan_event_i.value, dut.walk_event_i.value, dut.l2_event_i.value = pulses, walk, l2
        dut.walk_done_i.value, dut.walk_latency_i.value = int(done), latency
        for name, (source, context) in owners.items():
            getattr(dut, f"{name}_of_i").value = source << 8 | context
        dut.fill_ctx_i.value = fill_ctx
        if not counted:
            return
        for channel in range(CHANNELS):
            for i, name in enumerate(CHANNEL_EVENTS):
                if pulses >> (5 * channel + 4 - i) & 1 and self._passes(self.context_of_port[channel // 2]):
                    self._count_channel(channel, name)
        if done and self._passes(done_of[1]):
            self._count("walker_counters_walks")
            self._count("walker_counters_latency_sum", latency)
            self.want["walker_counters_latency_max"] = max(self.want["walker_counters_latency_max"], latency)
            self._count_channel(done_of[0], "walks")
        for bit, name in WALK_EVENTS.items():
            which = WALK_OWNERS.get(name)
            if name == "pte_reads" and walk >> 5 & 1:
                which = None  # read ahead, for nobody
            if walk >> bit & 1 and (which is None or self._passes(owners[which][1])):
                self._count(f"walker_counters_{name}")
        for bit, name in L2_EVENTS.items():
            owner = lookup_of[1] if bit >= 9 else fill_ctx if bit >= 6 else None
            if l2 >> bit & 1 and (owner is None or self._passes(owner)):
                self._count(f"l2_counters_{name}")
                if name in ("hits", "range_hits"):
                    self._count_channel(lookup_of[0], {"hits": "l2_hits"}.get(name, name))
        self._count("l2_counters_invalidated", l2 & 31)


@cocotb.test()
async def counters_count_events(dut):
    """Random event streams against a model, with inhibit, clear and the filter of a context in between; a stopped counter
    reads consistently."""
    rng = new_rng()
    regs = await start(dut, rng)
    context_of_port = [3 + 5 * (port % 3) for port in range(PORTS)]
    for port, context in enumerate(context_of_port):
        await regs.write("port_binding", regs.pack("port_binding", context_id=context), port)
    model = EventModel(dut, rng, context_of_port)
    channel_names = (*CHANNEL_EVENTS, "l2_hits", "range_hits", "walks")
    names = [(f"port_counters_port_{kind}_{name}", port)
             for port in range(PORTS) for kind in ("ar", "aw") for name in channel_names]  # fmt: skip
    names += [(f"walker_counters_{name}", None)
              for name in ("walks", "latency_sum", "latency_max", *WALK_EVENTS.values())]  # fmt: skip
    names += [(f"l2_counters_{name}", None) for name in (*L2_EVENTS.values(), "invalidated")]

    async def events(count: int, counted: bool) -> None:
        for _ in range(count):
            await FallingEdge(dut.clk_i)
            model.draw(counted=counted)
        await FallingEdge(dut.clk_i)
        for name in ("chan_event_i", "walk_done_i", "walk_event_i", "l2_event_i"):
            getattr(dut, name).value = 0

    async def compare() -> None:
        for name, port in names:
            found = await (regs.read(name) if port is None else regs.read(name, port))
            assert found == model.want[name if port is None else f"{name}[{port}]"], (name, port)

    async def control(**fields: int) -> None:
        await regs.write("count_control", regs.pack("count_control", **fields))

    await events(200, counted=True)
    await compare()
    await control(inhibit=1)
    await events(50, counted=False)
    await compare()
    await control(clear=1)
    model.clear()
    await compare()
    await events(100, counted=True)
    await compare()
    for context in (context_of_port[0], 200):
        await control(clear=1, filter=1, context_id=context)
        model.clear()
        model.only = context
        await events(100, counted=True)
        await compare()
    # What is written to a counter is taken and changes nothing.
    assert (await regs.raw_write(regs.offset("walker_counters_walks"), 0xFFFF_FFFF)).resp == OKAY
    assert (await regs.raw_write(regs.offset("port_counters_port_ar_hits", 0), 0xFFFF_FFFF)).resp == OKAY
    await compare()
