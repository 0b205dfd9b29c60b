# SPDX-License-Identifier: Apache-2.0
"""`godwit run tlb-stress` and `godwit run hashjoin` on real cards: curves that the TLB's size explains, joins that
are pyarrow's, errors that say what is wrong.
"""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from godwit import api
from godwit.errors import CheckError, InputError
from godwit.run import hashjoin, tlb_stress
from godwit.run.traffic import Plan, chain
from godwit.run.workload import Setup


def stress(call, *more: str) -> dict:
    """The JSON report of a tlb-stress that has to succeed."""
    done = call("run", "tlb-stress", "--accesses", "600", "--json", *more)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_l1_ends_where_its_entries_do(call, seed):
    """Pages apart from each other, linear order: all hits up to 16 pages of 4 KiB, then hardly any."""
    options = ["--footprints", "4K:256K", "--pattern", "linear", "--frames", "scattered"]
    report = stress(call, *options, "--seed", str(seed))
    misses = {point["footprint_bytes"] >> 10: point["l1_misses"] for point in report["points"]}
    assert {size: count for size, count in misses.items() if size <= 64} == {4: 0, 8: 0, 16: 0, 32: 0, 64: 0}
    assert 300 < misses[128] <= misses[256] == 600


def test_larger_pages_reach_further(call, seed, tmp_path):
    """64 KiB pages: the same entries reach 16 times as far; the plot is a PNG."""
    plot = tmp_path / "stress.png"
    report = stress(
        call, "--footprints", "512K:2M", "--page-size", "64K", "--seed", str(seed), "--plot", str(plot)
    )
    reach = {(point["pattern"], point["footprint_bytes"] >> 20): point for point in report["points"]}
    assert reach["linear", 1]["l1_misses"] == reach["random", 1]["l1_misses"] == 0
    assert reach["linear", 2]["l1_misses"] >= 600 // 16  # one a page, and those behind it
    assert 0 < reach["random", 2]["l1_misses"] < 600
    assert all(point["walks"] == 0 for point in report["points"])  # the L2 reaches further still
    assert all(point["physical_cycles_per_access"] for point in report["points"])
    assert plot.read_bytes()[:4] == b"\x89PNG"


def test_neighbours_in_a_row_share_an_entry(call):
    """4 KiB pages whose frames lie in a row: an answer covers several of them, so that 64 pages fit into 16 entries.

    Also where the first address is another's, so that the buffer's is no multiple of anything by chance.
    """
    with api.open("sim:tiny") as card, card.context() as context:
        kept = []
        for number in range(2):
            report = stress(call, "--footprints", "256K", "--pattern", "linear")
            assert [point["l1_misses"] for point in report["points"]] == [0], number
            kept.append(context.empty(4096))
    report = stress(call, "--footprints", "256K", "--pattern", "linear", "--frames", "scattered")
    assert [point["l1_misses"] for point in report["points"]] == [600]
    assert [point["physical_cycles_per_access"] for point in report["points"]] == [None]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--footprints", "6K"], "powers of two"),
        (["--footprints", "64K:4K"], "4K:64K"),
        (["--pattern", "zigzag"], "linear, random"),
        (["--frames", "somewhere"], "contiguous, scattered"),
        (["--footprints", "256M", "--frames", "scattered"], "cannot be scattered"),
    ],
)
def test_bad_options_are_one_clear_error(call, arguments, said):
    done = call("run", "tlb-stress", *arguments, "--json")
    assert (done.returncode, done.stdout) == (1, "")
    assert said in done.stderr


def test_a_chain_visits_every_position():
    words = np.zeros(4096 // 8 * 50, np.uint64)
    chain(words, 50, 4096, 7)
    offsets, _ = Plan(50, 4096, 51, "chase").accesses(words)
    assert sorted(offsets[:50].tolist()) == list(range(0, 50 * 4096, 4096))
    assert offsets[50] == offsets[0] == 0


def tables(tmp_path, build: pa.Array, probe: pa.Array) -> list[str]:
    """Two Parquet files with these keys and a column of their own, as options."""
    for name, keys in (("build", build), ("probe", probe)):
        values = pa.array(range(len(keys)), pa.int32())
        pq.write_table(pa.table({"key": keys, "value": values}), tmp_path / f"{name}.parquet")
    return [
        "--build",
        str(tmp_path / "build.parquet"),
        "--probe",
        str(tmp_path / "probe.parquet"),
        "--on",
        "key",
    ]


@pytest.mark.parametrize("page_size", ["4K", "64K", "2M"])
@pytest.mark.parametrize("types", [("int32", "int32"), ("int64", "int64"), ("int32", "int64")], ids=str)
def test_joins_are_pyarrows(call, tmp_path, seed, page_size, types):
    """Keys that repeat, nulls on both sides, types that differ: the joined table has pyarrow's rows."""
    random = np.random.default_rng(seed)
    sides = []
    for data_type, rows in zip(types, (150, 400), strict=True):
        keys = random.integers(-60, 60, rows)
        sides.append(pa.array(keys, data_type, mask=random.random(rows) < 0.1))
    options = tables(tmp_path, *sides)
    output = tmp_path / "joined.parquet"
    done = call("run", "hashjoin", *options, "--page-size", page_size, "--output", output, "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    build, probe = (pq.read_table(options[place]) for place in (1, 3))
    wide = [table.set_column(0, "key", table["key"].cast("int64")) for table in (build, probe)]
    wanted = wide[1].join(wide[0], "key", join_type="inner", right_suffix="_build").to_pylist()
    got = pq.read_table(output).to_pylist()
    order = sorted((row["value"], row["value_build"], row["key"]) for row in wanted)
    assert [(row["value"], row["value_build"], row["key"]) for row in got] == order
    assert report["matches"] == len(order)
    assert report["figures"]["build_cycles"]["value"] > 0


def test_no_match_and_no_key_are_fine(call, tmp_path):
    for build, probe in (([1, 2], [3, 4]), ([None, None], [1, None])):
        options = tables(tmp_path, pa.array(build, pa.int64()), pa.array(probe, pa.int64()))
        done = call("run", "hashjoin", *options, "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["matches"] == 0


def test_a_join_without_a_usable_key_is_one_clear_error(call, tmp_path):
    options = tables(tmp_path, pa.array([1], pa.int64()), pa.array([1.5], pa.float64()))
    for arguments, said in (
        (options, "holds float64"),
        ([*options[:-1], "keys"], "no column 'keys'"),
        (["--build", "nothing.parquet", *options[2:]], "nothing.parquet"),
    ):
        done = call("run", "hashjoin", *arguments, "--json")
        assert (done.returncode, done.stdout) == (1, "")
        assert said in done.stderr
        assert "--input" not in done.stderr, "an option of other workloads"


def test_a_wrong_pair_is_found(tmp_path, monkeypatch):
    """A spoiled result fails the check, and no output appears."""
    launch = api.Card.launch

    def spoil(self, kernel, **options):
        result = launch(self, kernel, **options)
        options["pairs"].to_numpy()[0] ^= 1
        return result

    monkeypatch.setattr(api.Card, "launch", spoil)
    tables(tmp_path, pa.array(range(9), pa.int64()), pa.array(range(9), pa.int64()))
    with pytest.raises(CheckError, match="wrong pair of rows"):
        hashjoin.run(
            Setup(),
            build=tmp_path / "build.parquet",
            probe=tmp_path / "probe.parquet",
            on="key",
            output=tmp_path / "joined.parquet",
        )
    assert not (tmp_path / "joined.parquet").exists()


def test_footprints():
    assert tlb_stress.footprints("4K:32K") == [4096, 8192, 16384, 32768]
    assert tlb_stress.footprints("1M") == [1 << 20]
    with pytest.raises(InputError):
        tlb_stress.footprints("2K")
