# SPDX-License-Identifier: Apache-2.0
"""`godwit run tree` on a real card: look-ups by the program's own pointers, nodes that no argument names, bad input."""

from __future__ import annotations

import json

import numpy as np
import pytest

from godwit.errors import CheckError, StatusError
from godwit.run import tree
from godwit.run.workload import Setup

CARD = ["--config", "tapasco"]


@pytest.mark.parametrize("count", [1, 2, 3, 10, 1000])
def test_a_grown_tree_leads_to_every_key(count, seed):
    grown = tree.grown(count, seed)
    nodes = grown.at(0)
    assert grown.places[count // 2] == 0
    for key, value in zip(grown.keys.tolist(), grown.values.tolist(), strict=True):
        at, depth = 0, 0
        while (node := nodes[at])["key"] != key:
            at = int(node["left" if key < node["key"] else "right"]) // 32
            depth += 1
            assert at
            assert depth < count.bit_length()
        assert node["value"] == value


def test_look_ups_of_the_reference(seed):
    grown = tree.grown(100, seed)
    asked = tree.asked_of(grown, 500, seed)
    values = dict(zip(grown.keys.tolist(), grown.values.tolist(), strict=True))
    assert grown.look_up(asked).tolist() == [values.get(key, tree.ABSENT) for key in asked.tolist()]
    assert 0 < sum(key in values for key in asked.tolist()) < 500


@pytest.mark.parametrize("memory", ["device", "copy", "shared"])
def test_every_value_is_found(call, memory):
    options = ["--nodes", "3000", "--lookups", "300", "--memory", memory]
    done = call("run", "tree", *CARD, *options, "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    value = {name: figure["value"] for name, figure in report["figures"].items()}
    assert 250 < report["found"] < 300
    assert report["visited"] > 300 * 9
    assert ("shared_time" in value) == (memory == "shared")
    if memory != "device":
        # One pass over the nodes at the rate of staging.
        assert value["relocation_time"] == pytest.approx(32 * 3000 / 4.4e9)


def test_nodes_that_no_argument_names():
    """The root's page moves, what its pointers lead to in other arrays is lent: all values are found, and a bad pointer is named."""
    grown = tree.grown(2000, 7)
    keys = tree.asked_of(grown, 100, 8)
    with Setup("tapasco", memory="shared").with_kernel("tree_walk").open() as card:
        # Aligned to nodes; the argument names the first page of them only.
        memory = np.zeros(2000 * 32 + 4096, np.uint8)
        nodes = memory[-memory.ctypes.data % 4096 :][: 2000 * 32]
        nodes.view(tree.NODE)[:] = grown.at(nodes.ctypes.data)
        values = np.zeros(100, np.int64)
        asked = {"root": nodes[:4096], "keys": keys, "values": values, "count": 100}
        absent = tree.ABSENT % (1 << 64)
        card.launch("tree_walk", **asked, absent=absent)
        assert (values == grown.look_up(keys)).all()
        assert card.migrations()["lent"] > 0
        nodes.view(tree.NODE)["right"][0] += 8
        nodes.view(tree.NODE)["left"][0] += 8
        with pytest.raises(StatusError) as failed:
            card.launch("tree_walk", **asked, absent=absent)
        assert failed.value.result.bad - nodes.ctypes.data in range(8, 2000 * 32, 32)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--nodes", "16777217"], "16,777,216"),
        (["--lookups", "16777217"], "16,777,216"),
        (["--memory", "cmt"], "--memory shared"),
        (["--nodes", "100000", "--set", "card.memory_bytes=2097152"], "2 MiB"),
    ],
)
def test_bad_input_is_one_clear_error(call, options, said):
    done = call("run", "tree", *CARD, *options, "--json")
    assert (done.returncode, done.stdout) == (1, "")
    assert said in done.stderr


def test_a_wrong_value_is_found(monkeypatch):
    monkeypatch.setattr(tree.Tree, "look_up", lambda self, keys: np.full(len(keys), -2))
    with pytest.raises(CheckError, match="key 0"):
        tree.run(Setup("tapasco"), nodes=10, lookups=10, seed=1)
