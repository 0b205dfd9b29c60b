# SPDX-License-Identifier: Apache-2.0
"""`godwit run bfs` on a real card: levels are networkx's, on real and random graphs; errors before anything runs."""

from __future__ import annotations

import json

import networkx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from godwit import api, data
from godwit.errors import CheckError
from godwit.run import bfs
from godwit.run.workload import Setup


def write(path, edges, names=("source", "target"), data_type="int64"):
    """A table of edges."""
    ends = np.array(list(edges), np.int64).reshape(-1, 2).T
    pq.write_table(
        pa.table({name: pa.array(side, data_type) for name, side in zip(names, ends, strict=True)}), path
    )
    return path


def levels_of(path) -> dict[int, int]:
    rows = pq.read_table(path).to_pylist()
    return {row["vertex"]: row["level"] for row in rows if row["level"] is not None}


@pytest.mark.parametrize("name", ["karate_club_graph", "les_miserables_graph"])
def test_real_graphs(call, tmp_path, name):
    """Friends in a club, and characters that meet in a novel: from one vertex to all."""
    graph = networkx.convert_node_labels_to_integers(getattr(networkx, name)())
    path = write(tmp_path / "edges.parquet", graph.edges)
    output = tmp_path / "levels.parquet"
    options = ["--input", path, "--source", "5", "--undirected", "--output", output, "--json"]
    done = call("run", "bfs", *options)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    wanted = networkx.single_source_shortest_path_length(graph, 5)
    assert levels_of(output) == wanted
    assert (report["vertices"], report["edges"]) == (len(graph), 2 * graph.size())
    assert (report["reached"], report["depth"]) == (len(graph), max(wanted.values()))
    assert report["edges_seen"] == 2 * graph.size()
    assert report["outputs"] == {"levels": str(output)}


def test_a_real_graph_of_some_size(call, tmp_path):
    """The European high-voltage grid."""
    path, output = tmp_path / "edges.parquet", tmp_path / "levels.parquet"
    assert data.grid(path) == (9241, 16_049)
    done = call(
        "run", "bfs", "--input", path, "--source", "4000", "--undirected", "--output", output, "--json"
    )
    assert done.returncode == 0, done.stderr
    table = pq.read_table(path)
    graph = networkx.Graph(zip(table["source"].to_pylist(), table["target"].to_pylist(), strict=True))
    assert levels_of(output) == networkx.single_source_shortest_path_length(graph, 4000)
    report = json.loads(done.stdout)
    assert (report["vertices"], report["edges"], report["reached"]) == (9241, 32_098, 9241)


@pytest.mark.parametrize("options", [(), ("--page-size", "64K"), ("--memory", "cmt")], ids=str)
def test_random_graphs(godwit, tmp_path, seed, options):
    """Directed, with parts that cannot be reached, vertices without an edge and columns of other names."""
    graph = networkx.gnm_random_graph(500, 700, seed=seed, directed=True)
    write(tmp_path / "edges.parquet", graph.edges, ("a", "b"), "int32")
    source = ["--input", "edges.parquet", "--source", "17", "--from", "a", "--to", "b", "--vertices", "510"]
    done = godwit("run", "bfs", *source, *options, "--output", "levels.parquet", "--json")
    assert done.returncode == 0, done.stderr
    assert levels_of(tmp_path / "levels.parquet") == networkx.single_source_shortest_path_length(graph, 17)
    assert pq.read_table(tmp_path / "levels.parquet").num_rows == 510


@pytest.mark.parametrize(
    ("edges", "options", "said"),
    [
        ([(0, 1)], ["--source", "2"], "vertices are 0 to 1"),
        ([(0, 1)], ["--source", "-1"], "no vertex -1"),
        ([], ["--source", "0"], "the graph has none"),
        ([(0, -3)], ["--source", "0"], "vertex -3"),
        ([(0, 9)], ["--source", "0", "--vertices", "9"], "--vertices 10"),
        ([(0, 1 << 20)], ["--source", "0"], "1,048,576"),
        ([(0, 1)], ["--source", "0", "--vertices", "1048577"], "1,048,576"),
        ([(0, 1)], ["--source", "0", "--to", "aim"], "aim"),
    ],
)
def test_bad_input_is_one_clear_error(call, tmp_path, edges, options, said):
    path = write(tmp_path / "edges.parquet", edges)
    done = call("run", "bfs", "--input", path, *options, "--output", tmp_path / "levels.parquet", "--json")
    assert (done.returncode, done.stdout) == (1, "")
    assert said in done.stderr
    assert list(tmp_path.iterdir()) == [path]


def test_an_edge_without_an_end_is_refused(call, tmp_path):
    path = tmp_path / "edges.parquet"
    pq.write_table(pa.table({"source": [0, 1], "target": pa.array([1, None], pa.int32())}), path)
    done = call("run", "bfs", "--input", path, "--source", "0", "--json")
    assert done.returncode == 1
    assert "1 nulls" in done.stderr


def test_a_wrong_level_is_found(tmp_path, monkeypatch):
    """One bit that differs after the run ends it, and nothing is written."""

    def spoilt(self, *args, **more):
        raw = bytearray(download(self, *args, **more))
        raw[8] ^= 1
        return bytes(raw)

    download = api.Buffer.download
    monkeypatch.setattr(api.Buffer, "download", spoilt)
    path = write(tmp_path / "edges.parquet", [(0, 1), (1, 2)])
    with pytest.raises(CheckError, match="vertex 2 the level 3"):
        bfs.run(Setup(), path=path, source=0, output=tmp_path / "levels.parquet")
    assert list(tmp_path.iterdir()) == [path]
