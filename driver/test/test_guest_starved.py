# SPDX-License-Identifier: Apache-2.0
"""Memory that Linux does not give, wherever in a call of the driver it asks for it: on a kernel with fault injection of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from guest_checks import KERNELS, checks

from godwit.vm import guests
from godwit.vm.machine import Ended

Boot = Callable[..., Ended]

CARD = Path(__file__).parent / "dma.toml"
"""With a page DMA: what it does not get of a list, processors copy."""
CHECKS = [
    "a_context_that_does_not_open_leaves_nothing",
    "memory_that_is_pinned_or_not_is_whole",
    "launches_are_right_or_end_with_a_fault",
    "nothing_is_lost_when_allocations_fail_at_random",
    "what_could_not_be_written_is_when_there_is_memory",
    "nothing_is_left_over",
]


@pytest.fixture(scope="module")
def guest(boot_on: Callable[[str], Boot]) -> Ended:
    """All of it in one guest; the module is unloaded after it, and nothing may point to none of its memory any more."""
    if "debug" not in KERNELS:
        pytest.skip(
            "takes long: GODWIT_KERNELS=debug has it run, on a kernel that `godwit vm kernel debug` builds"
        )
    script = f"{guests.LOAD} pool_mib=128 || exit 1\ncode=0\ntimeout 1200 /starved || code=1\n{guests.UNLOAD}"
    return boot_on("debug")(script, "starved", config=CARD)


@pytest.mark.parametrize("name", CHECKS)
def test_memory_that_is_not_given(guest: Ended, name: str) -> None:
    assert checks(guest).get(name, "it was not reached") == ""


def test_no_check_is_forgotten_and_the_guest_ends_well(guest: Ended) -> None:
    assert list(checks(guest)) == CHECKS
    assert guest.code == 0
    assert guest.served["errors"] == 0
