# SPDX-License-Identifier: Apache-2.0
"""gw_pte_unit with three clients."""

from runner import run


def test_pte_unit():
    run("tb_pte_unit", "cocotb_pte_unit", here=__file__)
