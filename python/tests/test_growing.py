# SPDX-License-Identifier: Apache-2.0
"""Arrays that grow where they are, in memory of the heap in hardware."""

from __future__ import annotations

import gc
import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import godwit
from godwit import cards
from godwit.errors import ArgumentError, InputError, OutOfMemory

CONFIG = Path(__file__).resolve().parents[2] / "crates/godwit/tests/heap.toml"


@pytest.fixture(scope="module")
def card():
    with godwit.open(f"sim:{cards.ensure(CONFIG).library}") as card:
        yield card


def made(dice: random.Random, data_type: pa.DataType, count: int) -> list:
    def one() -> object:
        if dice.random() < 0.2:
            return None
        if pa.types.is_string(data_type) or pa.types.is_large_string(data_type):
            return "é" * dice.randrange(9)
        return dice.randrange(100)

    return [one() for _ in range(count)]


@pytest.mark.parametrize(
    "data_type", [pa.int8(), pa.int32(), pa.float64(), pa.utf8(), pa.large_utf8()], ids=str
)
def test_what_comes_out_is_what_was_put_in(card, seed, data_type):
    dice = random.Random(seed)
    growing, wanted = card.growing(data_type), []
    address = growing.values.address
    for _ in range(40):
        rows = made(dice, data_type, dice.randrange(3000))
        if dice.random() < 0.5:
            rows = [row for row in rows if row is not None]
        cut = dice.randrange(len(rows) + 1)
        growing.extend(pa.array(rows, data_type).slice(cut) if dice.random() < 0.5 else rows[cut:])
        wanted += rows[cut:]
        assert len(growing) == len(wanted) and growing.values.address == address
    growing.append(None)
    array = growing.finish()
    array.validate(full=True)
    assert array.equals(pa.array([*wanted, None], data_type))
    assert array.buffers()[-1].address == address, "no copy"
    assert array.null_count == sum(row is None for row in wanted) + 1
    sizes = [each.asked_bytes for each in card.heap().allocations]
    assert {buffer.size for buffer in array.buffers()} <= set(sizes), "exactly its length"
    with pytest.raises(ArgumentError, match="finished"):
        growing.append(1)
    with pytest.raises(ArgumentError, match="finished"):
        growing.finish()
    parts = [growing.values, growing.validity, growing.offsets]
    with pytest.raises(ArgumentError, match="live numpy views"):
        growing.values.free()
    del array
    for part in parts:
        if part:
            part.free()


def test_a_kernel_reads_what_is_there_while_it_grows(card):
    growing, total = card.growing(pa.int64()), 0
    for number in range(4):
        rows = list(range(number, number + 5000))
        growing.extend([*rows, None])
        total += sum(rows)
        assert card.launch("array_sum", **growing.column("count")).sum == total
    growing.finish()


def test_no_rows_and_wrong_ones(card):
    assert card.growing(pa.utf8()).finish().equals(pa.array([], pa.utf8()))
    growing = card.growing(pa.int32())
    with pytest.raises(InputError, match="rows of int64"):
        growing.extend(pa.array([1]))
    growing.extend(pa.chunked_array([[1], [], [2, None]], pa.int32()))
    assert growing.finish().to_pylist() == [1, 2, None]
    with pytest.raises(InputError, match="cannot grow"):
        card.growing(pa.list_(pa.int8()))
    with pytest.raises(InputError, match="cannot grow"):
        card.growing(pa.bool_())
    with pytest.raises(ArgumentError, match="device memory"):
        card.growing(np.dtype(object))


def test_numpy_views_grow_with_the_buffer(card):
    growing = card.growing("int64")
    growing.append(7)
    early = growing.array
    for number in range(50):
        growing.append(np.full(1000, number))
    assert len(growing) == 50_001 and len(early) == 1
    assert np.asarray(growing).sum() == 7 + 1000 * sum(range(50))
    growing[0] = 9
    assert early[0] == 9 and growing[1] == 0
    assert np.array(growing, copy=True).base is None
    assert (
        card.launch("array_sum", values=growing.memory, count=len(growing), dtype=1).sum == growing[:].sum()
    )
    # A view has a place for kernels, too, and says what its elements are.
    assert card.launch("array_sum", values=growing.array[1000:], count=5000).sum == growing[1000:6000].sum()
    for other in (1.5, "x", [None]):
        with pytest.raises(ArgumentError, match=r"elements for an array of int64, .*: give array\.astype"):
            growing.append(other)
    octets = card.growing("uint8")
    octets.append([3, 255])
    for other in (256, -1, 0.0):
        with pytest.raises(ArgumentError, match="elements for an array of uint8"):
            octets.append(other)
    assert list(octets.array) == [3, 255]
    halves = card.growing("int32")
    halves.append(np.int64(1 << 30))
    with pytest.raises(ArgumentError, match="int64 elements for an array of int32"):
        halves.append(1 << 40)
    assert list(halves.array) == [1 << 30]
    growing.append([])
    growing.append(np.int32(3))
    assert len(growing) == 50_002 and growing[-1] == 3


def test_an_array_with_live_views_is_finished_when_they_are_gone(card):
    growing = card.growing(pa.utf8())
    growing.extend(["a", None, "bcd"])
    view = growing.values.to_numpy()
    with pytest.raises(ArgumentError, match="live numpy views"):
        growing.finish()
    growing.append("e" * 100_000)
    del view
    assert growing.finish().to_pylist() == ["a", None, "bcd", "e" * 100_000]


def test_memory_is_freed_with_its_last_use(card):
    """Of builders, of arrays that came of them and of views; and not twice."""
    with card.context() as context:

        def live() -> int:
            gc.collect()
            return len([each for each in card.heap().allocations if each.context == context.native.id])

        growing = context.growing(pa.utf8())
        growing.extend(["a", None])
        assert live() == 3
        array = growing.finish()
        del growing
        assert live() == 3 and array.to_pylist() == ["a", None]
        part = array[1:]
        del array
        assert live() == 3 and part.to_pylist() == [None]
        del part
        assert live() == 0
        numbers = context.growing("int64")
        numbers.append(7)
        view = numbers.array
        del numbers
        assert live() == 1 and view[0] == 7
        del view
        freed = context.growing("int64").memory
        freed.free()
        # The next one at the address is not freed for this one.
        assert freed._last_use is not None and not freed._last_use.alive
        ended = context.growing("int64")
    del ended
    gc.collect()


def test_a_full_heap_changes_nothing(card):
    with card.context() as context:
        growing = context.growing("u1")
        growing.append(np.full(1 << 20, 3))
        with pytest.raises(OutOfMemory):
            growing.append(np.zeros(16 << 20, np.uint8))
        assert len(growing) == 1 << 20 and (growing[:] == 3).all()
        growing.append(4)
        assert growing[-1] == 4
