# SPDX-License-Identifier: Apache-2.0
"""gw_csr in two shapes: odd sizes with page requests, a heap and a page cache, and one port without."""

import os

import pytest
from runner import ROOT, run

from godwit.spec import config
from godwit.spec.generate import generate_rtl

SHAPES = {"three_ports": (3, 17, 5, 16, True), "one_port": (1, 16, 3, 0, False)}


def spec_for(monkeypatch, ports: int, contexts: int, levels: int):
    """Registers generated for so many ports and contexts, where the runner looks for them."""
    overrides = [f"card.external_ports={ports}", f"contexts.count={contexts}", f"walker.levels={levels}"]
    directory = ROOT / "build" / f"spec-{ports}-{contexts}-{levels}"
    generate_rtl(directory, config.load("tiny", overrides))
    monkeypatch.setenv("GODWIT_SPEC_DIR", str(directory))
    return directory / "sv"


@pytest.mark.parametrize("shape", SHAPES)
def test_registers(shape, monkeypatch):
    ports, contexts, levels, places, heap = SHAPES[shape]
    rtl = spec_for(monkeypatch, ports, contexts, levels)
    run(
        "tb_csr",
        "cocotb_csr,cocotb_csr_commands,cocotb_csr_counters,cocotb_csr_pages",
        here=__file__,
        parameters={
            "NumPorts": ports,
            "NumContexts": contexts,
            "Levels": levels,
            "PageRequests": places,
            "Heap": int(heap),
            "PageCache": int(places > 0),
        },
        packages=[rtl / "gw_csr_regs_pkg.sv"],
        env={
            **os.environ,
            "BENCH_PORTS": str(ports),
            "BENCH_CONTEXTS": str(contexts),
            "BENCH_LEVELS": str(levels),
            "BENCH_PAGE_REQUESTS": str(places),
            "BENCH_HEAP": str(int(heap)),
        },
    )
