# SPDX-License-Identifier: Apache-2.0
"""The driver in a real Linux, with the real RTL behind it."""

from __future__ import annotations

import os
import random
from collections.abc import Callable

import pytest
from guest_checks import GUEST_S, KERNELS, LIMIT, PULL, checks

from godwit.vm import guests
from godwit.vm.machine import Ended

LOAD = f"{guests.LOAD} cmt_mib=4 || exit 1\n"
"""The script's first words; its last are guests.UNLOAD."""

CHOSEN = """
insmod /godwit.ko contexts=0 && exit 1
insmod /godwit.ko contexts=3 pool_mib=0 || exit 1
[ "$(cat /sys/class/misc/godwit0/contexts) $(cat /sys/class/misc/godwit0/pool_bytes)" = "3 0" ] || exit 1
rmmod godwit || exit 1
"""
"""Parameters are refused, or do what they say."""

PROBED = "echo probed $(dmesg | grep -c 'godwit0: spec')\n"
"""How often the driver took the card: each time it looks for a heap and a page DMA, which this card has not."""

CALLS = int(os.environ.get("GODWIT_CALLS", "4000"))
"""Of the fuzzer: a hunt makes more of them."""
FUZZ_S = CALLS // 20
"""What they take on a slow machine, at most."""
PULLED_AT_US = random.Random(os.environ.get("GODWIT_SEED", "")).randrange(50_000)
"""How long kernel and migration have run when the card goes: another time in every run of a hunt."""

Boot = Callable[..., Ended]


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
    "cancel": [
        "a_launch_that_runs_ends_when_it_is_told",
        "launches_that_wait_end_and_those_of_others_go_on",
        "what_is_not_there_cannot_end",
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
    "cases": [
        "open_close",
        "anon_read_multiple",
        "migrate_file_private",
        "userfaultfd_read",
        "anon_write_huge",
        "anon_write_hugetlbfs",
        "hugetlbfs",
        "exclusive",
        "exclusive_mprotect",
        "exclusive_cow",
        "hmm_gup_test",
    ],
    "migrate": [
        "migrate",
        "migrate_fault",
        "one_touch_brings_as_many_pages_home_as_is_said",
        "a_walk_brings_more_and_more_pages_home",
        "what_is_around_a_touched_page_may_be_anything",
        "migrate_release",
        "migrate_shared",
        "migrate_mixed",
        "migrate_multiple",
        "the_card_writes_its_own_memory",
        "cow_in_device",
        "anon_teardown",
        "no_write_is_lost_while_pages_move",
        "nonsense_is_refused",
        "memory_comes_home_when_the_card_goes",
    ],
    "asked": [
        "pages_go_to_the_card_that_asks_for_them",
        "pages_that_were_never_touched_come_into_being_on_the_card",
        "advice_is_followed_until_something_else_is_said",
        "the_parameter_is_for_memory_of_which_nothing_is_said",
        "what_cannot_move_is_used_where_it_is",
        "pages_around_may_be_anything",
        "pages_that_both_want_stay_in_the_host_for_a_while",
        "pages_that_may_be_written_again_are_written",
        "no_write_is_lost_while_both_use_pages",
        "advice_may_change_while_the_card_asks",
        "advice_that_makes_no_sense_is_refused",
    ],
    "places": [
        "snapshot",
        "memory_that_moved_is_where_it_went",
        "double_map",
        "compound",
        "counters_are_those_of_the_card",
        "what_is_no_counter_is_not_read",
        "places_of_nothing_are_refused",
    ],
    "runtime": [
        "memory_is_where_residency_says",
        "counters_count_what_a_launch_does",
        "what_the_driver_does_not_give_is_an_error",
    ],
    "observe": [
        "attributes_say_what_the_card_is",
        "counters_count_what_happened",
        "contexts_have_their_pages",
        "queues_are_empty_when_nothing_runs",
        "tracepoints_tell_the_story_of_a_launch",
        "parameters_are_checked_when_they_are_set",
        "answers_of_a_batch_have_one_fence",
        "one_page_at_a_time_is_one_group_a_page",
    ],
    "inject": [
        "contexts_that_do_not_open_leave_nothing",
        "launches_end_right_or_with_a_fault",
        "pages_that_move_keep_what_is_in_them",
        "lists_that_fail_while_others_are_under_way_lose_nothing",
    ],
    "fuzz": ["calls_that_make_no_sense_harm_nobody"],
    "removal": ["a_card_goes_while_it_is_used"],
}


NOTHING_MOVES = {"what_cannot_move_is_used_where_it_is", "advice_that_makes_no_sense_is_refused"}
"""What of `asked` is so on a kernel without device-private memory, too."""
MOVES = {*CHECKS["migrate"], *CHECKS["asked"]} - NOTHING_MOVES


@pytest.fixture(scope="module", params=KERNELS)
def guest(request: pytest.FixtureRequest, boot_on: Callable[[str], Boot]) -> Ended:
    """All programs, one after the other, on a module that is loaded twice; on each kernel that boots here."""
    again = f"rmmod godwit && [ ! -e /dev/godwit0 ] || exit 1\n{CHOSEN}{LOAD}"
    words = {name: f"{LIMIT} /{name}" for name in CHECKS}
    words["fuzz"] = f"timeout {1200 + FUZZ_S} /fuzz {CALLS} {os.environ.get('GODWIT_SEED', '')}"
    programs = "\n".join(f"{word} || code=1" for word in words.values())
    script = f"code=0\n{LOAD}{again}{programs}\n{PROBED}{guests.UNLOAD}"
    ended = boot_on(request.param)(script, *CHECKS, timeout_s=GUEST_S + FUZZ_S)
    assert request.param == "stock" or not skipped(ended)
    return ended


def skipped(guest: Ended) -> str:
    """Why nothing migrates on this kernel; empty when it does."""
    return next((line for line in guest.lines if line.startswith("skip: ")), "")


@pytest.mark.parametrize("name", [name for names in CHECKS.values() for name in names])
def test_guest(guest: Ended, name: str) -> None:
    if name in MOVES and (why := skipped(guest)):
        pytest.skip(why)
    assert checks(guest).get(name, "it was not reached") == ""


def test_no_check_is_forgotten(guest: Ended) -> None:
    known = {name for names in CHECKS.values() for name in names}
    assert set(checks(guest)) == (known - MOVES if skipped(guest) else known)


def test_the_guest_ends_well_and_the_card_saw_nothing_wrong(guest: Ended) -> None:
    assert guest.code == 0
    probed = next(int(line.split()[1]) for line in guest.lines if line.startswith("probed "))
    assert (guest.served["errors"], guest.served["bus_errors"]) == (0, 2 * probed)
    assert guest.served["interrupts"] > 0


@pytest.mark.parametrize("kind", KERNELS)
def test_a_card_is_pulled_out(boot_on: Callable[[str], Boot], kind: str) -> None:
    guest = boot_on(kind)(
        f"{LOAD}{LIMIT} /lost {PULLED_AT_US}; code=$?\n{guests.UNLOAD}",
        "lost",
        orders=PULL,
    )
    assert guest.code == 0
    assert checks(guest) == {"a_card_that_is_pulled_out_ends_launches_and_nothing_else": ""}
