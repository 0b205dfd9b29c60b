# SPDX-License-Identifier: Apache-2.0
"""What type an array's elements have follows from the array, where a kernel's manifest has the numbers of types."""

from __future__ import annotations

import numpy as np
import pytest

import godwit


def test_the_type_of_elements_need_not_be_said(card):
    for dtype in ("int32", "int64"):
        assert card.launch("array_sum", values=card.put(np.arange(10, dtype=dtype) - 7), count=10).sum == (
            (45 - 70) % (1 << 64)
        )
    numbers = card.put(np.arange(10.0))
    with pytest.raises(
        godwit.ArgumentError, match=r"values of array_sum .* float64, .* int32, int64: .* dtype"
    ):
        card.launch("array_sum", values=numbers, count=10)
    # What is said counts.
    ones = card.put(np.ones(10))
    assert card.launch("array_sum", values=ones, count=1, dtype=1).sum == 0x3FF0_0000_0000_0000
    with pytest.raises(godwit.ArgumentError, match=r"missing arguments: .*dtype"):
        card.launch("array_sum", count=10)


def test_a_type_may_be_given_by_name(card):
    ones = card.put(np.ones(10, np.int64).view(np.float64))
    for dtype in ("int64", np.int64, np.dtype("int64")):
        assert card.launch("array_sum", values=ones, count=10, dtype=dtype).sum == 10
    for dtype, name in (("float64", "float64"), (bool, "bool"), ("no type", "'no type'")):
        with pytest.raises(
            godwit.ArgumentError, match=f"dtype of array_sum is {name}, .* int32, int64: name"
        ):
            card.launch("array_sum", values=ones, count=10, dtype=dtype)
    with pytest.raises(godwit.ArgumentError, match="count of array_sum is of type str"):
        card.launch("array_sum", values=ones, count="int64", dtype=1)


def test_a_view_of_a_buffer_is_an_argument(card):
    """Its part of the buffer, of its own type; it is kept until the launch has ended."""
    numbers = np.arange(1000)
    buffer = card.put(numbers)
    for view in (buffer.to_numpy(), np.asarray(buffer), np.frombuffer(memoryview(buffer), np.int64)):
        assert card.launch("array_sum", values=view[500:600], count=100).sum == numbers[500:600].sum()
    halves = buffer.to_numpy().view(np.int32)
    assert card.launch("array_sum", values=halves[14:15], count=1).sum == 7
    assert card.launch("array_sum", values=halves[16:17], count=1).sum == 8
    with pytest.raises(
        godwit.ArgumentError, match=r"values of array_sum is a view with gaps \(strides \(16,\)\)"
    ):
        card.launch("array_sum", values=buffer.to_numpy()[::2], count=100)
    with pytest.raises(
        godwit.ArgumentError, match=r"values of array_sum is a view, .* give the buffer itself"
    ):
        card.launch("array_sum", values=buffer.to_numpy(), count=100, mode="bare")
    with pytest.raises(godwit.ArgumentError, match="put it on the card first"):
        card.launch("array_sum", values=numbers, count=100)
    del view, halves
    started = card.start("array_sum", values=buffer.to_numpy()[:10], count=10)
    with pytest.raises(godwit.ArgumentError, match="live views"):
        buffer.free()
    assert started.result().sum == numbers[:10].sum()
    buffer.free()


def test_numbers_go_into_a_buffer_that_holds_them(card):
    buffer = card.empty(2, np.int32)
    buffer.upload([1 << 30, -1])
    assert list(buffer.to_numpy()) == [1 << 30, -1]
    for numbers in ([1 << 31, 0], [0.5, 1], [1 << 70, 0]):
        with pytest.raises(godwit.ArgumentError, match="elements for a buffer of int32"):
            buffer.upload(numbers)
    assert list(buffer.to_numpy()) == [1 << 30, -1]
