# SPDX-License-Identifier: Apache-2.0
"""The campaign itself: which faults it makes, that what it puts into the tree is one fault a run, and who finds a few of them."""

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import run
import tree
from sites import changes

from godwit import toolchain

SOURCE = """
module m #(parameter int N = 2 + 2) (input logic clk_i, rst_ni, a, b, input logic [N-1:0] c, output logic [N-1:0] q);
  `define GUARD(x) always_comb assert (a && x);
  logic d;
  assign d = a && !b;
  `GUARD(b)
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) q <= '0;
    else begin
      for (int i = 0; i < N; i++) if (d == c[i]) q[i] <= a ? c[i] : (c[N-1:0] + N'(3)) > 4;
    end
  end
  function automatic logic f(logic x); return x && 1'b1; endfunction
endmodule
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "m.sv").write_text(SOURCE)
    return tmp_path


def test_faults_are_made_of_the_logic_and_of_nothing_that_is_constant(source):
    found = [(change.before, change.name) for change in changes(source, Path("m.sv"))]
    whole = "a ? c[i] : (c[N-1:0] + N'(3)) > 4"
    assert sorted(found) == sorted(
        [
            ("a && !b", "&& as ||"),
            ("!b", "without !"),
            ("'0", "keeps its value"),
            ("d == c[i]", "== as !="),
            (whole, "keeps its value"),
            (whole, "always the first"),
            (whole, "always the second"),
            ("(c[N-1:0] + N'(3)) > 4", "> as >="),
            ("c[N-1:0] + N'(3)", "+ as -"),
        ]
    )


def test_a_run_chooses_one_fault_and_none_is_the_source_itself(source):
    faults = dict(enumerate(changes(source, Path("m.sv")), 1))
    package = source / tree.PACKAGE
    package.parent.mkdir(parents=True)
    package.write_text("package gw_pkg;\nendpackage\n")
    tree.place_all(source, faults)
    text = (source / "m.sv").read_text()
    for number, fault in faults.items():
        assert text.count(f"== {number} ? ({fault.after})") == 1
    assert "gw_mutant_chosen" in package.read_text()
    # Without the choices it is what it was, but for parentheses.
    plain = text
    for number, fault in faults.items():
        plain = plain.replace(f"{tree.CHOICE} == {number} ? ({fault.after}) : ", "")
    assert plain.replace("(", "").replace(")", "") == SOURCE.replace("(", "").replace(")", "")


LIBRARY = """
#include "Vtop.h"
extern "C" int chosen() {
  VerilatedContext context;  // No arguments, as in a card.
  Vtop top(&context);
  top.eval();
  return top.chosen;
}
"""


def test_a_model_without_arguments_has_the_fault_of_its_file(tmp_path):
    """A card is a library: no `+gw_mutant` reaches it, and Verilator ends a program that asks for one nobody could give."""
    package = tmp_path / tree.PACKAGE
    package.parent.mkdir(parents=True)
    package.write_text("package gw_pkg;\nendpackage\n")
    tree.place_all(tmp_path, {})
    (tmp_path / "top.sv").write_text(
        "module top (output int chosen); assign chosen = gw_pkg::gw_mutant; endmodule\n"
    )
    (tmp_path / "library.cpp").write_text(LIBRARY)
    (tmp_path / "main.cpp").write_text('extern "C" int chosen();\nint main() { return chosen(); }\n')
    options = ["--cc", "--exe", "--build", "-Wno-fatal", "--top-module", "top"]
    command = [str(toolchain.verilator()), *options, str(tree.PACKAGE), "top.sv", "library.cpp", "main.cpp"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, env=toolchain.env())
    for number in (17, 0):
        (tmp_path / tree.NUMBER).write_text(f"{number}\n")
        assert subprocess.run([tmp_path / "obj_dir/Vtop"], cwd=tmp_path, check=False).returncode == number


def test_one_fault_replaces_one_expression(source):
    fault = changes(source, Path("m.sv"))[0]
    tree.place_one(source, fault)
    assert (source / "m.sv").read_text() == SOURCE.replace("a && !b", "((a) || (!b))")


@pytest.mark.parametrize("name", run.blocks())
def test_every_block_has_files_benches_and_proofs_that_are_there(name):
    block = run.blocks()[name]
    assert all(list((run.ROOT / "hw/rtl").glob(pattern)) for pattern in block.files)
    assert all((run.ROOT / bench).exists() for bench in block.benches)
    assert all(list((run.ROOT / "hw/formal").glob(f"*/{proof}.sby")) for proof in block.proofs)
    assert all(fault.change.before != fault.change.after for fault in run.choose(run.ROOT, block, 0, 1))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("nothing", "no block nothing; blocks are: stream, "),
        ("l2 --sample -1", "--sample -1: 0 for named faults only"),
    ],
)
def test_a_campaign_that_makes_no_sense_is_refused(monkeypatch, capsys, words, said):
    monkeypatch.setattr(sys, "argv", ["run.py", *words.split()])
    with pytest.raises(SystemExit) as ended:
        run.main()
    assert ended.value.code == 2
    assert f"error: {said}" in capsys.readouterr().err


def test_a_sample_is_found(tmp_path):
    block = run.blocks()["stream"]
    faults = [fault for fault in run.choose(run.ROOT, block, None, 1) if "gw_fifo" in str(fault.change.file)]
    chosen = [
        fault
        for fault in faults
        if fault.origin == "named" or fault.change.before == "in_valid_i && in_ready_o"
    ]
    found = list(run.Campaign(block, chosen, 1, tmp_path).run())
    assert len(found) >= 2
    assert {fault.finder.split(" (")[0] for fault in found} == {"bench common/test_stream.py"}
