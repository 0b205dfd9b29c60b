# SPDX-License-Identifier: Apache-2.0
"""``godwit compare``: two configurations or two runs side by side."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from godwit.cli.console import stdout

if TYPE_CHECKING:
    from godwit.compare import Comparison, Line

_SIDE = "A configuration (name or TOML file), or a file of `godwit run --json` or `godwit bench --json`."


def compare(
    a: Annotated[str, typer.Argument(metavar="A", help=_SIDE, show_default=False)],
    b: Annotated[str, typer.Argument(metavar="B", help="The same kind of thing.", show_default=False)],
    everything: Annotated[bool, typer.Option("--all", help="Show what is alike too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, with every line.")] = False,
) -> None:
    """Put two configurations or two runs side by side: what differs, and by what ratio.

    Example: godwit compare default tiny
    """
    from godwit.compare import compare

    found = compare(a, b)
    if as_json:
        print(json.dumps(found.to_json(), indent=1))
    else:
        _show(found, everything)


def _show(found: Comparison, everything: bool) -> None:
    from godwit.report import empty_table

    console = stdout()
    measured = found.kind != "configuration"
    table = empty_table(f"{found.a} and {found.b}", boxed=console.is_terminal)
    table.add_column(found.heading)
    table.add_column(found.a, justify="right")
    table.add_column(found.b, justify="right")
    if measured:
        table.add_column("ratio", justify="right")
        table.add_column("unit")
        table.add_column("", style="dim")
    for line in [*found.about, *found.lines]:
        if everything or not line.same:
            row = [line.name, _text(line.a), _text(line.b)]
            if measured:
                ratio = line.ratio
                row += [f"{ratio:.4f}" if ratio is not None else "", line.unit, line.kind]
            table.add_row(*row)
    if table.row_count:
        console.print(table)
    console.print(_summary([*found.about, *found.lines]), soft_wrap=True)


def _summary(lines: list[Line]) -> str:
    same = sum(line.same for line in lines)
    return f"{len(lines) - same} differ, {same} are alike"


def _text(value: Any) -> str:
    from godwit.report import number_text

    if value is None:
        return "-"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return number_text(value) if isinstance(value, str | int | float) else str(value)
