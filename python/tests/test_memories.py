# SPDX-License-Identifier: Apache-2.0
"""A card with two memories: buffers where they are wanted, each with its memory's time."""

from __future__ import annotations

import numpy as np
import pytest

import godwit
from godwit.errors import ArgumentError, OutOfMemory

MIB = 1 << 20
FAST = 16 * MIB
SLOW_CYCLES, FAST_CYCLES = 200, 2
CARD = (
    *('card.kernels=["memcopy"]', "heap.slots=1024", "heap.memory_bytes=32MiB", "walker.levels=4"),
    *(f"memory.latency_cycles={SLOW_CYCLES}", f"memory.page_table_latency_cycles={SLOW_CYCLES}"),
    *("memory.fast.bytes=16MiB", "memory.fast.model=fixed", f"memory.fast.latency_cycles={FAST_CYCLES}"),
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
    assert fast.free == fast.largest == FAST
    # The heap's 32 MiB, its bits, the command queue, tables.
    assert 200 * MIB < slow.free < 208 * MIB
    assert card.memory_free() == (slow.free, slow.largest)


def test_a_buffer_is_in_the_memory_that_it_names(card):
    plain, fast = card.empty(3 * MIB), card.empty(3 * MIB, region="fast")
    assert all(end <= 240 * MIB for _, end in where(plain))
    assert all(first >= 240 * MIB for first, _ in where(fast))
    assert card.memories()[1].free == FAST - 3 * MIB
    fast.to_numpy()[:] = 7
    card.launch("memcopy", src=fast, dst=plain, bytes=3 * MIB, iterations=1)
    assert (plain.to_numpy() == 7).all()
    fast.free()
    assert card.memories()[1].free == FAST


def test_a_full_memory_refuses_or_another_is_taken(card):
    kept = card.empty(15 * MIB, region="fast")
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
    assert card.memories()[1].free == FAST - MIB


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


def test_the_heap_is_in_the_first_memory(card):
    memory = card.malloc(8 * MIB)
    memory.populate()
    assert card.native.heap_memory()[0] == (240 - 32) * MIB
    assert card.memories()[1].free == FAST
