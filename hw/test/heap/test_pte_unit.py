# SPDX-License-Identifier: Apache-2.0
"""gw_pte_unit with three clients."""

import pytest
from runner import run


@pytest.mark.parametrize("together", [8, 2])
def test_pte_unit(together):
    run("tb_pte_unit", "cocotb_pte_unit", here=__file__, parameters={"Together": together})
