# SPDX-License-Identifier: Apache-2.0
"""Reading one numeric column of a Parquet file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from godwit.errors import InputError, nearest

if TYPE_CHECKING:
    import pyarrow as pa

# Arrow's names for the types the kernels take, with the names people use.
TYPES = {"int32": "int32", "int64": "int64", "float": "float32", "double": "float64"}
INTEGERS = ("int32", "int64")


def type_name(data_type: pa.DataType) -> str:
    """``float64`` rather than Arrow's ``double``."""
    return TYPES.get(str(data_type), str(data_type))


def open_parquet(path: Path):
    """`path` as a pyarrow ParquetFile; InputError when it is missing, unreadable or not Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not path.exists():
        raise InputError(f"no input file '{path}'", found=_neighbours(path), hint="check the path")
    if not path.is_file():
        raise InputError(
            f"'{path}' is not a file", found="a directory" if path.is_dir() else "a special file"
        )
    try:
        return pq.ParquetFile(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise _corrupt(path, error) from None


def read_column(path: Path, name: str, types: Sequence[str] = tuple(TYPES)) -> pa.Array:
    """Column `name` of the Parquet file as one contiguous Arrow array; `types` are those that will do, by
    Arrow's names.

    Raises InputError when the file cannot be read, has no such column or several of that name, or holds another type.
    """
    import pyarrow as pa

    with open_parquet(path) as file:
        schema = file.schema_arrow
        fits = [f"{field.name} ({type_name(field.type)})" for field in schema if str(field.type) in types]
        usable = (
            "columns that would do: " + ", ".join(fits) if fits else "the file has no column that would do"
        )
        if name not in schema.names:
            raise InputError(
                f"no column '{name}' in '{path}'",
                found=usable,
                hint=nearest(name, [field.name for field in schema if str(field.type) in types])
                if fits
                else "",
            )
        if schema.names.count(name) > 1:
            raise InputError(
                f"column '{name}' of '{path}' is there {schema.names.count(name)} times",
                found="columns: " + ", ".join(schema.names),
                hint="give each column a name of its own, and write the file again",
            )
        data_type = schema.field(name).type
        if str(data_type) not in types:
            raise InputError(
                f"column '{name}' of '{path}' holds {type_name(data_type)}",
                found="the kernel takes " + ", ".join(TYPES.get(accepted, accepted) for accepted in types),
                hint=usable,
            )
        try:
            chunked = file.read(columns=[name], use_threads=True).column(name)
        except (pa.ArrowInvalid, OSError) as error:
            raise _corrupt(path, error) from None
    return chunked.combine_chunks()


def read_table(path: Path) -> pa.Table:
    """The whole table; InputError when a part of the file is corrupt."""
    import pyarrow as pa

    with open_parquet(path) as file:
        try:
            return file.read()
        except (pa.ArrowInvalid, OSError) as error:
            raise _corrupt(path, error) from None


def _corrupt(path: Path, error: Exception) -> InputError:
    return InputError(
        f"'{path}' cannot be read as Parquet",
        found=str(error).splitlines()[0].rstrip("."),
        hint="write the file again; `godwit data flights --output FILE` makes a good one to try with",
    )


def _neighbours(path: Path) -> str:
    parent = path.parent
    if not parent.is_dir():
        return f"there is no directory '{parent}'"
    files = sorted(entry.name for entry in parent.glob("*.parquet"))[:5]
    return f"Parquet files in '{parent}': " + ", ".join(files) if files else f"no Parquet file in '{parent}'"
