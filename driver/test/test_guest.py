# SPDX-License-Identifier: Apache-2.0
"""The driver in a real Linux, with the real RTL behind it. Each guest's checks are lines `ok NAME` or `not ok NAME: why`."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from godwit.vm.machine import Ended

LOAD = "insmod /godwit.ko || exit 1\n"
"""The script's first words."""
UNLOAD = "rmmod godwit || code=1\ndmesg | grep -E 'WARNING|BUG:|Oops|leaked' && code=1\n(exit $code)"
"""Its last: the module goes, and the kernel has nothing to complain of."""

Boot = Callable[..., Ended]


def checks(guest: Ended) -> dict[str, str]:
    """Checks of a guest by name: empty, or why not."""
    found = {}
    for line in guest.lines:
        if said := re.fullmatch(r"ok (\w+)", line):
            found[said[1]] = ""
        elif said := re.fullmatch(r"not ok (\w+): (.*)", line):
            found[said[1]] = said[2]
    return found


@pytest.fixture(scope="module")
def pinned(boot: Boot) -> Ended:
    return boot(f"{LOAD} /pinned; code=$?\n{UNLOAD}", "pinned")


@pytest.mark.parametrize(
    "name",
    [
        "the_card_says_what_it_is",
        "a_kernel_sums_what_malloc_gave",
        "what_is_not_pinned_is_a_fault_with_its_address",
        "each_process_has_its_own_addresses",
        "a_process_that_dies_leaves_nothing",
        "contexts_end_at_their_number",
        "what_makes_no_sense_is_refused",
    ],
)
def test_pinned(pinned: Ended, name: str) -> None:
    assert checks(pinned)[name] == ""


def test_the_guest_ends_well_and_the_card_saw_nothing_wrong(pinned: Ended) -> None:
    assert pinned.code == 0
    assert (pinned.served["errors"], pinned.served["bus_errors"]) == (0, 0)
    assert pinned.served["interrupts"] > 0


def test_a_module_is_loaded_twice(boot: Boot) -> None:
    twice = "rmmod godwit && [ ! -e /dev/godwit0 ] && insmod /godwit.ko && /pinned; code=$?\n"
    guest = boot(f"{LOAD}{twice}{UNLOAD}", "pinned")
    assert (guest.code, set(checks(guest).values())) == (0, {""})
