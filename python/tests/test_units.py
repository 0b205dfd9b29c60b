# SPDX-License-Identifier: Apache-2.0
"""Sizes and times as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from godwit.errors import InputError
from godwit.units import bytes_text, parse_size, rate_text, seconds_text


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4096", 4096),
        ("64K", 65536),
        ("64kb", 65536),
        ("1MiB", 1 << 20),
        ("1.5 GiB", 3 << 29),
        ("2t", 2 << 40),
        (" 8 B ", 8),
    ],
)
def test_sizes_are_read_in_powers_of_1024(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "0", "-4K", "4X", "K", "1.5", "4 i", "4Ki4", "0x10", "1e3"])
def test_what_is_no_size_is_refused_with_examples(text):
    with pytest.raises(InputError) as error:
        parse_size(text)
    assert "64K" in error.value.hint


@given(st.integers(1, 1 << 60))
def test_size_text_reads_back_within_its_two_decimals(size):
    number, unit = bytes_text(size).split()
    back = float(number) * 1024 ** (["B", "KiB", "MiB", "GiB", "TiB"].index(unit))
    assert abs(back - size) <= 0.0051 * 1024 ** (["B", "KiB", "MiB", "GiB", "TiB"].index(unit))


def test_times_and_rates_take_the_unit_that_suits():
    assert seconds_text(1.5) == "1.5 s"
    assert seconds_text(0.00123) == "1.23 ms"
    assert seconds_text(2.5e-6) == "2.5 µs"
    assert seconds_text(3e-9) == "3 ns"
    assert rate_text(412_345) == "412 k/s"
    assert rate_text(3.2e6) == "3.2 M/s"
