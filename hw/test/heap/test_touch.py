# SPDX-License-Identifier: Apache-2.0
"""gw_touch between models of gw_slots, gw_frames and gw_pte_unit, over page tables in a memory."""

import pytest
from runner import run


@pytest.mark.parametrize(("together", "orders"), [(8, 0x011), (1, 0x011), (8, 0x211), (8, 0x3FF), (2, 0x3FF)])
def test_touch(together, orders):
    run("tb_touch", "cocotb_touch", here=__file__, parameters={"Together": together, "Orders": orders})
