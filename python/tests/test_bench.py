# SPDX-License-Identifier: Apache-2.0
"""The suites of the papers still run: every row of the quick selection, in miniature and on the cards of other tests."""

from __future__ import annotations

import json
import math
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import godwit
from godwit import toolchain
from godwit.report import rows_json

CONFIG = "default"
TRAFFIC = ('card.kernels=["traffic"]',)
HASHJOIN = ('card.kernels=["hashjoin"]',)


@pytest.fixture
def loads(monkeypatch):
    """bench.loads, with one card in place of all."""
    monkeypatch.syspath_prepend(toolchain.root())
    from bench import loads

    @contextmanager
    def traffic_card(name, overrides=(), *, memory=None, progress=None):
        with godwit.open(f"sim:{CONFIG}", overrides=TRAFFIC, memory=memory) as card:
            yield card

    monkeypatch.setattr(loads, "traffic_card", traffic_card)
    return loads


def check(suite, rows, path):
    """Every row is there once and has a number, unless it says that it is not built; the plot is a PNG."""
    names = [(row["row"], row["config"]) for row in json.loads(rows_json(rows))]
    assert len(set(names)) == len(names)
    for row in rows:
        assert (row.value is None) == ("not built" in row.row), row
        assert row.value is None or math.isfinite(row.value), row
    suite.plot(rows, path)
    assert path.read_bytes()[:4] == b"\x89PNG"


def silent(what, done, total):
    assert 0 <= done <= total


def test_paper_w_in_miniature(loads, tmp_path, monkeypatch):
    from bench.suites import papers_w

    monkeypatch.setattr(papers_w, "BURSTS", (1, 32))
    amount = papers_w.Amount(128 << 20, beats=200, bursts=30, linear_bytes=256 << 10, linear_bursts=(16,))
    rows = papers_w.run(silent, quick=True, amount=amount)
    assert sum(row.row.startswith("linear") for row in rows) == 2 * 3
    assert sum("over the best of fewer" in row.row for row in rows) == len(papers_w.BURSTS)
    check(papers_w, rows, tmp_path / "w.png")


def test_paper_s_in_miniature(loads, tmp_path, monkeypatch, seed):
    from bench.suites import papers_s

    def tables(directory, rows):
        keys = np.random.default_rng(seed).integers(0, rows, (2, rows))
        paths = directory / "build.parquet", directory / "probe.parquet"
        for path, side in zip(paths, keys, strict=True):
            pq.write_table(pa.table({"flight_key": side}), path)
        return paths

    monkeypatch.setattr(papers_s, "CONFIG", CONFIG)
    monkeypatch.setattr(papers_s.Design, "overrides", lambda self, size: HASHJOIN)
    monkeypatch.setattr(papers_s.kept, "step", lambda card, asked, make: json.loads(json.dumps(make())))
    monkeypatch.setattr(papers_s, "tables", tables)
    amount = papers_s.Amount(200, largest=32 << 10, strides=(32 << 10,), stride_accesses=100, join_rows=300)
    rows = papers_s.run(silent, quick=True, amount=amount)
    reach = [row for row in rows if row.row.startswith("reach")]
    assert len(reach) == 2 * 2 * 2
    assert {row.value for row in reach} == {32}
    assert [row.value for row in rows if row.row == "L2 hit, 64K pages less 4K pages"] == [0, 0]
    check(papers_s, rows, tmp_path / "s.png")


def test_a_step_is_made_once_for_a_card_and_a_question(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(toolchain.root())
    monkeypatch.setenv("GODWIT_CACHE", str(tmp_path))
    from bench import kept

    made = []

    def make(result):
        made.append(result)
        return result

    def fail():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kept.step("card", "question", fail)
    assert not list(tmp_path.rglob("*.json"))
    for _ in range(2):
        assert kept.step("card", "question", lambda: make([1, {"misses": 2.5}])) == [1, {"misses": 2.5}]
        assert kept.step("card", "other", lambda: make(2)) == 2
        assert kept.step("other", "question", lambda: make(3)) == 3
    assert made == [[1, {"misses": 2.5}], 2, 3]
    monkeypatch.setattr(kept, "DRIVEN_BY", (*kept.DRIVEN_BY, "README.md"))
    assert kept.step("card", "question", lambda: make(4)) == 4
