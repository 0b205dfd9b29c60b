# SPDX-License-Identifier: Apache-2.0
"""`godwit run split-chain`: D is what Python makes of the table, and A's memory is used again."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

CONFIG = Path(__file__).resolve().parents[2] / "crates/godwit/tests/heap.toml"
KERNELS = 'card.kernels=["split_rows","split_text"]'  # the card of test_split_rows.py, too


def chain(call, path, *more, column="x", where="> 1", then_where="> 2"):
    return call(
        "run", "split-chain", "--input", path, "--column", column, "--where", where, "--then-where", then_where,
        "--output-dir", path.parent / "out", "--config", CONFIG, "--set", KERNELS, "--json", *more,
    )  # fmt: skip


@pytest.mark.parametrize("then", ["x", "y"])
@pytest.mark.parametrize("rows", [0, 1, 20_000])
def test_d_has_the_rows_of_b_and_then_of_c_in_the_memory_of_a(call, tmp_path, seed, rows, then):
    rng = np.random.default_rng(seed)
    columns = {}
    for name, kind in (("x", pa.int64()), ("y", pa.float32())):
        values = rng.integers(-4, 5, rows).astype(object)
        values[rng.random(rows) < 0.2] = None
        columns[name] = pa.array(values.tolist(), kind)
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table(columns), path, row_group_size=997)
    where, then_where = "> 1", "< 3"
    plot = tmp_path / "memory.png"
    done = chain(call, path, "--then-column", then, "--plot", plot, where=where, then_where=then_where)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    pairs = list(zip(columns["x"].to_pylist(), columns[then].to_pylist(), strict=True))
    b = [value for x, value in pairs if x is not None and x > 1]
    c = [value for x, value in pairs if not (x is not None and x > 1)]
    wanted = [value for value in b + c if value is not None and value < 3]
    assert pq.read_table(tmp_path / "out" / "then.parquet")[then].to_pylist() == wanted
    figures = report["figures"]
    steps = {step["what"]: step["bytes"] for step in report["steps"]}
    if rows > 1:
        # D is made where A was: without that it were three of A.
        assert figures["peak_ratio"]["value"] < 2.6 < 3.0 < figures["mapped_ratio"]["value"]
        assert steps["A is freed"] < steps["B and C are made of A"] - figures["a_bytes"]["value"]
        assert sum(point["what"] == "touch" for point in report["memory_over_time"]) > 20
    assert figures["peak_bytes"]["value"] == max(steps.values())
    assert plot.stat().st_size > 1000


def test_a_plot_that_cannot_be_written_leaves_nothing_behind(call, tmp_path, monkeypatch):
    from godwit.run import memory_plot

    def fails(path, *_, **__):
        path.write_bytes(b"half of it")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(memory_plot, "draw", fails)
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"x": pa.array([1, 2, 3], pa.int64())}), path)
    done = chain(call, path, "--plot", tmp_path / "memory.png")
    assert done.returncode == 1 and "No space left on device" in done.stderr
    assert [each.name for each in tmp_path.iterdir()] == ["in.parquet"]


def test_people_are_told_where_plot_and_table_are(call, tmp_path):
    path, plot = tmp_path / "in.parquet", tmp_path / "memory.png"
    pq.write_table(pa.table({"x": pa.array([1, 2, 3], pa.int64())}), path)
    done = call(
        "run", "split-chain", "--input", path, "--column", "x", "--where", "> 1", "--then-where", "> 2",
        "--output-dir", tmp_path, "--config", CONFIG, "--set", KERNELS, "--plot", plot,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(f"then: {tmp_path / 'then.parquet'}\nplot: {plot}\n")


def test_what_cannot_be_chained_is_refused_before_anything_runs(call, tmp_path):
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"x": pa.array([1] * 700_000, pa.int64()), "s": ["a"] * 700_000}), path)
    for more, options, words in (
        ((), {"column": "z"}, "no column 'z'"),
        ((), {"then_where": "> 1.5"}, "--then-where '> 1.5' needs a whole number"),
        ((), {"then_where": "x"}, "--then-where 'x' is not a predicate"),
        (("--plot", "/proc/a.png"), {}, "cannot write '/proc/a.png'"),
        (("--then-column", "s"), {}, "holds string"),
        (("--granule", "8K"), {}, "no granule '8K'"),
        (("--plot", tmp_path / "a.svg"), {}, "it is no .png"),
        ((), {}, "--set heap.memory_bytes="),
        (("--set", "heap.slots=0"), {}, "a card without a heap"),
    ):
        done = chain(call, path, *more, **options)
        assert done.returncode == 1 and words in done.stderr, (more, options, done.stderr)
        assert not (tmp_path / "out").exists()
