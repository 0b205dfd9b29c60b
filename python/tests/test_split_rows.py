# SPDX-License-Identifier: Apache-2.0
"""`godwit run split --rows`: the column's rows in two files, values and nulls, on mapped outputs and on the heap."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

CONFIG = Path(__file__).resolve().parents[2] / "crates/godwit/tests/heap.toml"
KERNELS = 'card.kernels=["split_rows","split_text"]'  # one card for all tests


def split(call, path, *more, column="x", where="> 1"):
    return call(
        "run", "split", "--rows", "--input", path, "--column", column, "--where", where, "--output-dir",
        path.parent / "out", "--config", CONFIG, "--set", KERNELS, "--json", *more,
    )  # fmt: skip


def written(path):
    """Both files' columns, as bits where they are not null: NaN is what it was."""
    columns = []
    for name in ("matches", "rest"):
        table = pq.read_table(path.parent / "out" / f"{name}.parquet")
        assert table.column_names == ["x"]
        columns.append([repr(value) for value in table["x"].to_pylist()])
    return columns


@pytest.mark.parametrize("outputs", ["heap", "mapped"])
@pytest.mark.parametrize("data_type", [pa.int32(), pa.int64(), pa.float32(), pa.float64()], ids=str)
def test_both_files_hold_exactly_the_rows_that_python_puts_there(call, tmp_path, seed, data_type, outputs):
    rng = np.random.default_rng(seed)
    for nullable in (True, False):
        values = rng.integers(-4, 5, 900).astype(object)
        if pa.types.is_floating(data_type):
            values[rng.random(900) < 0.1] = math.nan
        if nullable:
            values[rng.random(900) < 0.2] = None
        array = pa.array(values.tolist(), data_type)
        path = tmp_path / "in.parquet"
        pq.write_table(pa.table({"name": ["é"] * 900, "x": array}), path, row_group_size=97)
        done = split(call, path, "--outputs", outputs)
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        sides = [], []
        for value in array.to_pylist():
            sides[not (value is not None and value > 1)].append(repr(value))
        assert written(path) == list(sides)
        assert (report["matches"], report["rest"], report["nulls"]) == (*map(len, sides), array.null_count)
        assert report["outputs_on"] == outputs
        assert ("heap_cycles" in report["figures"]) == (outputs == "heap")


@pytest.mark.parametrize("rows", [[], [None, None], [5], [0, None]], ids=str)
def test_an_empty_side_and_an_empty_table_are_empty_files(call, tmp_path, rows):
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"x": pa.array(rows, pa.int64())}), path)
    done = split(call, path)
    assert done.returncode == 0, done.stderr
    matches = [repr(row) for row in rows if row is not None and row > 1]
    assert written(path) == [matches, [repr(row) for row in rows if repr(row) not in matches]]
    for name in ("matches", "rest"):
        assert pq.read_table(tmp_path / "out" / f"{name}.parquet").schema == pq.read_table(path).schema


@pytest.mark.parametrize("nullable", [False, True], ids=["", "with-nulls"])
@pytest.mark.parametrize("rows", [0, 1, 900])
def test_a_text_column_is_split_beside_it(call, tmp_path, seed, rows, nullable):
    rng = np.random.default_rng(seed)
    numbers = rng.integers(-4, 5, rows).astype(object)
    numbers[rng.random(rows) < 0.2] = None
    pool = "aé€𝄞" * 100
    names = [pool[: int(rng.integers(0, rng.choice([3, 200])))] for _ in range(rows)]
    if nullable:
        names = [name if rng.random() < 0.7 else None for name in names[:-1]] + [None][:rows]
    path = tmp_path / "in.parquet"
    table = pa.table({"name": pa.array(names, pa.string()), "x": pa.array(numbers.tolist(), pa.int64())})
    pq.write_table(table, path, row_group_size=97)
    for outputs in ("heap", "mapped"):
        done = split(call, path, "--text", "name", "--outputs", outputs)
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        mask = pc.fill_null(pc.greater(table["x"], 1), False)
        for name, wanted in (("matches", mask), ("rest", pc.invert(mask))):
            found = pq.read_table(tmp_path / "out" / f"{name}.parquet")
            assert found.equals(table.select(["x", "name"]).filter(wanted))
        text_bytes = sum(len(name.encode()) for name in names if name is not None)
        assert report["figures"]["text_cycles"]["value"] > 0
        if outputs == "heap":
            # S_B + S_C: the bytes of A once; an offset more, since there are two columns, and bits of rows to whole bytes.
            asked = report["figures"]["text_outputs_asked"]["value"]
            bits = [(side + 7) // 8 for side in (report["matches"], report["rest"])] if None in names else []
            assert asked == text_bytes + 4 * (rows + 2) + sum(bits)


def test_text_that_cannot_be_split_is_refused_before_anything_runs(call, tmp_path):
    path = tmp_path / "in.parquet"
    table = pa.table(
        {"x": [1, 2], "n": ["a", None], "d": pa.array(["a", "b"]).dictionary_encode(), "t": ["a", "b"]}
    )
    pq.write_table(table, path)
    for more, words in (
        (("--text", "x"), "holds int64"),
        (("--text", "y"), "no column 'y'"),
        (("--text", "n", "--set", "axi.id_width=2"), "has 1 nulls"),
        (("--text", "d"), "holds dictionary"),
        (("--text", "t", "--memory", "copy"), "--text does not go with --memory copy"),
    ):
        done = split(call, path, *more)
        assert done.returncode == 1 and words in done.stderr, done.stderr
        assert not (tmp_path / "out").exists()
    for option, named in ((("--text", "t"), "--text"), (("--outputs", "malloc"), "--outputs malloc")):
        done = call(
            "run", "split", "--input", path, "--column", "x", "--where", "> 1", *option, "--row-numbers"
        )
        words = f"{named} does not go with --row-numbers"
        assert done.returncode == 1 and words in done.stderr, done.stderr


def test_what_cannot_be_split_is_refused_before_anything_runs(call, tmp_path):
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"x": [1, 2], "s": ["a", "b"], "b": [True, False]}), path)
    for column, where, words in (
        ("y", "> 1", "no column 'y'"),
        ("s", "> 1", "holds string"),
        ("b", "> 1", "holds bool"),
        ("x", "> 1.5", "needs a whole number"),
        ("x", "above 1", "is not a predicate"),
    ):
        done = split(call, path, column=column, where=where)
        assert done.returncode == 1 and words in done.stderr, done.stderr
        assert not (tmp_path / "out").exists()
