# SPDX-License-Identifier: Apache-2.0
"""Godwit: shared virtual memory for accelerators.

>>> import godwit, pyarrow
>>> column = pyarrow.array([12, None, 30, 7])
>>> with godwit.open("sim:default") as card:
...     on_card = card.put(column)
...     matches, rest = card.empty(len(column), "uint32"), card.empty(len(column), "uint32")
...     result = card.launch("split", **on_card.column(), op=godwit.OPERATOR_CODES[">"], constant=10,
...                          matches=matches, rest=rest)
...     print(matches.to_numpy()[:result.match_count], "of", len(column), "rows")
[0 2] of 4 rows

See docs/python.md.
"""

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from godwit.api import OPERATOR_CODES, Card, open
    from godwit.arrow import ArrayBuffer
    from godwit.buffers import Buffer
    from godwit.errors import (
        ArgumentError,
        CheckError,
        DeviceError,
        FaultError,
        GodwitError,
        HangError,
        InputError,
        OutOfMemory,
        SetupError,
        StatusError,
        TooLarge,
    )
    from godwit.launches import Launch, LaunchResult
    from godwit.memory import Context

_HOMES = {
    "godwit.api": ("Card", "OPERATOR_CODES", "open"),
    "godwit.launches": ("Launch", "LaunchResult"),
    "godwit.memory": ("Context",),
    "godwit.arrow": ("ArrayBuffer",),
    "godwit.buffers": ("Buffer",),
    "godwit.heap": ("HeapMemory",),
    "godwit.errors": (
        "ArgumentError",
        "CheckError",
        "DeviceError",
        "FaultError",
        "GodwitError",
        "HangError",
        "InputError",
        "OutOfMemory",
        "SetupError",
        "StatusError",
        "TooLarge",
    ),
}

__all__ = [
    "OPERATOR_CODES",
    "ArgumentError",
    "ArrayBuffer",
    "Buffer",
    "Card",
    "CheckError",
    "Context",
    "DeviceError",
    "FaultError",
    "GodwitError",
    "HangError",
    "HeapMemory",
    "InputError",
    "Launch",
    "LaunchResult",
    "OutOfMemory",
    "SetupError",
    "StatusError",
    "TooLarge",
    "__version__",
    "open",
]


def __getattr__(name: str):
    # Loaded on first use: the builder and `godwit --version` need neither numpy nor the native module.
    import importlib

    for home, names in _HOMES.items():
        if name in names:
            value = getattr(importlib.import_module(home), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'godwit' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
