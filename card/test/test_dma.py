# SPDX-License-Identifier: Apache-2.0
"""The page DMA of a card: both directions at the link's speed, dirty lines only, abort, errors, in the simulation that users have."""

import random
import sys
from collections.abc import Callable, Iterator

import card_abi
import numpy as np
import pytest
from card_abi import Card

from godwit import toolchain
from godwit.card import build, plan
from godwit.spec import layout, registers

sys.path.append(str(toolchain.root() / "hw" / "test" / "dma"))
from descriptors import (
    ABORTED,
    BYTES,
    CLEAR,
    COPY,
    ENTRY,
    FETCH,
    HOST,
    ILLEGAL,
    LINE,
    NONE,
    PAGE,
    READ,
    RESPOND,
    WAIT,
    WRITE,
    Descriptor,
    Memory,
)

CONSTANTS = {(c.group, c.name): c.value for group in layout.load() for c in group.constants}
REGISTERS = {r.name: r for r in registers.registers(registers.elaborate(16, 1, registers.DMA))}
ID, RING, FENCE_ADDR, FIRST, HEAD, TAIL, FENCE, CSR, REACHED = (
    CONSTANTS["register_space", "dma_base"] + REGISTERS[name].offset
    for name in ("id", "base", "fence_addr", "first", "head", "tail", "fence", "csr", "reached")
)
BITS = {field.inst_name: 1 << field.low for field in REGISTERS["csr"].fields}
ENABLE, CANCEL, IE, IP, ON, STOPPED = (
    BITS[name] for name in ("enable", "cancel", "ie", "ip", "on", "stopped")
)
IRQ = 1 << CONSTANTS["irq", "dma"]
LOG2 = 10
SIZE = 4 << 20
"""Of host memory, and of the device memory that is used. The ring is at the host's end, the fence number before it."""


class Dma:
    """A card and software with a ring; memory beside an oracle of it."""

    def __init__(self, card: Card, seed: int) -> None:
        self.card = card
        self.rng = random.Random(seed)
        self.wanted = Memory(self.rng, SIZE)
        self.device = card.memory(0, SIZE)
        self.host = np.frombuffer(self.wanted.parts[1], np.uint8).copy()
        self.device[:] = np.frombuffer(self.wanted.parts[0], np.uint8)
        card.host_window(0, self.host, SIZE)
        self.entries = 1 << LOG2
        self.ring = HOST + SIZE - self.entries * BYTES
        self.fence_addr = self.ring - PAGE + 20
        self.tail = 0
        pages = [page * PAGE for page in range(SIZE // PAGE - self.entries * BYTES // PAGE - 1)]
        self.free = {0: pages, HOST: pages[:]}
        for part in self.free.values():
            self.rng.shuffle(part)
        assert card.read(ID) >> 16 == 0x4744
        self.write64(RING, (self.ring >> 12) << 10 | (LOG2 - 1))
        self.write64(FENCE_ADDR, self.fence_addr | 1)
        self.turn_on(0)

    def write64(self, offset: int, value: int) -> None:
        self.card.write(offset, value & 0xFFFF_FFFF)
        self.card.write(offset + 4, value >> 32)

    def turn_on(self, first: int) -> None:
        self.card.write(FIRST, first)
        self.card.write(TAIL, self.tail)
        self.card.write(CSR, IP | IE | ENABLE)

    def turn_off(self) -> None:
        self.card.write(CSR, IP)
        while self.card.read(CSR) & ON:
            pass

    def page(self, side: int) -> int:
        return side + self.free[side].pop()

    def put(self, *descriptors: Descriptor, done: bool = True) -> None:
        """Into the ring; `done`: they will be, as far as the oracle goes."""
        for descriptor in descriptors:
            at = self.ring - HOST + self.tail * BYTES
            words = np.frombuffer(descriptor.words(), np.uint8)
            self.host[at : at + BYTES] = words
            self.wanted.write(HOST + at, words.tobytes())
            if done:
                descriptor.apply(self.wanted)
            self.tail = (self.tail + 1) % self.entries

    def kick(self) -> int:
        """Tells the card; returns the cycle."""
        self.card.write(TAIL, self.tail)
        return self.card.stats()["cycles"]

    def wait(self, cycles: int = 200_000) -> int:
        """Until the interrupt, which is cleared; returns the cycle."""
        assert self.card.run(cycles, IRQ) & IRQ, f"no interrupt: csr {self.card.read(CSR):#x}"
        now = self.card.stats()["cycles"]
        self.card.write(CSR, self.card.read(CSR) & (ENABLE | CANCEL | IE) | IP)
        return now

    def run(self) -> int:
        """All that was put; returns the cycles from telling the card to its interrupt."""
        number = self.rng.getrandbits(32)
        self.put(Descriptor(NONE, fence=number, irq=True))
        begin = self.kick()
        end = self.wait()
        assert self.card.read(FENCE) == number
        at = self.fence_addr - HOST
        assert self.host[at : at + 4].tobytes() == number.to_bytes(4, "little")
        self.compare()
        return end - begin

    def compare(self) -> None:
        at = self.fence_addr - HOST
        self.wanted.write(self.fence_addr, self.host[at : at + 4].tobytes())
        assert self.device.tobytes() == self.wanted.parts[0], "device memory differs"
        assert self.host.tobytes() == self.wanted.parts[1], "host memory differs"

    def stopped(self) -> tuple[int, int]:
        """Waits until it stands; cause and head."""
        self.wait()
        status = self.card.read(CSR)
        assert status & STOPPED
        return status // BITS["cause"] & 7, self.card.read(HEAD)


@pytest.fixture(scope="module")
def built():
    """The smallest card, which checks its assertions, with a page DMA of its usual size."""
    return card_abi.load(build.build(plan.plan("tiny", ["dma.slots=32"])).library)


@pytest.fixture
def dma(built, seed: int) -> Iterator[Callable[..., Dma]]:
    cards = []

    def open_one(**fields: object) -> Dma:
        cards.append(Card(built, **fields))
        return Dma(cards[-1], seed)

    yield open_one
    for card in cards:
        card.close()


@pytest.mark.parametrize(("gbps", "latency_ns"), [(6.4, 500), (2.0, 900)])
@pytest.mark.parametrize("directions", ["in", "out", "both"])
def test_scattered_pages_take_95_percent_of_the_link(dma, gbps, latency_ns, directions):
    """From telling the card to the interrupt, descriptors and both latencies in it; 6.4 GB/s are a line a cycle here."""
    link = dma(host_link={"bandwidth_gbps": gbps, "latency_ns": latency_ns})
    pages = 200
    for _ in range(pages):
        if directions != "out":
            link.put(Descriptor(COPY, link.page(HOST), link.page(0), 64))
        if directions != "in":
            link.put(Descriptor(COPY, link.page(0), link.page(HOST), 64))
    cycles = link.run()
    assert pages * PAGE / (cycles * 10) >= 0.95 * gbps, f"{cycles} cycles of 10 ns"


def test_only_dirty_lines_are_written_back(dma):
    """Bytes on the link are those of the lines, the ring and the fence number."""
    link = dma()
    dirty = 0
    for mask in (1, 1 << 63, 0x8000_0F00_0000_0001, link.rng.getrandbits(64), 0):
        dirty += mask.bit_count()
        link.put(Descriptor(COPY, link.page(0), link.page(HOST), 64, mask=mask))
    before = link.card.stats()["link_bytes"]
    link.run()
    ring = 3 * LINE  # six descriptors
    assert link.card.stats()["link_bytes"] - before == dirty * LINE + ring + 4


def test_random_lists_with_stalls_do_what_they_say(dma, seed):
    for percent in (0, 20, 60):
        link = dma(stall={"seed": seed, "percent": percent})
        for _ in range(60):
            source, dest = link.page(link.rng.choice((0, HOST))), link.page(link.rng.choice((0, HOST)))
            kind = link.rng.choice((COPY, COPY, CLEAR, ENTRY))
            mask = link.rng.choice((None, link.rng.getrandbits(64)))
            if kind == COPY:
                link.put(Descriptor(COPY, source, dest, 64, mask=mask))
            elif kind == CLEAR:
                link.put(Descriptor(CLEAR, 0, dest, link.rng.randrange(1, 65)))
            else:
                link.put(Descriptor(ENTRY, link.rng.getrandbits(64), dest + 8 * link.rng.randrange(512)))
        link.run()


def test_an_aborted_list_goes_on_where_it_stopped(dma):
    link = dma()
    for _ in range(40):
        link.put(Descriptor(COPY, link.page(HOST), link.page(0), 64))
    link.kick()
    link.card.run(link.rng.randrange(200, 12_000))
    link.card.write(CSR, ENABLE | CANCEL | IE)
    cause, head = link.stopped()
    assert cause == ABORTED and head < link.tail
    moved = link.card.stats()["link_bytes"]
    link.card.run(2000)
    assert link.card.stats()["link_bytes"] == moved, "something went on"
    link.turn_off()
    link.turn_on(head)
    link.run()


BAD = {
    "no host memory there": (READ, Descriptor(COPY, HOST + 2 * SIZE, 0, 64)),
    "no device memory there": (WRITE, Descriptor(COPY, HOST, 1 << 40, 64)),
    "no host memory to write": (WRITE, Descriptor(COPY, 0, HOST + 2 * SIZE, 64)),
    "a source that is no line": (ILLEGAL, Descriptor(COPY, HOST + 8, 0, 64)),
    "an answer without a fault unit": (ILLEGAL, Descriptor(RESPOND, 1)),
}


@pytest.mark.parametrize("what", BAD)
def test_an_error_is_named_by_its_descriptor(dma, what):
    link = dma()
    cause, bad = BAD[what]
    before = link.rng.randrange(1, 20)
    for _ in range(before):
        link.put(Descriptor(COPY, link.page(HOST), link.page(0), 64))
    link.put(bad, done=False)
    link.put(Descriptor(NONE, after=True, fence=99, irq=True))
    link.kick()
    assert link.stopped() == (cause, before)
    assert link.card.read(FENCE) != 99
    link.compare()
    # Behind it, as software does that has seen to it.
    link.turn_off()
    link.turn_on(before + 1)
    link.wait()
    assert link.card.read(FENCE) == 99


def test_a_ring_that_is_not_there_is_an_error(dma):
    link = dma()
    link.turn_off()
    link.write64(RING, (HOST + 2 * SIZE >> 12) << 10 | (LOG2 - 1))
    link.tail = 3
    link.turn_on(0)
    assert link.stopped() == (FETCH, 0)


def test_a_migration_is_posted_as_a_whole(dma):
    """Pages, then their entries, held up until software has said that an invalidation was acknowledged."""
    link = dma()
    table = link.page(0)
    pages = [(link.page(HOST), link.page(0)) for _ in range(8)]
    link.put(Descriptor(WAIT, 5))
    link.put(*(Descriptor(COPY, source, dest, 64) for source, dest in pages))
    link.put(*(Descriptor(ENTRY, dest | 1, table + 8 * i, after=i == 0) for i, (_, dest) in enumerate(pages)))
    link.put(Descriptor(NONE, fence=7, irq=True))
    link.kick()
    assert link.card.run(3000, IRQ) == 0 and link.card.read(HEAD) == 0
    link.card.write(REACHED, 5)
    link.wait()
    assert link.card.read(FENCE) == 7
    link.compare()
