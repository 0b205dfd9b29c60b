# SPDX-License-Identifier: Apache-2.0
"""Benchmark rows and figures: goals are judged, and tables, JSON and plots say the same."""

import io
import json

import pytest
from rich.console import Console

from godwit.report import (
    Figure,
    Row,
    figures_json,
    figures_table,
    number_text,
    plot_rows,
    rows_json,
    rows_table,
)

ROWS = [
    Row("translate", "hit latency", "ideal", 1, "cycles", theirs=9, goal="<= 1"),
    Row(
        "translate",
        "walk, warm, with a very long name that a narrow console would cut",
        "ideal",
        19,
        "cycles",
        goal="<= 17",
    ),
    Row("translate", "share of the physical run", "fletcher", 0.9981, "ratio", theirs=0.997, goal=">= 0.997"),
    Row("translate", "board", "quoted", 233.0, "cycles", kind="quoted"),
    Row("translate", "not measured", "default", None, "cycles", goal="<= 3"),
]


def plain(renderable) -> str:
    stream = io.StringIO()
    Console(file=stream, width=10_000, highlight=False).print(renderable)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("value", "goal", "reached"),
    [
        (1, "<= 1", True),
        (1.01, "<= 1", False),
        (0.997, ">= 0.997", True),
        (3, "< 3", False),
        (4, "> 3", True),
        (2, "== 2", True),
        (None, "<= 1", False),
        (5, None, None),
    ],
)
def test_a_goal_is_judged_by_its_operator(value, goal, reached):
    assert Row("s", "r", "c", value, "cycles", goal=goal).reached is reached


@pytest.mark.parametrize("goal", ["17", "=< 17", "<=17", "about 3", "<= x"])
def test_a_goal_that_cannot_be_judged_is_an_error(goal):
    with pytest.raises(ValueError):
        Row("s", "r", "c", 1, "cycles", goal=goal)


def test_a_verdict_cannot_contradict_the_goal():
    assert Row("s", "r", "c", 5, "cycles", goal="<= 1", reached=True).reached is False


def test_json_rows_have_exactly_the_documented_keys():
    rows = json.loads(rows_json(ROWS))
    assert [list(row) for row in rows] == [
        ["suite", "row", "config", "value", "unit", "theirs", "goal", "reached", "kind"]
    ] * len(ROWS)
    assert rows[1]["reached"] is False
    assert rows[3]["goal"] is None


def test_a_plain_table_has_one_line_a_row_and_no_boxes():
    text = plain(rows_table("translate", ROWS, width=None))
    lines = [line for line in text.splitlines() if line.strip()]
    assert len(lines) == 2 + len({row.config for row in ROWS}) + len(ROWS)
    assert "with a very long name that a narrow console would cut" in text
    assert "NOT reached" in next(line for line in lines if "walk, warm" in line)
    assert text.isascii()
    assert "\x1b" not in text


def test_rows_stand_below_the_configuration_they_share_and_fit_a_terminal():
    theirs = "23.9 (PULP axi_tlb_l1, 16 entries: their RTL routed in this flow, cycles simulated)"
    rows = [*ROWS[:2], Row("translate", "hit", "at 56 MHz [routed]", 35.5, "ns", theirs=theirs, kind="yosys")]
    stream = io.StringIO()
    Console(file=stream, width=100, highlight=False).print(rows_table("translate", rows, width=100))
    text = stream.getvalue()
    assert max(map(len, text.splitlines())) <= 100
    assert text.count("ideal") == 1
    assert "at 56 MHz [routed]" in text
    for word in ("cycles", "NOT reached", "simulated", "yosys", "35.5"):
        assert word in text, f"{word} is cut off in\n{text}"


def test_figures_show_both_runs_and_their_ratio():
    figures = [
        Figure("cycles", "cycles", "cycles", "simulated", 1100, 1000),
        Figure("walks", "walks", "walks", "simulated", 7),
        Figure("idle", "idle", "cycles", "simulated", 3, 0),
    ]
    lines = plain(figures_table("", figures, boxed=False)).splitlines()
    assert "1,100" in lines[1]
    assert "1.1000" in lines[1]
    assert lines[2].split() == ["walks", "7", "simulated"]
    assert figures_json(figures)["cycles"] == {
        "value": 1100,
        "unit": "cycles",
        "kind": "simulated",
        "physical": 1000,
    }
    assert "physical" not in figures_json(figures)["walks"]


def test_a_run_on_contiguous_memory_has_its_own_column_and_ratio():
    figures = [
        Figure("cycles", "cycles", "cycles", "simulated", 1100, 1000, contiguous=1050),
        Figure("walks", "walks", "walks", "simulated", 7, contiguous=0),
        Figure("link", "link", "s", "modelled", 3),
    ]
    lines = plain(figures_table("", figures, boxed=False)).splitlines()
    assert lines[0].split() == ["translated", "physical", "ratio", "contiguous", "ratio"]
    assert lines[1].split() == ["cycles", "1,100", "1,000", "1.1000", "1,050", "1.0500", "simulated"]
    assert lines[2].split() == ["walks", "7", "0", "simulated"]
    assert figures_json(figures)["walks"]["contiguous"] == 0
    assert "contiguous" not in figures_json(figures)["link"]


def test_a_count_that_reached_its_end_is_marked():
    figures = [Figure("longest", "longest", "cycles", "simulated", 65_535, at_least=True)]
    assert "≥ 65,535" in plain(figures_table("", figures, boxed=False))
    assert figures_json(figures)["longest"]["at_least"] is True


def test_numbers_are_readable_at_every_size():
    expected = {
        336776: "336,776",
        (1 << 63) + 1: "9,223,372,036,854,775,809",
        0.99812: "0.9981",
        0.25: "0.25",
        33.3333: "33.33",
        1234.56: "1,234.6",
        0.0001234: "0.000123",
        0: "0",
        12.0: "12",
    }
    for value, text in expected.items():
        assert number_text(value) == text
    assert number_text(None) == ""
    assert number_text("56-112") == "56-112"


def test_a_plot_is_a_png_with_room_for_every_row(tmp_path):
    from matplotlib import image

    few, many = tmp_path / "sub" / "few.png", tmp_path / "many.png"
    plot_rows("translate", ROWS, few)
    plot_rows(
        "translate", [*ROWS, *(Row("translate", f"row {n}", "c", n, "cycles") for n in range(30))], many
    )
    assert image.imread(many).shape[0] > image.imread(few).shape[0] + 30 * 20


def test_a_plot_has_room_for_its_bars_whatever_a_configuration_says(tmp_path, recwarn):
    long = (
        "at 56.4 MHz (a block with a long name, static estimate, not routed); "
        + "because of this and that " * 20
    )
    plot_rows("translate", [*ROWS, Row("translate", "L1 hit", long, 35.5, "ns")], tmp_path / "long.png")
    assert not [str(warning.message) for warning in recwarn]


def test_a_plot_of_nothing_is_still_a_png(tmp_path):
    plot_rows("empty", [], tmp_path / "empty.png")
    assert (tmp_path / "empty.png").read_bytes().startswith(b"\x89PNG")
