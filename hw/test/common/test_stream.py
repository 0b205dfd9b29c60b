# SPDX-License-Identifier: Apache-2.0
import pytest
from runner import run


@pytest.mark.parametrize(("depth", "pass_through"), [(1, 0), (1, 1), (2, 0), (5, 0), (5, 1), (8, 0)])
def test_fifo(depth, pass_through):
    run(
        "gw_fifo",
        "cocotb_stream",
        here=__file__,
        spec=False,
        parameters={"Depth": depth, "PassThrough": f"1'b{pass_through}"},
        env={"BENCH_DEPTH": str(depth), "BENCH_PASS_THROUGH": str(pass_through)},
    )


def test_slice():
    run("gw_slice", "cocotb_stream", here=__file__, spec=False)
