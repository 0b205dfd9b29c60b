# SPDX-License-Identifier: Apache-2.0
"""gw_mmu with two ports."""

from runner import run
from test_csr import spec_for


def test_mmu(monkeypatch):
    rtl = spec_for(monkeypatch, 2, 16, 4)
    run("tb_mmu", "cocotb_mmu", here=__file__, packages=[rtl / "gw_csr_regs_pkg.sv"])
