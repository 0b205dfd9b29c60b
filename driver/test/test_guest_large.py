# SPDX-License-Identifier: Apache-2.0
"""Neighbours share entries of 64 KiB and 2 MiB in the card's tables, with and without a page DMA."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from guest_checks import KERNELS, LIMIT, checks

from godwit.vm import guests
from godwit.vm.machine import Ended

CARDS = {"default": "default", "dma": Path(__file__).parent / "dma.toml"}
LOAD = f"{guests.LOAD} pool_mib=128 || exit 1\n"
FULL = "a_full_pool_gives_all_its_pages"
IN_PLACE = ["huge_pages_of_the_host_have_one_entry", "without_large_pages_there_are_none"]
MOVED = [
    "whole_parts_have_one_entry",
    "pages_that_come_one_by_one_become_one",
    "a_part_that_goes_leaves_the_rest",
    "a_child_splits_nothing_of_its_parent",
    "what_the_card_asks_for_becomes_one",
    "what_cannot_be_split_goes_whole",
    FULL,
    "large_pages_come_home_when_the_card_goes",
]

Boot = Callable[..., Ended]


@pytest.mark.parametrize("kind", KERNELS)
@pytest.mark.parametrize("card", CARDS)
def test_neighbours_share_entries(boot_on: Callable[[str], Boot], kind: str, card: str) -> None:
    if kind == "stock" and card == "dma":
        pytest.skip("nothing moves on this kernel: a page DMA has nothing to copy")
    # A simulated page DMA takes minutes for all pages of the pool.
    words = "brief" if card == "dma" else ""
    script = f"{LOAD}{LIMIT} /large {words}; code=$?\n{guests.UNLOAD}"
    guest = boot_on(kind)(script, "large", config=CARDS[card])
    moves = not any(line.startswith("skip: ") for line in guest.lines)
    wanted = [name for name in IN_PLACE + MOVED * moves if not words or name != FULL]
    assert checks(guest) == dict.fromkeys(wanted, "")
    assert guest.code == 0
    assert moves or kind == "stock"
