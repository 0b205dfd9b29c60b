# SPDX-License-Identifier: Apache-2.0
"""gw_second_level with its L2 TLB and range TLB: all policies, sizes down to the smallest, with and without each part."""

import pytest
from runner import run

POLICIES = {"partition": 0, "rehash": 1, "hashed": 2}


def second_level(module, policy="hashed", **parameters):
    parameters = {"Sets": 16, "Ways": 4, "Policy": POLICIES[policy], "Clusters": 1} | parameters
    env = {
        "BENCH_SETS": str(parameters["Sets"]),
        "BENCH_WAYS": str(parameters["Ways"]),
        "BENCH_POLICY": policy,
        "BENCH_CLUSTERS": str(parameters["Clusters"]),
        "BENCH_RANGES": str(parameters.get("RangeEntries", 4)),
    }
    run("tb_second_level", module, here=__file__, parameters=parameters, env=env)


@pytest.mark.parametrize(("policy", "clusters"), [("partition", 0), ("rehash", 1), ("hashed", 1)])
def test_cycles(policy, clusters):
    second_level("cocotb_l2_cycles", policy, Clusters=clusters)


RANDOM = [
    {"policy": "hashed"},
    {"policy": "rehash"},
    {"policy": "partition"},
    {"policy": "partition", "Clusters": 0},
    {"policy": "partition", "Clusters": 0, "Svnapot": 0},
    {"Sets": 2, "Ways": 1, "FillDepth": 1, "MissDepth": 4, "RangeEntries": 1},
    {"policy": "partition", "Sets": 4, "Ways": 2, "FillDepth": 3, "RangeEntries": 0},
    {"Sets": 0},
    {"Replacement": 0},
    {"Replacement": 2},
    {"Replacement": 3},
]


REPLACEMENTS = ("lru", "plru", "fifo", "random")


@pytest.mark.parametrize("policy", REPLACEMENTS)
@pytest.mark.parametrize("ways", [2, 4, 16])
def test_replacement_of_sets(policy, ways):
    run(
        "gw_l2_replace",
        "cocotb_l2_replace",
        here=__file__,
        parameters={"Sets": 4, "Ways": ways, "Policy": REPLACEMENTS.index(policy)},
        env={"BENCH_SETS": "4", "BENCH_WAYS": str(ways), "BENCH_POLICY": policy},
    )


def name(parameters):
    return "-".join(str(value) for value in parameters.values())


@pytest.mark.parametrize("parameters", RANDOM, ids=name)
def test_random(parameters):
    second_level("cocotb_l2_random", **parameters)
