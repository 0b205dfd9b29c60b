# SPDX-License-Identifier: Apache-2.0
"""``godwit bench``: the benchmark suites of the source tree."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from godwit.cli.console import progress_bar, stdout
from godwit.errors import InputError, SetupError, nearest

if TYPE_CHECKING:
    from godwit.report import Row


def bench(
    suite: Annotated[
        str | None, typer.Argument(metavar="SUITE", help="A suite of bench/suites.", show_default=False)
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE.png", help="Where the plot goes.", show_default="build/bench/SUITE.png"),
    ] = None,
    paper: Annotated[
        str | None, typer.Option(metavar="LETTER", help="Of suite `papers`: one paper.", show_default="all")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A few cells, once: whether it works, not how fast.")
    ] = False,
    listing: Annotated[bool, typer.Option("--list", help="Print the suites and what they measure.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON array of rows.")] = False,
) -> None:
    """Run a benchmark suite: a table, a plot, and every goal with whether it is reached.

    Figures of kind `simulated` are counted in the RTL and the same on every machine. Example: godwit bench
    translate
    """
    from godwit import toolchain

    suites = _suites(toolchain.root() / "bench" / "suites")
    if listing:
        _print_suites(suites, as_json)
        return
    if suite is None:
        raise typer.BadParameter(f"which suite? There are: {', '.join(suites)}")
    if suite not in suites:
        raise InputError(
            f"no benchmark suite '{suite}'", found=f"suites: {', '.join(suites)}", hint=nearest(suite, suites)
        )
    from godwit.outputs import check_png, placed
    from godwit.report import plot_rows, rows_json

    if plot is not None:
        check_png(plot)
    module = _load(suite, suites[suite])
    options = _options(suite, module, {"paper": paper, "quick": quick or None})
    with progress_bar() as progress:
        progress(f"bench {suite}", 0, 0)
        rows = list(module.run(progress, **options))
        progress("plotting", 0, 0)
        name = f"{suite}-{paper.upper()}" if paper else suite
        target = plot or toolchain.build_dir() / "bench" / f"{name}.png"
        failed = None
        try:
            with placed(target) as place:
                if hasattr(module, "plot"):
                    module.plot(rows, place, **({"paper": paper} if paper else {}))
                else:
                    plot_rows(suite, rows, place)
        except OSError as error:
            failed = InputError(
                f"cannot write the plot '{target}'", found=error.strerror or str(error), hint="--plot"
            )
    if as_json:
        print(rows_json(rows))
    else:
        _print(suite, rows)
    # What was measured is not lost with its plot.
    if failed:
        raise failed
    if not as_json:
        stdout().print(f"plot: {target}", markup=False, soft_wrap=True)


def _print(suite: str, rows: list[Row]) -> None:
    from godwit.report import rows_table

    console = stdout()
    console.print(rows_table(suite, rows, width=console.width if console.is_terminal else None))
    judged = [row for row in rows if row.reached is not None]
    reached = sum(row.reached is True for row in judged)
    if judged:
        console.print(f"{reached} of {len(judged)} goals reached", soft_wrap=True)


def _options(suite: str, module: ModuleType, given: dict[str, Any]) -> dict[str, Any]:
    """Those of the given options that are set; InputError if the suite does not take one."""
    options = {name: value for name, value in given.items() if value is not None}
    unknown = [name for name in options if name not in getattr(module, "OPTIONS", ())]
    if unknown:
        raise InputError(f"suite '{suite}' takes no --{unknown[0]}", hint=f"godwit bench {suite}")
    return options


def _suites(directory: Path) -> dict[str, Path]:
    """Suites by name."""
    found = {path.stem: path for path in sorted(directory.glob("*.py")) if not path.stem.startswith("_")}
    if not found:
        raise SetupError(
            "there are no benchmark suites",
            found=f"nothing in '{directory}'",
            hint="suites are in the source tree: set GODWIT_ROOT to it",
        )
    return found


def _print_suites(suites: dict[str, Path], as_json: bool) -> None:
    if as_json:
        print(json.dumps([{"suite": name, "about": _about(path)} for name, path in suites.items()], indent=1))
    elif sys.stdout.isatty():
        width = max(map(len, suites))
        for name, path in suites.items():
            print(f"{name:{width}}  {_about(path)}")
    else:  # for scripts: names only
        print("\n".join(suites))


def _about(path: Path) -> str:
    """First line of the suite's docstring, read without running it."""
    import ast

    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.split("\n", 1)[0]


def _load(name: str, path: Path) -> ModuleType:
    # Suites share helpers of bench/ by absolute import.
    root = str(path.parents[2])
    if root not in sys.path:
        sys.path.insert(0, root)
    spec = importlib.util.spec_from_file_location(f"bench.suites.{name}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
