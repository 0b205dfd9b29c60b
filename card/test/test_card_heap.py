# SPDX-License-Identifier: Apache-2.0
"""The heap of a card: the host allocates by registers, ports touch; in the simulation that users have."""

import random
from collections.abc import Callable, Iterator

import card_abi
import pytest
from card_abi import Card, read, write

from godwit.card import build, plan
from godwit.spec import layout, registers

CONSTANTS = {(c.group, c.name): c.value for group in layout.load() for c in group.constants}
TOUCHED = {c.value: c.name for group in layout.load() if group.name == "heap_touch" for c in group.constants}
STATUS = {c.value: c.name for group in layout.load() if group.name == "heap" for c in group.constants}
BASE = CONSTANTS["register_space", "heap_base"]
REGISTERS = {r.name: r for r in registers.registers(registers.elaborate(16, 2, registers.HEAP))}
MMU = {r.name: r for r in registers.registers(registers.elaborate(16, 2))}
MALLOC, REALLOC, FREE = range(3)
WRITABLE, SMALL = 1 << 2, 1 << 3
PAGE, LINE, BLOCK = 4096, 64, 2 << 20
MEMORY, HEAP = 256 << 20, 32 << 20
ROOT, CLEAN_BITS, DIRTY_BITS, ZERO = 0x10_0000, 0x20_0000, 0x20_1000, 0x20_2000
TABLES_KEPT = 3
LEVELS = 4
OVERRIDES = ['card.kernels=["memcopy"]', "heap.slots=1024", "heap.memory_bytes=32MiB", "walker.levels=4"]
"""The card of python/tests/test_malloc.py, too."""


class Heap:
    """A card with its heap begun, and contexts 1 and 2 on its external ports, behind the kernel's."""

    def __init__(self, card: Card, *, clean: bool) -> None:
        self.card = card
        assert self.get("id") >> 16 == 0x4748
        if not clean:
            card.memory(MEMORY - HEAP, HEAP)[:] = 0xA5
        for name, address in (
            ("base", MEMORY - HEAP),
            ("clean_bits", CLEAN_BITS),
            ("dirty_bits", DIRTY_BITS),
            ("zero", ZERO),
        ):
            self.put64(name, address // PAGE)
        self.put("memory", HEAP // BLOCK | clean << 25)
        self.put("start", 1)
        for ctx in (1, 2):
            root = (ROOT + ctx * PAGE) // PAGE
            card.write(MMU["contexts_fsc"].offset + 8 * ctx, root)
            card.write(MMU["contexts_fsc"].offset + 8 * ctx + 4, 9 << 28)
            card.write(MMU["port_binding"].offset + 0x10 * ctx, 1 | ctx << 8)
        card.run(5000)

    def get(self, name: str) -> int:
        return self.card.read(BASE + REGISTERS[name].offset)

    def put(self, name: str, value: int) -> None:
        self.card.write(BASE + REGISTERS[name].offset, value)

    def put64(self, name: str, value: int) -> None:
        self.put(name, value & 0xFFFF_FFFF)
        self.card.write(BASE + REGISTERS[name].offset + 4, value >> 32)

    def command(self, op: int, ctx: int, pointer: int = 0, size: int = 0, how: int = 0) -> tuple[str, int]:
        self.put64("pointer", pointer)
        self.put64("size", size)
        self.put("command", op | how | ctx << 8)
        while (answer := self.get("answer")) & 1:
            pass
        result = BASE + REGISTERS["result"].offset
        return STATUS[answer >> 4 & 15], self.card.read(result) | self.card.read(result + 4) << 32

    def malloc(self, ctx: int, size: int, how: int = WRITABLE) -> int:
        status, pointer = self.command(MALLOC, ctx, size=size, how=how)
        assert status == "ok", status
        return pointer

    def free(self, ctx: int, pointer: int) -> str:
        return self.command(FREE, ctx, pointer)[0]

    def idle(self) -> None:
        while self.get("status") & 3:
            self.card.run(100)
        assert self.get("status") == 0, "broken"

    def end(self, ctx: int) -> None:
        self.put("end_context", ctx)
        self.idle()

    def touch(self, ctx: int, pointer: int, *, write: bool) -> tuple[str, int]:
        """The host's own first touch: walks the tables, and asks for what is not there."""
        table = ROOT + ctx * PAGE
        for level in reversed(range(LEVELS)):
            entry = table + 8 * (pointer >> 12 + 9 * level & 511)
            found = int.from_bytes(self.card.memory(entry, 8), "little")
            if not found & 1:
                break
            table = (found >> 10 & (1 << 44) - 1) * PAGE
        else:
            return "there", table
        self.put64("touch_address", pointer)
        self.put64("touch_entry", entry)
        self.put("touch", level | write << 4 | ctx << 8)
        while (touched := self.get("touched")) & 1:
            pass
        frame = BASE + REGISTERS["touched_frame"].offset
        frame = self.card.read(frame) | self.card.read(frame + 4) << 32
        return TOUCHED[touched >> 4 & 7], frame * PAGE

    def load(self, ctx: int, pointer: int) -> bytes | None:
        (answer,) = self.card.play([read(ctx, pointer)])
        return answer.data if answer.resp == card_abi.OKAY else None

    def store(self, ctx: int, pointer: int, data: bytes) -> bool:
        (answer,) = self.card.play([write(ctx, pointer, data)])
        return answer.resp == card_abi.OKAY


@pytest.fixture(scope="module")
def built():
    """The smallest card, which checks its assertions, with a heap."""
    return card_abi.load(build.build(plan.plan("tiny", OVERRIDES)).library)


@pytest.fixture
def heap(built) -> Iterator[Callable[..., Heap]]:
    cards = []

    def open_one(clean: bool = True, **fields: object) -> Heap:
        cards.append(Card(built, **fields))
        return Heap(cards[-1], clean=clean)

    yield open_one
    for card in cards:
        card.close()


@pytest.mark.parametrize("clean", [True, False])
def test_pages_come_when_they_are_written(heap, clean):
    heap = heap(clean)
    pointer = heap.malloc(1, 1 << 30)
    frames = heap.get("free_frames")
    assert heap.load(1, pointer + 5 * PAGE) == bytes(LINE), "a page that nobody touched is zero"
    assert heap.get("free_frames") == frames, "... and costs nothing"
    line = bytes(range(LINE))
    assert heap.store(1, pointer + 5 * PAGE, line)
    assert heap.load(1, pointer + 5 * PAGE) == line
    assert heap.load(1, pointer + 5 * PAGE + LINE) == bytes(LINE)
    assert heap.load(1, pointer + (1 << 30)) is None, "behind its end"
    assert heap.load(2, pointer) is None, "another context's"
    assert not heap.store(2, pointer + 5 * PAGE, line)


def test_what_is_freed_is_gone_and_comes_back_clean(heap):
    heap = heap()
    frames = heap.get("free_frames")
    for _ in range(3):
        pointer = heap.malloc(1, 40 * PAGE)
        for page in range(40):
            assert heap.load(1, pointer + page * PAGE) == bytes(LINE)
            assert heap.store(1, pointer + page * PAGE, bytes([page + 1] * LINE))
        assert heap.command(REALLOC, 1, pointer, 10 * PAGE) == ("ok", pointer)
        heap.idle()
        assert heap.load(1, pointer + 10 * PAGE) is None
        assert heap.load(1, pointer + 9 * PAGE) == bytes([10] * LINE)
        assert heap.command(REALLOC, 1, pointer, 20 * PAGE) == ("ok", pointer)
        assert heap.load(1, pointer + 10 * PAGE) == bytes(LINE)
        assert heap.free(1, pointer) == "ok"
        assert heap.free(1, pointer) == "not_live"
        heap.idle()
        assert heap.load(1, pointer) is None
    heap.end(1)
    heap.card.run(20_000)
    assert heap.get("free_frames") >= frames - TABLES_KEPT


def test_what_is_refused_says_why(heap):
    heap = heap()
    pointer = heap.malloc(1, PAGE, WRITABLE | SMALL)
    assert heap.command(MALLOC, 1)[0] == "size_zero"
    assert heap.command(MALLOC, 1, size=1 << 40, how=WRITABLE)[0] == "too_large"
    assert heap.command(REALLOC, 1, pointer, 17 * PAGE)[0] == "too_large"
    assert heap.free(1, pointer + PAGE) == "foreign"
    assert heap.free(2, pointer) == "other_context"
    readable = heap.malloc(1, PAGE, 0)
    assert not heap.store(1, readable, bytes(LINE)) and heap.load(1, readable) == bytes(LINE)


def test_the_host_touches_pages_too(heap):
    heap = heap(clean=False)
    pointer = heap.malloc(1, 40 * PAGE)
    page = pointer + 7 * PAGE
    assert heap.touch(1, page, write=False) == ("zero", ZERO)
    how, frame = heap.touch(1, page, write=True)
    assert how == "frame" and bytes(heap.card.memory(frame, PAGE)) == bytes(PAGE)
    heap.card.memory(frame, LINE)[:] = range(LINE)
    assert heap.load(1, page) == bytes(range(LINE)), "the kernel has the host's page"
    assert heap.store(1, page + PAGE, b"k" * LINE)
    # The access is answered before its entry is stored: until then the heap has to be asked.
    while (found := heap.touch(1, page + PAGE, write=True))[0] == "again":
        pass
    how, frame = found
    assert how in ("there", "frame") and bytes(heap.card.memory(frame, LINE)) == b"k" * LINE, (
        "... and the host the kernel's"
    )
    assert heap.touch(1, pointer + 40 * PAGE, write=True)[0] == "fault"
    assert heap.touch(2, page, write=True)[0] == "fault"
    assert heap.touch(1, heap.malloc(1, PAGE, 0), write=True)[0] == "fault", "it is not writable"


def test_counters_say_what_happened(heap):
    heap = heap()
    pointer = heap.malloc(1, 4 * PAGE)
    assert heap.command(MALLOC, 1)[0] == "size_zero"
    assert heap.load(1, pointer) == bytes(LINE)
    for page in range(3):
        assert heap.store(1, pointer + page * PAGE, bytes(LINE))
    assert heap.load(1, pointer + 4 * PAGE) is None
    assert heap.free(1, pointer) == "ok"
    heap.end(1)
    heap.card.run(20_000)

    def counter(name: str) -> int:
        return heap.card.read(MMU[f"heap_counters_{name}"].offset)

    names = ("commands", "refused", "touches", "zeros", "faults")
    assert {name: counter(name) for name in names} == dict(zip(names, (3, 1, 3, 1, 1), strict=True))
    assert counter("reclaimed") == counter("scrubbed") >= 3


def test_random_work_of_two_contexts(heap, seed):
    rng = random.Random(seed)
    heap = heap(clean=False, stall={"seed": seed, "percent": 10})
    live: dict[int, tuple[int, int, dict[int, bytes]]] = {}
    for _ in range(300):
        kind = rng.random()
        if kind < 0.1 and len(live) < 12:
            ctx, pages = rng.choice((1, 2)), rng.randrange(1, 200)
            how = WRITABLE | rng.choice((0, 4, 9)) << 4
            live[heap.malloc(ctx, pages * PAGE, how)] = (ctx, pages, {})
        elif kind < 0.15 and live:
            pointer = rng.choice(list(live))
            ctx, *_ = live.pop(pointer)
            assert heap.free(ctx, pointer) == "ok"
        elif live:
            pointer, (ctx, pages, data) = rng.choice(list(live.items()))
            at = pointer + rng.randrange(min(pages, 24)) * PAGE + rng.randrange(64) * LINE
            if rng.random() < 0.6:
                data[at] = rng.randbytes(LINE)
                assert heap.store(ctx, at, data[at])
            else:
                assert heap.load(ctx, at) == data.get(at, bytes(LINE))
    for ctx, _, data in live.values():
        for at, line in data.items():
            assert heap.load(ctx, at) == line
    heap.end(1)
    heap.end(2)
    for pointer, (ctx, *_) in live.items():
        assert heap.load(ctx, pointer) is None


REGIONS = [
    *OVERRIDES,
    *("memory.latency_cycles=200", "memory.page_table_latency_cycles=200"),
    *("memory.fast.bytes=16MiB", "memory.fast.model=fixed", "memory.fast.latency_cycles=2"),
    *("memory.fast.heap_bytes=8MiB", "heap.host_bytes=4MiB"),
]
"""The card of python/tests/test_memories.py, too."""
SECOND, SECOND_BYTES, SECOND_BITS = 64 << 20, 8 << 20, 0x20_3000


@pytest.fixture(scope="module")
def built_of_two():
    return card_abi.load(build.build(plan.plan("tiny", REGIONS)).library)


@pytest.fixture
def two(built_of_two) -> Iterator[Heap]:
    """A heap of three regions, of which only the first has begun."""
    with Card(built_of_two) as card:
        yield Heap(card, clean=True)


def begin_second(heap: Heap, *, strict: bool, clean: bool = True) -> None:
    if not clean:
        heap.card.memory(SECOND, SECOND_BYTES)[:] = 0xA5
    heap.put("region", 1)
    for name, address in (("base", SECOND), ("clean_bits", SECOND_BITS), ("dirty_bits", SECOND_BITS + PAGE)):
        heap.put64(name, address // PAGE)
    heap.put("memory", SECOND_BYTES // BLOCK | strict << 24 | clean << 25)
    heap.put("start", 1)
    heap.card.run(2000)
    # Nobody's region any more: what the registers say now is not the second one's.
    heap.put("region", 0)
    heap.put64("base", 0)


def of_region(region: int, *, small: bool = False) -> int:
    return WRITABLE | SMALL * small | region << 16


def frames_free(heap: Heap, region: int) -> int:
    """Once all that was given back is clean: frames that are being cleared are nobody's, and not free."""
    heap.put("region", region)
    before = -1, -1
    while (found := (heap.get("free_frames"), heap.get("clean_frames"))) != before or found[0] != found[1]:
        before = found
        heap.card.run(5000)
    return found[0]


def test_a_region_that_has_not_begun_refuses(two):
    assert two.get("capabilities") >> 30 == 2
    assert two.command(MALLOC, 1, size=PAGE, how=of_region(1))[0] == "no_frame"
    assert two.command(MALLOC, 1, size=PAGE, how=of_region(3))[0] == "no_frame"
    assert two.command(MALLOC, 1, size=PAGE, how=of_region(4))[0] == "argument"
    assert frames_free(two, 1) == 0
    pointer = two.malloc(1, PAGE)
    assert two.store(1, pointer, bytes(range(64)))


@pytest.mark.parametrize("clean", [True, False])
def test_each_region_gives_its_own_frames(two, clean):
    begin_second(two, strict=False, clean=clean)
    first, second = two.malloc(1, 4 * PAGE), two.malloc(1, 4 * PAGE, of_region(1))
    for pointer in (first, second):
        assert two.store(1, pointer, b"\x07" * 64)
        assert two.load(1, pointer) == b"\x07" * 64
        assert two.load(1, pointer + 3 * PAGE) == bytes(64)
    for pointer, base, size in ((first, MEMORY - HEAP, HEAP), (second, SECOND, SECOND_BYTES)):
        how, frame = two.touch(1, pointer + PAGE, write=True)
        assert how == "frame" and base <= frame < base + size
    assert frames_free(two, 1) == SECOND_BYTES // PAGE - 2
    assert two.free(1, second) == "ok"
    two.idle()
    assert frames_free(two, 1) == SECOND_BYTES // PAGE
    again = two.malloc(1, 4 * PAGE, of_region(1))
    assert two.load(1, again) == bytes(64)


def test_a_strict_region_that_is_full_refuses_and_the_other_gives(two):
    begin_second(two, strict=True)
    assert two.command(MALLOC, 1, size=SECOND_BYTES + PAGE, how=of_region(1))[0] == "no_frame"
    held = two.malloc(1, SECOND_BYTES, of_region(1))
    assert two.store(1, held, bytes(64))
    # What is free counts, not what was asked for.
    assert two.command(MALLOC, 2, size=SECOND_BYTES, how=of_region(1))[0] == "no_frame"
    assert two.command(MALLOC, 2, size=SECOND_BYTES)[0] == "ok"
    assert two.free(1, held) == "ok"
    two.idle()
    assert two.command(MALLOC, 2, size=SECOND_BYTES, how=of_region(1))[0] == "ok"


def test_a_context_that_ends_gives_back_to_both_regions(two):
    begin_second(two, strict=False)
    first, second = (frames_free(two, region) for region in (0, 1))
    for region in (0, 1):
        for small in (False, True):
            assert two.store(1, two.malloc(1, 2 * PAGE, of_region(region, small=small)), bytes(64))
    two.end(1)
    assert frames_free(two, 0) >= first - TABLES_KEPT
    assert frames_free(two, 1) == second
