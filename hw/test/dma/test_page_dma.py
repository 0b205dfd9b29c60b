# SPDX-License-Identifier: Apache-2.0
"""gw_page_dma as small as it can be, and as it is by default."""

from pathlib import Path

import pytest
from runner import run

# Slots, bursts, lines of a buffer, lines of descriptors read ahead.
SHAPES = {"small": (2, 2, 32, 1), "default": (32, 32, 256, 8)}


@pytest.mark.parametrize("shape", SHAPES)
def test_page_dma(shape):
    slots, bursts, lines, fetch = SHAPES[shape]
    run(
        "tb_page_dma",
        "cocotb_page_dma,cocotb_page_dma_ends",
        here=__file__,
        dirs=[Path(__file__).parents[1] / "top"],
        parameters={"Slots": slots, "Bursts": bursts, "BufferLines": lines, "FetchLines": fetch},
        env={"BENCH_SHAPE": shape},
    )
