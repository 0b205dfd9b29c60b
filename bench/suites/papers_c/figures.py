# SPDX-License-Identifier: Apache-2.0
"""The suite's figure: fragmentation, Fig. 6, Fig. 7 and Fig. 8 in panels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.suites.papers_c.native import OURS
from godwit.report import Row

COLOURS = {
    OURS: "#d1495b",
    "glibc": "#555555",
    "jemalloc": "#4a7ebb",
    "mimalloc": "#2a9d5c",
    "tcmalloc": "#e0a100",
    "first fit per area": "#555555",
    "buddy": "#4a7ebb",
    "TLSF": "#2a9d5c",
}
STATE = "warm"


def draw(rows: Sequence[Row], raw: dict[str, Any], path: Path) -> None:
    """Writes a PNG; warm times, the cold ones are in the rows."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(3, 4, figsize=(16, 11), layout="constrained")
    judged = [row for row in rows if row.reached is not None]
    reached = sum(row.reached is True for row in judged)
    figure.suptitle(
        f"godwit bench papers --paper C: contiguous memory; {reached} of {len(judged)} goals reached",
        x=0.01,
        ha="left",
        fontweight="bold",
    )
    _fragmentation(axes[0, :2], raw["fragmentation"])
    _latency(axes[0, 2], raw["latency"])
    _overhead(axes[0, 3], raw["overhead"])
    _large(axes[1], [cell for cell in raw["cells"] if cell["figure"] == "large"])
    _inserts(axes[2], [cell for cell in raw["cells"] if cell["figure"] == "inserts"])
    for axis in axes.flat:
        axis.set_visible(axis.has_data())
        axis.grid(alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(labelsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _titles(axis: Any, title: str, across: str, up: str) -> None:
    axis.set_title(title, fontsize=10, loc="left")
    axis.set_xlabel(across, fontsize=8)
    axis.set_ylabel(up, fontsize=8)


def _log_scale(axis: Any) -> None:
    """Plain numbers at 1, 2 and 5 of every power of ten: a range below a power of ten has more than one."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axis.set_yscale("log")
    axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.yaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    axis.yaxis.set_minor_formatter(NullFormatter())


def _threads(count: int) -> str:
    return f"{count} thread" if count == 1 else f"{count} threads"


def _fragmentation(axes: Any, study: list[dict[str, Any]]) -> None:
    """The two largest size classes: smaller ones are always served."""
    sizes = list(dict.fromkeys(item["class"] for item in study))[-2:]
    for axis, size in zip(axes, sizes, strict=True):
        for peer in dict.fromkeys(item["peer"] for item in study):
            items = [item for item in study if item["peer"] == peer and item["class"] == size]
            shares = [100 * item["served"] / item["asked"] for item in items]
            axis.plot([item["occupancy"] for item in items], shares, "o-", color=COLOURS[peer], label=peer)
        _titles(axis, f"requests served, {size}", "live bytes, % of memory", "% served")
        axis.legend(fontsize=8, frameon=False)


def _latency(axis: Any, study: list[dict[str, Any]]) -> None:
    shades = ["#555555", "#4a7ebb", "#2a9d5c", "#d1495b"]
    for step, colour in zip(dict.fromkeys(item["step"] for item in study), shades, strict=True):
        items = [item for item in study if item["step"] == step]
        microseconds = [item["ns"] / item["served"] / 1000 for item in items]
        axis.plot([item["times"] for item in items], microseconds, "o-", color=colour, label=step)
    _log_scale(axis)
    axis.set_xticks(sorted({item["times"] for item in study}))
    _titles(axis, "Fig. 6: requests of 20 MiB", "requests", "µs a served request")
    axis.legend(fontsize=8, frameon=False)


def _overhead(axis: Any, mixes: dict[str, dict[str, float]]) -> None:
    names = list(next(iter(mixes.values())))
    for number, name in enumerate(names):
        places = [place + 0.16 * (number - len(names) / 2 + 0.5) for place in range(len(mixes))]
        values = [shares[name] for shares in mixes.values()]
        axis.bar(places, values, width=0.15, color=COLOURS[name], label=name)
    axis.set_xticks(range(len(mixes)), [mix.split(",")[0] for mix in mixes])
    axis.set_ylim(0.9)
    _titles(axis, "memory in use over asked for", "", "x")
    axis.legend(fontsize=7, frameon=False, ncols=2)


def _large(axes: Any, cells: list[dict[str, Any]]) -> None:
    counts = sorted({cell["threads"] for cell in cells})
    for axis, threads in zip(axes, counts, strict=False):
        for name in dict.fromkeys(cell["allocator"] for cell in cells):
            chosen = [
                cell
                for cell in cells
                if cell["threads"] == threads and cell["allocator"] == name and cell["state"] == STATE
            ]
            x = [cell["requests"] for cell in chosen]
            axis.plot(x, [cell["ns"] for cell in chosen], "o-", color=COLOURS[name], label=name)
        axis.set_xscale("log")
        _log_scale(axis)
        axis.margins(y=0.1)
        _titles(axis, f"Fig. 7: large requests, {_threads(threads)}", "requests", "processor ns a request")
        axis.legend(fontsize=7, frameon=False, loc="center left")


def _inserts(axes: Any, cells: list[dict[str, Any]]) -> None:
    structures = list(dict.fromkeys(cell["structure"] for cell in cells))
    for axis, structure in zip(axes, structures, strict=False):
        for name in dict.fromkeys(cell["allocator"] for cell in cells):
            for keys, style in (("zipfian", "o-"), ("uniform", "s--")):
                chosen = [
                    cell
                    for cell in cells
                    if (cell["structure"], cell["allocator"], cell["keys"], cell["state"])
                    == (structure, name, keys, STATE)
                ]
                if chosen:
                    x = [str(cell["threads"]) for cell in chosen]
                    y = [cell["ns"] for cell in chosen]
                    axis.plot(x, y, style, color=COLOURS[name], label=f"{name}, {keys}", markersize=4)
        # Room for the legend above the lines.
        axis.set_ylim(0, 1.4 * axis.get_ylim()[1])
        _titles(axis, f"Fig. 8: inserts, {structure}", "threads", "processor ns an insert")
        axis.legend(fontsize=7, frameon=False, loc="upper right", ncols=2)
