# SPDX-License-Identifier: Apache-2.0
"""gw_heap with a memory, four agents that allocate and access at once, and a model of what they own."""

import pytest
from runner import run


@pytest.mark.parametrize("orders", [0x011, 0x3FF])
def test_heap(orders):
    run("tb_heap", "cocotb_heap", here=__file__, parameters={"Orders": orders})


def test_touch_turn():
    """Who asks gw_touch: gw_miss, and the host."""
    run("gw_touch_turn", "cocotb_touch_turn", here=__file__)


def test_heap_stream():
    """A kernel's own commands."""
    run("gw_heap_stream", "cocotb_heap_stream", here=__file__)
