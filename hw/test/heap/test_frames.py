# SPDX-License-Identifier: Apache-2.0
"""gw_frames with two regions and two clients."""

from runner import run


def test_frames():
    run("tb_frames", "cocotb_frames", here=__file__)
