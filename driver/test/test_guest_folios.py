# SPDX-License-Identifier: Apache-2.0
"""Huge pages of the host move whole, with and without a page DMA, on a kernel that has them in device memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from guest_checks import LIMIT, PULL, checks
from test_guest import PULLED_AT_US

from godwit.vm import guests
from godwit.vm.machine import Ended

CARDS = {"default": "default", "dma": Path(__file__).parent / "dma.toml"}
LOAD = f"{guests.LOAD} pool_mib=128 || exit 1\n"
CHECKS = [
    "migrate_anon_huge_empty",
    "migrate_anon_huge_zero",
    "migrate_anon_huge_free",
    "migrate_anon_huge_fault",
    "what_the_card_asks_for_comes_whole",
    "migrate_partial_unmap_fault",
    "migrate_remap_fault",
    "migrate_anon_huge_err",
    "migrate_anon_huge_zero_err",
    "a_part_of_a_folio_that_changes_splits_it",
    "a_child_has_the_folio_too",
    "folios_come_home_when_the_card_goes",
    "folios_that_fail_lose_nothing",
    "no_write_is_lost_while_folios_move",
    "a_pool_that_is_full_of_folios_is_full",
]
FOUGHT = ["a_huge_page_that_both_want_goes_in_pages", "a_huge_page_that_comes_after_it_goes_whole"]
COPIED = [
    "migrate_anon_huge_fault",
    "folios_come_home_when_the_card_goes",
    "folios_that_fail_lose_nothing",
    "no_write_is_lost_while_folios_move",
]
"""Those that are about copies: a simulated page DMA takes its time."""

Boot = Callable[..., Ended]


def test_huge_pages_move_whole(boot_on: Callable[[str], Boot]) -> None:
    guest = boot_on("backports")(
        f"{LOAD}{LIMIT} /folios; code=$?\n{guests.UNLOAD}", "folios", config="default"
    )
    assert checks(guest) == dict.fromkeys(CHECKS, "")
    assert guest.code == 0


def test_huge_pages_that_both_sides_want_go_in_pages(boot_on: Callable[[str], Boot]) -> None:
    script = f"{LOAD}{LIMIT} /fought; code=$?\n{guests.UNLOAD}"
    guest = boot_on("backports")(script, "fought", config="default")
    assert checks(guest) == dict.fromkeys(FOUGHT, "")
    assert guest.code == 0


def test_a_page_dma_copies_huge_pages_whole(boot_on: Callable[[str], Boot]) -> None:
    programs = "".join(f"{LIMIT} /folios brief {name} || code=1\n" for name in COPIED)
    guest = boot_on("backports")(f"code=0\n{LOAD}{programs}{guests.UNLOAD}", "folios", config=CARDS["dma"])
    assert checks(guest) == dict.fromkeys(COPIED, "")
    assert guest.code == 0


@pytest.mark.parametrize("card", CARDS)
def test_a_card_is_pulled_out_while_huge_pages_move(boot_on: Callable[[str], Boot], card: str) -> None:
    script = f"{LOAD}{LIMIT} /lost {PULLED_AT_US} 1024 huge; code=$?\n{guests.UNLOAD}"
    guest = boot_on("backports")(script, "lost", orders=PULL, config=CARDS[card])
    assert guest.code == 0
    assert checks(guest) == {"a_card_that_is_pulled_out_ends_launches_and_nothing_else": ""}
