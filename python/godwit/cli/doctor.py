# SPDX-License-Identifier: Apache-2.0
"""``godwit doctor``."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from godwit.cli.console import progress_bar, stdout

_MARKS = {"ok": "[green]ok[/green]", "absent": "[yellow]absent[/yellow]"}


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print the checks as one JSON object.")] = False,
) -> None:
    """Say what is installed, what works, and what to do about the rest.

    Ends with exit code 1 when something is missing that the main job needs.
    """
    import godwit
    from godwit.doctor import examine

    with progress_bar() as progress:
        checks = []
        for check in examine():
            checks.append(check)
            progress("examining", len(checks), 0)
    works = not any(check.stops for check in checks)
    if as_json:
        report = {
            "version": godwit.__version__,
            "works": works,
            "checks": [asdict(check) for check in checks],
        }
        print(json.dumps(report, indent=1))
    else:
        from rich import box
        from rich.markup import escape
        from rich.table import Table

        console = stdout()
        table = Table(box=box.ROUNDED if console.is_terminal else None, pad_edge=console.is_terminal)
        for heading in ("", "", "found", "for", "to do"):
            table.add_column(heading, overflow="fold")
        for check in checks:
            mark = _MARKS.get(check.status, f"[bold red]{check.status}[/bold red]")
            table.add_row(check.name, mark, escape(check.found), escape(check.needed_for), escape(check.hint))
        console.print(table)
        console.print(
            "Godwit works here." if works else "Godwit does not work here yet: see what is missing above."
        )
    if not works:
        raise typer.Exit(1)
