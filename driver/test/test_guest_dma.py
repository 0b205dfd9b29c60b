# SPDX-License-Identifier: Apache-2.0
"""A card with a page DMA behind the driver: pages move by it, on a kernel on which they move at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from guest_checks import LIMIT, MOVING, PULL, checks
from test_guest import CHECKS, PULLED_AT_US

from godwit.vm import guests
from godwit.vm.machine import Ended

Boot = Callable[..., Ended]

CARD = Path(__file__).parent / "dma.toml"
LOAD = f"{guests.LOAD} || exit 1\n"
CALLS = 2000
PROGRAMS = ("asked", "migrate", "inject", "removal", "fuzz")


@pytest.fixture(scope="module")
def guest(boot_on: Callable[[str], Boot]) -> Ended:
    """The programs that have memory move."""
    words = {name: f"{LIMIT} /{name}" for name in PROGRAMS}
    words["fuzz"] += f" {CALLS}"
    programs = "".join(f"{word} || code=1\n" for word in words.values())
    return boot_on(MOVING)(f"code=0\n{LOAD}{programs}{guests.UNLOAD}", *PROGRAMS, config=CARD)


@pytest.mark.parametrize("name", [name for program in PROGRAMS for name in CHECKS[program]])
def test_guest(guest: Ended, name: str) -> None:
    assert checks(guest).get(name, "it was not reached") == ""


def test_the_guest_ends_well_and_the_card_saw_nothing_wrong(guest: Ended) -> None:
    assert guest.code == 0
    assert guest.served["errors"] == 0


@pytest.mark.parametrize("pages", [64, 600], ids=["few-pages", "two-lists-under-way-both-ways"])
def test_a_card_with_a_page_dma_is_pulled_out(boot_on: Callable[[str], Boot], pages: int) -> None:
    script = f"{LOAD}{LIMIT} /lost {PULLED_AT_US} {pages}; code=$?\n{guests.UNLOAD}"
    guest = boot_on(MOVING)(script, "lost", orders=PULL, config=CARD)
    assert guest.code == 0
    assert checks(guest) == {"a_card_that_is_pulled_out_ends_launches_and_nothing_else": ""}
