# SPDX-License-Identifier: Apache-2.0
"""Arrays that grow where they are, in memory of the heap in hardware."""

from __future__ import annotations

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


def test_a_full_heap_changes_nothing(card):
    with card.context() as context:
        growing = context.growing("u1")
        growing.append(np.full(1 << 20, 3))
        with pytest.raises(OutOfMemory):
            growing.append(np.zeros(16 << 20))
        assert len(growing) == 1 << 20 and (growing[:] == 3).all()
        growing.append(4)
        assert growing[-1] == 4
