# SPDX-License-Identifier: Apache-2.0
"""gw_walker and its parts."""

from runner import run


def walker(module, **parameters):
    run("walker_tb", module, here=__file__, parameters=parameters)


def test_cycles():
    walker("cocotb_walker_cycles", Requests=64, Lines=64)
