# SPDX-License-Identifier: Apache-2.0
"""Address spaces and device memory: what numpy and Arrow put there and see of it.

A buffer's memory is mapped into this process at the address that kernels use, so views of it are the memory
itself.
"""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, SupportsIndex, overload

import numpy as np

from godwit.errors import ArgumentError, GodwitError, InputError, OutOfMemory
from godwit.shared import SharedMemory

try:
    from godwit._native import ViewOfSelf
except ImportError:  # the native module is not built: help, doctor and card builds work without it
    ViewOfSelf = object

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import ArrayLike, DTypeLike

    from godwit import _native
    from godwit.api import Argument, Card, Mode
    from godwit.launches import Launch, LaunchResult

PageSize = Literal["auto", "4K", "64K", "2M", "1G"]
Access = Literal["r", "w", "rw"]
"""What kernels may do; the page-table format has no write-only memory, so that ``w`` allows reading too."""

Ranges = Literal["preferred", "required", "never"]
"""What shared memory gets of the range TLB."""

MAX_BYTES = (1 << 63) - 1
"""Bytes that any one buffer can have: more is not a size."""

Shape = SupportsIndex | Sequence[SupportsIndex]


class ArrowArray(Protocol):
    """An Arrow array of any library."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...


class ArrowStream(Protocol):
    """Arrow data in pieces, of any library."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


DTYPE_CODES = {"int32": 0, "int64": 1, "float": 2, "double": 3}
"""Element types as the kernels' `dtype` argument has them, by Arrow's name."""


class Context:
    """One address space of a card: buffers of one context cannot be reached from another.

    Use it as a context manager, or call `close`.
    """

    def __init__(self, card: Card, native: _native.Context, *, shared: bool = False) -> None:
        self.card = card
        self.native = native
        self._shared = SharedMemory(self) if shared else None

    @property
    def shared(self) -> bool:
        """Whether the memory of this process is shared with it."""
        return self._shared is not None

    @property
    def shared_memory(self) -> SharedMemory:
        """The memory of this process as this context has it. Raises ArgumentError when it is not shared."""
        if self._shared is None:
            raise ArgumentError(
                "the memory of this process is not shared with this context: open the card with shared=True"
            )
        return self._shared

    def empty(
        self,
        shape: Shape,
        dtype: DTypeLike = np.uint8,
        *,
        page_size: PageSize = "auto",
        access: Access = "rw",
        contiguous: bool | None = None,
    ) -> Buffer:
        """New device memory of ``shape`` elements of `dtype` (bytes when only a number is given), zeroed.

        page_size: ``auto`` takes the largest pages that fit; access: what kernels may do with it. contiguous:
        True insists on one physical range, which `mode="bare"` needs; None prefers it. Raises OutOfMemory.
        """
        element = np.dtype(dtype)
        extents = _extents(shape)
        nbytes = math.prod(extents) * element.itemsize
        if nbytes > MAX_BYTES:
            raise OutOfMemory(f"shape {extents} of {element} is {nbytes:,} bytes, more than any memory has")
        native = self.native.alloc(max(nbytes, 1), page_size, access, contiguous)
        return Buffer(native, extents, element)

    def reserve(
        self,
        shape: Shape | None = None,
        dtype: DTypeLike = np.uint8,
        *,
        backing: str | PathLike[str] = "zero",
        access: Access = "rw",
    ) -> Buffer:
        """``shape`` elements of `dtype` whose device memory comes page by page, when kernels touch it.

        backing: ``"zero"``, or the path of a file whose content it is (zeros behind its end; the file is never written).
        Without a shape, as many elements as the file has. In this process it is memory at once: numpy sees the file, or
        zeros, where no page has come yet. Needs a card with page requests (`page_requests.places`), such as `default`.
        """
        element = np.dtype(dtype)
        file = None if backing == "zero" else os.fspath(backing)
        if shape is None:
            if file is None:
                raise InputError("a reservation without a shape", hint="give one, or a file as its backing")
            extents: tuple[int, ...] = (_elements_of(file, element),)
        else:
            extents = _extents(shape)
        nbytes = math.prod(extents) * element.itemsize
        if nbytes > MAX_BYTES:
            raise OutOfMemory(f"shape {extents} of {element} is {nbytes:,} bytes, more than any memory has")
        return Buffer(self.native.reserve(max(nbytes, 1), file, access), extents, element)

    @overload
    def put(
        self,
        data: ArrowArray | ArrowStream,
        *,
        page_size: PageSize = "auto",
        access: Access = "rw",
        contiguous: bool | None = None,
    ) -> ArrayBuffer: ...

    @overload
    def put(
        self,
        data: ArrayLike,
        *,
        page_size: PageSize = "auto",
        access: Access = "rw",
        contiguous: bool | None = None,
    ) -> Buffer: ...

    def put(
        self,
        data: Any,
        *,
        page_size: PageSize = "auto",
        access: Access = "rw",
        contiguous: bool | None = None,
    ) -> Buffer | ArrayBuffer:
        """Copies `data` to new device memory over the host link.

        An Arrow array of a primitive type (or anything with ``__arrow_c_array__`` or ``__arrow_c_stream__``)
        becomes an `ArrayBuffer`: values and validity bitmap as they are, so that nulls stay nulls; of a slice
        only the slice's own bytes are copied. Everything else goes through numpy (an array, a list, an object
        with the buffer protocol) and becomes a `Buffer` of its shape and dtype, in C order. Raises InputError
        for other Arrow types, OutOfMemory.
        """
        options: dict[str, Any] = {"page_size": page_size, "access": access, "contiguous": contiguous}
        if hasattr(data, "__arrow_c_array__") or hasattr(data, "__arrow_c_stream__"):
            return _put_arrow(self, data, options)
        array = np.asarray(data, order="C")
        if array.dtype.hasobject:
            raise InputError(
                f"{type(data).__name__} holds Python objects", hint="give numbers, or an Arrow array"
            )
        buffer = self.empty(array.shape, array.dtype, **options)
        if array.nbytes:
            buffer.native.upload(array.reshape(-1).view(np.uint8))
        return buffer

    def share(
        self,
        array: np.ndarray,
        *,
        page_size: PageSize = "auto",
        access: Access = "rw",
        ranges: Ranges = "preferred",
    ) -> Buffer:
        """Gives an array of `godwit.cmt.empty` to kernels where it is: the same memory at the same address, no copy.

        The pool must lie in the card's memory: ``cmt.init(card.cmt_config("64MiB"))``. It is mapped with pages up to
        `page_size`, and ranges says what it gets of the range TLB besides: ``preferred`` an entry a piece as long as there are
        any, ``required`` the same or ArgumentError with how many are missing, ``never`` none. The block lives until both the
        array and the buffer are gone. Raises ArgumentError for any other array.
        """
        from godwit.cmt import block_of

        block = block_of(array)
        if array.ctypes.data != block.address or not array.flags.c_contiguous:
            raise ArgumentError(
                "the array is a part of a block of contiguous memory: share the whole array, and give kernels the part's "
                "address (array.ctypes.data)"
            )
        return Buffer(self.native.share(block, page_size, access, ranges), array.shape, array.dtype)

    def launch(
        self,
        kernel: str,
        /,
        *,
        mode: Mode = "translate",
        timeout_cycles: int | None = None,
        check_status: bool = True,
        arguments: Mapping[str, Argument] | None = None,
        **args: Argument,
    ) -> LaunchResult:
        """Runs a kernel in this context; see `Card.launch`."""
        return self.card.launch(
            kernel,
            context=self,
            mode=mode,
            timeout_cycles=timeout_cycles,
            check_status=check_status,
            arguments=arguments,
            **args,
        )

    def start(
        self,
        kernel: str,
        /,
        *,
        mode: Mode = "translate",
        timeout_cycles: int | None = None,
        check_status: bool = True,
        arguments: Mapping[str, Argument] | None = None,
        **args: Argument,
    ) -> Launch:
        """Starts a kernel in this context; see `Card.start`."""
        return self.card.start(
            kernel,
            context=self,
            mode=mode,
            timeout_cycles=timeout_cycles,
            check_status=check_status,
            arguments=arguments,
            **args,
        )

    def table_bytes(self) -> int:
        """Bytes of device memory that this context's page tables take."""
        return self.native.table_bytes()

    def close(self) -> None:
        """Gives the address space back; it ends with its last buffer. Idempotent."""
        self.native.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        end(self.close, value)


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
        return np.frombuffer(self.native, dtype=self.dtype, count=count).reshape(self.shape)

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

        An array must have this buffer's dtype; numbers and lists of them are made to, if it holds them exactly enough
        (numpy's ``same_kind``). Bytes, and a buffer of bytes (uint8, void), take what they are given. Raises ArgumentError.
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
        if hasattr(data, "dtype") or not np.can_cast(array.dtype, self.dtype, "same_kind"):
            raise ArgumentError(
                f"{array.dtype} elements for a buffer of {self.dtype}: give array.astype('{self.dtype}'), "
                "or .view('u1') for the bytes as they are"
            )
        return array.astype(self.dtype)

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


class ArrayBuffer:
    """An Arrow array on the device: a values buffer, a validity bitmap (None when no row is null), and an
    offset.

    Kernels take its parts: ``values=a.values, validity=a.validity, rows=len(a), offset=a.offset,
    dtype=a.dtype_code``, or all five with ``**a.column()`` (`split`) or ``**a.column("count")`` (`array_sum`).
    """

    def __init__(
        self, type: pa.DataType, length: int, offset: int, values: Buffer, validity: Buffer | None
    ) -> None:
        self.type = type
        self.length = length
        self.offset = offset
        """The first element, in `values` and in `validity`: a slice starts inside a byte of its bitmap."""
        self.values = values
        self.validity = validity

    @property
    def dtype_code(self) -> int:
        """The type as the kernels' `dtype` argument has it. InputError when they do not take it."""
        try:
            return DTYPE_CODES[str(self.type)]
        except KeyError:
            raise InputError(
                f"the kernels take no {self.type}", hint="cast to " + ", ".join(DTYPE_CODES)
            ) from None

    @property
    def nbytes(self) -> int:
        """Bytes of values and bitmap."""
        return self.values.nbytes + (self.validity.nbytes if self.validity else 0)

    def column(self, rows: str = "rows") -> dict[str, Buffer | int | None]:
        """The five arguments by which a kernel reads an Arrow column; `rows` is what it calls their number."""
        return {
            "values": self.values,
            "validity": self.validity,
            rows: self.length,
            "offset": self.offset,
            "dtype": self.dtype_code,
        }

    def to_arrow(self) -> pa.Array:
        """The array on the device memory itself, without a copy."""
        return self.values.to_arrow(self.type, self.length, self.validity, offset=self.offset)

    def free(self) -> None:
        """Gives both buffers back; see `Buffer.free`."""
        self.values.free()
        if self.validity:
            self.validity.free()

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        return self.to_arrow().__arrow_c_array__(requested_schema)

    def __len__(self) -> int:
        return self.length

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        end(self.free, value)

    def __repr__(self) -> str:
        return f"<godwit.ArrayBuffer {self.length} {self.type} at {self.values.address:#x}>"


def end(close: Callable[[], None], error: BaseException | None) -> None:
    """Ends a ``with`` block: `close()`, whose own error must not stand in the place of `error`, the block's."""
    try:
        close()
    except GodwitError as second:
        if error is None:
            raise
        error.add_note(f"and then: {second}")


def _elements_of(file: str, element: np.dtype) -> int:
    """How many elements a file holds."""
    try:
        nbytes = Path(file).stat().st_size
    except OSError as error:
        raise InputError(f"the backing file {file}: {error.strerror}") from error
    if not element.itemsize or nbytes % element.itemsize:
        raise InputError(f"{file} has {nbytes:,} bytes, which are no whole elements of {element}")
    return nbytes // element.itemsize


def _extents(shape: Shape) -> tuple[int, ...]:
    """A shape as plain numbers. Raises ArgumentError."""
    several = shape if isinstance(shape, Sequence | np.ndarray) else (shape,)
    try:
        extents = tuple(operator.index(extent) for extent in several)
    except TypeError:
        raise ArgumentError(f"shape {shape!r} is not a whole number or several of them") from None
    if any(extent < 0 for extent in extents):
        raise ArgumentError(f"shape {extents} has a negative extent")
    return extents


def _put_arrow(space: Context, data: Any, options: dict[str, Any]) -> ArrayBuffer:
    import pyarrow as pa

    array = data if isinstance(data, pa.Array | pa.ChunkedArray) else _imported(data)
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    width = array.type.bit_width if pa.types.is_primitive(array.type) else 0
    if width < 8:
        raise InputError(
            f"an Arrow array of {array.type} cannot be put on a card",
            found="its values are not one buffer of whole bytes",
            hint="integers, floats, dates and times can",
        )
    # From the byte of the bitmap in which the slice starts; the values from the same element.
    first = array.offset // 8 * 8
    offset = array.offset - first
    validity, values = array.buffers()
    span = offset + len(array)
    device_values = space.empty(span, _dtype(array.type, width), **options)
    try:
        if len(array):
            device_values.upload(np.frombuffer(values, np.uint8, span * width // 8, first * width // 8))
        device_validity = None
        if validity is not None and array.null_count:
            device_validity = space.empty((span + 7) // 8, **options)
            device_validity.upload(np.frombuffer(validity, np.uint8, (span + 7) // 8, first // 8))
    except BaseException:
        device_values.free()
        raise
    return ArrayBuffer(array.type, len(array), offset, device_values, device_validity)


def _dtype(data_type: pa.DataType, width: int) -> np.dtype:
    """Numpy's type of the same bits, or plain bytes of that width where numpy has none."""
    try:
        same = np.dtype(data_type.to_pandas_dtype())
    except (NotImplementedError, TypeError):
        same = np.dtype(object)
    return same if not same.hasobject and same.itemsize * 8 == width else np.dtype(f"V{width // 8}")


def _imported(data: Any) -> pa.Array | pa.ChunkedArray:
    import pyarrow as pa

    return pa.array(data) if hasattr(data, "__arrow_c_array__") else pa.chunked_array(data)
