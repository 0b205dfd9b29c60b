# SPDX-License-Identifier: Apache-2.0
"""Arrow arrays and numpy arrays that grow where they are, in memory of the heap in hardware.

>>> card = godwit.open("sim:mine")         # built with heap.slots
>>> late = card.growing(pyarrow.int32())
>>> for batch in batches:
...     late.extend(batch)                 # kernels may read what is there, at the same addresses
>>> array = late.finish()                  # exactly its length, without a copy
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from godwit.arrow import DTYPE_CODES
from godwit.buffers import held
from godwit.errors import ArgumentError, InputError

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import ArrayLike, DTypeLike

    from godwit.heap import HeapMemory
    from godwit.memory import Context

GRANULE = 64 << 10


class _Part:
    """One buffer of an array: bytes that are written one after the other."""

    def __init__(self, context: Context) -> None:
        self.memory = context.malloc(GRANULE, granule=GRANULE).free_with_last_use()
        self._ready = 0

    def room(self, start: int, nbytes: int) -> np.ndarray:
        """The bytes from `start` on, with frames behind them. Raises OutOfMemory, and nothing has changed then."""
        end = start + nbytes
        if end > self.memory.nbytes:
            # A number in a table: what is not written costs nothing.
            self.memory.realloc(-(-max(end, 2 * self.memory.nbytes) // GRANULE) * GRANULE)
        if end > self._ready:
            self.memory.populate(end - self._ready, self._ready)
            self._ready = min(-(-end // GRANULE) * GRANULE, self.memory.nbytes)
        return self.memory.to_numpy(np.uint8, end)[start:]

    def trim(self, nbytes: int) -> None:
        self.memory.realloc(max(1, nbytes))
        # Frames behind it are given back.
        self._ready = min(self._ready, nbytes)

    def buffer(self, nbytes: int) -> pa.Buffer:
        import pyarrow as pa

        return pa.py_buffer(self.memory.to_numpy(np.uint8, nbytes))


class GrowingArray:
    """An Arrow array in the making: `append` and `extend`, then `finish`.

    Types of fixed width, utf8 and large_utf8, binary and large_binary. Its addresses stay while it grows. A heap that is full raises
    OutOfMemory, and what was there before stays. The memory is freed when neither this nor an array or a view of it is there any more.
    """

    def __init__(self, context: Context, type: pa.DataType) -> None:
        import pyarrow as pa

        self.type = type
        self._context = context
        self._offset_type: np.dtype | None = None
        if pa.types.is_string(type) or pa.types.is_binary(type):
            self._offset_type = np.dtype("i4")
        elif pa.types.is_large_string(type) or pa.types.is_large_binary(type):
            self._offset_type = np.dtype("i8")
        elif not pa.types.is_primitive(type) or type.bit_width < 8:
            raise InputError(
                f"an Arrow array of {type} cannot grow on a card",
                found="its values are not one buffer of whole bytes, or text",
                hint="integers, floats, dates, times, utf8 and binary can",
            )
        self._values = _Part(context)
        self._offsets = _Part(context) if self._offset_type is not None else None
        self._validity: _Part | None = None
        self._length = self._nulls = self._bytes = 0
        self._finished = False
        if self._offsets is not None:
            # The first one is 0.
            self._offsets.room(0, self._offset_type.itemsize if self._offset_type else 0)

    @property
    def values(self) -> HeapMemory:
        """The values, or the bytes of text: an argument of kernels."""
        return self._values.memory

    @property
    def offsets(self) -> HeapMemory | None:
        """Where each text begins, and the last one ends."""
        return self._offsets.memory if self._offsets else None

    @property
    def validity(self) -> HeapMemory | None:
        """The validity bitmap; None while no row is null."""
        return self._validity.memory if self._validity else None

    @property
    def null_count(self) -> int:
        """Rows that are null."""
        return self._nulls

    def column(self, rows: str = "rows") -> dict[str, HeapMemory | int | None]:
        """The arguments by which a kernel reads what is there now, as of `ArrayBuffer.column`."""
        if str(self.type) not in DTYPE_CODES:
            raise InputError(f"the kernels take no {self.type}", hint="cast to " + ", ".join(DTYPE_CODES))
        return {
            "values": self.values,
            "validity": self.validity,
            rows: self._length,
            "offset": 0,
            "dtype": DTYPE_CODES[str(self.type)],
        }

    def append(self, value: Any) -> None:
        """One more row; None is null."""
        self.extend([value])

    def extend(self, values: Iterable[Any] | pa.Array | pa.ChunkedArray) -> None:
        """More rows: an Arrow array of the same type, or what pyarrow makes one of. All or none of an array come in."""
        import pyarrow as pa

        if self._finished:
            raise ArgumentError("the array is finished: it grows no more")
        array = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values, self.type)
        if array.type != self.type:
            raise InputError(
                f"rows of {array.type} for an array of {self.type}", hint=f"cast them to {self.type}"
            )
        for chunk in array.chunks if isinstance(array, pa.ChunkedArray) else [array]:
            if len(chunk):
                self._extend(chunk)

    def _extend(self, array: pa.Array) -> None:
        mask = None
        if array.null_count or self._validity:
            mask = array.is_valid().to_numpy(zero_copy_only=False)
        bits = self._valid_bits(mask) if mask is not None else None
        nbytes = self._text(array) if self._offset_type is not None else self._fixed(array)
        if bits is not None and self._validity:
            self._validity.room(self._length // 8, len(bits))[:] = bits
        self._bytes += nbytes
        self._length += len(array)
        self._nulls += array.null_count

    def _fixed(self, array: pa.Array) -> int:
        width = array.type.bit_width // 8
        nbytes = len(array) * width
        source = np.frombuffer(array.buffers()[1], np.uint8, nbytes, array.offset * width)
        self._values.room(self._length * width, nbytes)[:] = source
        return nbytes

    def _text(self, array: pa.Array) -> int:
        assert self._offsets is not None and self._offset_type is not None
        kind = self._offset_type
        _, offsets, data = array.buffers()
        own = np.frombuffer(offsets, kind, len(array) + 1, array.offset * kind.itemsize).astype("i8")
        first, nbytes = int(own[0]), int(own[-1] - own[0])
        if self._bytes + nbytes > np.iinfo(kind).max:
            raise ArgumentError(
                f"{self._bytes + nbytes} bytes of text are more than {self.type} can have: take large_{self.type}"
            )
        place = self._offsets.room((self._length + 1) * kind.itemsize, len(array) * kind.itemsize)
        room = self._values.room(self._bytes, nbytes) if nbytes else None
        place.view(kind)[:] = own[1:] - first + self._bytes
        if room is not None:
            room[:] = np.frombuffer(data, np.uint8, nbytes, first)
        return nbytes

    def _valid_bits(self, mask: np.ndarray) -> np.ndarray:
        """The bitmap from the byte of the next row on, with `mask` in it; there is room for it."""
        if self._validity is None:
            part = _Part(self._context)
            ones = np.packbits(np.ones(self._length, bool), bitorder="little")
            if len(ones):
                part.room(0, len(ones))[:] = ones
            self._validity = part
        at, shift = divmod(self._length, 8)
        nbytes = (shift + len(mask) + 7) // 8
        before = self._validity.room(at, nbytes)[:1]
        head = np.unpackbits(before, count=shift, bitorder="little").astype(bool) if shift else mask[:0]
        return np.packbits(np.concatenate([head, mask]), bitorder="little")

    def finish(self) -> pa.Array:
        """The array, of exactly its length, on the memory itself. It holds the memory as long as it lives; nothing can be appended.

        Raises ArgumentError while numpy views are alive that would reach behind the end, and can then be called again.
        """
        import pyarrow as pa

        if self._finished:
            raise ArgumentError("the array is finished")
        parts: list[tuple[_Part | None, int]] = [(self._validity, (self._length + 7) // 8)]
        if self._offsets is not None and self._offset_type is not None:
            parts.append((self._offsets, (self._length + 1) * self._offset_type.itemsize))
        parts.append((self._values, self._bytes))
        for part, nbytes in parts:
            if part:
                part.trim(nbytes)
        self._finished = True
        buffers = [part.buffer(nbytes) if part else None for part, nbytes in parts]
        return pa.Array.from_buffers(self.type, self._length, buffers, self._nulls)

    def __len__(self) -> int:
        return self._length

    def __repr__(self) -> str:
        return f"<godwit.GrowingArray {self._length} {self.type} at {self.values.address:#x}>"


class GrowingView:
    """Elements of heap memory as numpy sees them, as many as there are now: an array made of it is a view of that length."""

    def __init__(self, context: Context, dtype: DTypeLike) -> None:
        self.dtype = np.dtype(dtype)
        if self.dtype.hasobject or not self.dtype.itemsize:
            raise ArgumentError(f"elements of {self.dtype} cannot be in device memory")
        self._part = _Part(context)
        self._length = 0

    @property
    def memory(self) -> HeapMemory:
        """The memory: an argument of kernels."""
        return self._part.memory

    def append(self, values: ArrayLike) -> None:
        """One more element, or several, if this dtype holds them: integers as they are, others by numpy's ``same_kind``.

        Raises ArgumentError for others, and OutOfMemory; nothing has changed then.
        """
        given = np.asarray(values)
        elements = held(given, self.dtype)
        if elements is None:
            raise ArgumentError(
                f"{given.dtype} elements for an array of {self.dtype}, which does not hold them as they are: "
                f"give array.astype('{self.dtype}')"
            )
        more = elements.reshape(-1)
        size = self.dtype.itemsize
        if len(more):
            self._part.room(self._length * size, more.nbytes)[:] = more.view(np.uint8)
            self._length += len(more)

    @property
    def array(self) -> np.ndarray:
        """A writable view of what is there now. Views of before keep their length, and see the same memory."""
        return self._part.memory.to_numpy(self.dtype, self._length)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        array = self.array
        if dtype is not None and np.dtype(dtype) != self.dtype:
            if copy is False:
                raise ValueError(f"elements of {self.dtype} are no {np.dtype(dtype)} without a copy")
            return array.astype(dtype)
        return array.copy() if copy else array

    def __getitem__(self, key: Any) -> Any:
        return self.array[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.array[key] = value

    def __len__(self) -> int:
        return self._length

    def __repr__(self) -> str:
        return f"<godwit.GrowingView {self._length} {self.dtype} at {self.memory.address:#x}>"


def growing(context: Context, type: Any) -> GrowingArray | GrowingView:
    """`Context.growing`."""
    try:
        import pyarrow as pa
    except ModuleNotFoundError:
        return GrowingView(context, type)
    return GrowingArray(context, type) if isinstance(type, pa.DataType) else GrowingView(context, type)
