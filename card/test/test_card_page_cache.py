# SPDX-License-Identifier: Apache-2.0
"""The page cache of a card: host memory in place behind two ports, by what the link carries, what the host sees, and the command queue."""

import random
import sys
from collections.abc import Callable, Iterator

import card_abi
import numpy as np
import pytest
from card_abi import OKAY, SLVERR, Card, read, write

from godwit import toolchain
from godwit.card import build, plan
from godwit.spec import events, layout, registers

sys.path.append(str(toolchain.root() / "hw" / "test"))
from commands import cache_range, iofence, iotinval

CONSTANTS = {(c.group, c.name): c.value for group in layout.load() for c in group.constants}
HOST = CONSTANTS["host_aperture", "base"]
REGISTERS = {r.name: r for r in registers.registers(registers.elaborate(16, 2))}
CSR = {field.inst_name: 1 << field.low for field in REGISTERS["cqcsr"].fields}
ERRORS = CSR["cqmf"] | CSR["cmd_to"] | CSR["cmd_ill"]
ACCESS = ("control", "threshold", "status", "take", "report_group", "report_lines", "clear_group")
PAGE, LINE = 4096, 64
SIZE = 64 * PAGE
"""Of host memory behind the window."""
RING, FENCE, TABLES = 0x80_0000, 0x81_0000, 0x90_0000
"""In device memory."""
PAGES = 4
GROUP, GROUPS = 1 << CONSTANTS["access_group", "shift"], 16
"""Bytes that access counters count together, and how many such at a time."""


class Software:
    """A card, host memory behind its window, and the driver's side of the command queue."""

    def __init__(self, card: Card, seed: int) -> None:
        self.card, self.rng = card, random.Random(seed)
        self.host = np.frombuffer(self.rng.randbytes(SIZE), np.uint8).copy()
        card.host_window(0, self.host, SIZE)
        self.device = card.memory(0, SIZE)
        self.device[:] = np.frombuffer(self.rng.randbytes(SIZE), np.uint8)
        self.tail = self.fences = 0
        self.card.write(REGISTERS["cqb"].offset, (RING >> 12) << 10 | 7)
        self.card.write(REGISTERS["cqb"].offset + 4, 0)
        self.card.write(REGISTERS["cqcsr"].offset, CSR["cqen"])
        while not self.card.read(REGISTERS["cqcsr"].offset) & CSR["cqon"]:
            pass

    def bind(self, mode: str, context: int = 0) -> None:
        for port in range(2):
            at = REGISTERS["port_binding"].offset + 0x10 * port
            self.card.write(at, CONSTANTS["port_mode", mode] | context << 8)

    def put(self, *commands: int) -> None:
        for command in commands:
            at = RING + self.tail * 16
            self.card.memory(at, 16)[:] = np.frombuffer(command.to_bytes(16, "little"), np.uint8)
            self.tail = (self.tail + 1) % 256
        self.card.write(REGISTERS["cqt"].offset, self.tail)

    def fence(self, *commands: int) -> int:
        """Commands and a fence behind them; the status register's errors when it is done, or the queue stands."""
        self.fences += 1
        self.put(*commands, iofence(FENCE, self.fences, wsi=True))
        for _ in range(10_000):
            status = self.card.read(REGISTERS["cqcsr"].offset)
            if status & ERRORS or self.card.memory(FENCE, 4).tobytes() == self.fences.to_bytes(4, "little"):
                return status & ERRORS
        raise AssertionError("the fence has no end")

    def counters(self) -> dict[str, int]:
        """Those of the page cache."""
        return {
            counter.name: self.card.read(REGISTERS[f"cache_counters_{counter.name}"].offset)
            for counter in events.load().groups["cache"].counters
        }

    def map(self, context: int, vpn: int, address: int) -> int:
        """Sv39: one page; returns the physical address of its entry."""
        leaf = 1 << 7 | 1 << 6 | 1 << 4 | 7
        table = TABLES
        for level in (2, 1, 0):
            entry = table + (vpn >> 9 * level & 511) * 8
            value = address >> 12 << 10 | leaf if level == 0 else (table + PAGE) >> 12 << 10 | 1
            self.card.memory(entry, 8)[:] = np.frombuffer(value.to_bytes(8, "little"), np.uint8)
            table += PAGE
        at = REGISTERS["contexts_fsc"].offset + 8 * context
        self.card.write(at, TABLES >> 12)
        self.card.write(at + 4, CONSTANTS["mode", "sv39"] << 28)
        return entry


@pytest.fixture(scope="module")
def built():
    """The smallest card, which checks its assertions, with a page cache and access counters."""
    overrides = [f"page_cache.pages={PAGES}", f"page_cache.counters={GROUPS}"]
    return card_abi.load(build.build(plan.plan("tiny", overrides)).library)


@pytest.fixture
def open_one(built, seed: int) -> Iterator[Callable[..., Software]]:
    cards = []

    def opened(**fields: object) -> Software:
        cards.append(Card(built, **fields))
        return Software(cards[-1], seed)

    yield opened
    for card in cards:
        card.close()


def test_what_is_cached_crosses_the_link_once(open_one):
    software = open_one()
    software.bind("bare")
    card = software.card
    page = [read(line % 2, HOST + PAGE + line * LINE, id=line % 4) for line in range(PAGE // LINE)]
    crossed = []
    for _ in range(3):
        answers = card.play(page)
        assert b"".join(answer.data for answer in answers) == software.host[PAGE : 2 * PAGE].tobytes()
        # The rest of the page, too; nothing else.
        card.run(2000)
        crossed.append(card.stats()["host_reads"])
        assert software.counters()["fills"] == 64
    assert len(set(crossed)) == 1
    # A hit's data: 2 cycles in the cache, and one each way in gw_axi_mux.
    (hit,) = card.play([read(0, HOST + PAGE)])
    assert hit.first - hit.accepted == 4
    counters = software.counters()
    assert (counters["reads"], counters["pages"], counters["releases"]) == (193, 1, 0)


def test_the_host_sees_stores_after_a_clean_and_no_line_more_is_written(open_one):
    software = open_one()
    software.bind("bare")
    before = software.host.copy()
    data = software.rng.randbytes(3 * LINE)
    software.card.play(
        [write(0, HOST + 2 * PAGE + 5 * LINE, data), write(1, HOST + 9 * PAGE, data[:8], size=3)]
    )
    software.card.run(2000)
    assert (software.host == before).all()
    assert software.fence(cache_range((HOST + 2 * PAGE) // LINE, 64, clean=True)) == 0
    before[2 * PAGE + 5 * LINE : 2 * PAGE + 8 * LINE] = np.frombuffer(data, np.uint8)
    assert (software.host == before).all()
    assert software.counters()["writebacks"] == 3
    assert software.fence(cache_range(clean=True, drop=True)) == 0
    before[9 * PAGE : 9 * PAGE + 8] = np.frombuffer(data[:8], np.uint8)
    assert (software.host == before).all()
    assert software.counters()["writebacks"] == 4


def test_the_card_sees_what_the_host_wrote_after_a_drop(open_one):
    software = open_one()
    software.bind("bare")
    software.card.play([read(0, HOST)])
    software.host[:LINE] = 7
    (stale,) = software.card.play([read(1, HOST)])
    assert stale.data != bytes([7]) * LINE
    assert software.fence(cache_range(HOST // LINE, 1, drop=True)) == 0
    (fresh,) = software.card.play([read(1, HOST)])
    assert fresh.data == bytes([7]) * LINE


def test_an_invalidation_then_a_flush_then_a_fence_take_a_page_away(open_one):
    """At the fence nobody reaches the page any more, and all that was stored there is in host memory; over and over, while two ports store."""
    software = open_one(stall={"seed": 5, "percent": 20})
    card, vpn, context = software.card, 0x12345, 3
    wanted = software.host.copy()
    for turn in range(12):
        frame = HOST + (7 + turn) * PAGE
        entry = software.map(context, vpn, frame)
        software.bind("translate", context)
        at = frame - HOST
        for port in range(2):
            data = software.rng.randbytes(8 * LINE)
            where = (8 * port + 16 * (turn % 4)) * LINE
            (done,) = card.play([write(port, vpn * PAGE + where, data)])
            assert done.resp == OKAY
            wanted[at + where : at + where + 8 * LINE] = np.frombuffer(data, np.uint8)
        card.memory(entry, 8)[:] = 0
        assert (
            software.fence(iotinval(context, vpn), cache_range(frame // LINE, 64, clean=True, drop=True)) == 0
        )
        assert (software.host == wanted).all()
        refused = card.play([read(0, vpn * PAGE)])[0]
        assert refused.resp != OKAY
        # The host's page again: what it writes is what the next owner of the frame finds.
        software.host[at : at + PAGE] = turn
        wanted[at : at + PAGE] = turn


@pytest.mark.parametrize("percent", [0, 30])
def test_random_traffic_on_both_sides_of_the_border(open_one, percent):
    """Two ports, device and host memory, bursts of one ID and of several; a byte belongs to one request of a batch."""
    software = open_one(stall={"seed": 11, "percent": percent}) if percent else open_one()
    software.bind("bare")
    rng, memory = software.rng, {0: software.device, HOST: software.host}
    wanted = {base: part.copy() for base, part in memory.items()}
    for _ in range(40):
        requests, expected = [], []
        places = rng.sample(range(SIZE // (4 * LINE)), 30)
        for place in places:
            base, port, beats = rng.choice((0, HOST)), rng.randrange(2), rng.randrange(1, 5)
            at, id = place * 4 * LINE, rng.randrange(4)
            if rng.random() < 0.5:
                requests.append(read(port, base + at, id=id, beats=beats))
                expected.append(wanted[base][at : at + beats * LINE].tobytes())
            else:
                data = rng.randbytes(beats * LINE)
                requests.append(write(port, base + at, data, id=id))
                wanted[base][at : at + len(data)] = np.frombuffer(data, np.uint8)
                expected.append(None)
        for answer, data in zip(software.card.play(requests), expected, strict=True):
            assert answer.resp == OKAY
            assert data is None or answer.data == data
        if rng.random() < 0.2:
            first, lines = rng.randrange(SIZE // LINE), rng.randrange(1, 200)
            assert (
                software.fence(cache_range(HOST // LINE + first, lines, clean=True, drop=rng.random() < 0.5))
                == 0
            )
    assert software.fence(cache_range(clean=True)) == 0
    for base, part in memory.items():
        assert (part == wanted[base]).all()
    counters = software.counters()
    assert counters["lost"] == 0 and counters["pages"] > PAGES and counters["writebacks"] > 0


def test_errors_of_the_link_reach_the_access_or_the_next_flush(open_one):
    software = open_one()
    software.bind("bare")
    (refused,) = software.card.play([read(0, HOST + SIZE)])
    assert refused.resp == SLVERR
    # A page whose window goes before its dirty line does.
    software.card.play([write(0, HOST, bytes(LINE))])
    software.card.host_window(0, None, 0)
    assert software.fence(cache_range(clean=True)) == CSR["cqmf"]
    assert software.counters()["lost"] == 1
    # Cleared, the command is tried again; nothing is left to lose.
    software.card.write(REGISTERS["cqcsr"].offset, CSR["cqen"] | CSR["cqmf"])
    assert software.fence() == 0


def test_access_counters_report_the_groups_that_cross_the_link_most(open_one):
    """By interrupt, with the lines read and written back; once until the group is cleared."""
    software = open_one()
    software.bind("bare")
    card, at = software.card, {name: REGISTERS[f"access_counters_{name}"].offset for name in ACCESS}
    assert card.read(at["control"]) >> 8 == GROUPS.bit_length() - 1
    card.write(at["threshold"], 2 * (PAGE // LINE) + 1)
    card.write(at["control"], 3)

    def report() -> tuple[int, int, int] | None:
        group = card.read(at["report_group"]) | card.read(at["report_group"] + 4) << 32
        lines = card.read(at["report_lines"])
        return (group & ~(1 << 63), lines & 0xFFFF, lines >> 16) if group >> 63 else None

    # A line of each of two pages of group 0, which the cache fills with the rest; one line of group 1, written and cleaned.
    for page in range(2):
        card.play([read(0, HOST + page * PAGE)])
        card.run(3000)
    card.play([write(1, HOST + GROUP + 5 * LINE, bytes(LINE))])
    assert software.fence(cache_range(clean=True)) == 0
    card.run(100)
    assert report() is None and card.read(at["status"]) == 0
    card.play([read(0, HOST + 2 * PAGE)])
    card.run(3000)
    group, fills, writebacks = report() or (0, 0, 0)
    assert group == HOST // GROUP and writebacks == 0
    assert 2 * (PAGE // LINE) < fills <= 3 * (PAGE // LINE)
    assert software.counters()["fills"] == 3 * (PAGE // LINE)
    card.write(at["take"], 1)
    card.play([read(0, HOST + 3 * PAGE)])
    card.run(3000)
    assert report() is None
    card.write(at["clear_group"], group & 0xFFFF_FFFF)
    card.write(at["clear_group"] + 4, group >> 32)
    for page in range(4, 7):
        card.play([read(0, HOST + page * PAGE)])
        card.run(3000)
    again = report()
    assert again is not None and again[0] == group and again[1] <= 3 * (PAGE // LINE)


def test_a_card_without_one_says_so(seed):
    library = card_abi.load(build.build(plan.plan("tiny")).library)
    with Card(library) as card:
        software = Software(card, seed)
        assert software.fence(cache_range(clean=True)) == CSR["cmd_ill"]
        assert set(software.counters().values()) == {0}
        card.write(REGISTERS["access_counters_control"].offset, 3)
        assert [card.read(REGISTERS[f"access_counters_{name}"].offset) for name in ACCESS] == [0] * len(
            ACCESS
        )
