# SPDX-License-Identifier: Apache-2.0
"""gw_translator in a few shapes: the smallest, an ordinary one, each number of levels."""

import pytest
from runner import run

SHAPES = {
    "default": {"L1Entries": 4, "MissEntries": 8, "Outstanding": 16, "Levels": 4},
    "tiny": {"L1Entries": 1, "MissEntries": 8, "Outstanding": 14, "Levels": 3},
    "wide": {"L1Entries": 11, "MissEntries": 32, "Outstanding": 64, "Levels": 5},
}


def bench(module, shape, **kwargs):
    p = SHAPES[shape]
    env = {
        "BENCH_LEVELS": str(p["Levels"]),
        "BENCH_L1": str(p["L1Entries"]),
        "BENCH_MISS": str(p["MissEntries"]),
    }
    run("tb_translator", module, here=__file__, parameters=p, env=env, **kwargs)


@pytest.mark.parametrize("shape", SHAPES)
def test_directed(shape):
    bench("cocotb_translator", shape)


@pytest.mark.parametrize("shape", SHAPES)
def test_errors(shape):
    bench("cocotb_errors", shape)


@pytest.mark.parametrize("shape", SHAPES)
def test_random(shape):
    bench("cocotb_random", shape)


@pytest.mark.parametrize("shape", SHAPES)
def test_invalidation_scopes(shape):
    bench("cocotb_scope", shape)


def test_with_axi_models():
    bench("cocotb_axi_models", "default")
