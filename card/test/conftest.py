# SPDX-License-Identifier: Apache-2.0
"""The pass-through card for every test, and a card of it with the options a test asks for."""

import os
import random
from collections.abc import Callable, Iterator

import card_abi
import passthrough_card
import pytest


@pytest.fixture(scope="session")
def library():
    return card_abi.load(passthrough_card.build())


@pytest.fixture
def open_card(library) -> Iterator[Callable[..., card_abi.Card]]:
    """`open_card(memory={...}, ...)`: a card that is closed after the test."""
    cards = []

    def open_one(options: str | None = None, **fields: object) -> card_abi.Card:
        cards.append(card_abi.Card(library, options, **fields))
        return cards[-1]

    yield open_one
    for card in cards:
        if card.handle:
            card.close()


@pytest.fixture
def seed() -> int:
    """Seed of a random test: GODWIT_SEED, or a new one. Printed so that a failure can be repeated."""
    value = int(os.environ.get("GODWIT_SEED") or random.SystemRandom().randrange(1 << 31))
    print(f"GODWIT_SEED={value}")
    return value
