# SPDX-License-Identifier: Apache-2.0
"""No block grows, or gets slower, by more than a twentieth of what is recorded without somebody saying so.

The blocks marked `quick` in blocks.toml are synthesised here, each once for a version of its sources; `godwit bench
area` does all of them and holds them to the same limits.
"""

import re
from dataclasses import asdict

import flow
import join
import pytest
import recorded
import route
import synth
import timing


def test_what_is_recorded_is_what_is_listed():
    """Every quick block has its area; nothing is left of a block that went."""
    blocks = synth.blocks()
    assert {block.name for block in blocks if block.quick} <= set(recorded.areas())
    assert set(recorded.areas()) <= {block.name for block in blocks}
    routed = [*(block for block in blocks if block.fmax), *synth.peers()]
    assert set(recorded.clocks()) <= {block.name for block in routed}


def test_every_block_can_be_read():
    """Packages, parameters and legal ranges: what would end a synthesis in its first second."""
    for block in synth.blocks():
        flow.elaborate(block)


@pytest.mark.parametrize("block", [b for b in synth.blocks() if b.quick], ids=lambda block: block.name)
def test_area_is_the_recorded_one(block):
    """`python hw/synth/synth.py area --record` records a change that is meant."""
    was, found = asdict(recorded.areas()[block.name]), asdict(synth.area(block))
    grown = {name: (was[name], found[name]) for name in was if found[name] > recorded.limit(name, was[name])}
    assert not grown, f"{block.name}: recorded, found: {grown}"


@pytest.mark.parametrize(
    "block",
    [b for b in synth.blocks() if b.quick and b.name in recorded.estimates()],
    ids=lambda block: block.name,
)
def test_estimated_clock_is_the_recorded_one(block):
    """`python hw/synth/synth.py estimate --record` records a change that is meant."""
    was = recorded.estimates()[block.name]
    (slowest,), _ = synth.estimate(block, 1)
    assert 1000 / slowest.ns >= was["mhz"] / recorded.TOLERANCE, str(slowest)


def test_the_estimate_knows_the_delays_of_a_path_between_registers():
    """Two lookup tables behind one another, the second in the register's own slice."""
    names = {"d": 2, "u_room.a_q": 3, "mid": 4, "u_room.b_q": 6, "clk_i": 1}
    lut = {"A": "input", "B": "input", "C": "input", "D": "input", "Z": "output"}
    flop = {"CLK": "input", "DI": "input", "Q": "output"}

    def cell(kind, directions, **connections):
        return {
            "type": kind,
            "parameters": {},
            "port_directions": directions,
            "connections": {port: [bit] for port, bit in connections.items()},
        }

    module = {
        "ports": {"clk_i": {"direction": "input", "bits": [1]}, "d": {"direction": "input", "bits": [2]}},
        "netnames": {name: {"bits": [bit], "attributes": {}} for name, bit in names.items()},
        "cells": {
            "a": cell("TRELLIS_FF", flop, CLK=1, DI=2, Q=3),
            "one": cell("LUT4", lut, A=3, B="0", C="0", D="0", Z=4),
            "two": cell("LUT4", lut, A=4, B="0", C="0", D="0", Z=5),
            "b": cell("TRELLIS_FF", flop, CLK=1, DI=5, Q=6),
        },
    }
    path = timing.Estimate(module).paths(1)[0]
    assert (path.begin, path.via, path.end, path.levels) == ("u_room.a_q", ("mid",), "u_room.b_q", 2)
    logic = timing.CLOCK_TO_Q + 2 * timing.LUT
    assert path.logic == pytest.approx(logic)
    assert path.ns == pytest.approx(logic + 2 * timing.NET_BASE + timing.NET_TO_OWN_REGISTER)


def test_cells_are_told_by_instance():
    """Each without those below it."""
    (block,) = synth.chosen_blocks("gw_error_read", {})
    found = synth.where(block)
    assert set(found) == {": gw_error_read", "u_queue: gw_fifo"}
    assert all(cells["LUT4"] > 0 for cells in found.values())
    # The memory is the queue's.
    assert found["u_queue: gw_fifo"]["TRELLIS_DPR16X4"] > 0 == found[": gw_error_read"]["TRELLIS_DPR16X4"]


def test_parts_are_joined_to_one_flat_netlist():
    """Nets of a part get the outer ones' numbers, its own new ones; an output that is a net of another port, or a constant, is that."""
    lut = {"A": "input", "Z": "output"}
    part = {
        "ports": {
            "a": {"direction": "input", "bits": [2]},
            "b": {"direction": "output", "bits": [4]},
            "same": {"direction": "output", "bits": [2]},
            "one": {"direction": "output", "bits": ["1"]},
        },
        "netnames": {"a": {"bits": [2]}, "mid": {"bits": [3]}, "b": {"bits": [4]}},
        "cells": {
            "x": {"type": "LUT4", "port_directions": lut, "connections": {"A": [2], "Z": [3]}},
            "y": {"type": "LUT4", "port_directions": lut, "connections": {"A": [3], "Z": [4]}},
        },
    }
    # The order of the ports says nothing.
    use = {"type": "part__0", "connections": {"same": [9], "b": [8], "a": [7], "one": [10]}}
    nets = {
        name: {"bits": [bit]}
        for name, bit in (
            ("in", 7),
            ("out", 8),
            ("copy", 9),
            ("high", 10),
            ("other", 11),
            ("through", 12),
            ("unused", 13),
        )
    }
    top = {
        "ports": {
            "out": {"direction": "output", "bits": [8, 9, 10, 11, 12]},
            "in": {"direction": "input", "bits": [7]},
        },
        "netnames": nets,
        # The last one passes on what the first passed on, and nobody uses what it makes of it.
        "cells": {
            "u": use,
            "v": {**use, "connections": {**use["connections"], "b": [11]}},
            "w": {**use, "connections": {"a": [9], "same": [12], "b": [13]}},
        },
    }
    flat = join.flat(top, {"part__0": part})
    assert set(flat["cells"]) == {"u.x", "u.y", "v.x", "v.y"}
    middle = flat["cells"]["u.x"]["connections"]["Z"]
    assert flat["cells"]["u.x"]["connections"]["A"] == [7]
    assert flat["cells"]["u.y"]["connections"] == {"A": middle, "Z": [8]}
    assert middle[0] > 13 and middle != flat["cells"]["v.x"]["connections"]["Z"]
    assert flat["ports"]["out"]["bits"] == [8, 7, "1", 11, 7]
    assert flat["netnames"]["u.mid"]["bits"] == middle
    assert flat["netnames"]["w.a"]["bits"] == flat["netnames"]["through"]["bits"] == [7]


def test_equal_parts_are_equal_whatever_their_made_up_numbers_are():
    one, other = "wire $a.$mux$12_Y\n cell $b$3 $a.$mux$14_Y", "wire $a.$mux$77_Y\n cell $b$9 $a.$mux$80_Y"
    assert join._renumbered(one) == join._renumbered(other)
    assert join._renumbered(one) != join._renumbered(one.replace("$14", "$12"))


def test_every_port_but_clock_and_reset_is_registered_to_be_routed():
    """As many registers more as the ports have bits, none in the way of the clock."""
    (block,) = (b for b in synth.blocks() if b.name == "gw_l1_tlb, 1 entry")
    module = flow.mapped(block)
    wrapped = route.registered(module)
    pins = sum(len(p["bits"]) for name, p in module["ports"].items() if name not in ("clk_i", "rst_ni"))
    added = len(wrapped["cells"]) - len(module["cells"])
    constant = sum(isinstance(b, str) for p in module["ports"].values() for b in p["bits"])
    assert added == pins - constant
    assert wrapped["ports"]["clk_i"] == module["ports"]["clk_i"]
    # As Yosys writes them: nextpnr takes a word of zeros and ones for a number.
    words = {
        (name, value)
        for cell in module["cells"].values()
        if cell["type"] == "TRELLIS_FF"
        for name, value in cell["parameters"].items()
    }
    registers = [cell["parameters"] for cell in wrapped["cells"].values() if "keep" in cell["attributes"]]
    assert len(registers) == added
    assert {("CEMUX", "1 "), ("REGSET", "RESET")} <= set(registers[0].items()) & words


@pytest.mark.parametrize(("flags", "keep"), [([], False), (["--names"], True)])
def test_the_command_estimates_the_netlist_that_is_asked_for_and_records_the_plain_one(
    monkeypatch, tmp_path, flags, keep
):
    path = timing.Path(10.0, 2.0, 3, "a_q", (), "b_q")
    asked = []

    def estimate(block, paths, names):
        asked.append((block.name, paths, names))
        return [path], synth.Counter(LUT4=7)

    kept = tmp_path / "recorded.json"
    monkeypatch.setattr(synth, "estimate", estimate)
    monkeypatch.setattr(recorded, "RECORDED", kept)
    monkeypatch.setattr(
        synth.sys, "argv", ["synth.py", "estimate", "--record", "-n", "3", *flags, "gw_l1_tlb, 1 entry"]
    )
    assert synth.main() == 0
    assert asked == [("gw_l1_tlb, 1 entry", 3, keep)]
    assert kept.exists() != keep
    if not keep:
        assert recorded.estimates() == {"gw_l1_tlb, 1 entry": {"mhz": 100.0, "lut4": 7}}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("fmax nothing", "nothing: no block of blocks.toml begins so, and no module of hw/rtl is called so"),
        ("area gw_fifo", "gw_fifo: no block of blocks.toml; blocks are: gw_l1_tlb, 16 entries; "),
        ("fmax gw_touch_turn --seeds 0", "--seeds 0: a clock is the median of at least 1"),
        ("fmax gw_touch_turn -p A=1", "fmax: blocks have the parameters that blocks.toml says; "),
        ("estimate", "estimate: say which block or module"),
        ("estimate gw_fifo -n 0", "--paths 0: the clock is that of the first"),
        ("where gw_fifo -p Depth", "--parameter Depth: NAME=VALUE is wanted"),
        ("where gw_fifo -p Length=3", "gw_fifo has no parameter Length; it has Depth, "),
    ],
)
def test_what_the_command_cannot_do_is_said_before_anything_is_mapped(monkeypatch, capsys, words, said):
    monkeypatch.setattr(synth.sys, "argv", ["synth.py", *words.split()])
    with pytest.raises(SystemExit) as ended:
        synth.main()
    assert ended.value.code == 2
    assert f"error: {said}" in capsys.readouterr().err


def test_registers_have_names_where_they_are_asked_for():
    (block,) = synth.chosen_blocks("gw_fifo", {})
    paths, _ = synth.estimate(block, 5, names=True)
    assert any(re.match(r"[rw]ptr_q|usage_q", path.begin) for path in paths)
    assert not any("made up" in path.begin + path.end for path in paths)
