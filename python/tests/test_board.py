# SPDX-License-Identifier: Apache-2.0
"""The configuration of the small board, `ecp5`, simulated: right results in its memory, with its widths."""

from __future__ import annotations

import json

import pytest


@pytest.fixture(scope="module")
def board() -> None:
    """The card `sim:ecp5`, built when it is not in the cache: not in a command's time."""
    from godwit import cards

    cards.ensure("ecp5")


@pytest.mark.usefixtures("board")
@pytest.mark.parametrize(
    "workload",
    [("memcopy", "--bytes", "16K"), ("array-sum", "--bytes", "16K", "--dtype", "int32")],
    ids=lambda w: w[0],
)
def test_results_on_the_small_board_are_right(call, workload):
    done = call("run", *workload, "--config", "ecp5", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["card"]["config"] == "ecp5"


@pytest.mark.usefixtures("board")
def test_pages_of_4_kib_end_in_walks_on_the_small_board(call):
    done = call("run", "memcopy", "--config", "ecp5", "--bytes", "64K", "--page-size", "4K", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["figures"]["walks"]["value"] > 0
