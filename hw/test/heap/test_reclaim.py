# SPDX-License-Identifier: Apache-2.0
"""gw_reclaim between models of its neighbours, over page tables in a memory."""

from runner import run


def test_reclaim():
    run("tb_reclaim", "cocotb_reclaim", here=__file__)
