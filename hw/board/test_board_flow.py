# SPDX-License-Identifier: Apache-2.0
"""What `make board` begins with: the card is read, LiteX's side fits it, every cell has a room. Nothing is mapped or placed here."""

from __future__ import annotations

import json
import re
from pathlib import Path

import board
import pytest
import rooms
import soc

from godwit.card import plan
from godwit.errors import InputError
from godwit.spec import config


@pytest.fixture(scope="module")
def ports() -> dict[str, tuple[str, str]]:
    """Direction and range of gw_board's ports, as its source has them."""
    text = (Path(__file__).parent / "gw_board.sv").read_text(encoding="utf-8")
    found = re.findall(r"^  (input|output)\s+logic\s+(\[[^\]]+\])?\s*(\w+),?$", text, re.M)
    return {name: (direction, span) for direction, span, name in found}


def test_what_is_around_the_card_connects_each_of_its_ports(tmp_path, ports):
    """By name, and the memory's with the card's widths; pins and memory registers are there for place and route and the host."""
    written = soc.write(tmp_path, config.load("ecp5"))
    verilog = written.verilog.read_text(encoding="utf-8")
    instance = re.search(r"gw_board gw_board\((.*?)\);", verilog, re.S)
    connected = dict(re.findall(r"\.(\w+)\s*\(([^()]*(?:\([^()]*\))?[^()]*)\)", instance[1]))
    # Nothing of LiteX listens to interrupts, or asks the memory what it needs not know.
    assert set(ports) - set(connected) == {"irq_o"}
    assert set(connected) <= set(ports)
    data = connected["mem_r_data_i"].strip()
    assert re.search(rf"\[{config.load('ecp5').axi.data_width - 1}:0\]\s+{data}\b", verilog)
    assert re.search(
        rf"\[{soc.mem_id_width(config.load('ecp5')) - 1}:0\]\s+{connected['mem_ar_id_o'].strip()}\b", verilog
    )
    assert 'LOCATE COMP "clk48"' in written.constraints.read_text(encoding="utf-8")
    assert "sdram_dfii_control" in written.csr.read_text(encoding="utf-8")
    assert "init_sequence" in written.init.read_text(encoding="utf-8")


def test_what_the_board_has_not_is_said_before_anything_is_mapped(tmp_path):
    heap = ["dma.slots=4", "heap.slots=1024", "walker.levels=4", "card.memory_bytes=256 MiB"]
    with pytest.raises(InputError) as misfit:
        soc.write(tmp_path, config.load("ecp5", heap))
    assert misfit.value.found == "card.memory_bytes = 256 MiB, dma.slots = 4, heap.slots = 1024"
    assert (
        misfit.value.hint
        == "card.memory_bytes = 128 MiB; dma.slots = 0; heap.slots = 0, or start from `ecp5`"
    )
    with pytest.raises(InputError, match="does not fit OrangeCrab") as misfit:
        soc.write(tmp_path, config.load("default"))
    assert "axi.data_width = 512" in misfit.value.found


@pytest.mark.parametrize("mhz", [300, 1])
def test_a_clock_that_the_board_cannot_make_is_refused(tmp_path, mhz):
    with pytest.raises(InputError, match="the board's PLL has no such clock") as refused:
        soc.write(tmp_path, config.load("ecp5", [f"card.clock_mhz={mhz}"]))
    assert refused.value.found == f"card.clock_mhz = {mhz}"


def test_each_master_of_the_memory_has_a_number():
    """Ports, command queue, walker and host, as gw_board counts them."""
    assert soc.mem_id_width(config.load("ecp5")) == 7 + 3
    assert soc.mem_id_width(config.load("ecp5", ["card.external_ports=3"])) == 7 + 3
    assert soc.mem_id_width(config.load("ecp5", ["card.external_ports=4"])) == 7 + 4


def test_card_of_the_board_is_read_with_all_its_parts(tmp_path):
    """Each module that is mapped on its own is there, below gw_board."""
    todo = plan.plan("ecp5")
    board._read_card(tmp_path, todo)
    modules = re.findall(r"^module \\(\S+)$", (tmp_path / "card.il").read_text(encoding="utf-8"), re.M)
    for part in (*board.PARTS, *(f"gw_slot_{kernel.manifest.name}" for kernel in todo.kernels)):
        assert any(module.startswith(f"{part}${board.CARD}.") for module in modules), part


def test_the_clock_of_a_configuration_that_says_routed_was_reached():
    """By the whole card, as it was recorded."""
    card = config.load("ecp5").card
    routed = json.loads(board.RECORDED.read_text(encoding="utf-8"))["routed"]
    assert card.clock_from == "routed"
    assert card.clock_mhz <= routed["mhz"]
    assert [name for name in config.names() if config.load(name).card.clock_from == "routed"] == ["ecp5"]


def test_register_space_holds_mmu_and_kernels():
    assert soc.register_bytes(config.load("ecp5")) == 0x20_0000
    assert soc.register_bytes(config.load("ecp5", ['card.kernels=["memcopy"]'])) == 0x20_0000


def test_each_cell_has_the_room_that_its_name_says():
    mmu = "gw_board.u_card.u_mmu."
    of = {
        f"{mmu}gen_port[1].u_translator.u_x": "translators",
        f"{mmu}u_second_level.gen_lookup.u_y": "second level",
        f"{mmu}u_walker.u_step.z": "walker",
        "gw_board.u_card.u_walker_port.u_r.q": "walker's port",
        "gw_board.u_card.gen_kernels.u_kernels.u_memcopy.u_memcopy.u_read.q": "kernel memcopy",
        "gw_board.u_mux.u_r.out_q": "way to memory",
        "gw_board.irq_o_LUT4_Z": "between the rooms",
        "sdram_bankmachine0": "DDR3 controller, serial line",
    }
    module = {"cells": {name: {"type": "CCU2C"} for name in of} | {"pll": {"type": "EHXPLLL"}}}
    found = rooms.count(module)
    assert {name for name, room in found.items() if room["tables"]} == set(of.values())
    assert all(room["tables"] in (0, 2) and room["CCU2C"] in (0, 1) for room in found.values())
    assert rooms.table(found).splitlines()[-1].startswith(f"| **all** | {2 * len(of)} (")


def test_clock_of_the_card_is_found_by_either_of_its_names(tmp_path):
    """Of the names of a net nextpnr has one, with its own around it."""
    step = {
        "type": "routing",
        "delay": 4.0,
        "from": {"cell": "a", "port": "Q"},
        "to": {"cell": "b", "port": "DI"},
        "net": "q",
    }
    for name in ("$glbnet$gw_board.clk_i", "$glbnet$sys_clk"):
        edge = f"posedge {name}"
        report = {
            "fmax": {name: {"achieved": 57.24}, "$glbnet$clk48$TRELLIS_IO_IN": {"achieved": 300.04}},
            "critical_paths": [
                {"from": "posedge other", "to": edge, "path": []},
                {"from": edge, "to": edge, "path": [step]},
            ],
        }
        (tmp_path / "report.json").write_text(json.dumps(report))
        found = board.clocks(tmp_path, {"ports": {}, "netnames": {}, "cells": {}})
        assert (found["mhz"], found["others"]) == (57.2, {"clk48": 300.0})
        assert found["path"].startswith("a -> b: 4.0 ns")


def test_picture_of_the_rooms_is_drawn(tmp_path):
    some = {"tables": 10, "LUT4": 10, "CCU2C": 0, "TRELLIS_DPR16X4": 0, "TRELLIS_FF": 7, "DP16KD": 2}
    rooms.draw({"one": some, "other": {**some, "tables": 5}}, tmp_path / "rooms.png")
    assert (tmp_path / "rooms.png").stat().st_size > 1000
