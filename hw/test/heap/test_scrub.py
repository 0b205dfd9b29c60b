# SPDX-License-Identifier: Apache-2.0
"""gw_scrub between models of gw_frames and memory."""

from runner import run


def test_scrub():
    run("tb_scrub", "cocotb_scrub", here=__file__)
