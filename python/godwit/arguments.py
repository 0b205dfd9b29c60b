# SPDX-License-Identifier: Apache-2.0
"""Arguments of kernels, and what the native module takes for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from godwit.arrow import ArrayBuffer
from godwit.buffers import Buffer
from godwit.errors import ArgumentError
from godwit.heap import HeapMemory, View
from godwit.shared import array_of

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from godwit import _native
    from godwit.shared import SharedMemory

Argument = Buffer | HeapMemory | np.ndarray | int | str | np.dtype | type | None
"""What a kernel's argument can be: device memory or a view of it, an array of this process where it is shared, a number, the
type of an array's elements, or the null pointer.
"""


Mode = Literal["translate", "bare"]
"""With virtual addresses, or with physical ones around translation."""


def native_arguments(
    kernel: str,
    arguments: Mapping[str, Argument] | None,
    args: Mapping[str, Argument],
    shared: SharedMemory | None,
    described: Mapping[str, Any] | None,
    mode: Mode,
) -> dict[str, _native.Buffer | _native.HostArray | int | None]:
    """A launch's arguments as the native module takes them, of a kernel that its card describes so. Raises ArgumentError."""
    twice = sorted((arguments or {}).keys() & args.keys())
    if twice:
        raise ArgumentError(f"argument {twice[0]} of {kernel} is given twice: by its name and in `arguments`")
    given = {**(arguments or {}), **args}
    given |= _codes(kernel, given, described["args"] if described else ())
    return {name: _argument(kernel, name, value, shared, mode) for name, value in given.items()}


def _codes(kernel: str, given: Mapping[str, Argument], args: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """The numbers of element types: of those given by name, and of an array of which no type is given."""
    found = {}
    for arg in args:
        name, codes = arg["name"], arg.get("codes")
        if not codes:
            continue
        if name in given:
            if isinstance(named := given[name], str | np.dtype | type):
                found[name] = _code(f"argument {name} of {kernel} is", named, codes, "name one of them")
        elif isinstance(array := given.get(arg["of"]), Buffer | np.ndarray):
            what = f"argument {arg['of']} of {kernel} has elements of type"
            found[name] = _code(what, array.dtype, codes, f"convert them, or say with {name} what they are")
    return found


def _code(what: str, dtype: DTypeLike, codes: Mapping[str, int], hint: str) -> int:
    try:
        name = np.dtype(dtype).name
    except TypeError:
        name = repr(dtype)
    if name not in codes:
        raise ArgumentError(f"{what} {name}, and the kernel knows {', '.join(codes)}: {hint}")
    return codes[name]


def _on_card(array: np.ndarray) -> bool:
    """Whether its memory is a buffer's, or the heap's: at one address for this process and for kernels."""
    from godwit import _native

    owner: object = array
    while isinstance(owner, np.ndarray | memoryview):
        owner = owner.base if isinstance(owner, np.ndarray) else owner.obj
    return isinstance(owner, _native.Buffer | View)


def _argument(
    kernel: str, name: str, value: object, shared: SharedMemory | None, mode: Mode
) -> _native.Buffer | _native.HostArray | int | None:
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, Buffer):
        return value.native
    if isinstance(value, HeapMemory):
        return value.address
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, np.ndarray) and _on_card(value):
        if mode == "bare":
            raise ArgumentError(
                f"argument {name} of {kernel} is a view, and bare kernels have physical addresses: give the buffer itself"
            )
        return array_of(f"argument {name} of {kernel}", value).ctypes.data
    if shared and not isinstance(value, ArrayBuffer):
        return shared.host_array(f"argument {name} of {kernel}", value)
    hint = (
        "give its .values, or **array.column()"
        if isinstance(value, ArrayBuffer)
        else "put it on the card first, open the card with shared=True, or card.share() an array of contiguous memory"
    )
    raise ArgumentError(
        f"argument {name} of {kernel} is of type {type(value).__name__}, not a Buffer or an integer: {hint}"
    )
