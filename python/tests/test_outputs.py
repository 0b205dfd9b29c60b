# SPDX-License-Identifier: Apache-2.0
"""Outputs appear together or not at all."""

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from godwit.errors import InputError
from godwit.outputs import OutputSet, check_png, placed

OLD, NEW = pa.table({"x": [0]}), pa.table({"x": [1, 2, 3]})


def contents(directory: Path) -> dict[str, int]:
    """Rows by file; hidden files too."""
    return {path.name: pq.read_metadata(path).num_rows for path in directory.iterdir()}


def test_committed_files_replace_old_ones_and_leave_nothing_else(tmp_path):
    pq.write_table(OLD, tmp_path / "a.parquet")
    with OutputSet(tmp_path) as files:
        assert files.write("a.parquet", NEW) == tmp_path / "a.parquet"
        files.write("b.parquet", NEW)
        assert contents_without_staging(tmp_path) == {"a.parquet": 1}
        files.commit()
    assert contents(tmp_path) == {"a.parquet": 3, "b.parquet": 3}


def contents_without_staging(directory: Path) -> dict[str, int]:
    return {path.name: pq.read_metadata(path).num_rows for path in directory.iterdir() if path.is_file()}


@pytest.mark.parametrize("failure", [RuntimeError, KeyboardInterrupt])
def test_a_failure_before_the_commit_changes_nothing(tmp_path, failure):
    pq.write_table(OLD, tmp_path / "a.parquet")
    with pytest.raises(failure), OutputSet(tmp_path) as files:
        files.write("a.parquet", NEW)
        files.write("b.parquet", NEW)
        raise failure
    assert contents(tmp_path) == {"a.parquet": 1}


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("step", range(2))
def test_a_failure_in_the_middle_of_the_commit_undoes_it(tmp_path, monkeypatch, step, links):
    pq.write_table(OLD, tmp_path / "a.parquet")
    replace, moves = os.replace, []

    def failing(source, target):
        if Path(target).parent == tmp_path and Path(source).suffix == ".parquet":
            moves.append(target)
            if len(moves) == step + 1:
                raise OSError(28, "No space left on device")
        replace(source, target)

    def no_links(source, target):
        raise OSError(95, "Operation not supported")

    with pytest.raises(InputError, match="cannot write") as error, OutputSet(tmp_path) as files:
        files.write("a.parquet", NEW)
        files.write("b.parquet", NEW)
        monkeypatch.setattr(os, "replace", failing)
        if not links:
            monkeypatch.setattr(os, "link", no_links)
        files.commit()
    assert "No space" in error.value.found
    assert len(moves) == step + 1
    assert contents(tmp_path) == {"a.parquet": 1}


def test_directories_are_made_and_removed_again_on_failure(tmp_path):
    deep = tmp_path / "x" / "y"
    with pytest.raises(RuntimeError), OutputSet(deep) as files:
        files.write("a.parquet", NEW)
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []
    with OutputSet(deep) as files:
        files.write("a.parquet", NEW)
        files.commit()
    assert contents(deep) == {"a.parquet": 3}


def test_a_place_that_cannot_be_written_is_refused_on_entry(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(InputError, match="cannot write to the output directory"), OutputSet(file / "deeper"):
        pass
    with (
        pytest.raises(InputError, match="cannot write to the output directory"),
        OutputSet(Path("/proc/godwit")),
    ):
        pass
    assert file.read_text() == ""


def test_a_directory_in_the_way_is_refused_and_kept(tmp_path):
    (tmp_path / "b.parquet").mkdir()
    with pytest.raises(InputError, match=r"b\.parquet"), OutputSet(tmp_path) as files:
        files.write("a.parquet", NEW)
        files.write("b.parquet", NEW)
        files.commit()
    assert [path.name for path in tmp_path.iterdir()] == ["b.parquet"]


def test_what_is_placed_takes_its_place_at_the_end(tmp_path):
    target = tmp_path / "new" / "plot.png"
    with placed(target) as place:
        place.write_text("whole")
        place.with_name("beside.png").write_text("too")
        assert not target.exists()
    assert sorted(path.name for path in target.parent.iterdir()) == ["beside.png", "plot.png"]
    with pytest.raises(OSError, match="full"), placed(target) as place:
        place.write_text("ha")
        raise OSError("full")
    assert target.read_text() == "whole"
    assert sorted(path.name for path in target.parent.iterdir()) == ["beside.png", "plot.png"]


def test_what_is_no_file_is_written_as_it_is():
    with placed(Path("/dev/null")) as place:
        assert place == Path("/dev/null")


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("a.svg", "it is no .png"),
        ("nowhere/a.png", "there is no such directory"),
        ("there.png", "a directory of that name"),
        ("/proc/a.png", "No such file or directory"),
    ],
)
def test_a_picture_that_cannot_be_written_is_refused_before_anything_runs(tmp_path, name, found):
    (tmp_path / "there.png").mkdir()
    with pytest.raises(InputError) as refused:
        check_png(tmp_path / name)
    assert refused.value.found == found
    check_png(tmp_path / "a.png")
    assert [path.name for path in tmp_path.iterdir()] == ["there.png"]
