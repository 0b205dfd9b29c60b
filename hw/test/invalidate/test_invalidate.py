# SPDX-License-Identifier: Apache-2.0
"""gw_invalidate with one line read ahead, with the default, and with every context there can be."""

import pytest
from runner import run

SHAPES = {"one_line": (16, 1), "default": (17, 4), "large": (256, 8)}


@pytest.mark.parametrize("shape", SHAPES)
def test_invalidate(shape):
    contexts, lines = SHAPES[shape]
    run(
        "tb_invalidate",
        "cocotb_invalidate",
        here=__file__,
        parameters={"NumContexts": contexts, "FetchLines": lines},
        env={"BENCH_LINES": str(lines)},
    )
