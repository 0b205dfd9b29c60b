# SPDX-License-Identifier: Apache-2.0
"""Which ports of a kernel a card can connect, as they are read from RTL, and what is said about the others."""

from __future__ import annotations

from pathlib import Path

import hls_text
import pytest
from hls_text import memory, stream

from godwit.card import reading
from godwit.card.interface import Interface, KernelError, Port, interface


def read(directory: Path, text: str, name: str = "k.v") -> reading.Reading:
    source = directory / name
    source.write_text(text)
    return reading.read("kernel k", "k", reading.Sources([source]))


def found(directory: Path, text: str) -> Interface:
    read_ = read(directory, text)
    return interface("kernel k", read_.top, read_.ports, parameters=read_.parameters, protocol=read_.protocol)


def test_ports_are_read_however_they_are_written(tmp_path):
    """input wire, typedefs, structs, packed dimensions, parameters and non-ANSI headers: widths and directions."""
    text = """
    package p;
      typedef logic [31:0] word_t;
      typedef struct packed { logic [3:0] a; word_t b; } pair_t;
    endpackage
    module k #(parameter W = 8, localparam D = 2 * W) (
      input wire a, input p::word_t b, output p::pair_t c, output reg [3:0][7:0] d, input [D-1:0] e, output f
    );
    endmodule
    """
    ports = read(tmp_path, text, "k.sv")
    assert [(port.name, port.direction, port.width) for port in ports.ports] == [
        ("a", "in", 1), ("b", "in", 32), ("c", "out", 36), ("d", "out", 32), ("e", "in", 16), ("f", "out", 1),
    ]  # fmt: skip
    assert ports.parameters == ("W",)
    old = "module k (a, b); input a; output [7:0] b; wire a; reg [7:0] b; endmodule"
    assert read(tmp_path, old).ports == (Port("a", "in", 1), Port("b", "out", 8))


def test_bundles_have_their_names_and_widths(tmp_path):
    buses = {
        "m_axi_gmem0": memory(32, 32, 1),
        "m_axi_data_in": memory(1024, 64, 6),
        "m_axi_plain": memory(64, 40, 0),
    }
    bundles = found(tmp_path, hls_text.module("k", buses)).bundles
    assert [(b.name, b.prefix, b.data_width, b.addr_width, b.id_width) for b in bundles] == [
        ("gmem0", "m_axi_gmem0", 32, 32, 1),
        ("data_in", "m_axi_data_in", 1024, 64, 6),
        ("plain", "m_axi_plain", 64, 40, 0),
    ]
    assert all(bundle.reads and bundle.writes and bundle.width("AWUSER") == 1 for bundle in bundles)


def test_a_bundle_may_only_read_or_only_write(tmp_path):
    both = memory()
    reads = {name: port for name, port in both.items() if name.startswith(("AR", "R"))}
    writes = {name: port for name, port in both.items() if not name.startswith(("AR", "R"))}
    bundles = found(tmp_path, hls_text.module("k", {"m_axi_r": reads, "m_axi_w": writes})).bundles
    assert [(b.name, b.reads, b.writes, b.data_width) for b in bundles] == [
        ("r", True, False, 512),
        ("w", False, True, 512),
    ]


def test_names_in_lower_case_are_the_same_bus(tmp_path):
    """As the RTL kernel wizard and many hand-written modules have them."""
    text = hls_text.module("k", {"m00_axi": {name.lower(): port for name, port in memory().items()}})
    bundle = found(tmp_path, text).bundles[0]
    assert (bundle.name, bundle.signals["AWVALID"].name) == ("m00_axi", "m00_axi_awvalid")


def test_streams_have_a_direction_and_their_side_band(tmp_path):
    buses = {"in_r": stream("input", 512, tkeep=64, tlast=1), "out_r": stream("output", 24)}
    streams = found(tmp_path, hls_text.module("k", buses)).streams
    assert [(s.name, s.direction, s.data_width, s.sideband) for s in streams] == [
        ("in_r", "in", 512, {"TKEEP": 64, "TLAST": 1}),
        ("out_r", "out", 24, {}),
    ]


def test_what_may_be_there_or_not(tmp_path):
    plain = found(tmp_path, hls_text.module("k", interrupt=False, extra=["output wire event_done"]))
    assert (plain.interrupt, plain.unconnected, plain.control.addr_width) == (None, ("event_done",), 6)
    wide = hls_text.module("k").replace("[5:0] s_axi_control_A", "[63:0] s_axi_control_A")
    assert found(tmp_path, wide).control.addr_width == 64
    assert found(tmp_path, hls_text.module("k")).interrupt == "interrupt"


@pytest.mark.parametrize(("ports", "protocol"), [
    ("output ap_start, output ap_continue", "ap_ctrl_chain"),
    ("output ap_start", "ap_ctrl_hs"),
])  # fmt: skip
def test_the_control_block_shows_its_protocol(tmp_path, ports, protocol):
    text = hls_text.module("k", body="k_control_s_axi u ();") + f"module k_control_s_axi ({ports}); endmodule"
    assert found(tmp_path, text).protocol == protocol
    assert found(tmp_path, hls_text.module("k")).protocol is None


NONE = (
    hls_text.module("k", body="k_control_s_axi u ();") + "module k_control_s_axi (output [31:0] n); endmodule"
)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (NONE, r"no start and no end \(ap_ctrl_none\)", "s_axilite port=return"),
        (
            "module k (input ap_clk, input ap_rst_n, input ap_start, output ap_done); endmodule",
            "has no control port",
            "s_axilite port=return",
        ),
        ("module k (input ap_rst_n); endmodule", "has no port ap_clk", "clock is called ap_clk"),
        ("module k (input ap_clk); endmodule", "has no port ap_rst_n", "reset is called ap_rst_n"),
        (hls_text.module("k", {}), "neither a memory port nor a stream", "m_axi"),
        (hls_text.module("k", extra=["input wire [31:0] n"]), "input n is not part of", "port=n"),
        (hls_text.module("k", extra=["inout wire sda"]), "port sda is inout", "pins"),
        (
            hls_text.module("k", {"s_axi_a": hls_text.CONTROL, "m_axi_gmem": memory()}),
            "has 2 control ports",
            "bundle=control",
        ),
        (
            hls_text.module("k", {"m_axi_gmem": memory(48)}),
            "m_axi_gmem_WDATA must be 32, 64, 128, 256, 512 or 1024 bits wide",
            "",
        ),
        (
            hls_text.module("k", {"m_axi_gmem": memory() | {"WDATA": ("output", 256), "WSTRB": ("output", 32)}}),
            "WDATA and RDATA of m_axi_gmem must have the same width",
            "",
        ),
        (hls_text.module("k", {"m_axi_gmem": memory() | {"AWADDR": ("output", 20)}}), "AWADDR must be 32 to 64 bits", ""),
        (hls_text.module("k", {"m_axi_gmem": memory() | {"WSTRB": ("output", 8)}}), "one bit for each of 64 bytes", ""),
        (hls_text.module("k", {"m_axi_gmem": memory() | {"ARREADY": ("output", 1)}}), "ARREADY must be an input", ""),
        (hls_text.module("k", {"s": stream("input", 32, tkeep=1)}), "one bit for each byte of TDATA", ""),
        ("module k (input logic ap_clk [2]); endmodule", "port ap_clk is an unpacked array", "packed"),
        ("module other; endmodule", "there is no module k", "top"),
    ],
)  # fmt: skip
def test_what_a_card_cannot_connect_is_refused_with_advice(tmp_path, text, message, hint):
    with pytest.raises(KernelError, match=message) as caught:
        found(tmp_path, text.replace("wire [47:0] m_axi_gmem_WSTRB", "wire m_axi_gmem_WSTRB"))
    assert hint in caught.value.hint


def test_a_bundle_without_a_channel_is_named(tmp_path):
    ports = {name: port for name, port in memory().items() if name != "RREADY"}
    with pytest.raises(KernelError, match="m_axi_gmem has no RREADY") as caught:
        found(tmp_path, hls_text.module("k", {"m_axi_gmem": ports}))
    assert "RVALID" in caught.value.found


def test_every_error_has_its_place(tmp_path):
    with pytest.raises(KernelError, match="kernel k does not compile") as caught:
        read(tmp_path, "module k;\n  assign a = b;\n  missing u ();\nendmodule\n")
    place = str(tmp_path / "k.v")
    assert f"{place}:2: use of undeclared identifier 'b'" in caught.value.found
    assert f"{place}:3: unknown module 'missing'" in caught.value.found
