# SPDX-License-Identifier: Apache-2.0
"""gw_touch between models of gw_slots, gw_frames and gw_pte_unit, over page tables in a memory."""

from runner import run


def test_touch():
    run("tb_touch", "cocotb_touch", here=__file__)
