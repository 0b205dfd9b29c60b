# SPDX-License-Identifier: Apache-2.0
"""Reading a column of a Parquet file, and what is said when that cannot be done."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from godwit.errors import InputError
from godwit.run.column import INTEGERS, read_column


def test_a_column_comes_as_one_array_with_its_nulls(tmp_path):
    path = tmp_path / "groups.parquet"
    values = [None if n % 7 == 0 else n for n in range(1000)]
    pq.write_table(pa.table({"x": pa.array(values, pa.int64()), "y": values}), path, row_group_size=64)
    column = read_column(path, "x")
    assert isinstance(column, pa.Array)
    assert column.to_pylist() == values


def test_a_missing_column_names_those_that_would_do(table):
    with pytest.raises(InputError) as error:
        read_column(table, "singel")
    assert "big (int64)" in error.value.found
    assert "single (float32)" in error.value.found
    assert "name" not in error.value.found
    assert error.value.hint == "did you mean 'single'?"


def test_a_wrong_type_names_the_columns_that_would_do(table):
    with pytest.raises(InputError, match="holds string") as error:
        read_column(table, "name")
    assert "int32" in error.value.found
    assert "double (float64)" in error.value.hint


def test_only_the_types_asked_for_are_taken(table):
    with pytest.raises(InputError, match="holds float64") as error:
        read_column(table, "double", INTEGERS)
    assert "small (int32), big (int64)" in error.value.hint
    assert "float" not in error.value.hint


def test_a_missing_file_names_the_files_beside_it(table):
    with pytest.raises(InputError) as error:
        read_column(table.with_name("tabel.parquet"), "big")
    assert "table.parquet" in error.value.found


def test_a_directory_is_not_a_file(tmp_path):
    with pytest.raises(InputError, match="not a file"):
        read_column(tmp_path, "x")


@pytest.mark.parametrize("damage", ["text", "empty", "cut", "middle"])
def test_a_corrupt_file_is_said_to_be_corrupt(tmp_path, damage):
    path = tmp_path / "broken.parquet"
    pq.write_table(
        pa.table({"x": list(range(100_000))}), path, compression="snappy", write_page_checksum=True
    )
    good = path.read_bytes()
    # Damage inside a page is only found when the page is read.
    middle = len(good) // 3
    path.write_bytes(
        {
            "text": b"a,b\n1,2\n",
            "empty": b"",
            "cut": good[: len(good) // 2],
            "middle": good[:middle]
            + bytes(byte ^ 0xFF for byte in good[middle : middle + 4096])
            + good[middle + 4096 :],
        }[damage]
    )
    with pytest.raises(InputError, match="cannot be read as Parquet") as error:
        read_column(path, "x")
    assert error.value.found


def test_an_empty_column_is_an_empty_array(tmp_path):
    pq.write_table(pa.table({"x": pa.array([], pa.int64())}), tmp_path / "none.parquet")
    assert read_column(tmp_path / "none.parquet", "x").equals(pa.array([], pa.int64()))


def test_a_name_that_several_columns_have_is_refused(tmp_path):
    columns = [pa.array([1]), pa.array([2]), pa.array([3])]
    pq.write_table(pa.table(columns, names=["x", "y", "x"]), tmp_path / "twice.parquet")
    with pytest.raises(InputError, match=r"'x' of .* is there 2 times") as error:
        read_column(tmp_path / "twice.parquet", "x")
    assert error.value.found == "columns: x, y, x"
    assert read_column(tmp_path / "twice.parquet", "y").to_pylist() == [2]
