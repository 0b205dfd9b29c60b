# SPDX-License-Identifier: Apache-2.0
"""No block grows by more than a twentieth over its recorded area without somebody saying so."""

from dataclasses import asdict

import pytest
import synth

TOLERANCE = 1.05
SLACK = 8
"""Cells that a small block may grow by: five percent of a few cells is nothing."""


def test_every_block_is_recorded():
    assert set(synth.recorded()) == {block.name for block in synth.blocks()}


@pytest.mark.parametrize("block", synth.blocks(), ids=lambda block: block.name)
def test_area_is_the_recorded_one(block):
    """`python hw/synth/synth.py area --record` records a change that is meant."""
    was, found = asdict(synth.recorded()[block.name]), asdict(synth.area(block))
    grown = {
        name: (was[name], found[name])
        for name in was
        if found[name] > max(TOLERANCE * was[name], was[name] + SLACK)
    }
    assert not grown, f"{block.name}: recorded, found: {grown}"
