# SPDX-License-Identifier: Apache-2.0
"""What the translator must do, checked on every handshake of the bench."""

from __future__ import annotations

from collections import deque

from tables import (
    CONTEXT_OFF,
    CROSSES,
    FAULT,
    HIT,
    MISS,
    MODE_TRANSLATE,
    OKAY,
    PAGE_FAULT,
    PORT_OFF,
    READ,
    REQUEST,
    SLVERR,
    STALL,
    WRITE,
    crosses,
    read_data,
)


class Checks:
    """The sampling half of `Bench`: runs when all signals of a cycle have settled."""

    def _known_cause(self, access):
        if self.mode != MODE_TRANSLATE:
            return PORT_OFF
        if crosses(access.addr, access.len, access.size, access.burst):
            return CROSSES
        upper = access.addr >> (12 + 9 * self.levels - 1)
        if upper not in (0, (1 << (64 - 12 - 9 * self.levels + 1)) - 1):
            return PAGE_FAULT[access.write]
        return None

    def _epoch(self, access, settled=False):
        """Table version in force at the last invalidation so far (`settled`: that has ended) that covers the access."""
        pulses = self.settled_pulses if settled else self.pulses
        covering = (version for what, version in pulses if what.covers(access.ctx, access.vpn))
        return max(covering, default=0)

    def _sample_accelerator(self):
        for write, ax in ((READ, "ar"), (WRITE, "aw")):
            valid, ready = f"s_{ax}" in self._offered, self.get(f"s_axi_{ax}ready")
            if valid and not ready:
                self.counted[write][STALL] += 1
            if valid and ready:
                access = self._offered.pop(f"s_{ax}")
                assert self.offer[write].popleft() is access
                access.accepted, access.ctx = self.now, self.ctx
                access.known_cause = self._known_cause(access)
                access.epoch, access.version = self._epoch(access), len(self.tables) - 1
                self.unsent[write].append(access)
                self.unanswered.setdefault((write, access.id), deque()).append(access)
                self.counted[write][REQUEST] += 1
        if "s_w" in self._offered and self.get("s_axi_wready"):
            assert self.w_queue.popleft() is self._offered.pop("s_w")
        if self.get("s_axi_rvalid") and self._driven["s_axi_rready"]:
            access = self.unanswered[READ, self.get("s_axi_rid")][0]
            self._answered(access, self.get("s_axi_rresp"), self.get("s_axi_rlast"), self.get("s_axi_rdata"))
        offered = (self.get("s_axi_bid"), self.get("s_axi_bresp")) if self.get("s_axi_bvalid") else None
        assert self._b_last is None or offered == self._b_last, "an offered B changed"
        taken = offered is not None and self._driven["s_axi_bready"]
        self._b_last = None if taken else offered
        if taken:
            self._answered(self.unanswered[WRITE, offered[0]][0], offered[1], 1, None)

    def _answered(self, access, resp, last, data):
        """One R beat or B of the oldest unanswered access of its ID."""
        access.first = self.now if access.first is None else access.first
        if resp == OKAY:
            assert access.pa is not None and access.cause is None, (
                f"answered without going to the memory: {access}"
            )
            if not access.write:
                assert data == read_data(access.pa, access.taken)
        else:
            assert resp == SLVERR and access.cause is not None, f"error without a fault: {access}"
            if access.write:
                assert not any(a is access for a, _ in self.w_queue), "B before the last W"
        if not access.write:
            assert last == (access.taken == access.len), f"last is wrong: {access}"
            access.taken += 1
        if last:
            access.done, access.resp = self.now, resp
            self.answered += 1
            self.unanswered[access.write, access.id].popleft()

    def _sample_faults(self):
        valid = self.get("fault_valid")
        for write in (READ, WRITE):
            events = self.get("events") >> (5 * write) & 31
            for bit in self.events[write]:
                self.events[write][bit] += bool(events & bit)
            assert bool(events & FAULT) == bool(valid >> write & 1)
            if not valid >> write & 1:
                continue
            record = self.get("fault") >> (101 * write)
            addr, id_ = record & ((1 << 64) - 1), record >> 64 & 0xFFFF
            is_write, ctx, cause = record >> 80 & 1, record >> 81 & 0xFF, record >> 89 & 0xFFF
            # One that is offered to the memory was translated before.
            ax = "aw" if write else "ar"
            offered = self.get(f"m_{ax}_attr") if self.get(f"m_axi_{ax}valid") else None
            waiting = [a for a in self.unsent[write] if a.number != offered]
            access = next((a for a in waiting if write or a.id == id_), None)
            assert access is not None, f"fault of nobody: id {id_} address {addr:#x}"
            assert (addr, id_, is_write, ctx) == (access.addr, access.id, write, access.ctx)
            if cause not in self._causes(access) | access.ended:
                key = (write, access.ctx, access.vpn)
                assert cause == PAGE_FAULT[write] and self.failed.get(key), f"cause {cause} for {access}"
                self.failed[key] -= 1
            access.cause = cause
            self.unsent[write].remove(access)
            self.counted[write][FAULT] += 1

    def _causes(self, access):
        """Right causes: known at once, or found in tables in force after the access was accepted."""
        if access.known_cause is not None:
            return {access.known_cause}
        results = [t.lookup(access.ctx, access.vpn, access.write) for t in self.tables[access.version :]]
        return {r for r in results if not isinstance(r, tuple)}

    def check_under_way(self):
        """Nothing at the memory uses a frame from before an invalidation; for a moment when none is busy."""
        for access in self.accesses:
            if access.sent is not None and not access.served:
                frames = self._frames(access, self._epoch(access))
                assert access.pa >> 12 in frames, f"{access} is under way after an invalidation"

    def _frames(self, access, epoch):
        """Right frames: in tables in force since `epoch`."""
        if access.known_cause is not None:
            return set()
        results = [t.lookup(access.ctx, access.vpn, access.write) for t in self.tables[epoch:]]
        return {r[0] for r in results if isinstance(r, tuple)}

    def _sample_memory(self):
        for write, ax in ((READ, "ar"), (WRITE, "aw")):
            if not (self.get(f"m_axi_{ax}valid") and self._driven[f"m_axi_{ax}ready"]):
                continue
            id_, number = self.get(f"m_axi_{ax}id"), self.get(f"m_{ax}_attr")
            queue = self.unsent[write]
            # Writes keep the order of AW in total, reads that of their ID.
            access = next((a for a in queue if write or a.id == id_), None)
            assert access is not None and access.number == number and access.id == id_, (
                f"{ax} {number} id {id_}, oldest is {access}"
            )
            queue.remove(access)
            for key, value in (("len", access.len), ("size", access.size), ("burst", access.burst)):
                assert self.get(f"m_axi_{ax}{key}") == value
            access.pa, access.sent = self.get(f"m_axi_{ax}addr"), self.now
            assert access.pa & 0xFFF == access.addr & 0xFFF
            epoch = max(access.epoch, self._epoch(access, settled=True))
            assert access.pa >> 12 in self._frames(access, epoch), (
                f"{access.pa:#x} is no translation of {access}"
            )
            if write:
                self.m_aws.append(access)
            else:
                self.reads.setdefault(id_, deque()).append(
                    (access, self.now + 1 + self.memory_latency(self.rng))
                )
        if self.get("m_axi_wvalid") and self._driven["m_axi_wready"]:
            self.m_w_beats.append((self.get("m_axi_wdata"), self.get("m_axi_wstrb")))
            if self.get("m_axi_wlast"):
                self.m_ws.append(self.m_w_beats)
                self.m_w_beats = []
        while self.m_aws and self.m_ws:
            access, beats = self.m_aws.popleft(), self.m_ws.popleft()
            assert beats == access.data, f"data of another write: {access}"
            self.writes.setdefault(access.id, deque()).append(
                (access, self.now + 1 + self.memory_latency(self.rng))
            )
        if "m_r" in self._offered and self.get("m_axi_rready"):
            id_ = self._offered.pop("m_r")
            access, _ = self.reads[id_][0]
            access.beats += 1
            if access.beats > access.len:
                self.reads[id_].popleft()
                access.served = True
        if "m_b" in self._offered and self.get("m_axi_bready"):
            access, _ = self.writes[self._offered.pop("m_b")].popleft()
            access.served = True

    def _sample_walker(self):
        if self._answer is not None:
            self.walks.remove(self._answer)
            if self._parks:
                channel, (_, ctx, vpn), *_ = self._answer
                self.parked.setdefault(self._number, []).append((channel, ctx, vpn))
                self.parks += 1
        valid = self.get("req_valid") & self._driven["req_ready"]
        for channel in (READ, WRITE):
            if not valid >> channel & 1:
                continue
            tag, ctx = (self.get(name) >> (8 * channel) & 0xFF for name in ("req_tag", "req_ctx"))
            vpn = self.get("req_vpn") >> (45 * channel) & ((1 << 45) - 1)
            assert self.get("req_write") >> channel & 1 == channel
            assert not any(w[0] == channel and w[1][0] == tag for w in self.walks), "tag in use"
            self.counted[channel][MISS] += 1
            self.requests[channel].append((self.now, vpn))
            self.walks.append(
                [
                    channel,
                    (tag, ctx, vpn),
                    self.now + self.walk_latency(self.rng),
                    len(self.tables) - 1,
                    self.epoch,
                ]
            )

    def _sample_wakes(self):
        if self.wake_request is not None:
            number, ok = self.wake_request
            for key in self.parked.pop(number, []):
                self.failed[key] = self.failed.get(key, 0) + (not ok)
            self.wake_request = None
        if self.ctx_write is not None:
            self.end(CONTEXT_OFF)
            self.ctx_write = None

    def end(self, cause):
        """The port or its context ends: whoever was taken and not sent may fault so."""
        for queue in self.unsent.values():
            for access in queue:
                access.ended |= {cause}

    def check_events(self):
        """Events against what the ports showed; hits are what was neither looked up nor refused at once."""
        for write in (READ, WRITE):
            got, seen = self.events[write], self.counted[write]
            if self.parks:  # some lookups were repeated
                assert got[MISS] <= seen[MISS]
                seen[MISS] = got[MISS]
            if self.buffered:
                seen[STALL] = got[STALL]
            for bit in (REQUEST, MISS, FAULT, STALL):
                assert got[bit] == seen[bit], (
                    f"channel {write} event {bit}: {got[bit]} counted, {seen[bit]} seen"
                )
            refused = sum(a.write == write and a.known_cause is not None for a in self.accesses)
            ended = sum(a.write == write and bool(a.ended) for a in self.accesses)
            assert 0 <= seen[REQUEST] - seen[MISS] - refused - got[HIT] <= ended
