# SPDX-License-Identifier: Apache-2.0
"""Figures and benchmark rows: what they are, as a table, as JSON and as a plot.

A figure always says where it comes from (`Kind`), so that nobody compares a modelled time with a measured
one.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

Kind = Literal["simulated", "modelled", "native", "quoted", "yosys", "nextpnr"]
"""`simulated`: counted in the RTL, exact on every machine. `modelled`: from a cost table of the
configuration. `native`: timed on this machine, or counted where the timing of
its threads has a say. `quoted`: another's figure. `yosys`, `nextpnr`: cells and
clock that the tool makes of the RTL, the same on every machine with the pinned version.
"""

Progress = Callable[[str, int, int], None]
"""``progress(what, done, total)``: called as work proceeds; `total` 0 when it is not known."""

_SHOWN: ContextVar[Progress] = ContextVar("progress", default=lambda what, done, total: None)


def shown_progress() -> Progress:
    """Where work reports that was given nowhere to: what a command shows, so that a suite's builds can be seen."""
    return _SHOWN.get()


@contextmanager
def showing(progress: Progress) -> Iterator[None]:
    """Makes it what `shown_progress` returns."""
    token = _SHOWN.set(progress)
    try:
        yield
    finally:
        _SHOWN.reset(token)


_GOALS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
    "==": operator.eq,
}


@dataclass(frozen=True)
class Row:
    """One row of a benchmark: what was measured, beside what others reach and what Godwit aims for.

    `theirs` is the value of the work compared with, None when there is none. `goal` is an operator and a
    number in the row's unit, such as ``"<= 17"``; `reached` follows from it and from `value`. A row that
    could not be measured has `value` None and then has not reached its goal.
    """

    suite: str
    row: str
    config: str
    value: float | None
    unit: str
    theirs: float | str | None = None
    goal: str | None = None
    reached: bool | None = None
    kind: Kind = "simulated"

    def __post_init__(self) -> None:
        if self.goal is not None:
            compare, bound = parse_goal(self.goal)
            object.__setattr__(self, "reached", self.value is not None and compare(self.value, bound))


def parse_goal(goal: str) -> tuple[Callable[[float, float], bool], float]:
    """The comparison and the bound of a goal such as ``"<= 17"``; ValueError when it is not of that form."""
    sign, _, bound = goal.strip().partition(" ")
    if sign not in _GOALS:
        raise ValueError(f"goal '{goal}' is not an operator ({' '.join(_GOALS)}), a blank and a number")
    return _GOALS[sign], float(bound)


@dataclass(frozen=True)
class Figure:
    """One measured number of a run. `physical` is the same number of the run with physical addresses, if it
    has one, `contiguous` that of the run on contiguous memory. `at_least`: what counted it was at its end, so that the
    number may be larger.
    """

    name: str
    label: str
    unit: str
    kind: Kind
    value: float
    physical: float | None = None
    show: Callable[[float], str] | None = None
    at_least: bool = False
    contiguous: float | None = None

    def text(self, value: float) -> str:
        """`value` as the table shows it."""
        text = self.show(value) if self.show else number_text(value)
        return f"≥ {text}" if self.at_least else text


def number_text(value: float | str | None) -> str:
    """Thousands separated; up to four digits after the point, so that shares near 1 stay apart."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) or value.is_integer():
        return f"{int(value):,}"
    if abs(value) < 0.001:
        return f"{value:.3g}"
    digits = 4 if abs(value) < 10 else 2 if abs(value) < 1000 else 1
    return f"{value:,.{digits}f}".rstrip("0").rstrip(".")


def figures_json(figures: Sequence[Figure]) -> dict[str, dict[str, Any]]:
    """``{name: {"value", "unit", "kind"[, "physical"][, "contiguous"][, "at_least": true]}}``."""
    result: dict[str, dict[str, Any]] = {}
    for figure in figures:
        result[figure.name] = {"value": figure.value, "unit": figure.unit, "kind": figure.kind}
        if figure.physical is not None:
            result[figure.name]["physical"] = figure.physical
        if figure.contiguous is not None:
            result[figure.name]["contiguous"] = figure.contiguous
        if figure.at_least:
            result[figure.name]["at_least"] = True
    return result


def figures_table(title: str, figures: Sequence[Figure], *, boxed: bool) -> Table:
    """The report of a run: translated beside physical addresses, with the ratio of the two, if it ran with them; and on contiguous
    memory, if it ran there.
    """
    table = empty_table(title, boxed=boxed)
    table.add_column("")
    beside = any(figure.contiguous is not None for figure in figures)
    twice = any(figure.physical is not None for figure in figures)
    headings = ("translated", "physical", "ratio") if twice else ("",)
    for heading in (*headings, *(("contiguous", "ratio") if beside else ())):
        table.add_column(heading, justify="right")
    table.add_column("", style="dim")
    for figure in figures:
        physical = (_shown(figure, figure.physical), _ratio(figure.value, figure.physical))
        contiguous = (_shown(figure, figure.contiguous), _ratio(figure.contiguous, figure.physical))
        table.add_row(
            figure.label,
            figure.text(figure.value),
            *(physical if twice else ()),
            *(contiguous if beside else ()),
            figure.kind,
        )
    return table


def _shown(figure: Figure, value: float | None) -> str:
    return "" if value is None else figure.text(value)


def _ratio(value: float | None, physical: float | None) -> str:
    return f"{value / physical:.4f}" if value is not None and physical else ""


def rows_json(rows: Sequence[Row]) -> str:
    """One JSON array of rows, keys in the order of `Row`."""
    return json.dumps([asdict(row) for row in rows], indent=1)


_COLUMNS = ("", "value", "unit", "theirs", "goal", "", "kind")
_ROW, _OTHERS = 0, 3
"""Columns whose texts may take several lines."""


def rows_table(suite: str, rows: Sequence[Row], *, width: int | None) -> Group:
    """All rows of a suite, below the configuration they share; a goal that was not reached says so. `width`: of a
    terminal, in which long texts take several lines.
    """
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    cells = [_cells(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(_COLUMNS, *cells, strict=True)]
    if width is not None:
        room = width - sum(widths) + widths[_ROW] + widths[_OTHERS] - 2 * (len(widths) - 1)
        widths[_OTHERS] = min(widths[_OTHERS], max(12, room - min(widths[_ROW], max(12, room * 2 // 3))))
        widths[_ROW] = min(widths[_ROW], max(12, room - widths[_OTHERS]))
    parts: list[Any] = [Text(f"godwit bench {suite}", style="bold")]
    for config, group in groupby(zip(rows, cells, strict=True), key=lambda pair: pair[0].config):
        parts.append(Padding(Text(config, style="cyan"), (1, 0, 0, 0)))
        parts.append(_rows_below(list(group), widths, header=len(parts) == 2))
    return Group(*parts)


def _cells(row: Row) -> list[str]:
    return [
        row.row,
        number_text(row.value) if row.value is not None else "-",
        row.unit,
        number_text(row.theirs),
        row.goal or "",
        _VERDICTS[row.reached],
        row.kind,
    ]


def _rows_below(group: Sequence[tuple[Row, list[str]]], widths: Sequence[int], *, header: bool) -> Table:
    """Rows of one configuration; columns as wide as in the other tables."""
    from rich.markup import escape

    table = empty_table(None, boxed=False)
    table.show_header = header
    for index, (heading, width) in enumerate(zip(_COLUMNS, widths, strict=True)):
        table.add_column(
            heading,
            width=width,
            justify="right" if index in (1, 3, 4) else "left",
            no_wrap=index not in (_ROW, _OTHERS),
            style="dim" if heading == "kind" else None,
        )
    for row, cells in group:
        table.add_row(*map(escape, cells[:5]), verdict(row.reached), cells[6])
    return table


_VERDICTS = {None: "", True: "reached", False: "NOT reached"}


def verdict(reached: bool | None) -> str:
    """``reached`` or ``NOT reached``; nothing without a goal. With Rich markup."""
    style = {None: "", True: "green", False: "bold red"}[reached]
    return f"[{style}]{_VERDICTS[reached]}[/{style}]" if style else ""


def empty_table(title: str | None, *, boxed: bool) -> Table:
    """An empty table in the style of all reports; `boxed` on a terminal."""
    from rich import box
    from rich.table import Table

    return Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.ROUNDED if boxed else None,
        pad_edge=boxed,
        header_style="bold",
    )


def plot_rows(suite: str, rows: Sequence[Row], path: Path) -> None:
    """Writes one panel a unit as PNG: bars for the values, a diamond for theirs, a tick for the goal."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    measured = [row for row in rows if row.value is not None]
    units = list(dict.fromkeys(row.unit for row in measured))
    groups = [[row for row in measured if row.unit == unit] for unit in units]
    heights = [len(group) for group in groups] or [1]
    # Inches: every bar the same, then an axis with its label for each panel, then title and legend.
    size = (11, 0.34 * sum(heights) + 0.75 * len(heights) + 0.9)
    figure, axes = plt.subplots(
        len(heights), 1, figsize=size, height_ratios=heights, squeeze=False, layout="constrained"
    )
    figure.suptitle(f"godwit bench {suite}", x=0.01, ha="left", fontweight="bold")
    for axis, unit, group in zip(axes[:, 0], units, groups, strict=False):
        _panel(axis, unit, group)
    figure.legend(handles=_legend(measured), loc="outside lower right", ncols=5, fontsize=8, frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)


_COLOURS = {True: "#2a9d5c", False: "#d1495b", None: "#4a7ebb"}
_THEIRS: dict[str, Any] = {"marker": "D", "s": 26, "color": "#333333"}
_GOAL: dict[str, Any] = {"marker": "|", "s": 260, "linewidths": 2.2, "color": "#e0a100"}


LABEL = 60
"""Letters of a row's name, and of its configuration, that a plot has room for. The table has all."""


def _label(row: Row) -> str:
    from textwrap import shorten

    name, config = (shorten(text, LABEL, placeholder=" …") for text in (row.row, row.config))
    return f"{name}\n[{config}]" if len(name) + len(config) > LABEL else f"{name}  [{config}]"


def _panel(axis: Any, unit: str, rows: Sequence[Row]) -> None:
    from matplotlib.ticker import FuncFormatter

    values = [row.value or 0.0 for row in rows]
    axis.barh(range(len(rows)), values, color=[_COLOURS[row.reached] for row in rows], height=0.66, zorder=2)
    theirs = [(row.theirs, place) for place, row in enumerate(rows) if isinstance(row.theirs, int | float)]
    goals = [(parse_goal(row.goal)[1], place) for place, row in enumerate(rows) if row.goal]
    for points, style, order in ((goals, _GOAL, 3), (theirs, _THEIRS, 4)):
        if points:
            axis.scatter(*zip(*points, strict=True), **style, zorder=order)
    positive = [value for value in (*values, *(x for x, _ in goals), *(x for x, _ in theirs)) if value > 0]
    if positive and max(positive) > 200 * min(positive):
        axis.set_xscale("log")
    else:
        axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    for place, value in enumerate(values):  # in a column of their own: no marker hides them
        where = (1.005, place)
        axis.annotate(number_text(value), where, xycoords=("axes fraction", "data"), va="center", fontsize=8)
    axis.set_yticks(range(len(rows)), [_label(row) for row in rows], fontsize=8)
    axis.set_ylim(len(rows) - 0.45, -0.55)
    axis.set_xlabel(unit, fontsize=9)
    axis.grid(axis="x", alpha=0.3, zorder=0)
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.tick_params(axis="y", length=0)
    axis.tick_params(axis="x", labelsize=8)


def _legend(rows: Sequence[Row]) -> list[Any]:
    """Handles for what the plot of `rows` has in it."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    names = {True: "goal reached", False: "goal NOT reached", None: "no goal"}
    used = {row.reached for row in rows}
    handles: list[Any] = [
        Patch(color=_COLOURS[key], label=name) for key, name in names.items() if key in used
    ]
    if any(row.goal for row in rows):
        tick: dict[str, Any] = {"marker": "|", "markersize": 12, "markeredgewidth": 2.2, "linestyle": ""}
        handles.append(Line2D([], [], **tick, color=_GOAL["color"], label="goal"))
    if any(isinstance(row.theirs, int | float) for row in rows):
        handles.append(Line2D([], [], marker="D", linestyle="", color=_THEIRS["color"], label="theirs"))
    return handles
