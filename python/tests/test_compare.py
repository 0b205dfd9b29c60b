# SPDX-License-Identifier: Apache-2.0
"""Two configurations or two runs side by side."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from godwit.compare import Line, compare
from godwit.errors import InputError


def run(path: Path, cycles: int, **figures: dict) -> str:
    """A report such as ``godwit run --json`` prints."""
    report = {
        "workload": "memcopy",
        "passed": True,
        "card": {"config": "default", "page_size": "4K"},
        "figures": {
            "cycles": {"value": cycles, "unit": "cycles", "kind": "simulated", "physical": 100},
            **figures,
        },
    }
    path.write_text(json.dumps(report))
    return str(path)


def test_configurations_differ_in_their_fields():
    found = compare("default", "tiny")
    lines = {line.name: line for line in found.lines}
    assert found.kind == "configuration"
    assert (lines["walker.levels"].a, lines["walker.levels"].b) == (4, 3)
    assert lines["axi.data_width"].same
    assert "description" not in lines
    assert all(line.same for line in compare("tiny", "tiny").lines)


def test_runs_have_ratios_and_what_they_were_of(tmp_path):
    a = run(tmp_path / "a.json", 200)
    b = run(tmp_path / "b.json", 300, walks={"value": 7, "unit": "walks", "kind": "simulated"})
    found = compare(a, b)
    lines = {line.name: line for line in found.lines}
    assert lines["cycles"].ratio == 1.5
    assert lines["cycles, physical"].same
    assert (lines["walks"].a, lines["walks"].b, lines["walks"].ratio) == (None, 7, None)
    assert Line("workload", "memcopy", "memcopy") in found.about


def test_rows_of_a_suite_are_found_by_name_and_configuration(tmp_path):
    def rows(path: Path, value: float | None) -> str:
        row = {"row": "hit", "config": "default", "value": value, "unit": "cycles", "kind": "simulated"}
        path.write_text(json.dumps([row, {**row, "config": "tiny", "value": 3}]))
        return str(path)

    found = compare(rows(tmp_path / "a.json", 2), rows(tmp_path / "b.json", 1))
    assert [(line.name, line.ratio) for line in found.lines] == [("hit [default]", 0.5), ("hit [tiny]", 1.0)]
    assert compare(rows(tmp_path / "a.json", None), rows(tmp_path / "b.json", 1)).lines[0].ratio is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"figures": 3}', "[1]", "\x00"])
def test_what_is_no_report_is_refused(tmp_path, text):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(InputError, match=r"x\.json"):
        compare(str(tmp_path / "x.json"), "tiny")


def test_sides_of_different_kinds_and_unknown_names_are_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be compared") as error:
        compare(run(tmp_path / "a.json", 1), "tiny")
    assert error.value.found
    with pytest.raises(InputError, match="nothing to compare called 'dafault'"):
        compare("dafault", "tiny")
    with pytest.raises(InputError, match="no file"):
        compare(str(tmp_path / "none.json"), "tiny")


def test_the_command_shows_what_differs(call, tmp_path):
    a, b = run(tmp_path / "a.json", 200), run(tmp_path / "b.json", 300)
    done = call("compare", a, b)
    assert done.returncode == 0
    assert "1.5000" in done.stdout
    assert "1 differ, 4 are alike" in done.stdout
    assert "physical" in call("compare", a, b, "--all").stdout
    assert json.loads(call("compare", "default", "tiny", "--json").stdout)["kind"] == "configuration"
    assert call("compare", a, "tiny").returncode == 1
