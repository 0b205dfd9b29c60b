# SPDX-License-Identifier: Apache-2.0
"""One numpy array and two cards `sim:default`: its pages go from one to the other."""

from __future__ import annotations

import mmap
from collections.abc import Iterator

import numpy as np
import pytest

import godwit

NBYTES = 40 * mmap.PAGESIZE


@pytest.fixture
def cards() -> Iterator[tuple[godwit.Card, godwit.Card]]:
    with godwit.open("sim:default", shared=True) as first, godwit.open("sim:default", shared=True) as second:
        yield first, second


def plain() -> np.ndarray:
    """Whole pages of memory of their own."""
    mapping = mmap.mmap(-1, NBYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return np.frombuffer(mapping, "int64")


def test_an_array_goes_from_card_to_card_and_home(cards):
    first, second = cards
    source, middle = plain(), plain()
    source[:] = np.random.default_rng(5).integers(0, 1 << 40, len(source))
    middle[:] = -1
    for turn in range(3):
        # Before, since a touch brings home what is near, and the two are neighbours.
        expected = source.sum()
        first.launch("memcopy", src=source, dst=middle, bytes=NBYTES, iterations=1)
        before = second.migrations()
        result = second.launch("array_sum", values=middle, count=len(middle), dtype=1)
        after = second.migrations()
        assert result.sum == expected, turn
        assert after["across"] - before["across"] == NBYTES
        # Nothing of it was in the program.
        assert after["to_host"] == before["to_host"]
        assert {run.where for run in second.residency(middle)} == {"device"}
        assert {run.where for run in first.residency(middle)} == {"elsewhere"}
        # The second card only read what the first had written, and the program has an older copy.
        middle[0] += 1
        assert middle[0] == source[0] + 1
        assert np.array_equal(middle[1:], source[1:])
        source += 1


def test_the_end_of_the_first_card_leaves_the_second_what_it_took(cards):
    first, second = cards
    source, middle = plain(), plain()
    source[:] = np.arange(len(source))
    first.launch("memcopy", src=source, dst=middle, bytes=NBYTES, iterations=1)
    second.migrate_to_device(middle)
    first.close()
    assert {run.where for run in second.residency(middle)} == {"device"}
    assert second.launch("array_sum", values=middle, count=len(middle), dtype=1).sum == source.sum()
    assert np.array_equal(middle, source)
