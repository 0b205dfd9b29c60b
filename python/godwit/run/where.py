# SPDX-License-Identifier: Apache-2.0
"""The predicate of ``--where``: a comparison and a constant of the column's own type."""

from __future__ import annotations

import math
import re
import struct
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING

from godwit.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

# Operators as the command line writes them, and the pyarrow.compute function that defines each.
OPERATORS = {
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
    "==": "equal",
    "!=": "not_equal",
}
_SPELLINGS = {"=": "==", "<>": "!="}
_PREDICATE = re.compile(r"\s*(<=|>=|==|!=|<>|<|>|=)\s*(\S+)\s*")
_EXAMPLES = "'> 15', '<= 0.5', '== 3' or '!= 0'"


@dataclass(frozen=True)
class Predicate:
    """``column OP constant``. Nulls never match; NaN compares as IEEE 754 says."""

    operator: str
    constant: str
    option: str = field(default="--where", compare=False)
    """Where it was given: what messages name."""

    def __str__(self) -> str:
        return f"{self.operator} {self.constant}"

    def value(self, data_type: pa.DataType) -> int | float:
        """The constant as a number of `data_type` (int32, int64, float32 or float64).

        Raises InputError when the type cannot hold it: a fraction for an integer column, or a number out of
        range. A decimal fraction is rounded to the column's floating-point type, as numpy and pyarrow do.
        """
        name = str(data_type)
        if name.startswith("int"):
            return _integer(self, name, bits=data_type.bit_width)
        return _floating(self, name, single=data_type.bit_width == 32)

    def bits(self, data_type: pa.DataType) -> int:
        """The constant's bit pattern in `data_type`, zero-extended to 64 bits."""
        form = {"int32": "<i", "int64": "<q", "float": "<f", "double": "<d"}[str(data_type)]
        return int.from_bytes(struct.pack(form, self.value(data_type)), "little")

    def mask(self, column: pa.Array) -> pa.Array:
        """Which rows match, by pyarrow.compute: the reference the kernel is checked against. Null rows are
        False.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        constant = pa.scalar(self.value(column.type), type=column.type)
        matches = getattr(pc, OPERATORS[self.operator])(column, constant)
        return pc.fill_null(matches, False)


def parse(text: str, option: str = "--where") -> Predicate:
    """Parses ``'> 15'``, the value of `option`. Raises InputError for anything but one operator and one number."""
    match = _PREDICATE.fullmatch(text)
    if not match:
        raise InputError(
            f"{option} '{text}' is not a predicate",
            found="it has to be one of " + " ".join(OPERATORS) + " and a number",
            hint=f"quote it for the shell: {_EXAMPLES}",
        )
    operator = _SPELLINGS.get(match[1], match[1])
    try:
        number = _number(match[2])
    except ValueError:
        raise InputError(
            f"{option} '{text}' compares with something that is not a number",
            found=f"'{match[2]}'",
            hint=f"a number such as in {_EXAMPLES}",
        ) from None
    if math.isnan(number):
        raise InputError(
            f"{option} '{text}' compares with NaN",
            found="NaN is not equal to, above or below anything",
            hint="'!= VALUE' keeps the rows that are NaN, '== VALUE' drops them",
        )
    return Predicate(operator, match[2], option)


def _number(text: str) -> int | float:
    """A number as Python writes them: ``1_000``, ``0x10``, ``.5``, ``1e-3``, ``-inf``, and ``0x1.8p3`` as `float.hex` does.

    A decimal that is whole is an int, exactly, however large. Raises ValueError.
    """
    try:
        return int(text, 0)
    except ValueError:
        pass
    try:
        value = float(text)
    except ValueError:
        return float.fromhex(text)
    # Python's exponents go further than anybody's memory.
    whole = Decimal(text) if math.isfinite(value) else Decimal("NaN")
    return int(whole) if whole.is_finite() and whole == whole.to_integral_value() else value


def _integer(predicate: Predicate, name: str, *, bits: int) -> int:
    value = _number(predicate.constant)
    if isinstance(value, float):
        raise InputError(
            f"{predicate.option} '{predicate}' needs a whole number",
            found=f"the column holds {name}",
            hint=f"'{predicate.operator} {math.floor(value) if math.isfinite(value) else 0}'",
        )
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    if not low <= value <= high:
        raise InputError(
            f"{predicate.option} '{predicate}' is out of the column's range",
            found=f"{name} holds {low} to {high}",
            hint="choose a constant inside that range",
        )
    return value


def _floating(predicate: Predicate, name: str, *, single: bool) -> float:
    wanted = _number(predicate.constant)
    try:
        value = float(wanted)
        if single and math.isfinite(value):
            value = struct.unpack("<f", struct.pack("<f", value))[
                0
            ]  # OverflowError where rounding gives infinity
        fits = math.isfinite(value) or "inf" in predicate.constant.lower()
    except OverflowError:
        fits = False
    if not fits:
        raise InputError(
            f"{predicate.option} '{predicate}' is out of the column's range",
            found=f"the column holds {name}",
            hint="choose a smaller constant, or compare with inf",
        )
    return value
