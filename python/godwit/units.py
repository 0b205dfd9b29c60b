# SPDX-License-Identifier: Apache-2.0
"""Sizes and times as people write and read them. Binary units for bytes, SI for time and rates."""

from __future__ import annotations

import re

from godwit.errors import InputError

_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)(b?)\s*", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def parse_size(text: str) -> int:
    """Bytes of ``4096``, ``64K``, ``1.5MiB`` or ``2 GB``; all units are powers of 1024, as page sizes are."""
    match = _SIZE.fullmatch(text)
    size = float(match[1]) * 1024 ** _POWERS[match[2].lower()] if match else 0.0
    if not match or (match[3] and not match[2]) or not size.is_integer() or size < 1:
        raise InputError(
            f"'{text}' is not a size",
            found="a size is a whole number of bytes, at least 1",
            hint="4096, 64K, 1MiB or 2G",
        )
    return int(size)


def bytes_text(size: float) -> str:
    """``2.57 MiB``; whole units without a fraction."""
    unit = 0
    names = ("B", "KiB", "MiB", "GiB", "TiB")
    while size >= 1024 and unit < len(names) - 1:
        size /= 1024
        unit += 1
    return f"{size:.0f} {names[unit]}" if float(size).is_integer() else f"{size:.2f} {names[unit]}"


def seconds_text(seconds: float) -> str:
    """``1.23 ms``: three digits and the unit that suits."""
    for factor, name in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
        if seconds * factor >= 1:
            return (
                f"{seconds * factor:.3g} {name}"
                if seconds * factor < 1000
                else f"{seconds * factor:,.0f} {name}"
            )
    return f"{seconds * 1e9:.3g} ns"


def rate_text(per_second: float) -> str:
    """``412 k/s``: events a second, three digits."""
    for factor, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if per_second >= factor:
            return f"{per_second / factor:.3g} {name}/s"
    return f"{per_second:.3g} /s"
