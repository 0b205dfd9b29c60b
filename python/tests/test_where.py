# SPDX-License-Identifier: Apache-2.0
"""The predicate of --where, and the reference the kernel is checked against."""

import math
import struct

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from godwit.errors import InputError
from godwit.run.where import OPERATORS, Predicate, parse

TYPES = [pa.int32(), pa.int64(), pa.float32(), pa.float64()]


@pytest.mark.parametrize(
    ("text", "operator", "constant"),
    [
        ("> 15", ">", "15"),
        ("<=0.5", "<=", "0.5"),
        (" == 3 ", "==", "3"),
        ("!=0", "!=", "0"),
        ("= 3", "==", "3"),
        ("<> -1e3", "!=", "-1e3"),
        (">= -7", ">=", "-7"),
        ("< inf", "<", "inf"),
    ],
)
def test_an_operator_and_a_number_are_a_predicate(text, operator, constant):
    assert parse(text) == Predicate(operator, constant)


@pytest.mark.parametrize(
    "text", ["", "15", ">", "> ", "=> 3", "> 1 2", "> x", "~ 3", "> nan", "15 <", "== '3'"]
)
def test_anything_else_is_refused_with_what_to_write(text):
    with pytest.raises(InputError) as error:
        parse(text)
    assert error.value.found
    assert error.value.hint


@given(st.integers(-(1 << 31), (1 << 31) - 1))
def test_integers_keep_their_bits(value):
    for data_type, form in ((pa.int32(), "<i"), (pa.int64(), "<q")):
        bits = parse(f"> {value}").bits(data_type)
        assert struct.unpack(form, bits.to_bytes(8, "little")[: struct.calcsize(form)])[0] == value


@given(st.floats(allow_nan=False))
def test_floats_keep_their_bits(value):
    bits = Predicate(">", repr(value)).bits(pa.float64())
    assert struct.unpack("<d", bits.to_bytes(8, "little"))[0] == value


def test_64_bit_integers_are_exact():
    assert parse("> 9007199254740993").value(pa.int64()) == 9007199254740993


@pytest.mark.parametrize(
    ("text", "data_type"),
    [
        ("> 1.5", pa.int32()),
        ("> 1.5", pa.int64()),
        ("> 2147483648", pa.int32()),
        ("> -2147483649", pa.int32()),
        ("> 9223372036854775808", pa.int64()),
        ("> 1e40", pa.float32()),
        ("> 1e999", pa.float64()),
        ("> inf", pa.int32()),
        ("> 3.4028236e38", pa.float32()),
        ("> 9223372036854775808.0", pa.int64()),
    ],
)
def test_a_constant_that_the_column_cannot_hold_is_refused(text, data_type):
    with pytest.raises(InputError) as error:
        parse(text).value(data_type)
    assert error.value.found


def test_whole_numbers_may_be_written_as_decimals():
    assert parse("> 15.0").value(pa.int32()) == 15
    assert parse("> 1e3").value(pa.int64()) == 1000


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1_000", 1000),
        ("0x10", 16),
        ("+.5", 0.5),
        ("5.", 5),
        ("1E-3", 0.001),
        ("-infinity", -math.inf),
        ("0x1.8p3", 12),
    ],
)
def test_constants_are_written_as_in_python(text, value):
    assert parse(f"> {text}").value(pa.float64()) == value


def test_a_whole_decimal_is_exact_in_an_integer_column():
    assert parse("> 9007199254740993.0").value(pa.int64()) == 9007199254740993


@given(st.floats(allow_nan=False, width=32))
def test_single_precision_constants_may_be_written_as_numpy_prints_them(value):
    for text in (str(np.float32(value)), repr(float(np.float32(value)))):
        assert parse(f"> {text}").value(pa.float32()) == value


def test_the_largest_single_precision_number_is_a_constant():
    assert parse("<= 3.4028235e+38").value(pa.float32()) == np.finfo(np.float32).max


def test_a_fraction_is_rounded_to_single_precision():
    assert parse("> 0.1").value(pa.float32()) == struct.unpack("<f", struct.pack("<f", 0.1))[0]


def test_nulls_never_match_and_nan_compares_as_ieee_says():
    column = pa.array([None, math.nan, 1.0, 2.0])
    matching = {">": [3], ">=": [2, 3], "<": [], "<=": [2], "==": [2], "!=": [1, 3]}
    assert set(matching) == set(OPERATORS)
    for operator, rows in matching.items():
        mask = Predicate(operator, "1").mask(column).to_pylist()
        assert [row for row, match in enumerate(mask) if match] == rows


@pytest.mark.parametrize("data_type", TYPES)
def test_negative_zero_equals_zero(data_type):
    column = pa.array([0, 1], pa.float64()).cast(data_type)
    assert parse("== -0").mask(column).to_pylist() == [True, False]
