# SPDX-License-Identifier: Apache-2.0
"""gw_mmu with two ports, without page requests and with four places: what needs none is the same with them."""

import pytest
from runner import run
from test_csr import spec_for


@pytest.mark.parametrize(
    ("places", "tests"),
    [(0, "cocotb_mmu,cocotb_mmu_commands"), (4, "cocotb_mmu,cocotb_mmu_commands,cocotb_mmu_pages")],
    ids=["plain", "page_requests"],
)
def test_mmu(monkeypatch, places, tests):
    rtl = spec_for(monkeypatch, 2, 16, 4)
    run(
        "tb_mmu",
        tests,
        here=__file__,
        parameters={"PageRequests": places},
        packages=[rtl / "gw_csr_regs_pkg.sv"],
    )
