# SPDX-License-Identifier: Apache-2.0
"""gw_frames with two regions and two clients; groups of two, three, and all orders in stock."""

import pytest
from runner import run


@pytest.mark.parametrize("orders", [0x011, 0x211, 0x3FF])
def test_frames(orders):
    run("tb_frames", "cocotb_frames", here=__file__, parameters={"Orders": orders})
