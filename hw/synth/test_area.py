# SPDX-License-Identifier: Apache-2.0
"""No block grows by more than a twentieth over its recorded area without somebody saying so.

The blocks marked `quick` in blocks.toml are synthesised here, each once for a version of its sources; `godwit bench
area` does all of them and holds them to the same limits.
"""

from dataclasses import asdict

import pytest
import synth


def test_what_is_recorded_is_what_is_listed():
    """Every quick block has its area; nothing is left of a block that went."""
    blocks = synth.blocks()
    assert {block.name for block in blocks if block.quick} <= set(synth.recorded())
    assert set(synth.recorded()) <= {block.name for block in blocks}
    assert set(synth.recorded_fmax()) <= {block.name for block in blocks if block.fmax}


def test_every_block_can_be_read():
    """Packages, parameters and legal ranges: what would end a synthesis in its first second."""
    for block in synth.blocks():
        synth.elaborate(block)


@pytest.mark.parametrize("block", [b for b in synth.blocks() if b.quick], ids=lambda block: block.name)
def test_area_is_the_recorded_one(block):
    """`python hw/synth/synth.py area --record` records a change that is meant."""
    was, found = asdict(synth.recorded()[block.name]), asdict(synth.area(block))
    grown = {name: (was[name], found[name]) for name in was if found[name] > synth.limit(name, was[name])}
    assert not grown, f"{block.name}: recorded, found: {grown}"
