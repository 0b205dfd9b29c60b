# SPDX-License-Identifier: Apache-2.0
"""gw_axil_demux."""

from runner import run


def test_decoder():
    run("tb_axil_demux", "cocotb_axil_demux", here=__file__)
