# SPDX-License-Identifier: Apache-2.0
"""The card's function is reset, while it is used and while it is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from guest_checks import KERNELS, LIMIT, checks

from godwit.vm import guests
from godwit.vm.machine import Ended

Boot = Callable[..., Ended]

HERE = Path(__file__).parent
CARDS = {"heap": " heap_mib=4", "dma": ""}
"""One with a heap, and one with a page DMA; and what the driver is told of them."""
RESETS = {"heap": 15, "dma": 13}
"""The first is the machine's own."""
CHECKS = (
    "a_card_is_reset_while_it_is_used",
    "a_card_that_stands_works_after_its_reset",
    "an_idle_card_is_reset",
    "a_heap_is_begun_anew_after_a_reset_and_no_sooner",
)

OFTEN = 40
"""Resets in a row, twice: during the first of them Linux gives memory of its own back."""
LEFT_KIB = 1500
"""What the others may leave behind: what so many drivers have for the page DMA and page requests is more than twice as much."""
MANY = f"""
reset=$(echo /sys/bus/pci/drivers/godwit/0*/reset)
for times in first then; do
  for turn in $(seq {OFTEN}); do echo 1 > $reset || exit 1; done
  echo 3 > /proc/sys/vm/drop_caches
  echo left $(grep MemAvailable /proc/meminfo)
done
[ -e /dev/godwit0 ]; code=$?
"""


@pytest.mark.parametrize("kind", KERNELS)
@pytest.mark.parametrize("card", CARDS)
def test_a_card_is_reset(boot_on: Callable[[str], Boot], kind: str, card: str) -> None:
    script = f"{guests.LOAD}{CARDS[card]} || exit 1\n{LIMIT} /reset; code=$?\n{guests.UNLOAD}"
    guest = boot_on(kind)(script, "reset", config=HERE / f"{card}.toml")
    assert checks(guest) == dict.fromkeys(CHECKS, "")
    assert guest.code == 0
    assert (guest.served["errors"], guest.served["resets"]) == (0, RESETS[card])


def test_resets_leave_nothing_behind(boot_on: Callable[[str], Boot]) -> None:
    script = f"{guests.LOAD} pool_mib=0 || exit 1\n{MANY}{guests.UNLOAD}"
    guest = boot_on(KERNELS[0])(script, config=HERE / "dma.toml")
    assert guest.code == 0
    before, after = (int(line.split()[2]) for line in guest.lines if line.startswith("left "))
    assert after > before - LEFT_KIB
    assert (guest.served["errors"], guest.served["resets"]) == (0, 1 + 2 * OFTEN)
