# SPDX-License-Identifier: Apache-2.0
"""Contiguous memory from Python and from the command line, and the preload library under real programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from godwit import toolchain
from godwit.errors import ArgumentError, OutOfMemory

AREAS = [{"base": "0x8000_0000", "bytes": "16MiB"}, {"base": 0x8100_0000, "bytes": "16MiB"}]
HOLE = {"base": "0xa0000000", "bytes": "8MiB", "node": 1}


@pytest.fixture(scope="module")
def cmt():
    """The module with its pool open; a process has one."""
    from godwit import cmt

    cmt.init("area=0xf0000000:32MiB area=0x120000000:32MiB:1")
    return cmt


def test_an_array_is_one_piece_of_physical_memory_and_returns_with_its_last_view(cmt):
    before = cmt.stats()["free"]
    array = cmt.empty((100, 1000), "float32", align=1 << 20)
    array[:] = 3
    view = array[7:, ::2]
    ((base, nbytes),) = cmt.extents(view)
    assert base % (1 << 20) == 0
    assert nbytes >= array.nbytes
    assert cmt.stats()["free"] < before
    del array
    assert view.sum() == 3 * view.size
    del view
    cmt.trim()
    assert cmt.stats()["free"] == before
    cmt.check()


def test_limits_are_kept_and_a_refusal_says_what_there_is(cmt):
    low = cmt.empty(20 << 20, max_address=0xFFFF_FFFF)
    assert sum(cmt.extents(low)[0]) <= 1 << 32
    with pytest.raises(OutOfMemory, match="within the limits"):
        cmt.empty(20 << 20, max_address=0xFFFF_FFFF)
    assert cmt.extents(cmt.empty(4096, node=1))[0][0] >= 0x1_2000_0000
    assert cmt.dump()[0].kind == "used"


def test_wrong_use_is_refused(cmt):
    for shape in (0, (3, -1)):
        with pytest.raises(ArgumentError, match="no elements"):
            cmt.empty(shape)
    with pytest.raises(ArgumentError, match="not in contiguous memory"):
        cmt.extents(np.zeros(3))
    with pytest.raises(ArgumentError, match="open already"):
        cmt.init("size=1MiB")


def simulated(godwit, tmp_path: Path, areas: object, trace: object, *options: str):
    (tmp_path / "areas.json").write_text(json.dumps(areas), encoding="utf-8")
    (tmp_path / "trace.json").write_text(json.dumps(trace), encoding="utf-8")
    return godwit("cmt", "simulate", "--areas", "areas.json", "--trace", "trace.json", *options)


def test_simulate_joins_areas_keeps_out_of_holes_and_draws_memory(godwit, tmp_path):
    trace = [
        {"id": 1, "alloc": "20MiB"},
        {"id": 2, "alloc": "12MiB"},
        {"id": 3, "alloc": "9MiB"},
        {"free": 1},
        {"id": 4, "alloc": "8MiB"},
    ]
    done = simulated(godwit, tmp_path, [HOLE, *AREAS], trace, "--picture", "map.png")
    assert done.returncode == 3, done.stderr
    assert "3 served, 1 failed; 20 MiB free of 40 MiB, largest piece 12 MiB, peak 32 MiB" in done.stdout
    assert "hole of 480 MiB" in done.stdout
    assert "event 2: 9 MiB: fewer bytes are free" in done.stdout
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith("0x")]
    assert [row[1] for row in rows] == ["█" * 32 + "·" * 32, "·" * 16 + "█" * 48, "·" * 32]
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")


def test_simulate_has_every_piece_as_json(godwit, tmp_path):
    done = simulated(godwit, tmp_path, AREAS, [{"id": 1, "alloc": 4096, "align": "1MiB"}], "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 0
    assert [(piece["address"], piece["nbytes"], piece["kind"]) for piece in found["pieces"]] == [
        (0x8000_0000, 4096, "used"),
        (0x8000_1000, (32 << 20) - 4096, "free"),
    ]


def test_simulate_says_where_every_block_was_placed(godwit, tmp_path):
    trace = [
        {"id": 7, "alloc": "1MiB", "min": "0x8080_0000"},
        {"free": 7},
        {"id": 7, "alloc": 100, "node": 1},
        {"id": 8, "alloc": "1MiB", "max": 0, "align": 0},
        {"id": 9, "alloc": "9MiB", "node": 1},
        {"id": 10, "alloc": "9MiB", "node": 1, "strict": True},
        {"id": 11, "alloc": "1MiB", "max": "0x8010_0000"},
    ]
    done = simulated(godwit, tmp_path, [*AREAS, HOLE], trace, "--json")
    assert done.returncode == 3, done.stderr
    found = json.loads(done.stdout)
    assert [
        (block["event"], block["id"], block["address"], block["nbytes"]) for block in found["blocks"]
    ] == [
        (0, 7, 0x8080_0000, 1 << 20),
        (2, 7, 0xA000_0000, 100),
        (3, 8, 0x8000_0000, 1 << 20),
        (4, 9, 0x8010_0000, 9 << 20),
    ]
    assert [(failure["event"], failure["nbytes"]) for failure in found["failures"]] == [
        (5, 9 << 20),
        (6, 1 << 20),
    ]


def test_a_picture_of_many_areas_stays_a_picture(godwit, tmp_path):
    from matplotlib.image import imread

    areas = [{"base": number << 24, "bytes": "8MiB"} for number in range(1000)]
    trace = [{"id": number, "alloc": "8MiB"} for number in range(500)]
    done = simulated(godwit, tmp_path, areas, trace, "--picture", "map.png")
    assert done.returncode == 0, done.stderr
    image = imread(tmp_path / "map.png")[:, :, :3]
    assert image.shape[0] <= 1600
    assert image.shape[1] <= 1600
    used, free = (
        np.isclose(image, np.array(colour) / 255, atol=0.02).all(axis=2).sum()
        for colour in ((0xD1, 0x49, 0x5B), (0xCF, 0xE3, 0xD6))
    )
    assert 0.9 < used / free < 1.1


def test_a_picture_shows_a_granule_in_an_area_of_gigabytes(godwit, tmp_path):
    from matplotlib.image import imread

    areas, trace = [{"base": 0, "bytes": "64GiB"}], [{"id": 1, "alloc": 1, "min": "32GiB"}]
    done = simulated(godwit, tmp_path, areas, trace, "--picture", "map.png")
    assert done.returncode == 0, done.stderr
    image = imread(tmp_path / "map.png")[:, :, :3] * 255
    mixed = np.array([0xCF, 0xE3, 0xD6]) * 0.75 + np.array([0xD1, 0x49, 0x5B]) * 0.25
    assert np.isclose(image, mixed, atol=3).all(axis=2).any()


@pytest.mark.parametrize(
    ("areas", "trace", "words"),
    [
        ([{"base": 0}], [], "'bytes' is missing"),
        ([{"base": 0, "bytes": 4096, "nod": 1}], [], "keys are base, bytes, [node]"),
        ([{"base": 0, "bytes": 0}], [], "area 0x0 of 0 bytes: expected at least one granule"),
        ([], [], "at least one"),
        ({}, [], "array"),
        ([{"base": 0, "bytes": "1MiB"}, {"base": 4096, "bytes": "1MiB"}], [], "overlap by 1044480 bytes"),
        ([{"base": "0xffff_ffff_ffff_f000", "bytes": "1MiB"}], [], "behind the last address"),
        ([{"base": 0, "bytes": 1 << 63}], [], "smaller areas are needed"),
        ([{"base": 0, "bytes": 1 << 50}], [], "a granule of 1048576 bytes is enough"),
        (
            AREAS,
            [{"id": 1, "alloc": 1, "strict": True}],
            "event 0, strict: expected true or false, and a node",
        ),
        (AREAS, [{"id": 1, "alloc": 1, "node": -1}], "event 0, node: expected a whole number"),
        (AREAS, [{"op": "grow", "id": 1}], "event 0: 'alloc' is missing"),
        (AREAS, [{"free": 1, "alloc": 3}], "'alloc' is not known"),
        (AREAS, [{"id": 1, "alloc": "4 parsecs"}], "event 0, alloc: expected a whole number"),
        (AREAS, [{"id": 1, "alloc": 1 << 64}], "whole number"),
        (AREAS, [{"free": 9}], "event 0: 9 is not allocated"),
        (AREAS, [{"id": 1, "alloc": 1}, {"id": 1, "alloc": 1}], "allocated already"),
    ],
)
def test_wrong_input_of_simulate_is_one_clear_error(godwit, tmp_path, areas, trace, words):
    done = simulated(godwit, tmp_path, areas, trace)
    assert done.returncode == 1
    assert done.stdout == ""
    assert words in done.stderr
    assert done.stderr.count("error:") == 1


def test_dump_shows_areas_and_holes(godwit):
    done = godwit("cmt", "dump", "--config", "area=0x80000000:16MiB area=0x90000000:16MiB")
    assert done.returncode == 0, done.stderr
    assert [line.split()[-1] for line in done.stdout.splitlines()[:3]] == ["free", "hole", "free"]


@pytest.fixture(scope="session")
def preload() -> str:
    """The library, built."""
    root = toolchain.root()
    command = ["cargo", "build", "-q", "--release", "--locked", "-p", "godwit-cmt-preload"]
    subprocess.run(command, cwd=root, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", root / "target"))
    return str(target / "release" / "libgodwit_cmt_preload.so")


PROGRAM = """
import os, threading
def work():
    for i in range(200):
        blocks = [bytes(n * 37 % 200000) for n in range(20)]
threads = [threading.Thread(target=work) for _ in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
data = {n: str(n) * 5 for n in range(50000)}
child = os.fork()
if child == 0:
    more = [bytes(100) for _ in range(10000)]
    os._exit(0 if data[49999] == "49999" * 5 else 1)
assert os.waitpid(child, 0)[1] == 0
print(sum(map(len, data.values())))
"""


def test_a_program_runs_on_the_preload_library_through_threads_and_fork(preload):
    environment = dict(os.environ, LD_PRELOAD=preload, GODWIT_CMT="size=128MiB", PYTHONMALLOC="malloc")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) == sum(len(str(n)) * 5 for n in range(50000))


def test_a_wrong_configuration_is_said_and_the_program_runs_all_the_same(preload):
    environment = dict(os.environ, LD_PRELOAD=preload, GODWIT_CMT="size=lots")
    done = subprocess.run(["ls", "/"], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "etc" in done.stdout
    assert done.stderr.count("\n") == 1
    assert "no contiguous memory" in done.stderr
    assert "'size=lots': expected a number of bytes" in done.stderr


def test_the_benchmark_of_the_paper_runs_and_its_exact_goals_are_reached(godwit, traffic, tmp_path):
    done = godwit("bench", "papers", "--paper", "C", "--quick", "--json", "--plot", tmp_path / "c.png")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    exact = [
        row for row in rows if row["row"].startswith(("Table 2", "fragmentation", "requests that failed"))
    ]
    assert len(exact) == 14 + 16 + 1
    assert [row["row"] for row in exact if not row["reached"]] == []
    assert all(row["value"] for row in rows if row["row"].startswith("stress"))
    launches = [row for row in rows if row["row"].startswith("launch")]
    assert len(launches) == 4
    assert all(row["reached"] for row in launches)
    assert {row["row"].split(":")[0] for row in rows} >= {"Fig. 6", "Fig. 7", "Fig. 8", "growing"}
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")
