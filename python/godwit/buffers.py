# SPDX-License-Identifier: Apache-2.0
"""Device memory as numpy, Arrow and DLPack see it: mapped into this process at the address that kernels use, so that views of
it are the memory itself.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, SupportsIndex

import numpy as np

from godwit.errors import ArgumentError, GodwitError, InputError

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import ArrayLike, DTypeLike

    from godwit import _native
    from godwit._native import ViewOfSelf
else:
    try:
        from godwit._native import ViewOfSelf
    except ImportError:  # the native module is not built: help, doctor and card builds work without it
        ViewOfSelf = object

# fmt: off
PageSize = Literal[
    "auto",
    "4K", "8K", "16K", "32K", "64K", "128K", "256K", "512K",
    "1M", "2M", "4M", "8M", "16M", "32M", "64M", "128M", "256M", "512M", "1G",
]
# fmt: on
"""Every card has pages of 4K, 64K, 2M and 1G; one with `walker.napot = "any"` has the others, too."""
Access = Literal["r", "w", "rw"]
"""What kernels may do; the page-table format has no write-only memory, so that ``w`` allows reading too."""

Shape = SupportsIndex | Sequence[SupportsIndex]


def held(array: np.ndarray, dtype: np.dtype) -> np.ndarray | None:
    """`array` as elements of `dtype`, None when those cannot hold it: integers as they are, others by numpy's ``same_kind``."""
    if array.dtype.kind in "bui" and dtype.kind in "bui":
        found = array.astype(dtype)
        return found if (found == array).all() else None
    return array.astype(dtype) if not array.size or np.can_cast(array.dtype, dtype, "same_kind") else None


class Buffer(ViewOfSelf):
    """Device memory of some shape and dtype, mapped into a context and into this process at the same address.

    numpy takes it as it is (``np.asarray(buffer)`` is a view), and so do `memoryview`, Arrow (`to_arrow`) and
    everything that speaks DLPack. Host reads and writes through views take no simulated time; `upload` and `download`
    go over the host link, by the card's page DMA or as modelled. As a context manager it frees itself.
    """

    def __init__(self, native: _native.Buffer, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self.native = native
        self.shape = shape
        self.dtype = dtype

    @property
    def address(self) -> int:
        """Where it starts, for this process and for kernels alike."""
        return self.native.address

    @property
    def nbytes(self) -> int:
        """Bytes of the shape; the memory behind it is rounded up to whole pages."""
        return math.prod(self.shape) * self.dtype.itemsize

    def physical(self) -> list[tuple[int, int]]:
        """The device-physical ranges behind it, as the native module gives them."""
        return self.native.physical()

    def bring(self, offset: int = 0, nbytes: int | None = None) -> None:
        """Brings pages of a reservation before kernels touch them, in no simulated time; all of them without a range."""
        self.native.bring(offset, self.nbytes - offset if nbytes is None else nbytes)

    def resident_pages(self) -> int:
        """Pages of a reservation (`Context.reserve`) that have come; of any other buffer all of them."""
        return self.native.resident_pages()

    def want_range_entries(self) -> int:
        """Wants entries of the range TLB, one a physical piece, so that kernels reach all of it without page-table walks.

        Returns how many it has now. The rest waits for entries that become free and is served by pages until then; an entry
        that an invalidation ended is there again at the next launch.
        """
        return self.native.want_range_entries()

    def range_entries(self) -> int:
        """How many entries of the range TLB it has."""
        return self.native.range_entries()

    def to_numpy(self) -> np.ndarray:
        """A writable view of the memory itself, of this buffer's shape and dtype."""
        count = self.nbytes // self.dtype.itemsize if self.dtype.itemsize else 0
        return np.frombuffer(memoryview(self.native), dtype=self.dtype, count=count).reshape(self.shape)

    def to_arrow(
        self,
        type: pa.DataType | None = None,
        length: int | None = None,
        validity: Buffer | None = None,
        *,
        offset: int = 0,
    ) -> pa.Array:
        """A one-dimensional Arrow array on the memory itself.

        type: the dtype's own when None. length: all elements after `offset` when None. validity: a bitmap on
        the device. Raises InputError when the buffer (or the bitmap) is too small for that.
        """
        import pyarrow as pa

        data_type = type or pa.from_numpy_dtype(self.dtype)
        fits = self.nbytes * 8 // data_type.bit_width - offset
        rows = fits if length is None else length
        if rows < 0 or rows > fits or (validity is not None and validity.nbytes * 8 < offset + rows):
            raise InputError(f"no {rows} rows of {data_type} from {offset} on in {self.nbytes} bytes")
        buffers = [pa.py_buffer(validity.native) if validity else None, pa.py_buffer(self.native)]
        return pa.Array.from_buffers(data_type, rows, buffers, offset=offset)

    def upload(self, data: ArrayLike, offset: int = 0) -> None:
        """Copies `data` over the host link to byte `offset`, by the card's page DMA; without one the modelled time is added.

        An array must have this buffer's dtype; numbers and lists of them are made to, if it holds them: integers as they are, others
        by numpy's ``same_kind``. Bytes, and a buffer of bytes (uint8, void), take what they are given. Raises ArgumentError.
        """
        array = self._elements(data)
        if offset < 0 or offset + array.nbytes > self.nbytes:
            raise ArgumentError(
                f"{array.nbytes} bytes at {offset} do not fit into a buffer of {self.nbytes} bytes"
            )
        if array.nbytes:
            self.native.upload(array.reshape(-1).view(np.uint8), offset)

    def _elements(self, data: ArrayLike) -> np.ndarray:
        """`data` as contiguous elements that may stand in this buffer."""
        if isinstance(data, bytes | bytearray | memoryview):
            return np.frombuffer(data, np.uint8)
        array = np.asarray(data, order="C")
        raw = self.dtype == np.uint8 or self.dtype.kind == "V" or array.dtype == np.uint8
        if array.dtype == self.dtype or raw:
            return array
        elements = None if hasattr(data, "dtype") else held(array, self.dtype)
        if elements is None:
            raise ArgumentError(
                f"{array.dtype} elements for a buffer of {self.dtype}: give array.astype('{self.dtype}'), "
                "or .view('u1') for the bytes as they are"
            )
        return elements

    def download(self, offset: int = 0, nbytes: int | None = None) -> bytes:
        """Copies `nbytes` (to the end when None) from byte `offset` over the host link."""
        length = self.nbytes - offset if nbytes is None else nbytes
        if offset < 0 or length < 0 or offset + length > self.nbytes:
            raise ArgumentError(f"{length} bytes at {offset} are not inside a buffer of {self.nbytes} bytes")
        return bytes(self.native.download(offset, length)) if length else b""

    def free(self) -> None:
        """Gives the memory back. Views of it must be gone: ArgumentError otherwise. Idempotent."""
        self.native.free()

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        view = self.to_numpy()
        if dtype is not None and np.dtype(dtype) != view.dtype:
            if copy is False:
                raise ValueError(f"a view of {view.dtype} as {np.dtype(dtype)} needs a copy")
            return view.astype(dtype)
        return view.copy() if copy else view

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        return self.to_arrow().__arrow_c_array__(requested_schema)

    def __dlpack__(self, **how: Any) -> object:
        return self.to_numpy().__dlpack__(**how)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.to_numpy().__dlpack_device__()  # the CPU's: the memory is this process's too

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a buffer of no dimensions has no length")
        return self.shape[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        end(self.free, value)

    def __repr__(self) -> str:
        return f"<godwit.Buffer {self.shape} {self.dtype} at {self.address:#x}>"


def end(close: Callable[[], None], error: BaseException | None) -> None:
    """Ends a ``with`` block: `close()`, whose own error must not stand in the place of `error`, the block's."""
    try:
        close()
    except GodwitError as second:
        if error is None:
            raise
        error.add_note(f"and then: {second}")


def extents_of(shape: Shape) -> tuple[int, ...]:
    """A shape as plain numbers. Raises ArgumentError."""
    several = shape if isinstance(shape, Sequence | np.ndarray) else (shape,)
    try:
        extents = tuple(operator.index(extent) for extent in several)
    except TypeError:
        raise ArgumentError(f"shape {shape!r} is not a whole number or several of them") from None
    if any(extent < 0 for extent in extents):
        raise ArgumentError(f"shape {extents} has a negative extent")
    return extents
