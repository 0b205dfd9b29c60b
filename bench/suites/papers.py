# SPDX-License-Identifier: Apache-2.0
"""The papers' tables and figures with Godwit's beside them: --paper C (contiguous memory), K (page
migrations), N (direct virtual memory access), S (one L2 TLB for two page sizes) or W (memory management
for Fletcher).

Every paper is a package ``papers_X`` beside this file with ``run(progress, quick) -> list[Row]`` and, where
bars do not do, ``plot(rows, path)``.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

from godwit.errors import InputError, nearest
from godwit.report import Progress, Row, plot_rows

OPTIONS = frozenset({"paper", "quick"})
"""Options of ``godwit bench`` that this suite takes."""


def papers() -> list[str]:
    """Letters of the papers there are."""
    here = Path(__file__).parent
    return sorted(
        path.parent.name.removeprefix("papers_").upper() for path in here.glob("papers_*/__init__.py")
    )


def run(progress: Progress, paper: str | None = None, quick: bool = False) -> list[Row]:
    """Rows of one paper, or of all."""
    rows: list[Row] = []
    for name in papers() if paper is None else [paper.upper()]:
        rows += _module(name).run(progress, quick)
    return rows


def plot(rows: list[Row], path: Path, paper: str | None = None) -> None:
    """The paper's own figure if it has one, otherwise a bar a row."""
    draw = getattr(_module(paper.upper()), "plot", None) if paper is not None else None
    if draw is None:
        plot_rows("papers", rows, path)
    else:
        draw(rows, path)


def _module(name: str) -> ModuleType:
    if name not in papers():
        raise InputError(
            f"no paper '{name}'", found=f"papers: {', '.join(papers())}", hint=nearest(name, papers())
        )
    return importlib.import_module(f"bench.suites.papers_{name.lower()}")
