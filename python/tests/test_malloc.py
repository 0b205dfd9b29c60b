# SPDX-License-Identifier: Apache-2.0
"""Memory of the heap in hardware: the program and kernels at one address, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import godwit
from godwit.errors import ArgumentError, FaultError, OutOfMemory

PAGE = 4096
CARD = ('card.kernels=["memcopy"]', "heap.slots=1024", "heap.memory_bytes=32MiB", "walker.levels=4")
"""The card of card/test/test_card_heap.py, too."""


@pytest.fixture(scope="module")
def library():
    from godwit import cards

    return cards.ensure("tiny", list(CARD)).library


@pytest.fixture
def card(library):
    with godwit.open(f"sim:{library}") as card:
        yield card


def copy(card, source, target, nbytes):
    return card.launch("memcopy", src=source, dst=target, bytes=nbytes, iterations=1)


def touches(card):
    return card.counters()["heap"]["touches"]


def test_kernels_and_the_program_see_the_same(card):
    source, target = card.malloc(8 << 30), card.malloc(1 << 20)
    values = source.to_numpy("int64", 3 * 512)
    assert not values.any(), "nobody has written it"
    values[:] = range(3 * 512)
    before = target.to_numpy("int64", 4 * 512)
    assert not before.any()
    copy(card, source, target, 3 * PAGE)
    assert np.array_equal(before[: 3 * 512], values), "what the kernel wrote where the program had seen zeros"
    assert not before[3 * 512 :].any()
    assert touches(card) == 3, "the kernel's pages; the program's are not counted"
    values[0] = -1
    copy(card, source, target, PAGE)
    assert before[0] == -1


def test_a_page_that_is_only_read_costs_no_frame(card):
    memory = card.malloc(1 << 30)
    free = card.heap_free()
    assert not memory.to_numpy()[:: 1 << 24].any()
    assert card.heap_free() == free
    view = memory.to_numpy()
    view[5 * PAGE] = 1
    # Its table, and the one above, were in stock.
    assert card.heap_free() < free


def test_it_grows_and_shrinks_where_it_is(card):
    memory = card.malloc(2 * PAGE)
    address = memory.address
    memory.to_numpy()[:] = 7
    memory.realloc(40 * PAGE)
    view = memory.to_numpy()
    assert (memory.address, len(view)) == (address, 40 * PAGE)
    assert (view[: 2 * PAGE] == 7).all() and not view[2 * PAGE :].any()
    view[30 * PAGE :] = 8
    with pytest.raises(ArgumentError, match="live numpy views"):
        memory.realloc(PAGE)
    del view
    memory.realloc(PAGE)
    memory.realloc(40 * PAGE)
    view = memory.to_numpy()
    assert (view[:PAGE] == 7).all() and not view[PAGE:].any(), "what was cut off is gone"


def test_what_is_freed_is_clean_when_somebody_gets_it(card):
    memory = card.malloc(1 << 20)
    memory.to_numpy()[:: 64 << 10] = 0xA5
    with pytest.raises(ArgumentError, match="live numpy views"):
        view = memory.to_numpy()
        memory.free()
    del view
    memory.free()
    memory.free()
    with pytest.raises(ArgumentError, match="was freed"):
        memory.to_numpy()
    # More than the heap has, so that some of it comes twice.
    for _ in range(10):
        with card.malloc(4 << 20, granule=64 << 10) as other:
            view = other.to_numpy()[:: 16 << 10]
            assert not view.any()
            view[:] = 0x5A
            del view


def test_a_kernel_behind_the_end_fails(card):
    source, target = card.malloc(PAGE), card.malloc(PAGE)
    with pytest.raises(FaultError):
        copy(card, source, target, 2 * PAGE)


def taken_bytes(card, memory):
    """Frames behind an allocation; `heap_free` has frames just being cleared among those taken."""
    return next(each.taken_bytes for each in card.heap().allocations if each.address == memory.address)


def test_granules_and_small_ones(card):
    large = card.malloc(1 << 20, granule=64 << 10)
    large.to_numpy()[3] = 1
    assert taken_bytes(card, large) == 64 << 10, "they came together"
    large.to_numpy()[:65536:4096] = 2
    assert taken_bytes(card, large) == 64 << 10
    small = [card.malloc(PAGE, small=True) for _ in range(40)]
    for number, memory in enumerate(small):
        memory.to_numpy()[:] = number
    assert [int(memory.to_numpy()[PAGE - 1]) for memory in small] == list(range(40))


def test_what_is_refused_says_why(card):
    memory = card.malloc(PAGE, small=True)
    other = card.context()
    theirs = other.malloc(PAGE)
    for error, sentence, call in [
        (ArgumentError, "at least one byte", lambda: card.malloc(0)),
        (ArgumentError, "more than the allocation can have", lambda: card.malloc(1 << 40)),
        (ArgumentError, "more than the allocation can have", lambda: memory.realloc(17 * PAGE)),
        (ArgumentError, "at least one byte", lambda: memory.realloc(0)),
        (ArgumentError, "granule does not exist", lambda: card.malloc(1, granule=5000)),
        (ArgumentError, "granule does not exist", lambda: card.malloc(1, granule=4 << 20)),
        (ArgumentError, "that is no size", lambda: card.malloc(1, granule=-1)),
        (ArgumentError, "that is no size", lambda: card.malloc(-1)),
        (ArgumentError, "that is no size", lambda: memory.realloc(-1)),
        (ArgumentError, "that is no size", lambda: memory.realloc(1 << 64)),
        (ArgumentError, "no memory '1'", lambda: card.malloc(1, region=1)),
        (ArgumentError, "have no bytes", lambda: memory.to_numpy("V0")),
        (
            ArgumentError,
            "never gave that pointer",
            lambda: memory.context.native.release(memory.address + PAGE),
        ),
        (ArgumentError, "another context's", lambda: memory.context.native.release(theirs.address)),
        (ArgumentError, "another context's", lambda: memory.context.native.realloc(theirs.address, 1)),
    ]:
        with pytest.raises(error, match=sentence):
            call()
    memory.to_numpy()[:] = 3
    assert (memory.to_numpy() == 3).all() and memory.nbytes == PAGE, "nothing was changed"
    memory.free()
    with pytest.raises(ArgumentError, match="freed before"):
        memory.context.native.release(memory.address)


def test_slots_end(library):
    small = {"small": True}
    with godwit.open(f"sim:{library}") as card:
        taken = [card.malloc(PAGE, **small) for _ in range(1024)]
        with pytest.raises(OutOfMemory, match="no slot is free"):
            card.malloc(PAGE, **small)
        taken.pop().free()
        card.malloc(PAGE, **small)


def test_a_context_that_ends_gives_all_back(card):
    free = card.heap_free()
    with card.context() as context:
        memory = context.malloc(16 * PAGE)
        view = memory.to_numpy()
        view[:] = 9
        assert card.heap_free() < free
    assert not view.any(), "its pages are others' now"
    card.run(200_000)
    # Tables that the next touch would need stay at hand.
    assert card.heap_free() >= free - 3 * PAGE


def test_two_cards_share_the_programs_addresses(library, card):
    with godwit.open(f"sim:{library}") as other:
        first, second = card.malloc(PAGE), other.malloc(PAGE)
        assert first.address != second.address
        first.to_numpy()[:] = 1
        assert not second.to_numpy().any()


def test_quota_and_strict_memory(card):
    card.native.reg_write(0x9_0050, 2)
    first, _second = card.malloc(1), card.malloc(1)
    with pytest.raises(OutOfMemory, match="as many allocations as it may"):
        card.malloc(1)
    first.free()
    memory = card.native.reg_read(0x9_0048)
    card.native.reg_write(0x9_0048, memory | 1 << 24)
    with pytest.raises(OutOfMemory, match="is strict"):
        card.malloc(1 << 30)
    card.malloc(1 << 20)
