# SPDX-License-Identifier: Apache-2.0
"""Arguments of kernels, and what the native module takes for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from godwit.arrow import ArrayBuffer
from godwit.buffers import Buffer
from godwit.errors import ArgumentError
from godwit.heap import HeapMemory

if TYPE_CHECKING:
    from godwit import _native
    from godwit.shared import SharedMemory

Argument = Buffer | HeapMemory | np.ndarray | int | None
"""What a kernel's argument can be: device memory, an array of this process where it is shared, a number, or the null pointer."""


def native_arguments(
    kernel: str,
    arguments: Mapping[str, Argument] | None,
    args: Mapping[str, Argument],
    shared: SharedMemory | None,
) -> dict[str, _native.Buffer | _native.HostArray | int | None]:
    """A launch's arguments as the native module takes them. Raises ArgumentError."""
    twice = sorted((arguments or {}).keys() & args.keys())
    if twice:
        raise ArgumentError(f"argument {twice[0]} of {kernel} is given twice: by its name and in `arguments`")
    given = {**(arguments or {}), **args}
    return {name: _argument(kernel, name, value, shared) for name, value in given.items()}


def _argument(
    kernel: str, name: str, value: object, shared: SharedMemory | None
) -> _native.Buffer | _native.HostArray | int | None:
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, Buffer):
        return value.native
    if isinstance(value, HeapMemory):
        return value.address
    if isinstance(value, np.integer):
        return int(value)
    if shared and not isinstance(value, ArrayBuffer):
        return shared.host_array(f"argument {name} of {kernel}", value)
    hint = (
        "give its .values, or **array.column()"
        if isinstance(value, ArrayBuffer)
        else "put it on the card first, open the card with shared=True, or card.share() an array of contiguous memory"
    )
    raise ArgumentError(
        f"argument {name} of {kernel} is a {type(value).__name__}, not a Buffer or an integer: {hint}"
    )
