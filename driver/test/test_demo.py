# SPDX-License-Identifier: Apache-2.0
"""A program of the runtime on /dev/godwit0: the example that runs on a card of its own process, unchanged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from godwit import cards
from godwit.errors import CheckError, InputError
from godwit.vm import demo, kernel

ROWS = 20_000
PAGE = 4096


@pytest.mark.parametrize("kind", ["stock", "backports"])
def test_a_program_with_plain_pointers_runs_behind_the_driver(
    kernel_named: Callable[[str], kernel.Kernel], kind: str
) -> None:
    values = np.random.default_rng(18).normal(10, 30, ROWS)
    values[::7] = np.nan
    above = values[values > 15]
    shown = demo.run(kernel_named(kind), values)
    assert shown.lines == [
        f"split: {len(above)} of {ROWS} rows are greater than 15, right",
        f"array_sum: {above.astype(np.int64).sum()}, right",
    ]
    assert shown.code == 0
    config = cards.find(cards.ensure("default").name).description()["config"]
    report = {figure.name: figure.value for figure in shown.figures(config)}
    # A burst has a page at most.
    assert report["l1_hits"] + report["l1_misses"] >= values.nbytes // PAGE
    # Who asks for a page has walked in vain before.
    assert report["walks"] >= report["page_requests"] > 0 and report["page_table_reads"] > 0
    assert report["walk_latency_max"] >= report["walk_latency_mean"] > 0
    count = shown.counters
    assert (count["launches"], count["faults"]) == (2, 0)
    # Values, both lists of rows, and what is summed.
    pages = (values.nbytes + 4 * ROWS + 8 * len(above)) // PAGE
    assert count["pages_shown"] >= pages and count["pages_hidden"] >= pages
    whole = values.nbytes // PAGE - 1
    if kind == "backports":
        assert count["pages_out"] >= pages
        # What moves ahead of the card may do so after the program's memory came home, and is freed where it is then.
        assert 7 / 8 * count["pages_out"] <= count["pages_home"] <= count["pages_out"]
        # The program reads the column in its order: a touch brings a group of 16 pages of it.
        assert 0 < count["touches"] <= count["pages_home"] // 4
        # What moved by the program's own call is not asked for, and of the rest most comes with what is.
        assert 0 < count["page_requests"] < pages - whole
    else:
        assert (count["pages_out"], count["pages_home"]) == (0, 0)
        assert count["page_requests"] >= pages
    assert count["pool_used"] == 0
    # The driver looks for a heap and a page DMA, which this card has not.
    assert (shown.served["errors"], shown.served["bus_errors"]) == (0, 2)


def test_what_the_driver_counted_stands_after_the_programs_lines() -> None:
    said = ["split: right", "godwit-counters", "calls 7", "launches 2", "godwit-guest-end 0", "[ 1.0] reboot"]
    assert demo.split_lines(said) == (["split: right"], {"calls": 7, "launches": 2})
    with pytest.raises(CheckError, match="what its driver counted:\nsplit: right"):
        demo.split_lines(said[:1])


def test_a_column_is_doubles_and_has_rows(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = {"a": [1.5, None, 3.0], "b": [1, 2, 3]}
    pq.write_table(pa.table(table), tmp_path / "t.parquet")
    np.testing.assert_array_equal(demo.column(tmp_path / "t.parquet", "a"), [1.5, np.nan, 3.0])
    with pytest.raises(InputError, match="column 'b'"):
        demo.column(tmp_path / "t.parquet", "b")
    pq.write_table(pa.table({"a": pa.array([], "float64")}), tmp_path / "none.parquet")
    with pytest.raises(InputError, match="no rows"):
        demo.column(tmp_path / "none.parquet", "a")
