# SPDX-License-Identifier: Apache-2.0
"""Drives gw_walker cycle by cycle: requests, page-table memory, invalidations; keeps what happened when."""

from __future__ import annotations

import os
import random
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge
from page_tables import MAX_RUN_ORDER, Answer, Memory
from walker_updates import ENTRY_SHAPE, UPDATE_ID, Updates

# Cycles with an idle walker, L being `Bench.latency`: a walk of one read takes WARM + L, each further read STEP + L more, and
# one whose beat is kept KEPT. A read is offered in the cycle READ after the request's own.
WARM, STEP, KEPT, READ = 9, 6, 9, 4

LINE_BEATS = int(os.environ.get("BENCH_LINE_BEATS", "1"))
LINE_BYTES = 64 * LINE_BEATS
LINE_SHAPE = LINE_BEATS - 1 << 5 | 6 << 2 | (2 if LINE_BEATS > 1 else 1)  # beats of 64 bytes, WRAP or INCR


@dataclass(frozen=True)
class Inval:
    """What an invalidation names: everything, a context, or 2**order pages of one."""

    ctx: int | None = None
    vpn: int | None = None
    order: int = 0

    def names(self, ctx: int, vpn: int, order: int = 0) -> bool:
        """Whether a page of the mapping of 2**order pages around `vpn` is among it."""
        if self.ctx is None:
            return True
        shift = max(order, self.order)
        return self.ctx == ctx and (self.vpn is None or self.vpn >> shift == vpn >> shift)


EVERYTHING = Inval()


@dataclass
class Request:
    ctx: int
    vpn: int
    write: bool = False
    id: int = -1
    accepted: int = -1
    answered: int = -1
    answer: Answer | None = None
    miss: tuple[int, int, int] | None = None  # of a fault: why, level, the entry's address
    order: int = 0  # as answered, a run of neighbours included
    cluster: int = 0
    cacheable: bool = False
    latency: int = -1
    withdrawn: bool = False

    @property
    def cycles(self) -> int:
        """From acceptance to answer, both included."""
        return self.answered - self.accepted + 1


@dataclass
class Read:
    """One beat that memory owes, of the line at `line`."""

    id: int
    line: int
    addr: int
    data: int
    resp: int
    due: int
    last: bool = True


@dataclass
class Events:
    start: int = 0
    done: int = 0
    fault: int = 0
    merge: int = 0
    line_hit: int = 0
    cache_hit: int = 0
    pte_read: int = 0
    prefetch: int = 0
    prefetch_used: int = 0
    prefetch_useless: int = 0
    update: int = 0


@dataclass
class Bench:
    """`latency` is L: 0 gives data in the cycle after the read was accepted."""

    dut: object
    memory: Memory
    latency: int = 0
    rng: random.Random = field(default_factory=lambda: random.Random(0))
    ar_ready: Callable[[], bool] = lambda: True
    r_go: Callable[[], bool] = lambda: True
    offer: Callable[[], bool] = lambda: True
    in_order: bool = True
    withdraw: Callable[[], bool] = lambda: False
    error_at: Callable[[int], bool] = lambda addr: False  # of a beat
    looks_again: bool = True  # beats may fail, or send a waiter to look again: the line is read anew at once
    on_cycle: Callable[[Bench], None] = lambda bench: None
    cycle: int = 0
    invalidate: Inval | None = None  # in the next cycle
    pulses: list[tuple[int, Inval]] = field(default_factory=list)
    reads: list[tuple[int, int]] = field(default_factory=list)  # (cycle, address of the first beat)
    failed: list[tuple[int, int]] = field(default_factory=list)  # (cycle, address of a beat)
    owners: list[tuple[str, int, int]] = field(default_factory=list)  # (event, source, context)
    events: Events = field(default_factory=Events)
    queue: deque[Request] = field(default_factory=deque)
    flying: dict[int, Request] = field(default_factory=dict)
    pending: list[Read] = field(default_factory=list)
    busy: bool = False  # the latest pulse is not acknowledged
    fence: bool = False  # an epoch is to be turned for it, when the one before has ended
    waits: bool = False
    epoch: int = 0
    offering: bool = False
    newest: Request | None = None  # accepted in the cycle before
    ids: deque[int] = field(default_factory=lambda: deque(range(1 << 14)))

    async def start(self, contexts: dict[int, tuple]) -> None:
        """Resets; `contexts` gives mode, root and perhaps SADE of each context that is not off."""
        dut = self.dut
        inputs = "inval_scope inval_ctx inval_vpn inval_order rst_n req_valid req_id req_ctx req_vpn req_write req_cancel ar_ready r_valid r_id r_data r_resp r_last inval epoch"
        for name in inputs.split():
            getattr(dut, f"{name}{'i' if name == 'rst_n' else '_i'}").value = 0
        for i in range(len(dut.ctx_i)):
            self.set_context(i, *contexts.get(i, (0, 0)))
        self.updates = Updates(dut, self.memory, self.rng)
        await self.clock()
        for _ in range(4):
            await RisingEdge(dut.clk_i)
        dut.rst_ni.value = 1
        for _ in range(3):
            await self.step()

    async def clock(self) -> None:
        import cocotb

        cocotb.start_soon(Clock(self.dut.clk_i, 2).start())
        await RisingEdge(self.dut.clk_i)

    def set_context(self, index: int, mode: int, root: int, sade: bool = False) -> None:
        self.dut.ctx_i[index].value = mode << 45 | sade << 44 | root

    def submit(self, *requests: Request) -> None:
        self.queue.extend(requests)

    async def step(self) -> None:
        """One clock cycle: drives, looks, then lets the edge come."""
        dut = self.dut
        self.on_cycle(self)
        if not self.offering and self.queue and self.offer():
            self.offering = True
            request = self.queue[0]
            request.id = self.ids.popleft()
            dut.req_id_i.value, dut.req_ctx_i.value = request.id, request.ctx
            dut.req_vpn_i.value, dut.req_write_i.value = request.vpn, int(request.write)
        dut.req_valid_i.value = int(self.offering)
        self._withdraw()
        ar_ready = self.ar_ready()
        dut.ar_ready_i.value = int(ar_ready)
        self.updates.drive(self.cycle)
        data = self._data_now()
        dut.r_valid_i.value = int(data is not None)
        if data is not None:
            dut.r_id_i.value, dut.r_data_i.value, dut.r_resp_i.value = data.id, data.data, data.resp
            dut.r_last_i.value = int(data.last)
        pulse, self.invalidate = self.invalidate, None
        dut.inval_i.value = int(pulse is not None)
        # As gw_inval_issue turns it: from the cycle after a pulse on, and not while the other epoch is waited for.
        if self.fence and not self.waits:
            self.fence = False
            self.epoch ^= 1
            dut.epoch_i.value = self.epoch
        self.fence |= pulse is not None
        if pulse is not None:
            dut.inval_scope_i.value = 0 if pulse.ctx is None else 1 if pulse.vpn is None else 2
            dut.inval_ctx_i.value, dut.inval_vpn_i.value = pulse.ctx or 0, pulse.vpn or 0
            dut.inval_order_i.value = pulse.order
            self.pulses.append((self.cycle, pulse))

        await ReadOnly()
        assert data is None or dut.awake_o.value, "the clock stands, and data come"
        if dut.rsp_valid_o.value:
            self._take_answer()
        if self.offering and dut.req_ready_o.value:
            request = self.queue.popleft()
            request.accepted = self.cycle
            self.flying[request.id] = self.newest = request
            self.offering = False
        if ar_ready and dut.ar_valid_o.value:
            self._take_read()
        self.updates.sample(self.cycle)
        self.waits = bool(dut.inval_busy_o.value)
        self.busy = self.waits or self.fence
        self._count()
        assert dut.r_ready_o.value == 1
        self.cycle += 1
        await RisingEdge(dut.clk_i)

    def _withdraw(self) -> None:
        request, self.newest = self.newest, None
        withdrawn = request is not None and self.withdraw()
        self.dut.req_cancel_i.value = int(withdrawn)
        if request is not None and withdrawn:
            request.withdrawn = True
            self.ids.append(self.flying.pop(request.id).id)

    def _data_now(self) -> Read | None:
        # Beats of one read come in order, those of different reads between one another.
        firsts = {read.id: read for read in reversed(self.pending)}
        ready = [read for read in self.pending if firsts[read.id] is read and read.due <= self.cycle]
        if not ready or not self.r_go():
            return None
        read = ready[0] if self.in_order else self.rng.choice(ready)
        self.pending.remove(read)
        if read.resp & 2:
            self.failed.append((self.cycle, read.addr))
        return read

    def _take_read(self) -> None:
        dut = self.dut
        addr, slot = int(dut.ar_addr_o.value), int(dut.ar_id_o.value)
        update = slot == UPDATE_ID
        assert int(dut.ar_shape_o.value) == (ENTRY_SHAPE if update else LINE_SHAPE)
        assert dut.ar_lock_o.value == update and addr % (8 if update else 64) == 0 and addr >> 56 == 0
        assert all(read.id != slot for read in self.pending), "the slot's read is still out"
        line = addr & -LINE_BYTES
        owed = Counter((read.id, read.line) for read in self.pending if read.id != UPDATE_ID)
        kept = [line for (_, line), beats in owed.items() if beats == LINE_BEATS or not self.looks_again]
        assert update or self.pulses or line not in kept, "the line is on its way already"
        beats = 1 if update else LINE_BEATS
        for beat in range(beats):
            at = line | (addr + 64 * beat) & LINE_BYTES - 64
            failed = self.error_at(at)
            # The oldest data that a read may bring: that of the cycle in which it was accepted.
            data = self.rng.getrandbits(512) if failed else self.memory.line(at)
            resp = 2 + self.rng.randrange(2) if failed else self.updates.read(addr) if update else 0
            due = self.cycle + 1 + self.latency
            self.pending.append(Read(slot, line, at, data, resp, due, beat == beats - 1))
        if not update:
            self.reads.append((self.cycle, addr))

    def _take_answer(self) -> None:
        dut = self.dut
        request = self.flying.pop(int(dut.rsp_id_o.value))  # KeyError: an answer nobody asked for
        request.answered = self.cycle
        request.cacheable = bool(dut.rsp_cacheable_o.value)
        request.latency = int(dut.latency_o.value)
        if dut.rsp_fault_o.value:
            request.answer = Answer(int(dut.rsp_cause_o.value))
            miss = int(dut.rsp_miss_o.value)
            why, asks, write, level = miss >> 58, miss >> 57 & 1, miss >> 56 & 1, miss >> 53 & 7
            known = request.ctx < len(dut.ctx_i)
            assert (asks, write) == (known and request.ctx % 2, request.write)
            request.miss = why, level, (miss & (1 << 53) - 1) << 3
        else:
            ppn, order, perm = (int(s.value) for s in (dut.rsp_ppn_o, dut.rsp_order_o, dut.rsp_perm_o))
            request.order, request.cluster = order, int(dut.rsp_cluster_o.value)
            native = order if order > MAX_RUN_ORDER else 0
            request.answer = Answer(None, ppn, native, perm, bool(dut.rsp_global_o.value))
        self.ids.append(request.id)

    def _count(self) -> None:
        bits = int(self.dut.events_o.value)
        if bits:
            for i, name in enumerate(("cache_hit", "line_hit", "merge", "fault", "done", "start")):
                if bits >> i & 1:
                    setattr(self.events, name, getattr(self.events, name) + 1)
        bits = int(self.dut.event_prefetch_o.value)
        self.events.prefetch += bits >> 2
        self.events.prefetch_used += bits >> 1 & 1
        self.events.prefetch_useless += bits & 1
        update, read = int(self.dut.event_update_o.value), int(self.dut.event_pte_read_o.value)
        self.events.update += update
        self.events.pte_read += read
        merge, line_hit = (int(self.dut.events_o.value) >> i & 1 for i in (2, 1))
        own_read = read and not bits >> 2
        assert merge + line_hit + own_read <= 1, "a step does one of these"
        step = "merge" if merge else "line_hit" if line_hit else "read" if own_read else None
        if step:
            self._owned(step, int(self.dut.event_step_of_o.value))
        if update:
            self._owned("update", int(self.dut.event_update_of_o.value))

    def _owned(self, event: str, owner: int) -> None:
        """An event of a walk: some request of that source and context is in flight."""
        source, ctx = owner >> 8, owner & 0xFF
        assert any(r.id >> 8 == source and r.ctx == ctx for r in self.flying.values()), (event, source, ctx)
        self.owners.append((event, source, ctx))

    async def run(self, requests: list[Request] = (), limit: int = 20000) -> list[Request]:
        """Submits, and runs until everything is answered."""
        self.submit(*requests)
        end = self.cycle + limit
        while self.queue or self.flying:
            assert self.cycle < end, f"{len(self.flying)} requests are never answered"
            await self.step()
        return list(requests)

    async def settle(self) -> None:
        """Runs until every read that was begun is with memory, one ahead of any walk included."""
        await self.idle(2)
        while self.dut.ar_valid_o.value:
            await self.step()

    async def idle(self, cycles: int) -> None:
        for _ in range(cycles):
            await self.step()
