# SPDX-License-Identifier: Apache-2.0
"""Godwit: shared virtual memory for accelerators.

    import godwit

    with godwit.open("sim:default") as card:
        values = card.put(arrow_array)
        ...
        result = card.launch("array_sum", values=values, count=len(arrow_array), dtype=values.dtype_code)

See docs/python.md.
"""

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from godwit.api import OPERATOR_CODES, Card, LaunchResult, open
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
        TooLarge,
    )
    from godwit.memory import ArrayBuffer, Buffer, Context

_HOMES = {
    "godwit.api": ("Card", "LaunchResult", "OPERATOR_CODES", "open"),
    "godwit.memory": ("ArrayBuffer", "Buffer", "Context"),
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
    "InputError",
    "LaunchResult",
    "OutOfMemory",
    "SetupError",
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
