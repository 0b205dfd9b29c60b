# SPDX-License-Identifier: Apache-2.0
"""The memories of a card: a configuration may have several, each with a model and a size of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from godwit.errors import ArgumentError, nearest

if TYPE_CHECKING:
    from godwit.api import Card


class CardMemory(NamedTuple):
    """One memory of a card, as `Card.memories` gives it; sizes in bytes."""

    name: str
    """Its name in the card's configuration: what `region=` takes."""
    model: str
    """What says when accesses to it are done: `fixed`, `banked` or `litedram-ddr4`."""
    first: int
    """Its first physical address."""
    bytes: int
    """Its size."""
    free: int
    """What buffers can still have of it."""
    largest: int
    """The largest piece of that."""


def names_of(card: Card, *, of_heap: bool = False) -> list[str]:
    """Names of the memories in the order of their numbers; `of_heap`: with memory of this process, if the heap gives such."""
    names = [memory.name for memory in card.memories()]
    return [*names, "host"] if of_heap and card.config["heap"].get("host_bytes") else names


def number_of(card: Card, region: str | None, *, of_heap: bool = False) -> int | None:
    """The number of the memory `region`, None for None. Raises ArgumentError when the card has none of that name."""
    if region is None:
        return None
    names = names_of(card, of_heap=of_heap)
    if region not in names:
        raise ArgumentError(
            f"the card has no memory '{region}', it has {', '.join(names)}; {nearest(str(region), names)}".rstrip(
                "; "
            )
        )
    return names.index(region)
