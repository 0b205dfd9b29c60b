# SPDX-License-Identifier: Apache-2.0
"""gw_reclaim between models of its neighbours, over page tables in a memory; groups of two, and of all orders."""

import pytest
from runner import run


@pytest.mark.parametrize("orders", [0x011, 0x3FF])
def test_reclaim(orders):
    run("tb_reclaim", "cocotb_reclaim", here=__file__, parameters={"Orders": orders})
