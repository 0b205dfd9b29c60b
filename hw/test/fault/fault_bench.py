# SPDX-License-Identifier: Apache-2.0
"""The surroundings of gw_fault: requesters, a host that empties the ring and responds, memory; and what has to be true of all it says."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge

SUCCESS, INVALID, FAILURE = 0, 1, 15
SIXTEEN_BYTES = 4 << 2 | 1
INPUTS = (
    *(
        "req_valid",
        "req_ctx",
        "req_generation",
        "req_vpn",
        "req_write",
        "ans_ready",
        "wake_ready",
        "end_valid",
        "end_ctx",
    ),
    *(
        "rsp_valid",
        "rsp_place",
        "rsp_generation",
        "rsp_code",
        "unsent_cycles",
        "sent_cycles",
        "enable",
        "stopped",
    ),
    *("head", "aw_ready", "w_ready", "b_valid", "b_resp"),
)
BASE = 0x800_0001_2000 << 12


class Page:
    """A page that waits: from the answer that took the place to the wake-up."""

    def __init__(self, serial, place, key, write, ended, now):
        self.serial, self.place, self.key, self.write, self.ended, self.since = (
            serial,
            place,
            key,
            write,
            ended,
            now,
        )
        self.records = []  # (write, generation)
        self.success = self.failed = False


class Bench:
    def __init__(self, dut, rng: random.Random):
        self.dut, self.rng = dut, rng
        self.pages = int(dut.Pages.value)
        self.bound = self.pages // int(dut.Banks.value) + 23
        self.stall = self.refuse = self.wrong = self.ends = self.ask = 0.0
        self.read, self.reply, self.fail = 1.0, 1.0, 0.0
        self.contexts, self.vpns, self.log2 = 2, 6, 2
        self.generation = [0] * 256
        self.unsent = self.sent = 0
        self.irq, self.enable, self.hold = (1, 0), 1, False
        self.live, self.dead, self.last_generation, self.counts = {}, [], {}, {}
        self.dead_unsent = self.serial = self.last_sent = self.now = 0
        self.request = self.accepted = self.accepted_at = self.response = self.next_request = None
        self.accepted_ended = False
        self.records, self.done_responses = [], []
        self.aw = self.w = self.b = None
        self.memory, self.head, self.seen, self.stopped = {}, 0, 0, 0
        self.unsignalled, self.restart, self.told, self.stale = [], 0, [], 0
        self.log, self.wakes, self.wrong_sent, self.longest = [], [], 0, 0
        self.merged = self.upgraded = self.refusals = self.timeouts = self.faults = 0

    async def start(self, log2):
        self.log2 = log2
        d = self.dut
        cocotb.start_soon(Clock(d.clk_i, 2).start())
        for name in INPUTS:
            getattr(d, f"{name}_i").value = 0
        d.irq_count_i.value, d.irq_cycles_i.value = self.irq
        d.base_i.value, d.log2_size_less1_i.value = BASE >> 12, log2 - 1
        d.rst_ni.value = 0
        for _ in range(3):
            await RisingEdge(d.clk_i)
        d.rst_ni.value = 1
        for _ in range(self.pages + 4):
            await RisingEdge(d.clk_i)
        return self

    def flows(self):
        return not self.stall or self.rng.random() >= self.stall

    def random_request(self):
        ctx = self.rng.randrange(self.contexts)
        vpn = (self.rng.randrange(self.vpns) * 0x1000_0001_0001 + ctx) & ((1 << 45) - 1)
        return ctx, self.generation[ctx], vpn, self.rng.random() < 0.4

    async def step(self):
        d, rng = self.dut, self.rng
        await RisingEdge(d.clk_i)
        self.now += 1
        if self.request is None:
            if self.next_request is not None:
                self.request, self.next_request = self.next_request, None
            elif self.ask and rng.random() < self.ask:
                self.request = self.random_request()
        d.req_valid_i.value = self.request is not None
        if self.request:
            d.req_ctx_i.value, d.req_generation_i.value, d.req_vpn_i.value, d.req_write_i.value = self.request
        d.unsent_cycles_i.value, d.sent_cycles_i.value = self.unsent, self.sent
        d.ans_ready_i.value, d.wake_ready_i.value = self.flows(), self.flows()
        ending = rng.randrange(self.contexts) if self.ends and rng.random() < self.ends else None
        d.end_valid_i.value, d.end_ctx_i.value = ending is not None, ending or 0
        if self.response is None and self.flows():
            self.response = self.next_response()
        d.rsp_valid_i.value = self.response is not None
        if self.response:
            d.rsp_place_i.value, d.rsp_generation_i.value, d.rsp_code_i.value = self.response[:3]
        if self.head != self.seen and rng.random() < self.read:
            self.head = (self.head + 1) % (1 << self.log2)
        d.head_i.value = self.head
        d.stopped_i.value, d.enable_i.value = self.stopped > 0, self.enable
        self.stopped = self.stopped if self.hold else max(self.stopped - 1, 0)
        d.aw_ready_i.value, d.w_ready_i.value = (
            self.aw is None and self.flows(),
            self.w is None and self.flows(),
        )
        if self.b is None and self.aw is not None and self.w is not None and self.flows():
            self.b = 2 if self.refuse and rng.random() < self.refuse else 0
        d.b_valid_i.value, d.b_resp_i.value = self.b is not None, self.b or 0
        await ReadOnly()
        self.sample(ending)

    def next_response(self):
        """(place, generation, code, the record's page or None if it is a wrong one, its number among the place's records)."""
        rng = self.rng
        if self.wrong and rng.random() < self.wrong:
            self.wrong_sent += 1
            if self.done_responses and rng.random() < 0.5:
                place, generation, count = self.done_responses[-1]
                # Again, for the same record: eight records later its generation is another one's.
                if self.counts[place] == count:
                    return place, generation, SUCCESS, None, count
            place = rng.randrange(64)
            return (
                place,
                (self.last_generation.get(place, 0) - rng.randrange(1, 4)) % 8,
                rng.choice((0, 1, 15)),
                None,
                None,
            )
        if self.records and rng.random() < self.reply:
            place, generation, page, count = self.records.pop(rng.randrange(len(self.records)))
            if self.counts[place] - count > 6:
                return None  # as late as this it might be taken for another one's
            code = rng.choice((INVALID, FAILURE)) if rng.random() < self.fail else SUCCESS
            return place, generation, code, page, count
        return None

    def sample(self, ending):
        def get(name):
            return int(getattr(self.dut, name).value)

        if self.request and get("req_ready_o"):
            self.accepted, self.accepted_at, self.accepted_ended, self.request = (
                self.request,
                self.now,
                False,
                None,
            )
        if ending is not None:
            for page in self.live.values():
                page.ended |= page.key[0] == ending
            if self.accepted and self.accepted[0] == ending:
                self.accepted_ended = True
        self.timeouts += get("timeout_o")
        # A wake-up and an answer never share a cycle.
        assert not (get("wake_valid_o") and get("ans_valid_o"))
        if get("ans_valid_o") and int(self.dut.ans_ready_i.value):
            self.answered(get("ans_parked_o"), get("ans_park_o"))
        if get("wake_valid_o") and int(self.dut.wake_ready_i.value):
            self.woken(get("wake_park_o"), get("wake_ok_o"))
        if self.response and get("rsp_ready_o"):
            self.responded()
        self.memory_cycle(get)
        self.ring(get)

    def answered(self, parked, place):
        assert self.accepted is not None, "an answer to nothing"
        ctx, generation, vpn, write = self.accepted
        key = (ctx, generation, vpn)
        self.longest = max(self.longest, self.now - self.accepted_at)
        for page in self.live.values():
            page.ended |= page.key[0] == ctx and page.key[1] != generation
        same = [page for page in self.live.values() if page.key == key and not page.ended]
        if not parked:
            self.refusals += 1
            assert not same, "no place for a page that has one"
            assert len(self.live) == self.pages or self.dead_unsent, "no place, and there are some"
        elif place in self.live:
            page = self.live[place]
            assert page.key == key, "parked on another page's place"
            assert not page.ended or self.accepted_ended, "parked on what ended before"
            page.write |= write
            self.merged += 1
        else:
            assert not same, "two places for a page"
            assert place < self.pages
            self.serial += 1
            self.live[place] = Page(self.serial, place, key, write, self.accepted_ended, self.now)
        self.log.append((self.accepted, place if parked else None))
        self.accepted = None

    def woken(self, place, ok):
        assert place in self.live, "nobody was parked there, or told twice"
        page = self.live.pop(place)
        if ok:
            assert page.success, "ok without a response"
            assert page.records[-1][0] or not page.write, "a write that nobody asked for"
        else:
            limits = [cycles for cycles in (self.sent, self.unsent) if cycles]
            timed_out = limits and self.now - page.since >= min(limits)
            assert page.failed or page.ended or timed_out, "not ok, and why?"
        self.dead_unsent += not page.records
        self.dead.append(page)
        del self.dead[:-200]
        self.wakes.append((place, ok, self.now))

    def responded(self):
        place, generation, code, page, count = self.response
        self.response = None
        if page is None:
            return
        self.done_responses.append((place, generation, count))
        if self.live.get(place) is page and page.records[-1][1] == generation:
            page.success, page.failed = code == SUCCESS, code != SUCCESS

    def memory_cycle(self, get):
        if get("aw_valid_o") and int(self.dut.aw_ready_i.value):
            assert get("aw_shape_o") == SIXTEEN_BYTES
            self.aw = get("aw_addr_o")
        if get("w_valid_o") and int(self.dut.w_ready_i.value):
            assert get("w_last_o")
            self.w = get("w_strb_o"), get("w_data_o")
        if self.b is not None and get("b_ready_o"):
            strobes, data = self.w
            lane = self.aw % 64
            assert strobes == 0xFFFF << lane
            # What memory refuses may be there in part.
            self.memory[self.aw] = data >> 8 * lane & (1 << 128) - 1 if self.b == 0 else 0xBAD
            self.aw = self.w = self.b = None
        if get("memory_fault_o"):
            self.faults += 1
            self.stopped = self.rng.randrange(1, 20)

    def ring(self, get):
        if get("irq_o"):
            assert self.unsignalled, "an interrupt for nothing"
            self.unsignalled = [t for t in self.unsignalled if t > self.now - 2]
        self.stale += get("stale_o")
        if get("record_o"):
            self.told.append(get("record_ctx_o"))
        # Turned on, the tail is zero in the cycle after.
        self.restart = max(self.restart - 1, 0)
        while not self.restart and self.seen != get("tail_o"):
            self.unsignalled.append(self.now - 1)
            self.record(self.memory.pop(BASE + 16 * self.seen))
            self.seen = (self.seen + 1) % (1 << self.log2)
            assert self.seen != self.head, "the ring ran over"
        count, cycles = self.irq
        if self.unsignalled:
            assert self.now - self.unsignalled[0] <= cycles + 4, "no interrupt"
            assert len([t for t in self.unsignalled if t < self.now - 3]) < max(count, 1), "no interrupt"

    def record(self, record):
        """A record the tail has passed: of one page, of which there is no other one."""
        payload = record >> 64
        context, vpn, write = record >> 12 & 0xFFFFF, payload >> 12 & (1 << 45) - 1, payload >> 1 & 1
        place, generation = payload >> 3 & 63, payload >> 9 & 7
        high = ((1 << 52) - 1) >> 45 << 45 if vpn >> 44 else 0
        assert record & ((1 << 64) - 1) == context << 12 | 1 << 32
        assert self.told.pop(0) == context
        assert payload == (vpn | high) << 12 | generation << 9 | place << 3 | 1 << 2 | write << 1 | 1
        known = [page for page in self.dead if page.place == place]
        if place in self.live:
            known.append(self.live[place])
        fits = [p for p in known if (p.key[0], p.key[2]) == (context, vpn) and self.may_be_of(p, write)]
        assert fits, "a record that nobody waits for, or a second one"
        page = fits[-1]
        if page.records:
            self.upgraded += 1
            page.success = False
        else:
            assert page.serial > self.last_sent, "records in another order than requests"
            self.last_sent = page.serial
            # It was counted when the page died with its record under way.
            self.dead_unsent -= self.live.get(place) is not page
        page.records.append((write, generation))
        self.counts[place] = self.counts.get(place, 0) + 1
        assert generation == self.counts[place] % 8
        self.last_generation[place] = generation
        self.records.append((place, generation, page, self.counts[place]))

    @staticmethod
    def may_be_of(page, write):
        if not page.records:
            return page.write or not write
        return page.records == [(0, page.records[0][1])] and write and page.success

    async def drain(self, limit=60_000):
        """Everybody is told, whatever they waited for."""
        self.ask = self.wrong = self.ends = self.fail = self.refuse = self.stall = 0.0
        self.read = self.reply = 1.0
        self.next_request = None
        for _ in range(limit):
            await self.step()
            if not (self.live or self.accepted or self.request or self.records or self.response):
                break
        assert not self.live and not self.accepted and not self.records, "somebody waits for ever"
        for _ in range(self.pages * 10 + 100):
            await self.step()
        assert self.seen == self.head and not int(self.dut.busy_o.value)

    async def get(self, request):
        """One request's answer: the place, or None; and how many cycles it took."""
        count = len(self.log)
        self.next_request = request
        for _ in range(500):
            await self.step()
            if len(self.log) > count:
                break
        assert self.log[count][0] == request
        return self.log[count][1]

    async def steps(self, cycles):
        for _ in range(cycles):
            await self.step()
