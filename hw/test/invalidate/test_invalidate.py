# SPDX-License-Identifier: Apache-2.0
"""gw_invalidate with one line read ahead, with the default, and with every context there can be; the latter two with
responses to page requests and maintenance of a page cache."""

import pytest
from runner import run

SHAPES = {"one_line": (16, 1, False), "default": (17, 4, True), "large": (256, 8, True)}


@pytest.mark.parametrize("shape", SHAPES)
def test_invalidate(shape):
    contexts, lines, responses = SHAPES[shape]
    run(
        "tb_invalidate",
        "cocotb_invalidate",
        here=__file__,
        parameters={
            "NumContexts": contexts,
            "FetchLines": lines,
            "PageRequests": int(responses),
            "PageCache": int(responses),
        },
        env={"BENCH_LINES": str(lines)},
    )
