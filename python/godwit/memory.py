# SPDX-License-Identifier: Apache-2.0
"""Address spaces of a card, and the memory that is made in them."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, overload

import numpy as np

from godwit.arrow import ArrayBuffer, ArrowArray, ArrowStream, put_arrow
from godwit.buffers import Access, Buffer, PageSize, Shape, end, extents_of
from godwit.errors import ArgumentError, InputError, OutOfMemory
from godwit.growing import GrowingArray, GrowingView, growing
from godwit.heap import HeapMemory, adopt, malloc
from godwit.memories import number_of
from godwit.shared import SharedMemory

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import ArrayLike, DTypeLike

    from godwit import _native
    from godwit.api import Card
    from godwit.arguments import Argument, Mode
    from godwit.launches import Launch, LaunchResult

Place = Literal["device", "host"]
"""Where a buffer is: in memory of the card, or in that of this process, used in place."""

Ranges = Literal["preferred", "required", "never"]
"""What shared memory gets of the range TLB."""

MAX_BYTES = (1 << 63) - 1
"""Bytes that any one buffer can have: more is not a size."""


class Context:
    """One address space of a card: buffers of one context cannot be reached from another.

    Use it as a context manager, or call `close`.
    """

    def __init__(
        self, card: Card, native: _native.Context, *, shared: bool = False, place: Place = "device"
    ) -> None:
        self.card = card
        self.place = place
        """Where new buffers are when nothing else is said."""
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
        place: Place | None = None,
        region: str | None = None,
        strict: bool = True,
    ) -> Buffer:
        """New device memory of ``shape`` elements of `dtype` (bytes when only a number is given), zeroed.

        place: ``host`` makes it memory of this process, which stays here: kernels use it in place, over the host link and the card's
        page cache, if it has one. What was written before a launch they see, what they wrote is seen after it. region: of several memories
        of the card (`Card.memories`) the one it is in; without strict another one if that is full; the first when None. page_size: ``auto`` takes the largest pages that fit; access: what kernels may do with it. contiguous:
        True insists on one physical range, which `mode="bare"` needs; None prefers it. Raises OutOfMemory.
        """
        element = np.dtype(dtype)
        extents = extents_of(shape)
        size = _bytes_of(extents, element)
        memory = number_of(self.card, region)
        native = self.native.alloc(size, page_size, access, contiguous, place or self.place, memory, strict)
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
            extents = extents_of(shape)
        return Buffer(self.native.reserve(_bytes_of(extents, element), file, access), extents, element)

    def malloc(
        self,
        nbytes: int,
        *,
        granule: int = 4096,
        small: bool = False,
        region: str | None = None,
        strict: bool = True,
    ) -> HeapMemory:
        """`nbytes` bytes from the heap in hardware, which read as zero; frames come when kernels or this process write.

        granule: bytes that come together, a power of two from 4 KiB to 2 MiB, or the next smaller one that there is: 64 KiB or 4 KiB on a card
        without `walker.napot = "any"`. small: a slot of 64 KiB that shares its page table
        with others, for many small things. region: the memory of the card that frames come from (`Card.memories`), which the heap has a
        part of (`heap_bytes`), ``host`` for memory of this process over the link (`heap.host_bytes`), the first when None; without
        strict another one if there are fewer free than `nbytes` needs now, or if a strict region (`heap_strict`) refuses. Needs a card with `heap.slots`. Raises ArgumentError or
        OutOfMemory with the hardware's reason.
        """
        return malloc(self, nbytes, granule, small, number_of(self.card, region, of_heap=True), strict)

    def adopt(self, address: int, nbytes: int) -> HeapMemory:
        """What a kernel allocated by itself in this context, and gave back the `address` of, as memory of `nbytes` bytes like that of
        `malloc`: numpy and Arrow see it where it is, and it is freed like any other.

        Raises ArgumentError when nothing of this context is there, OutOfMemory when this process uses these addresses otherwise (the
        heap of another card, say).
        """
        return adopt(self, address, nbytes)

    @overload
    def growing(self, type: DTypeLike) -> GrowingView: ...

    @overload
    def growing(self, type: pa.DataType) -> GrowingArray: ...

    def growing(self, type: Any) -> GrowingArray | GrowingView:
        """An array in memory of the heap in hardware that grows where it is: of an Arrow type an Arrow builder, of a dtype a numpy
        array. Kernels may be given it at any time; its addresses stay.
        """
        return growing(self, type)

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
            return put_arrow(self, data, options)
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
        self.card.contexts.discard(self)
        self.native.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        end(self.close, value)


def _bytes_of(extents: tuple[int, ...], element: np.dtype) -> int:
    """Bytes to ask memory for, at least one. Raises OutOfMemory for what is no size."""
    nbytes = math.prod(extents) * element.itemsize
    if nbytes > MAX_BYTES:
        raise OutOfMemory(f"shape {extents} of {element} is {nbytes:,} bytes, more than any memory has")
    return max(nbytes, 1)


def _elements_of(file: str, element: np.dtype) -> int:
    """How many elements a file holds."""
    try:
        nbytes = Path(file).stat().st_size
    except OSError as error:
        raise InputError(f"the backing file {file}: {error.strerror}") from error
    if not element.itemsize or nbytes % element.itemsize:
        raise InputError(f"{file} has {nbytes:,} bytes, which are no whole elements of {element}")
    return nbytes // element.itemsize
