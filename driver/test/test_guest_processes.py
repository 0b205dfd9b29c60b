# SPDX-License-Identifier: Apache-2.0
"""Processes that begin another program, use disks without a copy in between, or are killed for want of memory, while they work with the card."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from guest_checks import KERNELS, LIMIT, checks

from godwit.vm import guests
from godwit.vm.machine import Ended

Boot = Callable[..., Ended]

GROUP = """
mkdir /groups && mount -t cgroup2 none /groups && echo +memory > /groups/cgroup.subtree_control || exit 1
mkdir /groups/small && echo 48M > /groups/small/memory.max || exit 1
"""
UNLOAD = guests.UNLOAD.replace("|Call Trace", "")
"""Linux's own words for a process that it kills have such a line."""
CHECKS = [
    "a_program_that_begins_another_one_takes_no_memory_along",
    "a_disk_reads_and_writes_what_the_card_has",
    "who_is_killed_for_want_of_memory_leaves_nothing",
]


@pytest.mark.parametrize("kind", KERNELS)
def test_processes_end_and_are_served_as_without_a_card(boot_on: Callable[[str], Boot], kind: str) -> None:
    assert UNLOAD != guests.UNLOAD
    script = f"insmod /rig.ko || exit 1\n{GROUP}{guests.LOAD} || exit 1\ncode=0\n{LIMIT} /processes /groups/small || code=1\n{UNLOAD}"
    guest = boot_on(kind)(script, "processes", rig=True)
    assert checks(guest) == dict.fromkeys(CHECKS, "")
    assert guest.code == 0
