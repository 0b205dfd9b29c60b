# SPDX-License-Identifier: Apache-2.0
"""What makes a bench that has passed run again: any file that it read, its options, its seed; and what is never remembered."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import remembered

READS = Path(remembered.__file__).parent


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("GODWIT_CACHE", str(tmp_path / "cache"))
    for name in ("GODWIT_FORCE", "GODWIT_WAVES"):
        monkeypatch.delenv(name, raising=False)


def reads(tmp_path: Path, program: str) -> Path:
    """What a Python program reads after it has imported reads.py."""
    log = tmp_path / "reads"
    env = {**os.environ, "GODWIT_READS": str(log), "PYTHONPATH": f"{READS}:{tmp_path}"}
    subprocess.run([sys.executable, "-c", f"import reads\n{program}"], env=env, check=True)
    return log


def test_a_run_is_another_when_a_file_that_was_read_is(tmp_path):
    (tmp_path / "bench.py").write_text("import helper\n")
    (tmp_path / "helper.py").write_text("SIZE = 1\n")
    (tmp_path / "table.toml").write_text("a = 1\n")
    verilog = tmp_path / "top.sv"
    verilog.write_text("module top; endmodule\n")
    said = "import bench\nopen(bench.__file__.replace('bench.py', 'table.toml')).read()\n"
    wrote = f"open({str(tmp_path / 'out')!r}, 'w').write('x')"
    record = remembered.place("top", "options", ["bench", None], {"GODWIT_SEED": "1"})
    assert not remembered.passed(record)
    work = tmp_path / "work"
    files = {str(verilog): remembered.digest(verilog)}
    remembered.remember(record, files, reads(tmp_path, said + wrote), work)
    assert remembered.passed(record)
    assert {Path(name).name for name in json.loads(record.read_text())} == {
        "bench.py",
        "helper.py",
        "reads.py",
        "table.toml",
        "top.sv",
    }
    for name in ("helper.py", "table.toml", "top.sv"):
        was = (tmp_path / name).read_text()
        (tmp_path / name).write_text(was + "\n")
        assert not remembered.passed(record), name
        (tmp_path / name).write_text(was)
        assert remembered.passed(record)
    # Compiled by now: what it was compiled from is what counts.
    remembered.remember(record, files, reads(tmp_path, said), work)
    assert str(tmp_path / "helper.py") in json.loads(record.read_text())
    (tmp_path / "helper.py").unlink()
    assert not remembered.passed(record)


def test_options_seed_and_environment_are_each_another_run():
    def place(options="o", test="t", **env):
        return remembered.place("top", options, test, {**os.environ, **env})

    same = place(GODWIT_SEED="1")
    assert same == place(GODWIT_SEED="1", PYTHONPATH="/elsewhere", GODWIT_CACHE="/elsewhere")
    others = [
        place(GODWIT_SEED="2"),
        place(GODWIT_SEED="1", BENCH_DEPTH="4"),
        place(GODWIT_SEED="1", WIDTH="8"),
    ]
    others += [place(options="p", GODWIT_SEED="1"), place(test="u", GODWIT_SEED="1")]
    assert len({same, *others}) == 6


def test_fresh_seeds_waves_and_force_run_always(monkeypatch):
    monkeypatch.delenv("GODWIT_SEED", raising=False)
    assert not remembered.wanted()
    monkeypatch.setenv("GODWIT_SEED", "1")
    assert remembered.wanted()
    for name in ("GODWIT_FORCE", "GODWIT_WAVES"):
        monkeypatch.setenv(name, "1")
        assert not remembered.wanted()
        monkeypatch.delenv(name)


def test_who_starts_a_program_is_not_remembered(tmp_path):
    record = remembered.place("top", "options", ["bench", None], {"GODWIT_SEED": "1"})
    remembered.remember(
        record, {}, reads(tmp_path, "import subprocess\nsubprocess.run(['true'])"), tmp_path / "work"
    )
    assert not record.exists()


def test_of_a_bench_the_latest_are_kept(tmp_path):
    log = reads(tmp_path, "")
    places = [
        remembered.place("top", "o", "t", {"GODWIT_SEED": str(seed)}) for seed in range(remembered.KEPT + 3)
    ]
    for number, record in enumerate(places):
        remembered.remember(record, {}, log, tmp_path / "work")
        os.utime(record, (number, number))
    assert sum(record.exists() for record in places) == remembered.KEPT
    assert places[-1].exists() and not places[0].exists()
