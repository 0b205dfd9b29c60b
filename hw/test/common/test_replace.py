# SPDX-License-Identifier: Apache-2.0
"""gw_replace: every policy, numbers of entries that are powers of two and others."""

import pytest
from runner import run

POLICIES = ("lru", "plru", "fifo", "random")


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("num", [1, 5, 8])
def test_replacement(policy, num):
    run(
        "gw_replace",
        "cocotb_replace",
        here=__file__,
        parameters={"Num": num, "Policy": POLICIES.index(policy)},
        env={"BENCH_NUM": str(num), "BENCH_POLICY": policy},
    )
