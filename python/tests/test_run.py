# SPDX-License-Identifier: Apache-2.0
"""`godwit run` on the real card `sim:default`: right results, honest reports, nothing left behind by
failures.
"""

from __future__ import annotations

import json
import math
import operator
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from godwit import api
from godwit.errors import CheckError, TooLarge
from godwit.run import memcopy
from godwit.run.workload import Setup

pytestmark = pytest.mark.usefixtures("library")

COMPARE = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}


def split(call, path: Path, column: str, where: str, out: Path, *more: str) -> dict:
    """The JSON report of a split that has to succeed."""
    done = call(
        "run",
        "split",
        "--input",
        path,
        "--column",
        column,
        "--where",
        where,
        "--output-dir",
        out,
        "--outputs",
        "mapped",
        "--json",
        *more,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("data_type", [pa.int32(), pa.int64(), pa.float32(), pa.float64()], ids=str)
@pytest.mark.parametrize("sign", COMPARE)
def test_both_tables_hold_exactly_the_rows_that_python_puts_there(call, tmp_path, seed, data_type, sign):
    rng = np.random.default_rng(seed)
    values = rng.integers(-4, 5, 700).astype(object)
    values[rng.random(700) < 0.2] = None
    if pa.types.is_floating(data_type):
        values[rng.random(700) < 0.1] = math.nan
    table = pa.table({"row": range(700), "x": pa.array(values.tolist(), data_type), "name": ["é"] * 700})
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=97)
    report = split(call, tmp_path / "in.parquet", "x", f"{sign} 1", tmp_path / "out")
    wanted = [
        row
        for row, value in enumerate(table["x"].to_pylist())
        if value is not None and COMPARE[sign](value, 1)
    ]
    matches, rest = (pq.read_table(tmp_path / "out" / f"{name}.parquet") for name in ("matches", "rest"))
    assert matches["row"].to_pylist() == wanted
    assert rest["row"].to_pylist() == sorted(set(range(700)) - set(wanted))
    assert matches.schema == rest.schema == table.schema
    assert (report["rows"], report["matches"], report["rest"]) == (700, len(wanted), 700 - len(wanted))
    assert report["nulls"] == table["x"].null_count


@pytest.mark.parametrize(("where", "matches"), [("> 1e9", 0), ("< 1e9", 5000)])
def test_an_empty_side_is_an_empty_table_with_the_same_schema(call, tmp_path, where, matches):
    table = pa.table({"x": pa.array(range(5000), pa.float64())})
    pq.write_table(table, tmp_path / "in.parquet")
    report = split(call, tmp_path / "in.parquet", "x", where, tmp_path)
    assert report["matches"] == matches
    assert pq.read_table(tmp_path / "matches.parquet").num_rows == matches
    assert pq.read_table(tmp_path / "rest.parquet").schema == table.schema


def test_an_empty_table_gives_two_empty_tables(call, tmp_path):
    path = tmp_path / "none.parquet"
    pq.write_table(pa.table({"x": pa.array([], pa.int64()), "s": pa.array([], pa.string())}), path)
    done = call(
        "run", "split", "--input", path, "--column", "x", "--where", "> 1", "--output-dir", tmp_path / "out",
        "--outputs", "mapped"
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for name in ("matches", "rest"):
        assert pq.read_table(tmp_path / "out" / f"{name}.parquet").equals(pq.read_table(path))
    assert call("run", "array-sum", "--input", path, "--column", "x").returncode == 0


def test_one_row_is_enough(call, tmp_path):
    pq.write_table(pa.table({"x": pa.array([7], pa.int32())}), tmp_path / "in.parquet")
    assert split(call, tmp_path / "in.parquet", "x", "== 7", tmp_path)["matches"] == 1


def test_the_report_has_every_figure_with_unit_and_kind(call, tmp_path):
    pq.write_table(pa.table({"x": pa.array(range(20_000), pa.int64())}), tmp_path / "in.parquet")
    # Without refresh, which falls where it falls and makes a tenth of so short a launch, one way or the other.
    options = "--page-size", "4K", "--set", "memory.t_refi_ns=0"
    report = split(call, tmp_path / "in.parquet", "x", "> 100", tmp_path, *options)
    figures = report["figures"]
    assert {figure["kind"] for figure in figures.values()} <= {"simulated", "modelled", "native", "quoted"}
    assert all(figure["unit"] for figure in figures.values())

    def value(name: str, which: str = "value") -> float:
        return figures[name][which]

    # The column in, an index a row out; the kernel may read whole beats and bursts.
    least = 20_000 * 8 + 20_000 * 4
    for which in ("value", "physical"):
        assert least <= value("moved_bytes", which) <= 1.1 * least
        assert value("bytes_per_cycle", which) == value("moved_bytes", which) / value("cycles", which)
        assert value("device_time", which) == pytest.approx(value("cycles", which) / 250e6)
    assert value("cycles") >= value("cycles", "physical") > 20_000 * 8 / 64
    pages = 40 + 20 + 1  # of the column and of both outputs
    assert value("walks") >= pages / 8  # one answers for as many as its line of entries shows to lie together
    assert value("walk_latency_max") >= value("walk_latency_mean") > 1
    assert value("l1_misses") >= pages / 8
    assert value("l1_hits") + value("l1_misses") >= least / 4096  # a burst is at most a page
    # Three levels above the leaves and one leaf table at least.
    assert value("page_table_bytes") >= 4 * 4096
    assert value("page_table_bytes") % 4096 == 0
    assert value("link_time") > (20_000 * 8 + 20_000 * 4) / 16e9
    assert report["card"]["config"] == "default"
    assert report["passed"] is True


def test_simulated_figures_repeat_exactly(call, tmp_path):
    pq.write_table(pa.table({"x": pa.array(range(3000), pa.int32())}), tmp_path / "in.parquet")
    first, second = (
        {
            name: figure
            for name, figure in split(call, tmp_path / "in.parquet", "x", "> 9", tmp_path)["figures"].items()
            if figure["kind"] != "native"
        }
        for _ in range(2)
    )
    assert first == second


def test_the_plain_report_shows_both_runs(call, tmp_path):
    done = call("run", "memcopy", "--bytes", "64K")
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout
    cycles = next(line for line in done.stdout.splitlines() if line.startswith("cycles"))
    translated, physical, ratio, kind = cycles.split()[1:]
    assert float(ratio) == pytest.approx(
        int(translated.replace(",", "")) / int(physical.replace(",", "")), abs=1e-4
    )
    assert kind == "simulated"
    assert "checked" in done.stdout


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_array_sum_of_a_seed_repeats(call, dtype):
    reports = [
        json.loads(
            call("run", "array-sum", "--bytes", "20000", "--dtype", dtype, "--seed", seed, "--json").stdout
        )
        for seed in ("5", "5", "6")
    ]
    assert reports[0]["sum"] == reports[1]["sum"] != reports[2]["sum"]
    assert reports[0]["rows"] == 20_000 // (4 if dtype == "int32" else 8)


def test_array_sum_of_a_column_leaves_nulls_out(call, tmp_path):
    pq.write_table(
        pa.table({"x": pa.array([-5, None, 2**62, 2**62, 1], pa.int64())}), tmp_path / "in.parquet"
    )
    done = call("run", "array-sum", "--input", tmp_path / "in.parquet", "--column", "x", "--json")
    # Modulo 2**64, as a signed number.
    assert json.loads(done.stdout)["sum"] == (-5 + 2**63 + 1 + 2**63) % 2**64 - 2**63
    done = call("run", "array-sum", "--input", tmp_path / "in.parquet", "--column", "y", "--json")
    assert done.returncode == 1


@pytest.mark.parametrize(("size", "iterations"), [("1", 1), ("4097", 3), ("300K", 2)])
def test_memcopy_moves_what_it_says(call, size, iterations):
    done = call("run", "memcopy", "--bytes", size, "--iterations", str(iterations), "--json")
    report = json.loads(done.stdout)
    moved = report["figures"]["moved_bytes"]["value"]
    assert moved >= 2 * report["copy_bytes"] * iterations
    assert moved <= 2 * (report["copy_bytes"] + 128) * iterations


@pytest.mark.parametrize("page_size", ["4K", "64K", "2M"])
def test_larger_pages_need_fewer_walks(call, page_size):
    done = call("run", "memcopy", "--bytes", "512K", "--page-size", page_size, "--json")
    figures = json.loads(done.stdout)["figures"]
    pages = {"4K": 256, "64K": 16, "2M": 2}[page_size]
    # Accesses that miss while a page's walk is under way ask for walks of their own.
    # And a walk may answer for eight 4 KiB pages.
    least = pages / 8 if page_size == "4K" else pages
    assert least <= figures["walks"]["value"] <= max(1.2 * pages, 160)
    assert figures["l1_hits"]["value"] + figures["l1_misses"]["value"] >= 256
    assert figures["l1_hits"]["value"] > 0 or page_size == "4K"


def test_more_than_device_memory_is_one_clear_error(call):
    done = call("run", "memcopy", "--bytes", "3G", "--json")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: the run needs 6 GiB of device memory")
    assert "--set card.memory_bytes=" in done.stderr


def test_the_suggested_memory_suffices(monkeypatch):
    """The number in the error is one with which the same run fits."""
    with pytest.raises(TooLarge) as error:
        memcopy.run(Setup(), size_bytes=3 << 30)
    from godwit.units import parse_size

    assert parse_size(error.value.hint.rsplit("=", 1)[1]) > (6 << 30) * 1.05


def tampered(monkeypatch: pytest.MonkeyPatch, mode: str, change) -> None:
    """Lets `change(args, result)` spoil every launch in `mode`."""
    launch = api.Card.launch

    def spoil(self, kernel, **options):
        result = launch(self, kernel, **options)
        if options["mode"] == mode:
            change(options, result)
        return result

    monkeypatch.setattr(api.Card, "launch", spoil)


def lose_a_match(args, result):
    result.results["match_count"] -= 1


def swap_two_matches(args, result):
    view = args["matches"].to_numpy()
    view[[10, 11]] = view[[11, 10]]


def change_the_rest(args, result):
    args["rest"].to_numpy()[0] += 1


def report_a_read_error(args, result):
    result.results["status"] = 1


def be_cancelled(args, result):
    raise KeyboardInterrupt


@pytest.mark.parametrize("mode", ["translate", "bare"])
@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lose_a_match, 1),
        (swap_two_matches, 1),
        (change_the_rest, 1),
        (report_a_read_error, 1),
        (be_cancelled, 130),
    ],
)
def test_a_wrong_result_of_either_run_fails_and_keeps_old_outputs(
    call, tmp_path, monkeypatch, mode, change, code
):
    pq.write_table(pa.table({"x": pa.array(range(1000), pa.int64())}), tmp_path / "in.parquet")
    out = tmp_path / "out"
    out.mkdir()
    (out / "matches.parquet").write_text("kept")
    tampered(monkeypatch, mode, change)
    done = call(
        "run",
        "split",
        "--input",
        tmp_path / "in.parquet",
        "--column",
        "x",
        "--where",
        "> 500",
        "--outputs",
        "mapped",
        "--output-dir",
        out,
    )
    assert done.returncode == code
    assert done.stdout == ""
    assert ("error: " in done.stderr) == (code == 1)
    assert {path.name: path.read_text() for path in out.iterdir()} == {"matches.parquet": "kept"}


def test_a_wrong_copy_and_a_wrong_sum_are_found(monkeypatch):
    def wrong_byte(args, result):
        if "dst" in args:
            args["dst"].to_numpy()[4095] ^= 1

    tampered(monkeypatch, "bare", wrong_byte)
    with pytest.raises(CheckError, match="0xfff"):
        memcopy.run(Setup(), size_bytes=8192)


def test_a_kernel_that_writes_nothing_does_not_pass_on_the_other_runs_result(call, tmp_path, monkeypatch):
    pq.write_table(pa.table({"x": pa.array(range(1000), pa.int64())}), tmp_path / "in.parquet")
    launch = api.Card.launch

    def idle(self, kernel, **options):
        if options["mode"] == "translate":
            self.first = launch(self, kernel, **options)
        return self.first

    monkeypatch.setattr(api.Card, "launch", idle)
    where = (
        "--input",
        tmp_path / "in.parquet",
        "--column",
        "x",
        "--where",
        "> 5",
        "--output-dir",
        tmp_path / "out",
        "--outputs",
        "mapped",
    )
    done = call("run", "split", *where)
    assert done.returncode == 1
    assert "physical" in done.stderr


def test_ctrl_c_ends_a_run_with_130_and_leaves_nothing(tmp_path):
    pq.write_table(pa.table({"x": np.arange(8_000_000)}), tmp_path / "in.parquet")
    command = [sys.executable, "-m", "godwit", "run", "split", "--input", "in.parquet", "--column", "x"]
    with subprocess.Popen(
        [*command, "--where", "> 5", "--output-dir", "out", "--outputs", "mapped"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:  # until it says that the kernel is at work
            if "running split" in line:
                break
        cancelled = time.monotonic()
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert (stdout, stderr) == ("", "cancelled\n")
    assert time.monotonic() - cancelled < 30
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


def test_an_axi_trace_is_written(call, tmp_path):
    trace = tmp_path / "axi.csv"
    assert call("run", "memcopy", "--bytes", "4096", "--axi-trace", trace).returncode == 0
    lines = trace.read_text().splitlines()
    assert lines[0] == "cycle,port,channel,id,addr,len,resp"
    assert len(lines) > 4


def test_doctor_runs_a_kernel_on_the_card(call):
    report = json.loads(call("doctor", "--json").stdout)
    check = next(check for check in report["checks"] if check["name"] == "sim:default")
    assert check["status"] == "ok"
    assert "512 numbers summed" in check["found"]
    assert report["works"] is True


def test_card_info_shows_configuration_and_kernels(call):
    description = json.loads(call("card", "info", "default", "--json").stdout)
    assert description["config"]["card"]["clock_mhz"] == 250
    assert [kernel["name"] for kernel in description["kernels"]] == ["split", "array_sum", "memcopy"]
    text = call("card", "info", "default").stdout
    assert "array_sum(values: buffer, count: u64" in text


BROKEN = "module mine (input logic ap_clk);\n  assign nothing = ap_clk +;\nendmodule\n"
MANIFEST = 'name = "mine"\n[[args]]\nname = "values"\nkind = "buffer"\naccess = "r"\n'


@pytest.mark.parametrize(
    ("source", "manifest", "said"),
    [
        (BROKEN, MANIFEST, "mine.sv:2"),
        (BROKEN, None, "mine.toml"),
        (BROKEN, "name = 3", "name"),
        ("module mine (input logic ap_clk);\nendmodule\n", MANIFEST, "port"),
    ],
    ids=["syntax", "no manifest", "bad manifest", "missing ports"],
)
def test_a_kernel_that_cannot_be_built_is_one_clear_error(
    call, tmp_path, monkeypatch, source, manifest, said
):
    monkeypatch.setenv("GODWIT_CACHE", str(tmp_path / "cache"))
    (tmp_path / "mine.sv").write_text(source)
    if manifest:
        (tmp_path / "mine.toml").write_text(manifest)
    done = call("card", "build", "default", "--kernel", tmp_path / "mine.sv", "--json")
    assert (done.returncode, done.stdout) == (1, "")
    message = done.stderr[done.stderr.index("error: ") :]  # before it may stand that a build began
    assert message.count("error: ") == 1
    assert said in message
    assert "Traceback" not in done.stderr
    assert not list((tmp_path / "cache").glob("cards/*/"))
