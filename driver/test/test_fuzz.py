# SPDX-License-Identifier: Apache-2.0
"""`godwit vm fuzz`: as many calls as were asked for, from the seed that was given, and what they did is said."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from guest_checks import KERNELS

from godwit.errors import CheckError
from godwit.vm import fuzz, kernel


def test_calls_are_made_from_a_seed_and_harm_nobody(kernel_named: Callable[[str], kernel.Kernel]) -> None:
    done = fuzz.run(kernel_named(KERNELS[0]), 400, 7)
    assert (done.calls, done.seed, done.code, done.problems) == (400, 7, 0, [])
    assert done.served["register_accesses"] > 0
    # The driver looks for a heap and a page DMA, which this card has not.
    assert (done.served["errors"], done.served["bus_errors"]) == (0, 2)


def test_a_seed_is_the_programs_own_unless_one_is_given() -> None:
    assert "\n/fuzz 10 || code=1\n" in fuzz.script(10, None)
    assert "\n/fuzz 10 0 || code=1\n" in fuzz.script(10, 0)


def test_what_went_wrong_is_told_from_what_did_not() -> None:
    lines = [
        "[ 1.0] Linux",
        "4000 calls with seed 12",
        "not ok calls: line 3: x",
        "[ 9.1] BUG: KASAN",
        "ok other",
    ]
    assert fuzz.parse(lines) == (4000, 12)
    assert fuzz.complaints(lines) == lines[2:4]
    with pytest.raises(CheckError, match=r"has not said what it does:\nok other"):
        fuzz.parse(lines[-1:])
