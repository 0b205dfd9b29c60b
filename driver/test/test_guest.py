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


CHECKS = {
    "pinned": [
        "the_card_says_what_it_is",
        "a_kernel_sums_what_malloc_gave",
        "what_is_not_there_is_a_fault_with_its_address",
        "each_process_has_its_own_addresses",
        "a_process_that_dies_leaves_nothing",
        "contexts_end_at_their_number",
        "what_makes_no_sense_is_refused",
    ],
    "demand": [
        "anon_read",
        "anon_read_prot",
        "anon_write",
        "anon_write_prot",
        "anon_write_child",
        "anon_write_child_shared",
        "file_read",
        "file_write",
        "memory_that_is_given_back_reads_as_zero",
        "memory_that_moves_is_found_where_it_is",
        "huge_pages_are_used_and_split",
        "pinned_and_touched_memory_live_together",
        "pages_may_go_while_a_kernel_runs",
        "a_process_that_is_killed_while_a_kernel_runs_leaves_nothing",
    ],
    "removal": ["a_card_goes_while_it_is_used"],
}


@pytest.fixture(scope="module")
def guest(boot: Boot) -> Ended:
    """All programs, one after the other, on a module that is loaded twice."""
    again = "rmmod godwit && [ ! -e /dev/godwit0 ] && insmod /godwit.ko || exit 1\n"
    programs = "\n".join(f"timeout 200 /{name} || code=1" for name in CHECKS)
    return boot(f"code=0\n{LOAD}{again}{programs}\n{UNLOAD}", *CHECKS)


@pytest.mark.parametrize("name", [name for names in CHECKS.values() for name in names])
def test_guest(guest: Ended, name: str) -> None:
    assert checks(guest).get(name, "it was not reached") == ""


def test_no_check_is_forgotten(guest: Ended) -> None:
    assert set(checks(guest)) == {name for names in CHECKS.values() for name in names}


def test_the_guest_ends_well_and_the_card_saw_nothing_wrong(guest: Ended) -> None:
    assert guest.code == 0
    assert (guest.served["errors"], guest.served["bus_errors"]) == (0, 0)
    assert guest.served["interrupts"] > 0


def test_a_card_is_pulled_out(boot: Boot) -> None:
    guest = boot(f"{LOAD}timeout 200 /lost; code=$?\n{UNLOAD}", "lost", remove_at="pull the card out")
    assert guest.code == 0
    assert checks(guest) == {"a_card_that_is_pulled_out_ends_launches_and_nothing_else": ""}
