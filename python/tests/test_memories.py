# SPDX-License-Identifier: Apache-2.0
"""A card with two memories: buffers where they are wanted, each with its memory's time."""

from __future__ import annotations

import numpy as np
import pytest

import godwit
from godwit.errors import ArgumentError, OutOfMemory

MIB = 1 << 20
FAST, HEAP_FAST = 16 * MIB, 8 * MIB
SLOW_CYCLES, FAST_CYCLES = 200, 2
CARD = (
    *('card.kernels=["memcopy"]', "heap.slots=1024", "heap.memory_bytes=32MiB", "walker.levels=4"),
    *(f"memory.latency_cycles={SLOW_CYCLES}", f"memory.page_table_latency_cycles={SLOW_CYCLES}"),
    *("memory.fast.bytes=16MiB", "memory.fast.model=fixed", f"memory.fast.latency_cycles={FAST_CYCLES}"),
    *("memory.fast.heap_bytes=8MiB", "heap.host_bytes=4MiB"),
)


@pytest.fixture(scope="module")
def library():
    from godwit import cards

    return cards.ensure("tiny", list(CARD)).library


@pytest.fixture
def card(library):
    with godwit.open(f"sim:{library}") as card:
        yield card


def where(buffer):
    return [(first, first + nbytes) for first, nbytes in buffer.physical()]


def test_memories_are_listed_one_after_the_other(card):
    slow, fast = card.memories()
    assert (slow.name, slow.first, slow.bytes) == ("memory", 0, 240 * MIB)
    assert (fast.name, fast.first, fast.bytes, fast.model) == ("fast", 240 * MIB, FAST, "fixed")
    assert fast.free == fast.largest == FAST - HEAP_FAST
    # The heap's 32 MiB, its bits, the command queue, tables.
    assert 200 * MIB < slow.free < 208 * MIB
    assert card.memory_free() == (slow.free, slow.largest)


def test_a_buffer_is_in_the_memory_that_it_names(card):
    plain, fast = card.empty(3 * MIB), card.empty(3 * MIB, region="fast")
    assert all(end <= 240 * MIB for _, end in where(plain))
    assert all(first >= 240 * MIB for first, _ in where(fast))
    assert card.memories()[1].free == FAST - HEAP_FAST - 3 * MIB
    fast.to_numpy()[:] = 7
    card.launch("memcopy", src=fast, dst=plain, bytes=3 * MIB, iterations=1)
    assert (plain.to_numpy() == 7).all()
    fast.free()
    assert card.memories()[1].free == FAST - HEAP_FAST


def test_a_full_memory_refuses_or_another_is_taken(card):
    kept = card.empty(7 * MIB, region="fast")
    with pytest.raises(OutOfMemory, match="memory `fast` is full: asked for 2097152 bytes, free are 1048576"):
        card.empty(2 * MIB, region="fast")
    other = card.empty(2 * MIB, region="fast", strict=False)
    assert all(end <= 240 * MIB for _, end in where(other))
    last = card.empty(MIB, region="fast", strict=False)
    assert all(first >= 240 * MIB for first, _ in where(last))
    with pytest.raises(OutOfMemory, match="out of device memory"):
        card.empty(250 * MIB, region="fast", strict=False)
    with pytest.raises(OutOfMemory, match="memory `memory` is full"):
        card.empty(250 * MIB)
    kept.free()
    assert card.memories()[1].free == FAST - HEAP_FAST - MIB


def test_an_unknown_memory_is_named(card):
    with pytest.raises(ArgumentError, match="no memory 'fsat', it has memory, fast; did you mean 'fast'"):
        card.empty(4096, region="fsat")
    with pytest.raises(ArgumentError, match="none of the card's memories"):
        card.empty(4096, region="fast", place="host")


def test_each_memory_takes_its_own_time(card):
    cycles = {}
    for region in ("memory", "fast"):
        source, target = (card.empty(4096, region=region) for _ in range(2))
        # The second time its translations are there.
        for _ in range(2):
            result = card.launch("memcopy", src=source, dst=target, bytes=64, iterations=1)
        cycles[region] = result.cycles
    # A read and a write wait for it.
    assert cycles["memory"] - cycles["fast"] == 2 * (SLOW_CYCLES - FAST_CYCLES)


def test_each_memory_can_be_changed_when_the_card_is_opened(library):
    with godwit.open(f"sim:{library}", memory={"fast": {"latency_cycles": 50}, "latency_cycles": 60}) as card:
        assert card.config["memory"]["latency_cycles"] == 60
        assert [memory["latency_cycles"] for memory in card.config["further_memory"]] == [50]
        data = np.arange(1000, dtype=np.int64)
        source, target = card.put(data), card.empty(1000, np.int64, region="fast")
        card.launch("memcopy", src=source, dst=target, bytes=data.nbytes, iterations=1)
        assert np.array_equal(target.to_numpy(), data)


def frames_of(card, memory):
    """Physical addresses of the frames behind an allocation of the heap."""
    mapped, _, _ = card.default_context.native.heap_map()
    return [(pa, pa + nbytes) for va, pa, nbytes in mapped if 0 <= va - memory.address < memory.nbytes]


def in_fast(ranges):
    return bool(ranges) and all(first >= 248 * MIB for first, _ in ranges)


def in_slow(ranges):
    return bool(ranges) and all(end <= 240 * MIB for _, end in ranges)


def test_the_heap_has_a_part_of_each_memory(card):
    slow, fast, host = card.heap().regions
    assert (host["memory"], host["free"], host["clean"]) == ("host", 4 * MIB, 4 * MIB)
    assert (slow["memory"], slow["bytes"]) == ("memory", 32 * MIB)
    assert (fast["memory"], fast["bytes"], fast["free"], fast["clean"]) == (
        "fast",
        HEAP_FAST,
        HEAP_FAST,
        HEAP_FAST,
    )
    assert card.heap_free() == slow["free"] + fast["free"] + host["free"]
    # Buffers have the rest.
    assert card.memories()[1].free == FAST - HEAP_FAST


def test_frames_come_from_the_memory_that_malloc_names(card):
    source, target = card.malloc(MIB), card.malloc(MIB, region="fast", granule=1 << 16)
    source.to_numpy()[:] = 5
    card.launch("memcopy", src=source, dst=target, bytes=MIB, iterations=1)
    assert (target.to_numpy() == 5).all()
    assert in_slow(frames_of(card, source)) and in_fast(frames_of(card, target))
    fast = card.heap().regions[1]
    assert fast["used"] == MIB and fast["free"] == HEAP_FAST - MIB
    target.free()
    again = card.malloc(2 * MIB, region="fast")
    assert not again.to_numpy().any(), "what the other one wrote is gone"
    again.to_numpy()[:] = 1
    assert in_fast(frames_of(card, again))


def test_a_full_region_leaves_the_other_its_frames(card):
    greedy = card.malloc(2 * HEAP_FAST, region="fast")
    with pytest.raises(OutOfMemory, match=f"of its {HEAP_FAST} bytes 0 are free"):
        greedy.populate()
    assert card.heap().regions[1]["free"] == 0
    other = card.malloc(MIB)
    other.populate()
    assert in_slow(frames_of(card, other))


def test_a_preferred_region_is_taken_while_it_has_room(card):
    kept = card.malloc(6 * MIB, region="fast")
    kept.populate()
    large, small = (card.malloc(nbytes, region="fast", strict=False) for nbytes in (4 * MIB, MIB))
    large.populate()
    small.populate()
    assert in_slow(frames_of(card, large)) and in_fast(frames_of(card, small))


def test_a_strict_region_refuses_what_it_has_no_room_for(library):
    """By region, and with the sentence that says which; one that is not strict promises more than it has."""
    with godwit.open(f"sim:{library}", memory={"fast": {"heap_strict": True}}) as card:
        assert [region["strict"] for region in card.heap().regions] == [False, True, False]
        kept = card.malloc(6 * MIB, region="fast")
        kept.populate()
        found = rf"malloc of {4 * MIB} bytes \({2 * MIB} free in `fast`\): .* is strict: .*heap_strict"
        with pytest.raises(OutOfMemory, match=found):
            card.malloc(4 * MIB, region="fast")
        assert card.malloc(64 * MIB).nbytes == 64 * MIB, "the first memory has 32 MiB, and is not strict"
        kept.free()
        card.malloc(HEAP_FAST, region="fast").populate()


def test_a_preferred_region_that_refuses_is_passed_over(library):
    with godwit.open(f"sim:{library}", memory={"fast": {"heap_strict": True}}) as card:
        with card.malloc(4 * MIB, region="fast", strict=False) as first:
            first.populate()
            assert in_fast(frames_of(card, first))
            second = card.malloc(6 * MIB, region="fast", strict=False)
            second.populate(MIB)
            assert in_slow(frames_of(card, second))
        # None has as much: it is one that waits for frames, not the one that refuses.
        promised = card.malloc(64 * MIB, region="fast", strict=False)
        promised.populate(MIB)
        assert in_slow(frames_of(card, promised))


def test_a_memory_that_the_heap_is_not_in_is_named(card):
    with pytest.raises(ArgumentError, match="the heap has no frames in memory 5"):
        card.default_context.native.malloc(4096, memory=5)
    with pytest.raises(ArgumentError, match="no memory 'slow'"):
        card.malloc(4096, region="slow")


def test_frames_of_the_host_are_reached_over_the_link(card):
    source, target = card.malloc(MIB), card.malloc(MIB, region="host")
    values = source.to_numpy("int32")
    values[:] = range(len(values))
    before = card.stats()["host_writes"]
    card.launch("memcopy", src=source, dst=target, bytes=MIB, iterations=1)
    assert card.stats()["host_writes"] - before >= MIB // 4096
    assert np.array_equal(target.to_numpy("int32"), values)
    frames = frames_of(card, target)
    assert frames and all(first >= 1 << 55 for first, _ in frames)
    # What this process writes there kernels see, too.
    target.to_numpy("int32")[:] = -1
    card.launch("memcopy", src=target, dst=source, bytes=MIB, iterations=1)
    assert (values == -1).all()
    target.free()
    again = card.malloc(4 * MIB, region="host")
    again.populate()
    assert not again.to_numpy().any(), "what the other one wrote is gone"
    with pytest.raises(OutOfMemory, match=f"of its {4 * MIB} bytes 0 are free"):
        card.malloc(MIB, region="host").populate()
    with pytest.raises(ArgumentError, match="no memory 'host'"):
        card.empty(4096, region="host")
