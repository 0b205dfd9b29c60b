# SPDX-License-Identifier: Apache-2.0
"""gw_fault as built, and with so few places that they run out."""

import pytest
from runner import run


@pytest.mark.parametrize(("pages", "banks"), [(64, 8), (8, 2)])
def test_fault(pages, banks):
    run("tb_fault", "cocotb_fault", here=__file__, parameters={"Pages": pages, "Banks": banks})


@pytest.mark.parametrize(("depth", "pages", "touch"), [(4, 8, 1), (16, 64, 0)])
def test_miss(depth, pages, touch):
    """gw_miss in a small one with gw_touch beside it, and as built without."""
    run("tb_miss", "cocotb_miss", here=__file__, parameters={"Depth": depth, "Pages": pages, "Touch": touch})
