# SPDX-License-Identifier: Apache-2.0
"""A card that lies: garbage in its answers, its queues and its memory ends with errors, and never harms Linux.

`GODWIT_LIES=50 GODWIT_SEED=7` has as many rounds as are wanted, with other lies.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from guest_checks import GUEST_S, KERNELS, checks

from godwit.vm import guests
from godwit.vm.machine import Ended

Boot = Callable[..., Ended]

HERE = Path(__file__).parent
CARDS = {"heap": " heap_mib=4", "dma": ""}
"""One with a heap, and one with a page DMA; and what the driver is told of them."""
ROUNDS = int(os.environ.get("GODWIT_LIES", "4"))
ONE_IN = (64, 8, 512, 3)
"""How many words it says until one is a lie, by round: with many nothing gets far, with few much is under way."""
WAITS = "fence_ms=1500 heap_wait_ms=100"
"""A card that says nothing is given up after so long."""
EXPECTED = ("a_card_that_lies_harms_nobody", "a_driver_comes_to_a_card_that_lies")


def orders(seed: int) -> dict[str, str]:
    """What the card does when the guest says so: other lies in each round."""
    begins = {f"lie {turn}": f"lie {ONE_IN[turn % len(ONE_IN)]} {seed + turn}" for turn in range(2 * ROUNDS)}
    return {**begins, "stop lying": "stop lying"}


@pytest.mark.parametrize("kind", KERNELS)
@pytest.mark.parametrize("card", CARDS)
def test_a_card_lies(boot_on: Callable[[str], Boot], kind: str, card: str) -> None:
    seed = int(os.environ.get("GODWIT_SEED") or "1")
    print(f"GODWIT_LIES={ROUNDS} GODWIT_SEED={seed}")
    limit = f"timeout {600 + 60 * ROUNDS}"
    script = f"{guests.LOAD} {WAITS}{CARDS[card]} || exit 1\n{limit} /lies {ROUNDS} {seed}; code=$?\n{guests.UNLOAD}"
    guest = boot_on(kind)(
        script,
        "lies",
        config=HERE / f"{card}.toml",
        orders=orders(seed),
        timeout_s=GUEST_S + 60 * ROUNDS,
    )
    assert checks(guest) == dict.fromkeys(EXPECTED, "")
    assert guest.code == 0
    assert guest.served["lies"] > 100 * ROUNDS
    # The driver itself resets a card that says that its heap has memory of the host.
    assert guest.served["resets"] >= 1 + 2 * ROUNDS
