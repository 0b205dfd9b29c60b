# SPDX-License-Identifier: Apache-2.0
"""gw_second_level under random traffic, stalls, host changes and invalidations: every answer is one that the page tables gave."""

from __future__ import annotations

import os
import random

import cocotb
from l2_bench import Bench, Request
from world import ALL, CONTEXT, RANGE

SETS, WAYS = int(os.environ["BENCH_SETS"]), int(os.environ["BENCH_WAYS"])
RANGES = int(os.environ["BENCH_RANGES"])
CONTEXTS = (1, 2, 3)
CYCLES = 6000
RANGE_BASE = 0x700_0000
RANGE_CONTEXT = 2


class Host:
    """A few regions of each size in every context, changed at random; what is taken away is invalidated sooner or later."""

    def __init__(self, bench: Bench, rng: random.Random):
        self.bench, self.rng = bench, rng
        self.slots: list[tuple[int | None, int, int]] = []
        for ctx in (*CONTEXTS, None):
            # The same addresses in several contexts, others in each, close together and far apart.
            for base in (0x1000, 0x1010, 0x1000 + 16 * (SETS or 16), rng.randrange(1 << 30) << 4):
                base += (ctx is None) << 32
                self.slots += [(ctx, base + i, 0) for i in range(16)]
            far = rng.randrange(1, 1 << 8) << 20 | (ctx is None) << 32
            self.slots += [(ctx, far + 16 * i, 4) for i in (0, 1, 5)]
            self.slots += [(ctx, (far << 9) + 512 * i, 9) for i in (0, 1, 3)]
            self.slots += [(ctx, (1 << 37) + (i << 18) + ((ctx is None) << 40), 18) for i in (0, 1)]
        self.recent = rng.sample(self.slots, 4)
        self.waiting: list[tuple[int, tuple[int, int, int, int]]] = []

    def map(self, slot: tuple[int | None, int, int]) -> None:
        ctx, vpn, order = slot
        rng, world = self.rng, self.bench.world
        # Small pages often continue their neighbour's row of frames.
        ppn = (
            (0x55_0001 + vpn - 0x1000 if rng.random() < 0.7 else rng.randrange(1 << 30)) % (1 << 43)
            >> order
            << order
        )
        world.map(self.bench.cycle, ctx, vpn, ppn, order, rng.choice((3, 3, 3, 2)))

    def change(self) -> None:
        """Maps, remaps or unmaps one region; the invalidation follows within some cycles."""
        rng, world = self.rng, self.bench.world
        slot = ctx, vpn, order = rng.choice(self.slots)
        present = any(leaf.end is None for leaf in world.leaves.get((ctx, vpn >> order, order), ()))
        if not present:
            self.map(slot)
            return
        if rng.random() < 0.5:
            world.unmap(self.bench.cycle, ctx, vpn, order)
        else:
            self.map(slot)
        if ctx is None:
            pulse = ALL, 0, 0, 0
        else:
            wider = max(order, rng.choice((0, 0, 2, 4, 9, 20)))
            pulse = rng.choice([(RANGE, ctx, vpn, wider)] * 6 + [(CONTEXT, ctx, 0, 0), (ALL, 0, 0, 0)])
        self.waiting.append((self.bench.cycle + rng.randrange(40), pulse))

    def step(self) -> None:
        due = [entry for entry in self.waiting if entry[0] <= self.bench.cycle]
        if due:
            self.waiting.remove(due[0])
            self.bench.invalidate(*due[0][1])

    def request(self) -> Request:
        """One of the regions, half of the time one of the last four; now and then around the range."""
        if self.rng.random() < 0.5:
            self.recent[self.rng.randrange(4)] = self.rng.choice(self.slots)
        ctx, vpn, order = self.rng.choice(self.recent)
        if RANGES and self.rng.random() < 0.1:
            ctx, vpn, order = RANGE_CONTEXT, RANGE_BASE, 6
        return Request(
            self.rng.choice(CONTEXTS) if ctx is None else ctx,
            vpn + self.rng.randrange(1 << order),
            self.rng.random() < 0.3,
        )


@cocotb.test()
async def every_answer_is_one_that_the_page_tables_gave(dut):
    rng = random.Random(int(os.environ["GODWIT_SEED"]))
    bench = await Bench(dut, rng=rng).start()
    host = Host(bench, rng)
    for slot in host.slots:
        host.map(slot)
    done = next_mood = 0
    bench.fences = True
    counts = bench.counts

    def enough() -> bool:
        return not SETS or min(counts[name] for name in ("hit", "fill", "invalidated", "evict")) > 10

    # On, should the moods have been such that something hardly happened.
    while bench.cycle < CYCLES or (bench.cycle < 4 * CYCLES and not enough()):
        # From time to time another mood: how often things happen and how long they take.
        if bench.cycle >= next_mood:
            next_mood = bench.cycle + 500
            if RANGES:
                bench.put_range(
                    RANGES - 1, RANGE_CONTEXT, RANGE_BASE, RANGE_BASE + 40, 0x99_0001 + bench.cycle
                )
            p_offer, p_walk, p_change = rng.choice((1, 0.5)), rng.choice((1, 0.3)), rng.choice((0, 0.01, 0.1))
            longest = rng.choice((1, 8, 40))
            bench.offer = lambda p=p_offer: rng.random() < p
            bench.walk_ready = lambda p=p_walk: rng.random() < p
            bench.walk_latency = lambda longest=longest: 1 + rng.randrange(longest)
            bench.clusters = rng.random() < 0.8
        if rng.random() < p_change:
            host.change()
        host.step()
        while len(bench.queue) < 4:
            bench.queue.append(host.request())
            done += 1
        await bench.step()
    await bench.run()
    # Two sweeps, which give way to answers that are kept, and the hits that the walker's answers hold up.
    assert bench.grace and max(bench.grace) <= 12 * SETS + 400
    assert counts["hit"] + counts["range_hit"] + counts["miss"] == done
    assert counts["miss"] > 100
    assert enough(), counts
    if RANGES:
        assert counts["range_hit"] > 10
    cocotb.log.info("%s", counts)


@cocotb.test()
async def a_page_that_moves_to_another_row_is_all_that_the_first_row_loses(dut):
    """Before its invalidation, by a walk of the other row: the first one keeps its other pages, and gets none that it never had."""
    bench = await Bench(dut).start()
    rng = random.Random(int(os.environ["GODWIT_SEED"]) + 9)
    for turn in range(24):
        base = 0x1000 + 16 * turn
        first, second = (rng.randrange(1 << 30) << 4 for _ in range(2))
        edge = rng.randrange(2, 6)
        for page in range(edge + 1):
            bench.world.map(bench.cycle, 1, base + page, first + page)
        await bench.run([Request(1, base)])
        await bench.idle(40)
        for page in (edge, edge + 1):
            bench.world.map(bench.cycle, 1, base + page, second + page)
        await bench.run([Request(1, base + edge + 1)])
        await bench.idle(40)
        pages = [*range(16)]
        rng.shuffle(pages)
        await bench.run([Request(1, base + page) for page in pages])
        bench.invalidate(RANGE, 1, base, 4)
        await bench.step()
        await bench.run([Request(1, base + page) for page in pages])
