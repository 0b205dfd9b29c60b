# SPDX-License-Identifier: Apache-2.0
"""gw_scrub between models of gw_frames and memory; groups of two, and of all orders."""

import pytest
from runner import run


@pytest.mark.parametrize("orders", [0x011, 0x3FF])
def test_scrub(orders):
    run("tb_scrub", "cocotb_scrub", here=__file__, parameters={"Orders": orders})
