# SPDX-License-Identifier: Apache-2.0
"""gw_groups as it serves frames (blocks of 512 behind a few lines) and slots (words of 64, all on chip)."""

import pytest
from runner import run

# Pools, blocks, log2 of a block, lines here (0: all).
SHAPES = {"frames": (2, 2048, 9, 4), "frames_one_line": (1, 16, 9, 1), "slots": (1, 128, 6, 0)}


@pytest.mark.parametrize("shape", SHAPES)
def test_groups(shape):
    pools, blocks, block_bits, lines = SHAPES[shape]
    run(
        "tb_groups",
        "cocotb_groups",
        here=__file__,
        parameters={"Pools": pools, "Blocks": blocks, "BlockBits": block_bits, "Lines": lines},
        env={
            "BENCH_POOLS": str(pools),
            "BENCH_BLOCKS": str(blocks),
            "BENCH_BLOCK_BITS": str(block_bits),
            "BENCH_LINES": str(lines),
        },
    )
