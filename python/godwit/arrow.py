# SPDX-License-Identifier: Apache-2.0
"""Arrow arrays on a card: values and validity bitmap as they are, so that nulls stay nulls and slices stay slices."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from godwit.buffers import Buffer, end
from godwit.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from godwit.memory import Context


class ArrowArray(Protocol):
    """An Arrow array of any library."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...


class ArrowStream(Protocol):
    """Arrow data in pieces, of any library."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


DTYPE_CODES = {"int32": 0, "int64": 1, "float": 2, "double": 3}
"""Element types as the kernels' `dtype` argument has them, by Arrow's name."""


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


def put_arrow(space: Context, data: Any, options: dict[str, Any]) -> ArrayBuffer:
    """Copies an Arrow array of a primitive type to new memory of `space`, a slice's own bytes only; see `Context.put`."""
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
