# SPDX-License-Identifier: Apache-2.0
"""The surroundings of gw_miss: a walker, gw_fault and gw_touch as their contracts say, and what has to be true of all that it answers."""

import random

from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge

OK, REFUSED, UNTOUCHED, AWAY = range(-1, 3)
ROOM, TOUCH = 64, 65
HEAP = range(0x1000, 0x2000)
INPUTS = (
    *("asks", "end_valid", "end_ctx", "inval", "settle"),
    *(f"walk_{n}" for n in ("valid", "id", "ctx", "vpn", "fault", "ppn", "why", "write", "level", "entry")),
    *(
        f"fault_{n}"
        for n in ("ready", "ans_valid", "ans_parked", "ans_park", "wake_valid", "wake_ok", "wake_park")
    ),
    *(f"touch_{n}" for n in ("ready", "ans_valid", "ans_ppn", "ans_fault", "ans_parked", "ans_park")),
    *(f"touch_{n}" for n in ("wake_valid", "wake_ok", "wake_park")),
)


class Access:
    """A walk's answer, and what became of it."""

    def __init__(self, id, ctx, vpn, why, write, level, entry, now):
        self.id, self.ctx, self.vpn, self.why, self.write = id, ctx, vpn, why, write
        self.level, self.entry, self.since, self.ended = level, entry, now, False

    @property
    def packed(self):
        return self.id << 54 | self.ctx << 46 | self.vpn << 1 | self.write


class Bench:
    def __init__(self, dut, rng: random.Random, touch=True):
        self.dut, self.rng, self.touch = dut, rng, touch
        self.pages = int(dut.Pages.value)
        self.answer = 0.5  # share of cycles in which the walker answers
        self.kinds = (OK, REFUSED, UNTOUCHED, AWAY)
        self.stall, self.host, self.fail, self.ends, self.invals = 0.0, 0.05, 0.2, 0.0, 0.0
        self.vpns, self.asks, self.now = 6, 0b0111, 0
        self.free_ids = list(range(1 << 10))
        self.waiting = {}  # id -> access taken and not answered
        self.parked = {}  # number -> {id: access}
        self.places = {}  # place -> [key, write, ended]; in gw_fault
        self.out = {}  # place -> its latest answer was parked and its wake-up has not left
        self.fault = self.touched = None  # the request in there, and when it is answered
        self.fault_answer = self.touch_answer = self.fault_wake = self.touch_wake = None
        self.pulse_at, self.hold_for = -1, 0
        self.last_bit = [-1] * 4, [-1] * 4  # when each context last did not ask, and did
        self.counts = dict.fromkeys(
            ("parked", "room", "ok", "fault", "same", "asked", "pass", "refused", "held"), 0
        )
        self.longest = self.events = self.room_wakes = self.slots = 0
        self.limit, self.wakes_due, self.last_asked, self.touch_ppn = 48, [], None, None
        self.settles = 0.0  # share of cycles in which a settling begins
        self.before = self.settling_since = None  # accesses that were here when it began
        self.settled = self.longest_settling = 0

    async def start(self):
        d = self.dut
        for name in INPUTS:
            getattr(d, f"{name}_i").value = 0
        Clock(d.clk_i, 2).start()
        d.rst_ni.value = 0
        for _ in range(3):
            await RisingEdge(d.clk_i)
        d.rst_ni.value = 1
        await RisingEdge(d.clk_i)
        return self

    def flows(self):
        return not self.stall or self.rng.random() >= self.stall

    def new_walk(self):
        rng = self.rng
        if self.slots >= self.limit or rng.random() >= self.answer:
            return None
        vpn = rng.randrange(self.vpns) + (HEAP.start if rng.random() < 0.3 else 7)
        why = rng.choice(self.kinds)
        id = self.free_ids.pop(rng.randrange(len(self.free_ids)))
        return Access(
            *(id, rng.randrange(4), vpn, why, rng.random() < 0.3),
            *(rng.randrange(5), rng.getrandbits(53), self.now),
        )

    def wanted(self, a):
        heap = self.touch and a.why == UNTOUCHED and a.vpn in HEAP
        return a.why in (UNTOUCHED, AWAY) and (heap or self.asks >> a.ctx & 1)

    async def step(self):
        d, rng = self.dut, self.rng
        await RisingEdge(d.clk_i)
        self.now += 1
        walk = (
            None if self.hold_for > 12 else self.new_walk()
        )  # what is under way when it says hold still comes
        d.walk_valid_i.value = walk is not None
        a = walk or Access(
            *(rng.getrandbits(14), rng.getrandbits(8), rng.getrandbits(45), rng.randrange(3), False),
            *(0, 0, 0),
        )
        d.walk_id_i.value, d.walk_ctx_i.value, d.walk_vpn_i.value = a.id, a.ctx, a.vpn
        d.walk_fault_i.value, d.walk_why_i.value = a.why != OK, max(a.why, 0)
        d.walk_write_i.value, d.walk_level_i.value, d.walk_entry_i.value = a.write, a.level, a.entry
        ppn = rng.getrandbits(44)
        d.walk_ppn_i.value = ppn
        ending = rng.randrange(4) if rng.random() < self.ends else None
        d.end_valid_i.value, d.end_ctx_i.value = ending is not None, ending or 0
        pulse = rng.random() < self.invals
        d.inval_i.value = pulse
        began = self.settling_since is None and rng.random() < self.settles
        if began:
            self.settling_since, self.before = self.now, set(self.waiting)
        d.settle_i.value = self.settling_since is not None
        self.drive_fault()
        self.drive_touch()
        d.asks_i.value = self.asks
        for ctx in range(4):
            self.last_bit[self.asks >> ctx & 1][ctx] = self.now
        await ReadOnly()
        self.sample(walk, ppn, ending, pulse)

    def drive_fault(self):
        d, rng = self.dut, self.rng
        d.fault_ready_i.value = (
            self.fault is None and self.fault_answer is None and self.fault_wake is None and self.flows()
        )
        if self.fault is not None and self.fault_answer is None and self.flows():
            a, ended = self.fault
            same = [k for k, (key, _, dead) in self.places.items() if key == (a.ctx, a.vpn) and not dead]
            free = [k for k in range(self.pages) if k not in self.places]
            self.fault_answer = same[0] if same else rng.choice(free) if free else -1
        d.fault_ans_valid_i.value = self.fault_answer is not None
        answer = -1 if self.fault_answer is None else self.fault_answer
        d.fault_ans_parked_i.value = answer >= 0
        d.fault_ans_park_i.value = answer if answer >= 0 else rng.randrange(64)
        if self.fault_answer is None and self.fault is None and self.fault_wake is None and self.places:
            ended = [k for k, place in self.places.items() if place[2]]
            if ended or rng.random() < self.host:
                k = rng.choice(ended or list(self.places))
                self.fault_wake = k, k not in ended and rng.random() >= self.fail
        d.fault_wake_valid_i.value = self.fault_wake is not None
        if self.fault_wake:
            d.fault_wake_park_i.value, d.fault_wake_ok_i.value = self.fault_wake

    def drive_touch(self):
        d, rng = self.dut, self.rng
        d.touch_ready_i.value = self.touched is None and self.flows()
        if (
            self.touched is not None
            and self.touch_answer is None
            and self.flows()
            and self.touch_wake is None
        ):
            how = rng.choice(("ok", "ok", "fault", "parked"))
            self.touch_answer = how, rng.getrandbits(44), TOUCH + rng.randrange(8)
        d.touch_ans_valid_i.value = self.touch_answer is not None
        if self.touch_answer:
            how, ppn, park = self.touch_answer
            d.touch_ans_ppn_i.value, d.touch_ans_park_i.value = ppn, park
            d.touch_ans_fault_i.value, d.touch_ans_parked_i.value = how == "fault", how == "parked"
        numbers = [k for k in self.parked if k >= TOUCH and self.parked[k]]
        if self.touch_wake is None and self.touch_answer is None and numbers and rng.random() < self.host:
            self.touch_wake = rng.choice(numbers), rng.random() >= self.fail
        d.touch_wake_valid_i.value = self.touch_wake is not None
        if self.touch_wake:
            d.touch_wake_park_i.value, d.touch_wake_ok_i.value = self.touch_wake

    def get(self, name):
        return int(getattr(self.dut, f"{name}_o").value)

    def sample(self, walk, ppn, ending, pulse):
        get = self.get
        if pulse:
            self.pulse_at = self.now
        if walk is not None:
            self.slots += 1
        if get("rsp_valid"):
            self.answered(walk, ppn)
        else:
            assert walk is None or self.wanted(walk), "an answer of the walker is not passed on"
        if (
            walk is not None
            and walk.id not in self.free_ids
            and not (get("rsp_valid") and get("rsp_id") == walk.id)
        ):
            self.waiting[walk.id] = walk
        if get("wake_valid"):
            self.woken(get("wake_park"), get("wake_ok"))
        self.settling()
        self.fault_side(ending)
        self.touch_side()
        self.hold_for = self.hold_for + 1 if get("hold") else 0
        self.counts["held"] += get("hold")
        for a in self.waiting.values():
            self.longest = max(self.longest, self.now - a.since)

    def settling(self):
        """Settled: whoever was here when it began has an answer."""
        if self.settling_since is None:
            assert not self.get("settled"), "settled, and nobody asked"
            return
        self.before &= set(self.waiting)
        if self.get("settled"):
            assert not self.before, f"settled, and {len(self.before)} of before are not answered"
            self.settled += 1
            self.longest_settling = max(self.longest_settling, self.now - self.settling_since)
            self.settling_since = self.before = None

    def answered(self, walk, ppn):
        get = self.get
        id, parked, fault = get("rsp_id"), get("rsp_parked"), get("rsp_fault")
        assert not (parked and fault)
        own = walk is not None and id == walk.id
        a = walk if own else self.waiting.pop(id)
        assert (get("rsp_ctx"), get("rsp_vpn")) == (a.ctx, a.vpn)
        if parked:
            park = get("rsp_park")
            assert self.wanted(a) or not own
            self.counts["room" if park == ROOM else "parked"] += 1
            self.events += 1
            assert (get("event_parked"), get("event_no_room")) == (park < ROOM, park == ROOM)
            assert get("event_of") == (a.id >> 8) << 8 | a.ctx
            assert not get("rsp_cacheable")
            if park < ROOM:
                self.check_place(a, park)
            if park >= TOUCH:
                assert a.vpn in HEAP and a.why == UNTOUCHED
            self.parked.setdefault(park, {})[a.id] = a
            return
        self.counts["fault" if fault else "ok"] += 1
        if own:
            self.counts["pass"] += 1
            assert not self.wanted(a) and fault == (a.why != OK) and get("rsp_ppn") == ppn
            assert get("rsp_cacheable") == (not fault)
        elif fault:
            self.counts["refused"] += 1
            if get("rsp_cause") != 77:
                assert get("rsp_cause") == (15 if a.write else 13)
                assert self.last_bit[0][a.ctx] >= a.since, "refused, and the context asks"
            assert not get("rsp_cacheable")
        else:
            assert self.touch and get("rsp_ppn") == self.touch_ppn
            if self.pulse_at >= a.since:
                assert not get("rsp_cacheable"), "kept over an invalidation"
        self.done(a)

    def check_place(self, a, park):
        """gw_fault parked that page there, nobody was told since, and a write is known to it."""
        assert park in self.out, "parked on a place that is not taken, or was told of"
        key, write = self.out[park]
        assert key == (a.ctx, a.vpn), "another page's place"
        assert write or not a.write, "a write that gw_fault does not know of"
        if a.packed != self.last_asked:
            self.counts["same"] += 1

    def done(self, a):
        self.free_ids.append(a.id)
        self.slots -= 1

    def woken(self, park, ok):
        for a in self.parked.pop(park, {}).values():
            self.done(a)
        if park == ROOM:
            assert ok
            self.room_wakes += 1
        elif park < ROOM:
            assert (park, ok) in self.wakes_due
            self.wakes_due.remove((park, ok))
            self.out.pop(park, None)

    def fault_side(self, ending):
        get = self.get
        if self.fault_wake is not None and get("fault_wake_ready"):
            del self.places[self.fault_wake[0]]
            self.wakes_due = [*self.wakes_due, (self.fault_wake[0], int(self.fault_wake[1]))]
            self.fault_wake = None
        if self.fault_answer is not None and get("fault_ans_ready"):
            a, ended = self.fault
            k = self.fault_answer
            if k >= 0:
                place = self.places.setdefault(k, [(a.ctx, a.vpn), False, ended])
                place[1] |= a.write
                self.out[k] = place[0], place[1]
            self.last_asked = a.packed
            self.fault = self.fault_answer = None
        if get("fault_valid") and int(self.dut.fault_ready_i.value):
            packed = get("fault_req")
            (a,) = [x for x in self.waiting.values() if x.packed == packed]
            assert self.last_bit[1][a.ctx] >= a.since, "asked for a context that does not ask"
            self.counts["asked"] += 1
            self.fault = (a, False)
        if ending is not None:
            for place in self.places.values():
                place[2] |= place[0][0] == ending
            if self.fault and self.fault[0].ctx == ending:
                self.fault = (self.fault[0], True)

    def touch_side(self):
        get = self.get
        if self.touch_wake is not None and get("touch_wake_ready"):
            self.touch_wake = None
        if self.touch_answer is not None and get("touch_ans_ready"):
            self.touch_ppn = self.touch_answer[1]
            self.touched = self.touch_answer = None
        if get("touch_valid") and int(self.dut.touch_ready_i.value):
            (a,) = [x for x in self.waiting.values() if x.packed == get("touch_req")]
            assert a.vpn in HEAP and a.why == UNTOUCHED and get("touch_where") == a.level << 53 | a.entry
            self.touched = a

    async def steps(self, n):
        for _ in range(n):
            await self.step()

    async def drain(self):
        """Nothing more comes; the host answers everything: nobody is left."""
        answer, host, settles = self.answer, self.host, self.settles
        self.answer, self.host, self.settles = 0.0, 1.0, 0.0
        for _ in range(4000):
            await self.step()
            left = self.waiting or any(self.parked.values()) or self.places
            if not left and self.settling_since is None:
                break
        assert not self.waiting and not any(self.parked.values()), (self.waiting, self.parked)
        assert self.settling_since is None, "it never settles"
        self.answer, self.host, self.settles = answer, host, settles
