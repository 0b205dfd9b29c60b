# SPDX-License-Identifier: Apache-2.0
"""gw_heap with a memory, four agents that allocate and access at once, and a model of what they own."""

from runner import run


def test_heap():
    run("tb_heap", "cocotb_heap", here=__file__)
