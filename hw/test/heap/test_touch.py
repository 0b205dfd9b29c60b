# SPDX-License-Identifier: Apache-2.0
"""gw_touch between models of gw_slots, gw_frames and gw_pte_unit, over page tables in a memory."""

import pytest
from runner import run


@pytest.mark.parametrize("together", [8, 1])
def test_touch(together):
    run("tb_touch", "cocotb_touch", here=__file__, parameters={"Together": together})
