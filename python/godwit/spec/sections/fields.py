# SPDX-License-Identifier: Apache-2.0
"""What fields of a configuration are made of: sizes, powers of two, legal values in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict

from godwit.errors import InputError
from godwit.units import parse_size


def _size(value: Any) -> Any:
    """Sizes may be written ``"4 GiB"``."""
    if isinstance(value, str):
        try:
            return parse_size(value)
        except InputError as error:
            raise ValueError(str(error)) from error
    return value


Size = Annotated[int, BeforeValidator(_size)]


REPLACEMENTS = ("lru", "plru", "fifo", "random")
"""What goes where all places are taken, in the order of gw_replace's parameter."""
Replacement = Literal["lru", "plru", "fifo", "random"]


@dataclass(frozen=True)
class Legal:
    """Legal values of a field in words, where its bounds do not say all."""

    text: str


def power_of_two(value: int) -> int:
    if value < 0 or value & (value - 1):
        raise ValueError("must be a power of two")
    return value


def none_or_from_two(what: str) -> Callable[[int], int]:
    """A check of a size: 0, which leaves `what` out, or a power of two from 2 on."""
    return none_or_from(2, what)


def none_or_from(least: int, what: str) -> Callable[[int], int]:
    """A check of a size: 0, which leaves `what` out, or a power of two from `least` on."""

    def check(value: int) -> int:
        if 0 < value < least:
            raise ValueError(f"must be 0 (no {what}) or a power of two from {least} on")
        return power_of_two(value)

    return check


class Section(BaseModel):
    """Base of all sections: unknown fields are errors, values are checked strictly."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
