# SPDX-License-Identifier: Apache-2.0
"""Memory of the heap in hardware: sizes that nobody has to know before, frames when somebody writes.

>>> import godwit
>>> card = godwit.open("sim:mine")         # built with heap.slots
>>> rows = card.malloc(8 << 30)            # no frame, no page table
>>> rows.to_numpy("int64")[:3] = 7         # one page
>>> card.launch("memcopy", src=rows, dst=card.malloc(4096), bytes=4096, iterations=1)
"""

from __future__ import annotations

import operator
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from godwit.errors import ArgumentError, GodwitError

if TYPE_CHECKING:
    from types import TracebackType

    import pyarrow as pa
    from numpy.typing import DTypeLike

    from godwit.memory import Context


class View:
    """What numpy holds while it has a view: the memory's place, by numpy's array interface."""

    def __init__(self, memory: HeapMemory, count: int, dtype: np.dtype) -> None:
        self.memory = memory
        self.__array_interface__: dict[str, Any] = {
            "version": 3,
            "shape": (count,),
            "typestr": dtype.str,
            "data": (memory.address, False),
        }


class HeapMemory:
    """What `Context.malloc` gives: memory at one address for kernels and this process, which reads as zero until somebody writes.

    An argument of kernels like a buffer. `realloc` changes its size where it is. As a context manager it frees itself;
    at the latest it ends with its context, and then reads as zero.
    """

    def __init__(self, context: Context, address: int, nbytes: int) -> None:
        self.context = context
        self._address = address
        self._nbytes = nbytes
        self._freed = False
        self._views: weakref.WeakSet[View] = weakref.WeakSet()
        self._last_use: weakref.finalize | None = None

    @property
    def address(self) -> int:
        """Where it starts, for this process and for kernels alike. It never moves."""
        return self._address

    @property
    def nbytes(self) -> int:
        """Bytes that were asked for last."""
        return self._nbytes

    @property
    def freed(self) -> bool:
        """Whether it was freed."""
        return self._freed

    def to_numpy(self, dtype: DTypeLike = np.uint8, count: int | None = None) -> np.ndarray:
        """A writable view of `count` elements from its beginning, without a number as many as fit.

        The memory itself: kernels see what is written, and what they write is seen. A view keeps its length when the memory grows.
        """
        self._alive()
        element = np.dtype(dtype)
        if not element.itemsize:
            raise ArgumentError(f"elements of {element} have no bytes: name a dtype with a size")
        fits = self._nbytes // element.itemsize
        wanted = fits if count is None else count
        if element.hasobject or not 0 <= wanted <= fits:
            raise ArgumentError(
                f"{wanted} elements of {element} in heap memory of {self._nbytes} bytes: it holds {fits} numbers of them"
            )
        view = View(self, wanted, element)
        self._views.add(view)
        return np.asarray(view)

    def realloc(self, nbytes: int) -> None:
        """Gives it another size; the address stays, and so does what is in the smaller one of both.

        Raises ArgumentError or OutOfMemory with the hardware's reason, and ArgumentError while numpy views are alive that would
        reach behind the new end.
        """
        self._alive()
        _size("realloc", nbytes)
        longest = max((_bytes(view) for view in self._views), default=0)
        if 0 < nbytes < longest:
            raise ArgumentError(
                f"the heap memory at {self._address:#x} has live numpy views of up to {longest} bytes: delete them before it shrinks to "
                f"{nbytes}"
            )
        self.context.native.realloc(self._address, nbytes)
        self._nbytes = nbytes

    def populate(self, nbytes: int | None = None, offset: int = 0) -> None:
        """Takes the frames of `nbytes` bytes from `offset` on, all when None: no store there can find the heap full.

        Raises OutOfMemory when there are not as many; those that were taken until then stay. A store of this program that was not
        provided for, and finds no frame, ends it with SIGBUS.
        """
        self._alive()
        count = self._nbytes - offset if nbytes is None else nbytes
        if offset < 0 or not 0 <= count <= self._nbytes - offset:
            raise ArgumentError(
                f"{count} bytes from {offset} on are not in heap memory of {self._nbytes} bytes"
            )
        if count:
            self.context.native.populate(self._address + offset, count)

    def to_arrow(
        self,
        type: pa.DataType | None = None,
        length: int | None = None,
        validity: HeapMemory | None = None,
    ) -> pa.Array:
        """The first `length` elements as an Arrow array on the memory itself, without a copy: as many as fit when None.

        type: of fixed width, uint8 when None. validity: a bitmap on the heap, of which as many bits are used. Both count as viewed:
        the memory cannot be freed while the array lives.
        """
        import pyarrow as pa

        data_type = type or pa.uint8()
        if not _fixed_width(data_type):
            raise ArgumentError(
                f"heap memory as an Arrow array of {data_type}: its values are not one buffer of fixed width; "
                "`growing` makes arrays of text"
            )
        fits = self._nbytes * 8 // data_type.bit_width
        rows = fits if length is None else length
        if not 0 <= rows <= fits:
            raise ArgumentError(
                f"{rows} rows of {data_type} in heap memory of {self._nbytes} bytes: it holds {fits}"
            )
        if validity is not None and validity.nbytes * 8 < rows:
            raise ArgumentError(
                f"{rows} rows of {data_type} with a validity bitmap of {validity.nbytes} bytes: it has {validity.nbytes * 8} bits"
            )
        parts = [(validity, (rows + 7) // 8), (self, -(-rows * data_type.bit_width // 8))]
        buffers = [
            None if memory is None else pa.py_buffer(memory.to_numpy(np.uint8, count))
            for memory, count in parts
        ]
        return pa.Array.from_buffers(data_type, rows, buffers)

    def free(self) -> None:
        """Frees it. Refused while numpy views are alive. A kernel that was given it is stopped; freeing twice does nothing."""
        if self._freed:
            return
        if self._views:
            raise ArgumentError(
                f"the heap memory at {self._address:#x} has {len(self._views)} live numpy views: delete them before it is freed"
            )
        self.context.native.release(self._address)
        if self._last_use:
            # Whoever is given the address next keeps it.
            self._last_use.detach()
        self._freed = True

    def free_with_last_use(self) -> Self:
        """Has it freed when nobody has it, or a view of it, any more; whoever has its address alone has nothing then. Returns itself."""
        if self._last_use is None and not self._freed:
            self._last_use = weakref.finalize(self, _release, self.context.native, self._address)
            self._last_use.atexit = False
        return self

    def _alive(self) -> None:
        if self._freed:
            raise ArgumentError(f"the heap memory at {self._address:#x} was freed")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.free()

    def __repr__(self) -> str:
        state = "freed" if self._freed else f"{self._nbytes} bytes"
        return f"<godwit.HeapMemory {state} at {self._address:#x}>"


def _release(context: Any, address: int) -> None:
    # A context or a card that has ended took it back before.
    with suppress(GodwitError):
        context.release(address)


def _fixed_width(data_type: pa.DataType) -> bool:
    """Whether an array of it is a validity bitmap and one buffer of values."""
    import pyarrow as pa

    if (
        pa.types.is_dictionary(data_type)
        or data_type.num_fields
        or isinstance(data_type, pa.BaseExtensionType)
    ):
        return False
    try:
        return data_type.bit_width > 0
    except ValueError:
        return False


def _bytes(view: View) -> int:
    interface = view.__array_interface__
    return interface["shape"][0] * np.dtype(interface["typestr"]).itemsize


def malloc(
    context: Context, nbytes: int, granule: int, small: bool, memory: int | None, strict: bool
) -> HeapMemory:
    """`Context.malloc`; `memory` is a number."""
    _size("malloc", nbytes)
    _size("malloc in granules", granule)
    return HeapMemory(context, context.native.malloc(nbytes, granule, small, memory, strict), nbytes)


def adopt(context: Context, address: int, nbytes: int) -> HeapMemory:
    """`Context.adopt`."""
    _size("adopt", nbytes)
    if not 0 <= address < 1 << 64:
        raise ArgumentError(f"{address:#x} is no address")
    return HeapMemory(context, context.native.adopt(address, nbytes), nbytes)


def _size(what: str, nbytes: int) -> None:
    if not 0 <= operator.index(nbytes) < 1 << 63:
        raise ArgumentError(f"{what} of {nbytes} bytes: that is no size")
