# SPDX-License-Identifier: Apache-2.0
"""gw_axi_mux: three masters on one memory."""

import pytest
from runner import run


@pytest.mark.parametrize("writes", [1, 4])
def test_masters_share_a_memory(writes):
    run("tb_axi_mux", "cocotb_mux", here=__file__, parameters={"Writes": writes}, spec=False)
