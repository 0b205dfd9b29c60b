# SPDX-License-Identifier: Apache-2.0
"""The machine sleeps, or the driver is told of a reset that is none, while the card is used."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from guest_checks import KERNELS, LIMIT, checks

from godwit.vm import guests
from godwit.vm.machine import Ended

Boot = Callable[..., Ended]

CARD = Path(__file__).parent / "dma.toml"
LOAD = f"{guests.LOAD} || exit 1\n"
QUICKLY = "echo 1 > /sys/module/suspend/parameters/pm_test_delay"
"""Seconds that devices sleep in Linux's test of it."""


@pytest.mark.parametrize("kind", KERNELS)
def test_a_card_lets_go_and_comes_back(boot_on: Callable[[str], Boot], kind: str) -> None:
    script = (
        f"{QUICKLY}\ninsmod /rig.ko || exit 1\n{LOAD}{LIMIT} /asleep; code=$?\nrmmod rig\n{guests.UNLOAD}"
    )
    guest = boot_on(kind)(script, "asleep", config=CARD, rig=True)
    assert checks(guest) == {
        "a_reset_that_does_nothing_is_survived": "",
        "a_machine_sleeps_while_its_card_is_used": "",
    }
    assert guest.code == 0
    assert guest.served["errors"] == 0
