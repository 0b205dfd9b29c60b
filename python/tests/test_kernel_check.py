# SPDX-License-Identifier: Apache-2.0
"""``godwit kernel check``. Nothing is built."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import hls_text
import pytest
from hls_files import control_block
from hls_text import memory, stream

from godwit.card.interface import KernelError
from godwit.card.kernel import user_kernel
from godwit.card.messages import warnings_of
from godwit.cli.app import run

ROOT = Path(__file__).parents[2]
OUTSIDE = Path(__file__).parent / "outside"


def described(directory: Path, text: str) -> Path:
    """A manifest of kernel vadd, whose control block has ARGS, with further lines."""
    block = control_block(chain=False)
    (directory / "vadd.v").write_text(hls_text.module("vadd", body="vadd_control_s_axi control ();") + block)
    (directory / "vadd.toml").write_text(f'name = "vadd"\n{text}')
    return directory / "vadd.toml"


def arg(name: str, kind: str, offset: int, more: str = "") -> str:
    return f'[[args]]\nname = "{name}"\nkind = "{kind}"\noffset = {offset}\n{more}'


GOOD = (
    arg("b", "buffer", 0x10, 'access = "r"\n')
    + arg("n", "u32", 0x1C)
    + arg("flags", "u32", 0x24)
    + arg("sum", "out_u64", 0x2C)
)


@pytest.mark.parametrize(
    ("old", "new", "message", "hint"),
    [
        (f"offset = {0x1C}", f"offset = {0x20}", "argument n is at 0x1c in the control block", "offset = 0x1c"),
        ('"out_u64"', '"u64"', "argument sum is a result in the control block", "out_u64"),
        ('"flags"\nkind = "u32"', '"flags"\nkind = "out_u32"', "argument flags is written by the host", "u32"),
        ('access = "r"', 'access = "r"\nbundle = "gmem1"', "bundle gmem1, which is none of the kernel's", "gmem"),
        (f'"n"\nkind = "u32"\noffset = {0x1C}', f'"m"\nkind = "u32"\noffset = {0x38}', "argument m at 0x38 is not in", "import"),
        ('[[args]]\nname = "b"', 'control = "ap_ctrl_chain"\n[[args]]\nname = "b"', "control block is ap_ctrl_hs", "leave"),
        (f"offset = {0x2C}", f"offset = {0x3C}", "ends at 0x44, past what s_axi_control addresses", ""),
    ],
)  # fmt: skip
def test_a_manifest_that_contradicts_its_rtl_is_refused(tmp_path, old, new, message, hint):
    assert user_kernel(described(tmp_path, GOOD)).remarks == ()
    with pytest.raises(KernelError, match=message) as caught:
        user_kernel(described(tmp_path, GOOD.replace(old, new, 1)))
    assert hint in caught.value.hint


def test_registers_without_an_argument_are_remarked(tmp_path):
    without = GOOD.replace(arg("flags", "u32", 0x24), "").replace('"out_u64"', '"out_u32"')
    assert user_kernel(described(tmp_path, without)).remarks == (
        "argument sum has 64 bits in the control block, 32 in the manifest",
        "register flags at 0x24 is no argument of the manifest",
    )


def test_check_prints_what_would_be_built(capsys):
    assert run(["kernel", "check", str(OUTSIDE / "alpha" / "alpha.toml")]) == 0
    out = capsys.readouterr().out
    for words in (
        "control  s_axi_control, 6 address bits, ap_ctrl_hs",
        "gmem",
        "result",
        "out_u32",
        "0x18",
        "rom.dat",
    ):
        assert words in out
    # Its arguments are numbers: where its memory port goes nobody can say.
    assert out.count("warning") == 1
    assert "no argument is a pointer, so memory port gmem takes addresses that are fixed" in " ".join(
        out.split()
    )


def test_check_as_json(capsys):
    assert run(["kernel", "check", "--json", str(ROOT / "examples" / "kernel" / "scale_add.sv")]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["ok"], said["kernel"], said["control"]["protocol"]) == (True, "scale_add", "ap_ctrl_hs")
    bundle = {
        "name": "gmem",
        "data_width": 512,
        "addr_width": 64,
        "id_width": 1,
        "reads": True,
        "writes": True,
        "converters": [],
    }
    assert said["bundles"] == [bundle]
    assert [arg["name"] for arg in said["args"]] == ["x", "y", "n", "scale", "status"]
    assert said["warnings"] == []


def test_check_of_what_is_wrong_ends_with_1(tmp_path, capsys):
    (tmp_path / "k.v").write_text("module k (input ap_clk); missing_ip u (); endmodule\n")
    assert run(["kernel", "check", str(tmp_path / "k.v")]) == 1
    error = capsys.readouterr().err
    assert "kernel k does not compile" in error
    assert "k.v:1: unknown module 'missing_ip'" in error
    assert "floating-point core" in error
    assert run(["kernel", "check", "--json", str(tmp_path / "k.v")]) == 1
    said = json.loads(capsys.readouterr().out)
    assert (said["ok"], said["error"]) == (False, "kernel k does not compile")


def test_check_of_a_manifest_that_is_wrong_is_no_defect_of_ours(tmp_path, capsys):
    (tmp_path / "k.sv").write_text("module k; endmodule\n")
    argument = '[[args]]\nname = "n"\nkind = "u32"\n'
    (tmp_path / "k.toml").write_text(f'name = "k"\n{argument}{argument}')
    assert run(["kernel", "check", str(tmp_path / "k.toml")]) == 1
    said = capsys.readouterr().err
    assert f"kernel '{tmp_path / 'k.toml'}' cannot be used" in said.replace("\n", " ")
    assert "two arguments would both be called NOffset" in said and "bug" not in said
    assert run(["kernel", "check", "--json", str(tmp_path / "k.toml")]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["ok"], found["hint"]) == (False, "docs/kernels.md has an example")


@pytest.mark.parametrize("name", ["none/k.v", "k.v", "k.toml", "none"])
def test_check_of_what_is_not_there_says_so(tmp_path, capsys, name):
    assert run(["kernel", "check", str(tmp_path / name)]) == 1
    assert "does not exist" in capsys.readouterr().err


def test_check_of_rtl_alone_finds_modules_beside_it(tmp_path, capsys):
    shutil.copytree(OUTSIDE / "alpha", tmp_path / "alpha")
    (tmp_path / "alpha" / "alpha.toml").unlink()
    source = tmp_path / "alpha" / "rtl" / "alpha.v"
    include = str(tmp_path / "alpha" / "include")
    assert run(["kernel", "check", str(source), "-I", include, "-D", "FACTOR=2"]) == 0
    assert "once it has a manifest" in capsys.readouterr().out
    assert (
        run(["kernel", "check", str(source.parent), "--top", "alpha", "-I", include, "-D", "FACTOR=2"]) == 0
    )
    assert run(["kernel", "check", str(source.parent)]) == 1


def test_warnings_that_matter_are_shown_and_ours_are_not(tmp_path, capsys):
    body = "reg latch; always @* if (ap_clk) latch = ap_rst_n; wire [1:0] narrow = 5'd17; wire [1:0] too = 5'd18;"
    (tmp_path / "k.v").write_text(hls_text.module("k", body=body))
    assert run(["kernel", "check", str(tmp_path / "k.v")]) == 0
    out = capsys.readouterr().out
    place = re.escape(str(tmp_path / "k.v"))
    assert re.search(rf"warning {place}:\d+: .*[Ll]atch.* \[LATCH\]", out)
    assert re.search(rf"warning {place}:\d+: .* \[WIDTHTRUNC\] \(and 1 more of this kind\)", out)
    assert "gw_" not in out


def test_warnings_of_others_and_of_taste_are_left_out():
    text = """\
%Warning-WIDTHTRUNC: /u/k.v:3:5: Operator ASSIGN expects 2 bits
                   : ... note: In instance 'k'
%Warning-WIDTHTRUNC: /u/k.v:3:9: Operator ASSIGN expects 2 bits
%Warning-WIDTHTRUNC: /godwit/gw.sv:1:1: Ours
%Warning-DECLFILENAME: /u/k.v:1:1: Name
%Warning-MULTIDRIVEN: /u/k.v:7:1: Signal has multiple driving blocks
"""
    assert warnings_of(text, [Path("/u/k.v")]) == [
        "/u/k.v:7: Signal has multiple driving blocks [MULTIDRIVEN]",
        "/u/k.v:3: Operator ASSIGN expects 2 bits [WIDTHTRUNC]",
    ]


def test_converters_are_named_with_their_cost(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("godwit.card.wiring.check", lambda *_: None)
    buses = {
        f"m_axi_{name}": memory(width, ids=ids)
        for name, width, ids in (("a", 32, 1), ("b", 1024, 6), ("c", 512, 3))
    }
    (tmp_path / "k.v").write_text(hls_text.module("k", buses))
    assert run(["kernel", "check", "--json", str(tmp_path / "k.v"), "--set", "axi.id_width=4"]) == 0
    bundles = json.loads(capsys.readouterr().out)["bundles"]
    assert [[made["module"] for made in bundle["converters"]] for bundle in bundles] == [
        ["gw_axi_upsize"],
        ["gw_axi_id_remap", "gw_axi_downsize"],
        [],
    ]
    assert run(["kernel", "check", str(tmp_path / "k.v")]) == 0
    assert "gw_axi_upsize: 32 bits packed into 512 (reads +3 cycles, writes +1)" in capsys.readouterr().out


def test_addresses_of_32_bits_are_remarked(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("godwit.card.wiring.check", lambda *_: None)
    (tmp_path / "k.v").write_text(hls_text.module("k", {"m_axi_gmem": memory(512, 32)}))
    assert run(["kernel", "check", str(tmp_path / "k.v")]) == 0
    assert "memory port gmem has 32 address bits" in capsys.readouterr().out


def test_streams_are_listed(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("godwit.card.wiring.check", lambda *_: None)
    buses = {"m_axi_gmem": memory(), "in_r": stream("input", 64, tlast=1)}
    (tmp_path / "k.v").write_text(hls_text.module("k", buses))
    assert run(["kernel", "check", "--json", str(tmp_path / "k.v")]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["streams"] == [{"name": "in_r", "direction": "in", "data_width": 64, "TLAST": 1}]
