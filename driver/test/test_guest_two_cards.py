# SPDX-License-Identifier: Apache-2.0
"""Two cards in one machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from guest_checks import KERNELS, LIMIT, checks

from godwit.vm import guests
from godwit.vm.machine import Ended

Boot = Callable[..., Ended]

CARD = Path(__file__).parent / "dma.toml"
EXPECTED = (
    "both_cards_see_what_the_process_has",
    "what_one_card_wrote_the_other_reads",
    "both_cards_work_at_once",
    "one_card_goes_and_the_other_stays",
)


@pytest.mark.parametrize("kind", KERNELS)
def test_a_process_uses_two_cards(boot_on: Callable[[str], Boot], kind: str) -> None:
    script = f"{guests.LOAD} || exit 1\n{LIMIT} /two_cards; code=$?\n{guests.UNLOAD}"
    guest = boot_on(kind)(script, "two_cards", config=CARD, cards=2)
    assert checks(guest) == dict.fromkeys(EXPECTED, "")
    assert guest.code == 0
