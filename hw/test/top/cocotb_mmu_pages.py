# SPDX-License-Identifier: Apache-2.0
"""gw_mmu with page requests: pages that the host brings when they are touched, by ring, response and wake-up."""

from __future__ import annotations

import cocotb
from cocotb.triggers import with_timeout
from cocotb_mmu import LEAF, PAGE, ROOTS, A, Bench, R, U, V
from cocotbext.axi import AxiResp
from commands import iofence, iotinval, prgr
from registers import cycles

RING = 0x62_0000
PLACES = 4
SUCCESS, INVALID = 0, 1
FRAMES = 0x80_0000


class Pager(Bench):
    """The host: reads records, maps pages, responds."""

    async def begin(self, log2: int = 4, contexts=(1, 2), **settings: int) -> Pager:
        await self.start()
        await self.queue_on()
        self.head, self.log2, self.frames, self.asked = 0, log2, 0, []
        for context in contexts:
            await self.regs.write("contexts_fsc", 9 << 60 | 1 << 58 | ROOTS[context] >> 12, context)
            await self.bind(context - 1, 1, context)
        for name, value in settings.items():
            await self.regs.write(f"page_queue_{name}", value)
        await self.regs.write("page_queue_pqb", RING >> 12 << 10 | log2 - 1)
        await self.regs.write("page_queue_pqcsr", self.regs.pack("page_queue_pqcsr", pqen=1, pie=1))
        while (await self.regs.fields("page_queue_pqcsr"))["busy"]:
            pass
        return self

    async def queue_is(self, *, on: bool) -> None:
        """Until it says so."""
        while (await self.regs.fields("page_queue_pqcsr"))["pqon"] != on:
            pass

    async def records(self) -> list[tuple[int, int, int, int]]:
        """New records: (context, page, write, group)."""
        found = []
        tail = await self.regs.read("page_queue_pqt")
        while self.head != tail:
            low, high = (self.word(RING + 16 * self.head + 8 * i) for i in range(2))
            assert low >> 32 == 1 and high & 5 == 5
            found.append((low >> 12 & 0xFFFFF, high >> 12, high >> 1 & 1, high >> 3 & 0x1FF))
            self.head = (self.head + 1) % (1 << self.log2)
        if found:
            await self.regs.write("page_queue_pqh", self.head)
            self.asked += found
        return found

    async def take(self, count: int) -> list[tuple[int, int, int, int]]:
        """Waits for so many records."""
        found = []
        while len(found) < count:
            found += await self.records()
        assert len(found) == count
        return found

    async def respond(self, *answers: tuple[int, int, int]) -> None:
        """(context, group, code) each."""
        await self.run_commands(*(prgr(*answer) for answer in answers))

    def bring(self, context: int, page: int, *, writable: bool = True) -> int:
        """Maps a new frame; its address."""
        self.frames += 1
        frame = FRAMES + self.frames * PAGE
        self.map(context, page << 12, frame, LEAF if writable else V | R | U | A)
        return frame

    async def serve(self, until=None, refuse=()) -> None:
        """Brings what is asked for, and refuses the pages of `refuse`."""
        while not (until and until()):
            answers = []
            for context, page, _, group in await self.records():
                if page not in refuse:
                    self.bring(context, page)
                answers.append((context, group, INVALID if page in refuse else SUCCESS))
            if answers:
                await self.respond(*answers)

    async def counters(self) -> dict[str, int]:
        names = (name for name in self.regs.all if name.startswith("page_counters_"))
        return {name.removeprefix("page_counters_"): await self.regs.read(name) for name in names}


@cocotb.test()
async def a_page_comes_when_it_is_touched(dut):
    """Read and write of pages that are not there: one record each, which says what it is for; the data is right afterwards."""
    host = await Pager(dut).begin()
    assert (await host.regs.fields("capabilities"))["page_requests"] == 2
    reads = [
        cocotb.start_soon(host.masters[0].read(page << 12 | 64 * i, 64)) for i, page in enumerate((5, 5, 6))
    ]
    write = cocotb.start_soon(host.masters[1].write(0x7000, b"w" * 64))
    records = sorted(await host.take(3))
    assert [record[:3] for record in records] == [(1, 5, 0), (1, 6, 0), (2, 7, 1)]
    assert int(dut.irq_o.value) == 1
    await host.regs.write("page_queue_pqcsr", host.regs.pack("page_queue_pqcsr", pqen=1, pie=1, pip=1))
    assert int(dut.irq_o.value) == 0
    await cycles(dut, 300)
    assert not any(task.done() for task in (*reads, write))
    frames = [host.bring(context, page) for context, page, _, _ in records]
    for frame in frames[:2]:
        host.memory.write(frame, bytes(range(256)))
    await host.respond(*((context, group, SUCCESS) for context, _, _, group in records))
    for i, task in enumerate(reads):
        assert (await task).data == bytes(range(64 * i, 64 * i + 64))
    assert (await write).resp == AxiResp.OKAY
    assert bytes(host.memory.read(frames[2], 64)) == b"w" * 64
    assert not await host.records()
    found = await host.counters()
    assert found["parked"] >= 4
    assert {n: found[n] for n in ("requests", "resolved", "refused", "timeouts", "stale")} == {
        "requests": 3, "resolved": 3, "refused": 0, "timeouts": 0, "stale": 0}  # fmt: skip


@cocotb.test()
async def only_contexts_that_ask_wait(dut):
    host = await Pager(dut).begin(contexts=(1,))
    await host.bind(1, 1, 2)
    assert (await host.masters[1].read(0x5000, 64)).resp == AxiResp.SLVERR
    assert (await host.fault())["cause"] == 13
    # A page that is there, and does not allow it, is no page that is missing.
    host.bring(1, 9, writable=False)
    assert (await host.masters[0].write(0x9000, b"x")).resp == AxiResp.SLVERR
    assert (await host.fault())["cause"] == 15
    # An entry that is frozen, V clear and not zero, is one that is away.
    host.map(1, 0xA000, 0x9000, 0)
    read = cocotb.start_soon(host.masters[0].read(0xA000, 64))
    ((_, page, _, group),) = await host.take(1)
    assert page == 0xA
    host.bring(1, page)
    await host.respond((1, group, SUCCESS))
    assert (await read).resp == AxiResp.OKAY


@cocotb.test()
async def refused_pages_end_in_errors(dut):
    host = await Pager(dut).begin()
    server = cocotb.start_soon(host.serve(refuse={5, 7}))
    assert (await host.masters[0].read(0x5040, 64)).resp == AxiResp.SLVERR
    record = await host.fault()
    assert (record["cause"], record["address"], record["context_id"]) == (13, 0x5040, 1)
    assert (await host.masters[1].write(0x7000, b"x" * 8)).resp == AxiResp.SLVERR
    assert (await host.fault())["cause"] == 15
    assert (await host.masters[0].read(0x6000, 64)).resp == AxiResp.OKAY
    server.cancel()
    assert (await host.counters())["refused"] == 2


@cocotb.test()
async def hits_pass_beside_waiting_pages(dut):
    """Every place is taken, and more wait for room: a mapped page of the same context takes the cycles that it takes alone."""
    host = await Pager(dut).begin()
    frame = host.bring(1, 1)
    host.memory.write(frame, b"mapped!!")
    await host.masters[0].read(0x1000, 8)

    async def timed():
        begin = cocotb.utils.get_sim_time("step")
        assert (await host.masters[0].read(0x1000, 8, arid=1)).data == b"mapped!!"
        return cocotb.utils.get_sim_time("step") - begin

    alone = await timed()
    waiting = [cocotb.start_soon(host.masters[1].read((16 + i) << 12, 64, arid=i)) for i in range(6)]
    await host.take(PLACES)
    await cycles(dut, 200)
    assert (await host.counters())["no_room"] >= 6 - PLACES
    assert [await timed() for _ in range(20)] == [alone] * 20
    assert not any(task.done() for task in waiting)
    # Those without room ask again when some were answered.
    context, _, _, group = host.asked[0]
    host.bring(2, host.asked[0][1])
    await host.respond((context, group, SUCCESS))
    for context, page, _, group in host.asked[1:PLACES]:
        host.bring(context, page)
        await host.respond((context, group, SUCCESS))
    server = cocotb.start_soon(host.serve())
    for task in waiting:
        assert (await task).resp == AxiResp.OKAY
    server.cancel()
    assert len({record[1] for record in host.asked}) == len(host.asked) == 6


@cocotb.test()
async def a_fence_does_not_wait_for_a_page(dut):
    host = await Pager(dut).begin()
    read = cocotb.start_soon(host.masters[0].read(0x5000, 64))
    ((context, page, _, group),) = await host.take(1)
    await with_timeout(host.run_commands(iotinval(1), iofence(pr=True, pw=True)), 20, "us")
    await with_timeout(host.invalidate(), 20, "us")
    assert not read.done()
    host.bring(context, page)
    await host.respond((context, group, SUCCESS))
    assert (await read).resp == AxiResp.OKAY


@cocotb.test()
async def a_context_ends_and_nobody_waits_in_its_name(dut):
    """Its accesses end in errors, before the invalidation that goes with it does; the next context of that number starts anew."""
    host = await Pager(dut).begin()
    tasks = [cocotb.start_soon(host.masters[0].read(0x1000 * i, 64, arid=i)) for i in range(6)]
    other = cocotb.start_soon(host.masters[1].read(0x5000, 64))
    await host.take(PLACES)
    await host.regs.write("contexts_fsc", 0, 1)
    while (await host.regs.fields("invalidate"))["busy"]:
        pass
    await cycles(dut, 100)
    for task in tasks:
        assert task.done() and task.result().resp == AxiResp.SLVERR
    assert not other.done()
    # Late responses wake nobody; the other context's page comes all the same.
    for context, page, _, group in [record for record in host.asked if record[0] == 2]:
        host.bring(context, page)
        await host.respond((context, group, SUCCESS))
    server = cocotb.start_soon(host.serve())
    assert (await other).resp == AxiResp.OKAY
    await host.regs.write("contexts_fsc", 9 << 60 | 1 << 58 | ROOTS[1] >> 12, 1)
    assert (await host.masters[0].read(0x3000, 64)).resp == AxiResp.OKAY
    server.cancel()


@cocotb.test()
async def a_host_that_never_answers_ends_in_errors(dut):
    """Timeouts: of a response, of room in the ring; the status bit says so, and nothing hangs."""
    host = await Pager(dut).begin(log2=1, pq_sent=3000, pq_unsent=2000)
    tasks = [cocotb.start_soon(host.masters[0].read(0x1000 * i, 64, arid=i)) for i in range(3)]
    for task in tasks:
        assert (await with_timeout(task, 200, "us")).resp == AxiResp.SLVERR
    assert (await host.regs.fields("page_queue_pqcsr"))["pqto"] == 1
    found = await host.counters()
    assert (found["timeouts"], found["refused"], found["resolved"]) == (3, 3, 0)
    # A response that comes then is ignored.
    ((_, _, _, group),) = await host.records()
    await host.respond((1, group, SUCCESS))
    assert (await host.counters())["stale"] == 1


@cocotb.test()
async def a_queue_that_is_off_keeps_its_record(dut):
    host = await Pager(dut).begin()
    await host.regs.write("page_queue_pqcsr", 0)
    while (await host.regs.fields("page_queue_pqcsr"))["busy"]:
        pass
    read = cocotb.start_soon(host.masters[0].read(0x5000, 64))
    await cycles(dut, 200)
    assert await host.regs.read("page_queue_pqt") == 0
    await host.regs.write("page_queue_pqcsr", host.regs.pack("page_queue_pqcsr", pqen=1))
    ((context, page, _, group),) = await host.take(1)
    host.bring(context, page)
    await host.respond((context, group, SUCCESS))
    assert (await read).resp == AxiResp.OKAY


@cocotb.test()
async def random_traffic_on_demand(dut):
    """Reads and writes of both ports over pages that are brought, taken away and refused, with fences between: every access ends,
    reads see what was written, no page is asked for twice while it is there."""
    host = await Pager(dut).begin(log2=2, pq_irq_count=2, pq_irq_time=50)
    rng, done = host.rng, []
    data: dict[tuple[int, int], bytes] = {}
    refused = {0x20, 0x21}
    server = cocotb.start_soon(host.serve(refuse=refused))

    async def accesses(port):
        for _ in range(60):
            page = rng.choice((*range(8), *refused))
            address = page << 12 | 64 * rng.randrange(4)
            key = port, address
            if rng.random() < 0.5:
                value = rng.randbytes(64)
                answer = await host.masters[port].write(address, value)
                if page not in refused:
                    data[key] = value
            else:
                answer = await host.masters[port].read(address, 64)
                if page not in refused and key in data:
                    assert answer.data == data[key]
            assert answer.resp == (AxiResp.SLVERR if page in refused else AxiResp.OKAY)
        done.append(port)

    tasks = [cocotb.start_soon(accesses(port)) for port in range(2)]
    for task in tasks:
        await task
    server.cancel()
    there = [record[:2] for record in host.asked if record[1] not in refused]
    # Twice only if it was asked for reading first, and then for writing.
    assert len(there) <= 2 * len(set(there)) and set(there) <= {(c, p) for c in (1, 2) for p in range(8)}
    found = await host.counters()
    assert found["requests"] == len(host.asked)
    assert found["resolved"] + found["refused"] <= found["requests"]


@cocotb.test()
async def the_queue_goes_on_and_off_with_nobody_who_asks(dut):
    """Before a context asks for pages, and after the last one has stopped; and an access that waits when the last one stops is told."""
    host = await Pager(dut).begin(contexts=())
    control = "page_queue_pqcsr"
    assert (await host.regs.fields(control))["pqon"]
    await host.regs.write(control, host.regs.pack(control, pqen=0))
    await with_timeout(host.queue_is(on=False), 10, "us")
    await host.regs.write("contexts_fsc", 9 << 60 | 1 << 58 | ROOTS[1] >> 12, 1)
    await host.bind(0, 1, 1)
    await host.regs.write(control, host.regs.pack(control, pqen=1))
    await with_timeout(host.queue_is(on=True), 10, "us")
    host.head = 0
    read = cocotb.start_soon(host.masters[0].read(0x5000, 64))
    await host.take(1)
    await host.regs.write(control, host.regs.pack(control, pqen=0))
    await host.regs.write("contexts_fsc", 9 << 60 | ROOTS[1] >> 12, 1)
    assert (await with_timeout(read, 10, "us")).resp == AxiResp.SLVERR
    await with_timeout(host.queue_is(on=False), 10, "us")
