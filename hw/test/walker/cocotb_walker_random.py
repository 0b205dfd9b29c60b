# SPDX-License-Identifier: Apache-2.0
"""gw_walker under random stalls, order, page tables, changes of them, invalidations and memory errors."""

import os
import random
from collections import Counter, defaultdict
from dataclasses import replace

import cocotb
from page_tables import (
    LEAF,
    LEVELS,
    LOAD_ACCESS,
    STORE_ACCESS,
    A,
    D,
    G,
    Memory,
    N,
    R,
    V,
    W,
    X,
    canonical,
    neighbour,
    pages_of_several,
    pte,
)
from walker_bench import EVERYTHING, Bench, Inval, Request

MAX_LEVELS = int(os.environ["BENCH_LEVELS"])
ANY_NAPOT = os.environ["BENCH_ANY_NAPOT"] == "1"
MODES = [mode for mode, levels in LEVELS.items() if levels <= MAX_LEVELS]
CYCLES = 2500
MORE = 4
TO_UPDATE = -1  # cause of an answer that is to come when A or D is set
REMEMBERED = 4  # invalidations that an answer on its way may see and still be kept


def some_entry(rng, level):
    """Mostly a good leaf; sometimes one of the ways to be wrong."""
    ppn = rng.getrandbits(44)
    wrong = [LEAF & ~D, LEAF & ~W & ~D, LEAF & ~A, LEAF & ~R, V | R, rng.getrandbits(8)]
    flags = rng.choice([LEAF] * len(wrong) + wrong)
    if level:
        aligned = rng.random() < 0.85
        several = N if ANY_NAPOT and rng.random() < 0.5 else 0
        return several | pte(ppn >> 9 * level << 9 * level if aligned else ppn, flags)
    if rng.random() < 0.1:
        return pte(ppn, flags) | 1 << rng.randrange(54, 64)
    return pte(ppn, flags)


class Space:
    """Page tables of some contexts that change while they are used, with every state they were in.

    `history[ctx, vpn]` is the list of (cycle, answer to a read, answer to a write) from which on each held.
    """

    def __init__(self, rng, contexts, updates):
        # Contexts in which hardware sets A and D.
        self.sade = {ctx: updates and rng.random() < 0.7 for ctx in range(contexts)}
        self.rng = rng
        self.memory = Memory(pointer_flags=lambda: V | G if rng.random() < 0.1 else V, any_napot=ANY_NAPOT)
        self.mode = {ctx: rng.choice(MODES) for ctx in range(contexts)}
        self.root = {ctx: self.memory.frame() for ctx in range(contexts)}
        self.pages = {ctx: [] for ctx in range(contexts)}
        self.history = {}
        self.readers = defaultdict(set)  # by address of an entry: (ctx, vpn) of walks that depend on it
        # Runs of pages lie as far from their frames, aligned to the line or not.
        self.distance = {ctx: rng.getrandbits(30) * rng.choice([1, 8]) for ctx in range(contexts)}
        # (ctx, level, first bits of vpn): not to be linked again before the invalidation is acknowledged.
        self.unlinked = set()
        for ctx in range(contexts):
            self._fill(ctx)
        for ctx, pages in self.pages.items():
            for vpn in {page & ~7 | i for page in pages for i in range(8)}:
                self.history[ctx, vpn] = [(-1, *self._both(ctx, vpn))]
        self.memory.changed.clear()

    def failed(self, r: Request, beats: list[tuple[int, int]]) -> bool:
        """Whether a beat with an entry of the walk failed while the request was there; `beats` are (cycle, address)."""
        wanted = {address & -64 for address in self.memory.path(self.root[r.ctx], self._levels(r.ctx), r.vpn)}
        return any(r.accepted < cycle < r.answered and address in wanted for cycle, address in beats)

    def _levels(self, ctx):
        return LEVELS[self.mode[ctx]]

    def _fill(self, ctx):
        rng, levels = self.rng, self._levels(ctx)
        base = rng.getrandbits(9 * levels - 1)
        if rng.random() < 0.3:
            base += (1 << 45) - (1 << 9 * levels - 1)
        neighbours = [base + rng.choice([0, 512, 4096, 1 << 18, -(1 << 12)]) for _ in range(3)]
        for near in neighbours:
            for _ in range(12):
                vpn = near + rng.choice([rng.randrange(-4, 12), rng.randrange(512), rng.randrange(1 << 12)])
                if not 0 <= vpn < 1 << 45:
                    continue
                self.pages[ctx].append(vpn)
                if canonical(vpn, levels) and rng.random() < 0.8:
                    self._map(ctx, vpn)
        self.pages[ctx].append(1 << 44 | 1 << 20)
        self.pages[ctx] = sorted(set(self.pages[ctx]))

    def _map(self, ctx, vpn):
        rng, levels = self.rng, self._levels(ctx)
        level = rng.choice([0] * 8 + [1, 2])
        try:
            table = self.memory.table(self.root[ctx], levels, vpn, level)
        except AssertionError:  # a larger page is there already
            return
        if level == 0 and rng.random() < 0.2:
            order = rng.randrange(1, 9) if ANY_NAPOT else 4
            entry = pages_of_several(rng.getrandbits(44), order, rng.choice([LEAF, LEAF & ~D]))
            for i in range(1 << order):
                self.memory.write(table, vpn >> order << order & 511 | i, entry)
        elif level == 0:
            for page in range(vpn, min(vpn + rng.choice([1, 2, 8]), (vpn | 511) + 1)):
                self.memory.write(table, page & 511, self._leaf(ctx, page))
        elif self.memory.read(table, vpn >> 9 * level & 511) == 0:
            self.memory.write(table, vpn >> 9 * level & 511, some_entry(rng, level))

    def _leaf(self, ctx, vpn):
        if self.sade[ctx] and self.rng.random() < 0.5:
            flags = self.rng.choice([LEAF & ~A, LEAF & ~D, LEAF & ~A & ~D, LEAF & ~W & ~A & ~D])
            return pte(vpn + self.distance[ctx] & (1 << 44) - 1, flags)
        if self.rng.random() < 0.6:
            return pte(
                vpn + self.distance[ctx] & (1 << 44) - 1, self.rng.choice([LEAF] * 8 + [LEAF & ~D, LEAF | G])
            )
        return some_entry(self.rng, 0)

    def _now(self, ctx, vpn, write):
        where = self.mode[ctx], self.root[ctx], MAX_LEVELS, vpn, write
        answer = self.memory.walk(*where)
        if answer.cause is None or not self.sade[ctx]:
            return answer
        updated = self.memory.walk(*where, sade=True)
        return answer if updated.cause is not None else replace(updated, cause=TO_UPDATE)

    def _both(self, ctx, vpn):
        """The answers to a read and to a write, and who is to be asked again when an entry on the way changes."""
        for address in self.memory.path(self.root[ctx], self._levels(ctx), vpn):
            self.readers[address].add((ctx, vpn))
        return self._now(ctx, vpn, False), self._now(ctx, vpn, True)

    def note(self, cycle):
        """Records what changed in `cycle`: it holds for reads accepted from that cycle on."""
        for ctx, vpn in set().union(*(self.readers.pop(address, ()) for address in self.memory.changed)):
            states, state = self.history[ctx, vpn], self._both(ctx, vpn)
            if states[-1][1:] != state:
                states.append((cycle, *state))
        self.memory.changed.clear()

    def change_leaf(self, cycle, *, take_away):
        """Rewrites one 4 KiB entry; without `take_away` only where nothing was allowed before."""
        ctx = self.rng.choice(list(self.pages))
        vpn = self.rng.choice(self.pages[ctx])
        levels, ppn = self._levels(ctx), self.root[ctx]
        if not canonical(vpn, levels):
            return
        for level in range(levels - 1, 0, -1):
            if (ctx, level, vpn >> 9 * level) in self.unlinked:
                return
            entry = self.memory.read(ppn, vpn >> 9 * level & 511)
            if not entry & V:
                # A table of its own first, then the pointer to it.
                entry = pte(self.memory.frame(), V)
                self.memory.write(ppn, vpn >> 9 * level & 511, entry)
            if entry & (R | X) or entry & N:
                return
            ppn = entry >> 10 & (1 << 44) - 1
        if take_away or not self.memory.read(ppn, vpn & 511) & V:
            gone = take_away and self.rng.random() < 0.5
            self.memory.write(ppn, vpn & 511, 0 if gone else self._leaf(ctx, vpn))
        self.note(cycle)

    def unlink_table(self, cycle):
        """Takes one leaf table away; its entries stay as they are until the invalidation is acknowledged.

        Returns an invalidation that names all its pages.
        """
        ctx = self.rng.choice(list(self.pages))
        vpn = self.rng.choice(self.pages[ctx])
        levels, ppn = self._levels(ctx), self.root[ctx]
        everything = self.rng.choice(
            [EVERYTHING, Inval(ctx), Inval(ctx, vpn >> 9 << 9, 9), Inval(ctx, vpn >> 18 << 18, 18)]
        )
        if not canonical(vpn, levels):
            return everything
        for level in range(levels - 1, 0, -1):
            entry = self.memory.read(ppn, vpn >> 9 * level & 511)
            if not entry & V or entry & (R | X):
                return everything
            if level == 1:
                self.memory.write(ppn, vpn >> 9 & 511, 0)
                self.unlinked.add((ctx, 1, vpn >> 9))
            ppn = entry >> 10 & (1 << 44) - 1
        self.note(cycle)
        return everything

    def some_inval(self):
        """An invalidation of anything, most often near pages in use."""
        ctx = self.rng.choice(list(self.pages))
        order = self.rng.choice([0, 0, 2, 4, 9, 18])
        page = Inval(ctx, self.rng.choice(self.pages[ctx]) >> order << order, order)
        return self.rng.choice([EVERYTHING, Inval(ctx), page, page, page])

    def allowed(self, request, vpn, since, fresh):
        """Answers for a page that some state of [since, answered] gives, faults only from [fresh, answered].

        Where A or D was to be set, the answer after that counts only if the entry was taken away meanwhile: then the bits
        are in a table that is not linked any more.
        """
        states = self.history[request.ctx, vpn]
        which = 2 if request.write else 1
        ends = [s[0] for s in states[1:]] + [1 << 60]
        begun = [(s[which], end) for s, end in zip(states, ends, strict=True) if s[0] <= request.answered]
        late = {
            replace(a, cause=None)
            for a, end in begun
            if a.cause == TO_UPDATE and since < end <= request.answered
        }
        return late | {a for a, end in begun if end > (since if a.cause is None else fresh)}


def last_named(b, r, vpn):
    """Cycle of the last invalidation before the request that names a page of its context."""
    return max([p for p, inval in b.pulses if p <= r.accepted and inval.names(r.ctx, vpn)], default=-1)


def check_cover(space, b, r, *, exact):
    """Every page that the answer covers is mapped alike: by the tables as they are, or as they were at some time."""
    pages = {r.vpn & ~15 | i for i in range(16) if r.cluster >> i & 1}
    if exact:
        around = space.memory.around(space.mode[r.ctx], space.root[r.ctx], MAX_LEVELS, r.vpn)
        assert (r.order, r.cluster) == around, r
        return
    assert r.vpn in pages
    told = space.allowed(r, r.vpn, last_named(b, r, r.vpn), r.accepted)
    if ANY_NAPOT and any(a == r.answer and a.page for a in told):
        # The entry says it for the others.
        return
    if r.answer.order:
        assert pages == {r.vpn}, r
        return
    group = {q for q in range(r.vpn & ~7, (r.vpn & ~7) + 8) if q >> r.order == r.vpn >> r.order}
    assert group <= pages and (r.answer.ppn ^ r.vpn) & (1 << r.order) - 1 == 0, r
    for page in pages - {r.vpn}:
        seen = space.allowed(r, page, last_named(b, r, page), r.accepted)
        assert neighbour(r.answer, r.vpn, page) in seen, f"{r}: {space.history[r.ctx, page]}"


async def campaign(dut, seed, *, changes, invalidations, errors=0.0, updates=False):
    rng = random.Random(seed)
    space = Space(rng, min(len(dut.ctx_i), 4), updates)
    p_offer, p_ar, p_r = (rng.choice([0.05, 0.3, 0.7, 1.0]) for _ in range(3))
    b = Bench(dut, space.memory, latency=rng.choice([0, 1, 3, 20]), rng=rng, in_order=rng.random() < 0.3)
    b.offer = lambda: rng.random() < p_offer
    b.ar_ready = lambda: rng.random() < p_ar
    b.r_go = lambda: rng.random() < p_r
    p_withdraw = rng.choice([0, 0.1, 0.7])
    b.withdraw = lambda: rng.random() < p_withdraw
    b.error_at = lambda addr: rng.random() < errors
    waiting_for_ack = False

    def on_cycle(bench):
        nonlocal waiting_for_ack
        if waiting_for_ack and not bench.busy and bench.pulses[-1][0] < bench.cycle - 1:
            waiting_for_ack = False
            space.unlinked.clear()
        if changes and rng.random() < 0.05:
            space.change_leaf(bench.cycle, take_away=rng.random() < 0.5)
        if invalidations and rng.random() < 0.02:
            if changes and not waiting_for_ack and rng.random() < 0.5:
                bench.invalidate = space.unlink_table(bench.cycle)
            else:
                bench.invalidate = space.some_inval()
            waiting_for_ack = True

    b.on_cycle = on_cycle
    await b.start({ctx: (space.mode[ctx], space.root[ctx], space.sade[ctx]) for ctx in space.mode})
    p_w, lost = rng.choice([0.1, 0.5, 1.0]), rng.choice([0, 0.3])
    b.updates.ready = lambda: rng.random() < p_w
    b.updates.delay = lambda: rng.choice([0, 0, 1, 10])
    b.updates.fails = lambda: rng.random() < lost
    b.updates.error = lambda: rng.random() < errors

    def noted(address, entry):
        space.note(b.cycle)

    b.updates.on_update = noted
    requests = []
    while b.cycle < CYCLES:
        if not b.queue:
            ctx = rng.choice(list(space.pages))
            page = rng.choice(space.pages[ctx])
            batch = [Request(ctx, page, rng.random() < 0.4) for _ in range(rng.choice([1, 1, 1, 4]))]
            requests += batch
            b.submit(*batch)
        await b.step()
    await b.run(limit=60000)
    while b.busy:
        await b.step()

    widened = spared = 0
    asked, requests = requests, [r for r in requests if not r.withdrawn]
    assert len(requests) < len(asked) or (1 - p_withdraw) ** len(asked) > 1e-6
    for r in requests:
        since = last_named(b, r, r.vpn)
        assert not (errors == 0 and r.answer.cause in (LOAD_ACCESS, STORE_ACCESS))
        if errors and r.answer.cause == (STORE_ACCESS if r.write else LOAD_ACCESS):
            assert changes or space.failed(r, b.failed), f"{r}: no beat of its entries failed"
            continue
        assert r.answer in space.allowed(r, r.vpn, since, r.accepted), f"{r}: {space.history[r.ctx, r.vpn]}"
        if r.answer.cause is None:
            check_cover(space, b, r, exact=not changes and not updates)
            widened += r.cluster.bit_count() > 1
        if r.answer.cause is not None:
            assert not r.cacheable, r
        else:
            seen = [inval for p, inval in b.pulses if r.accepted < p <= r.answered]
            named = any(inval.names(r.ctx, r.vpn, max(r.order, 4)) for inval in seen)
            assert not (r.cacheable and named), r
            if ANY_NAPOT:
                # Whatever an entry of the level can be.
                reach = max((18 if r.order > 17 else 17 if r.order > 8 else 8), r.order)
                named = any(inval.names(r.ctx, r.vpn, reach) for inval in seen)
            beside = any(p == r.answered for p, _ in b.pulses)
            assert not (r.cacheable and beside), r
            assert r.cacheable or named or beside or len(seen) > REMEMBERED, r
            spared += r.cacheable and bool(seen)
        assert r.latency == r.cycles
    await b.settle()
    e = b.events
    assert e.start == e.done == len(requests)
    assert e.fault == sum(r.answer.cause is not None for r in requests)
    assert e.pte_read == len(b.reads)
    assert e.update == len(b.updates.done)
    return b, requests, widened, spared


async def campaigns(dut, count, **what):
    """Runs `count` campaigns, and as many more, up to `MORE` times, as it takes to reach every way to be answered."""
    seed = int(os.environ["GODWIT_SEED"])
    reached = Counter()
    for i in range(MORE * count):
        b, requests, widened, spared = await campaign(dut, seed + i, **what)
        reached.update(merge=b.events.merge, line_hit=b.events.line_hit, fault=b.events.fault)
        reached.update(good=sum(r.answer.cause is None for r in requests), wide=widened)
        reached.update(update=b.events.update if what.get("updates") else 1)
        reached.update(spared=spared if what["invalidations"] else 1)
        if i + 1 >= count and all(reached.values()):
            return
    raise AssertionError(f"not every way to be answered was reached: {reached}")


@cocotb.test()
async def random_tables_against_the_reference(dut):
    await campaigns(dut, 8, changes=False, invalidations=False)


@cocotb.test()
async def tables_that_change_without_invalidation(dut):
    await campaigns(dut, 6, changes=True, invalidations=False)


@cocotb.test()
async def invalidations_during_traffic(dut):
    await campaigns(dut, 8, changes=True, invalidations=True)


@cocotb.test()
async def memory_errors_during_traffic(dut):
    await campaigns(dut, 4, changes=False, invalidations=False, errors=0.1)
    await campaigns(dut, 4, changes=True, invalidations=True, errors=0.1)


@cocotb.test()
async def accessed_and_dirty_bits_during_traffic(dut):
    await campaigns(dut, 4, changes=False, invalidations=False, updates=True)


@cocotb.test()
async def accessed_and_dirty_bits_while_everything_changes(dut):
    await campaigns(dut, 4, changes=True, invalidations=True, updates=True)
    await campaigns(dut, 2, changes=True, invalidations=True, updates=True, errors=0.05)
