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
        "BENCH_OUTSTANDING": str(p["Outstanding"]),
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


@pytest.mark.parametrize("shape", SHAPES)
def test_parking(shape):
    bench("cocotb_parking", shape)


@pytest.mark.parametrize("replacement", [0, 2, 3])
def test_random_with_another_replacement(replacement):
    """True LRU, FIFO and random in the L1 instead of bit-PLRU."""
    run(
        "tb_translator",
        "cocotb_random",
        here=__file__,
        parameters={**SHAPES["default"], "L1Replacement": replacement},
        env={"BENCH_ACCESSES": "400"},
    )


def with_buffer(module, **kwargs):
    parameters = {**SHAPES["default"], "Buffer": 1}
    env = {"BENCH_LEVELS": "4", "BENCH_BUFFER": "1"}
    run("tb_translator", module, here=__file__, parameters=parameters, env=env, **kwargs)


@pytest.mark.parametrize("case", ("mixed_traffic", "invalidation_during_traffic"))
def test_random_behind_a_port_buffer(case):
    with_buffer("cocotb_random", testcase=case)


def test_port_buffer():
    with_buffer("cocotb_port_buffer")


def test_with_axi_models():
    bench("cocotb_axi_models", "default")


def test_one_burst_at_a_time():
    """Outstanding = 1, the least that is allowed: every access is answered all the same."""
    parameters = {"L1Entries": 2, "MissEntries": 2, "Outstanding": 1, "Levels": 4}
    for module, case in (
        ("cocotb_random", "mixed_traffic"),
        ("cocotb_scope", "pulses_of_every_scope_during_traffic"),
    ):
        run(
            "tb_translator",
            module,
            here=__file__,
            parameters=parameters,
            env={"BENCH_ACCESSES": "400"},
            testcase=case,
        )
