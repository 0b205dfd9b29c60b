# SPDX-License-Identifier: Apache-2.0
"""gw_fault as built, and with so few places that they run out."""

import pytest
from runner import run


@pytest.mark.parametrize(("pages", "banks"), [(64, 8), (8, 2)])
def test_fault(pages, banks):
    run("tb_fault", "cocotb_fault", here=__file__, parameters={"Pages": pages, "Banks": banks})
