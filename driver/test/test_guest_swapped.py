# SPDX-License-Identifier: Apache-2.0
"""Linux swaps out, and moves from page to page, what the card uses in place."""

from __future__ import annotations

from collections.abc import Callable

from guest_checks import LIMIT, checks

from godwit.vm import guests
from godwit.vm.machine import Ended

Boot = Callable[..., Ended]

SWAP = "insmod /rig.ko && mkswap /dev/rigdisk > /dev/null && swapon /dev/rigdisk || exit 1\n"
GROUP = """
mkdir /groups && mount -t cgroup2 none /groups && echo +memory > /groups/cgroup.subtree_control || exit 1
mkdir /groups/one && echo $$ > /groups/one/cgroup.procs || exit 1
"""
"""All that runs from then on is in a control group of which memory can be reclaimed."""
CHECKS = [
    "what_was_swapped_out_is_there_for_the_card",
    "what_the_card_uses_can_be_swapped_out",
    "what_is_on_the_card_stays_there",
    "no_write_is_lost_while_pages_are_swapped_out_and_moved",
]


def test_what_the_card_uses_is_swapped_out_and_moved(boot_on: Callable[[str], Boot]) -> None:
    script = f"{SWAP}{GROUP}{guests.LOAD} || exit 1\ncode=0\n{LIMIT} /swapped /groups/one || code=1\nswapoff /dev/rigdisk\n{guests.UNLOAD}"
    guest = boot_on("stock")(script, "swapped", rig=True)
    assert checks(guest) == dict.fromkeys(CHECKS, "")
    assert guest.code == 0
    assert guest.served["errors"] == 0
