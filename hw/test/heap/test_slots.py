# SPDX-License-Identifier: Apache-2.0
"""gw_slots with 1,024 slots of 8 GiB and as many of 64 KiB."""

from runner import run


def test_slots():
    run("tb_slots", "cocotb_slots", here=__file__, parameters={"Slots": 1024}, env={"BENCH_SLOTS": "1024"})
