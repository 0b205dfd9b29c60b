# SPDX-License-Identifier: Apache-2.0
"""Kernels that know nothing of each other in one card: names, macros, folders and data files are each kernel's own."""

from __future__ import annotations

import dataclasses
import re
import shutil
from pathlib import Path

import hls_text
import pytest

import godwit
from godwit.card import build, plan, reading
from godwit.card.interface import KernelError
from godwit.card.isolation import isolate
from godwit.card.kernel import user_kernel
from godwit.card.manifest import ManifestError, load
from godwit.card.reading import Sources

OUTSIDE = Path(__file__).parent / "outside"
ONLY_THESE = ("card.kernels=[]", "card.external_ports=0", "card.assertions=false")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A card with kernels `alpha` and `beta` of a folder that is gone afterwards, and nothing else; moved away."""
    home = tmp_path_factory.mktemp("outside")
    shutil.copytree(OUTSIDE, home / "sources")
    sources = [home / "sources" / name / f"{name}.toml" for name in ("alpha", "beta")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GODWIT_CACHE", str(home / "cache"))
        # Same model, least time in the compiler.
        patch.setattr(plan, "LEVELS", {"fast": "-O0", "slow": "-O0", "runtime": "-O0"})
        built = build.build(plan.plan("tiny", ONLY_THESE, kernels=sources))
    shutil.rmtree(home / "sources")
    moved = home / "elsewhere"
    built.directory.rename(moved)
    return dataclasses.replace(built, directory=moved)


@pytest.fixture(scope="module")
def card(built):
    """That card, opened from another working directory."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir("/")
        with godwit.open(f"sim:{built.library}") as opened:
            yield opened


def test_a_card_may_have_only_the_users_kernels(card):
    assert sorted(card.kernels) == ["alpha", "beta"]


def test_such_a_card_is_opened_by_its_configuration_too():
    with pytest.raises(godwit.errors.SetupError, match="is not built"):
        godwit.open("sim:tiny", overrides=ONLY_THESE, kernels=[OUTSIDE / "alpha" / "alpha.toml"], build=False)


def test_warnings_about_the_users_kernels_are_kept_with_the_card(built):
    assert [re.sub(r"^.*/", "", warning) for warning in built.warnings] == [
        "beta.v:77: Operator ASSIGNW expects 2 bits on the Assign RHS, but Assign RHS's CONST '3'h5' generates 3 bits. [WIDTHTRUNC]"
    ]


def test_two_modules_of_one_name_are_each_their_kernels(card):
    """`outside_control_s_axi` has its registers at 0x10 and 0x18 in one kernel, at 0x20 and 0x28 in the other."""
    for value in (0, 7, 1 << 30):
        assert card.launch("alpha", a=value).result == (3 * value + 5) % (1 << 32)
        assert card.launch("beta", a=value).result == value ^ 0xF0F0


def test_a_source_is_found_without_a_sources_line(tmp_path):
    (tmp_path / "k.toml").write_text('name = "k"\n')
    (tmp_path / "k.v").write_text(hls_text.module("k"))
    assert load(tmp_path / "k.toml").sources == [tmp_path / "k.v"]
    assert load(tmp_path / "k.v").sources == [tmp_path / "k.v"]
    (tmp_path / "k.sv").write_text(hls_text.module("k"))
    assert load(tmp_path / "k.toml").sources == [tmp_path / "k.sv"]


def test_sources_are_files_folders_and_patterns():
    assert [path.name for path in load(OUTSIDE / "alpha" / "alpha.toml").sources] == [
        "alpha.v",
        "outside_control_s_axi.v",
    ]
    assert [path.name for path in load(OUTSIDE / "beta" / "beta.toml").sources] == [
        "beta.v",
        "outside_control_s_axi.v",
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('sources = ["empty"]', r"folder .*empty has no source \(.sv or .v\)"),
        ('sources = ["*.vhd"]', r"no source is called \*\.vhd"),
        ('include_dirs = ["none"]', "include folder .*none does not exist"),
        ('control = "ap_ctrl_none"', "control"),
        ('args = [{name = "s", kind = "u32", status = true}]', "`status` is for a result"),
        ('args = [{name = "s", kind = "u32", bundle = "gmem"}]', "`bundle` is for a buffer"),
    ],
)
def test_what_is_wrong_in_a_manifest_is_said(tmp_path, line, message):
    (tmp_path / "empty").mkdir()
    (tmp_path / "k.v").write_text(hls_text.module("k"))
    (tmp_path / "k.toml").write_text(f'name = "k"\n{line}\n')
    with pytest.raises(ManifestError, match=message):
        load(tmp_path / "k.toml")


def test_a_data_file_that_is_missing_is_named_with_its_reader(tmp_path):
    shutil.copytree(OUTSIDE / "beta", tmp_path / "beta")
    (tmp_path / "beta" / "rom.dat").unlink()
    with pytest.raises(KernelError, match=r"./rom.dat does not exist, which .*beta.v:\d+ reads") as caught:
        user_kernel(tmp_path / "beta" / "beta.toml")
    assert str(tmp_path / "beta") in caught.value.found
    (tmp_path / "data").mkdir()
    shutil.copy(OUTSIDE / "beta" / "rom.dat", tmp_path / "data")
    manifest = tmp_path / "beta" / "beta.toml"
    manifest.write_text(manifest.read_text().replace("[[args]]", 'include_dirs = ["../data"]\n[[args]]', 1))
    assert user_kernel(manifest).data[0].path == tmp_path / "data" / "rom.dat"


def test_data_files_included_files_and_manifests_go_into_the_hash(tmp_path):
    shutil.copytree(OUTSIDE / "alpha", tmp_path / "alpha")
    manifest = tmp_path / "alpha" / "alpha.toml"
    seen = {plan.plan("tiny", kernels=[manifest]).hash}
    for name, old, new in (
        ("rtl/rom.dat", "5", "6"),
        ("include/rule.vh", "* `FACTOR", "+ `FACTOR"),
        ("alpha.toml", "FACTOR = 3", "FACTOR = 4"),
        ("alpha.toml", 'name = "result"', 'name = "answer"'),
    ):
        path = tmp_path / "alpha" / name
        path.write_text(path.read_text().replace(old, new))
        seen.add(plan.plan("tiny", kernels=[manifest]).hash)
    assert len(seen) == 5


def units(tmp_path: Path, taken: set[str], **texts: str) -> dict[str, str]:
    """What is compiled for kernels that are one file each, top `top`, without the marks of lines."""
    sources = {}
    for name, text in texts.items():
        path = tmp_path / f"{name}.sv"
        path.write_text(text)
        sources[name] = ("top", Sources([path]))
    return {
        unit.name: " ".join(re.sub("`.*", "", unit.text).split()) + f" // {unit.top}"
        for unit in isolate(sources, taken)
    }


def test_what_differs_is_renamed_wherever_it_is_used(tmp_path):
    text = """
      package p; localparam W = %d; endpackage : p
      module part import p::*; (input [p::W-1:0] part); endmodule : part
      module top; part part (.part('0)); wire [p::W-1:0] p_w; initial $display("part p::W"); endmodule
    """
    out = units(tmp_path, {"taken"}, a=text % 1, b=text % 2)
    assert out["a"] == " ".join((text % 1).split()) + " // top"
    assert out["b"] == (
        "package b__p; localparam W = 2; endpackage : b__p "
        "module b__part import b__p::*; (input [b__p::W-1:0] part); endmodule : b__part "
        "module b__top; b__part part (.part('0)); wire [b__p::W-1:0] p_w; "
        'initial $display("part p::W"); endmodule // b__top'
    )


def test_what_is_the_same_with_all_below_it_is_kept_once(tmp_path):
    leaf = "module leaf; wire [%d:0] a; endmodule "
    same = "module mid;  leaf l (); endmodule module other; endmodule module top; mid m (); endmodule"
    out = units(tmp_path, set(), a=leaf % 1 + same, b=leaf % 1 + same.replace("  ", "\n"), c=leaf % 2 + same)
    assert "module" not in out["b"]
    assert out["c"].startswith(
        "module c__leaf; wire [2:0] a; endmodule module c__mid; c__leaf l (); endmodule"
    )
    assert "other" not in out["c"]
    assert out["c"].endswith("module c__top; c__mid m (); endmodule // c__top")


def test_names_of_the_card_stay_its_own(tmp_path):
    text = "module gw_fifo; endmodule module top; gw_fifo f (); endmodule"
    assert units(tmp_path, {"gw_fifo"}, a=text)["a"] == (
        "module a__gw_fifo; endmodule module top; a__gw_fifo f (); endmodule // top"
    )


def test_modules_that_read_data_are_never_shared(tmp_path):
    text = 'module top; reg [7:0] m [1]; initial $readmemh("m.dat", m); endmodule'
    out = units(tmp_path, set(), a=text, b=text)
    assert '$readmemh(a_data_pkg::path("m.dat"), m)' in out["a"]
    assert "module b__top;" in out["b"]
    assert '$readmemh(b_data_pkg::path("m.dat"), m)' in out["b"]


def test_macros_of_one_kernel_do_not_reach_another(tmp_path):
    out = units(
        tmp_path,
        set(),
        a="`define W 3\n`default_nettype none\nmodule top; wire [`W:0] a; endmodule",
        b="`ifdef W\nbroken\n`endif\nmodule other; endmodule module top; endmodule",
    )
    assert "broken" not in out["b"]


def test_what_is_not_for_synthesis_is_left_out(tmp_path):
    """HLS puts monitors with `wait` there, in included files too; lines keep their numbers."""
    (tmp_path / "part.vh").write_text(
        "// synopsys translate_off\nbroken\n// synopsys translate_on\nwire w;\n"
    )
    text = """module top;
      `include "part.vh"
      //synthesis translate_off
      `include "monitor.vh"
      initial wait (w) $display("x");
      // synthesis translate_on
      wire here;
      /* pragma translate_off */ more broken
    """
    source = tmp_path / "top.v"
    source.write_text(text + "// pragma translate_on\nendmodule\n")
    reading.read("kernel top", "top", Sources([source], [tmp_path]))
    unit = isolate({"k": ("top", Sources([source], [tmp_path]))}, set())[0].text
    assert not {"broken", "wait", "monitor"} & set(re.findall(r"\w+", unit))
    assert {"w", "here"} <= set(re.findall(r"\w+", unit))
    at = unit.splitlines().index(next(line for line in unit.splitlines() if "wire here" in line))
    mark = max(index for index, line in enumerate(unit.splitlines()[:at]) if line.startswith("`line"))
    number, file = re.findall(r'`line (\d+) "([^"]+)"', unit.splitlines()[mark])[0]
    assert (Path(file), int(number) + at - mark - 1) == (source, 7)


def test_two_modules_of_one_name_in_one_kernel_are_refused_unless_they_are_the_same(tmp_path):
    text = "module part; endmodule module top; part p (); endmodule "
    assert units(tmp_path, set(), a=text + "module part;\nendmodule")["a"].count("module part") == 1
    with pytest.raises(KernelError, match="kernel a: module part is there twice, with different contents"):
        units(tmp_path, set(), a=text + "module part; wire w; endmodule")


def test_places_in_messages_are_those_of_the_users_files(tmp_path):
    source = tmp_path / "k.v"
    source.write_text("`define A\n`A\nmodule k;\nendmodule\n")
    text = isolate({"k": ("k", Sources([source]))}, set())[0].text
    before = text[: text.index("module k;")].splitlines()
    number, file = re.findall(r'`line (\d+) "([^"]+)"', "\n".join(before))[-1]
    after = len(before) - 1 - max(index for index, line in enumerate(before) if "`line" in line)
    assert (Path(file), int(number) + after) == (source, 3)
