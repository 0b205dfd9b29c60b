# SPDX-License-Identifier: Apache-2.0
"""Prefetch and eviction policies beside UVM's tree, drm_gpusvm's chunks, LRU of 2 MiB and Belady, on the same page traces.

No card and no clock: `godwit-policy-bench` counts what each policy decides, the same on every machine. Times are modelled from two cost
tables that the rows name.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from godwit import toolchain
from godwit.errors import SetupError
from godwit.report import Progress, Row

UVM, CHUNKS, DEMAND, OURS = "UVM's tree", "drm_gpusvm's chunks", "demand only", "Godwit"
RUNTIME, BLIND = "Godwit, in batches", "Godwit, no A bits"
"""As the runtime in user space takes the policies, and what it has where hardware sets no A bits."""
WORTH = 16
"""Pages that a fault is worth in the counts: UVM's own smallest fetch."""
MIB = 1 << 20

MACHINES = {
    # Kalkhof 2021: interrupt 2.5 and worker 5.5 us; Table III at 32 MB, in: (2.12 + 2.06 + 23.32 + 5.83) ms for 8192 pages.
    "paper K's card: 8 us a batch, 4.07 us a page": (8.0, 4.07, 2),
    # Assumed: the lower end of what is reported for GPUs, and 25 GB/s.
    "fast link: 20 us a batch, 0.16 us a page": (20.0, 0.16, 128),
}
"""Microseconds a batch and a page, and what a fault is worth there, in pages."""


OPTIONS = frozenset({"quick"})
"""Options of ``godwit bench`` that this suite takes."""


def run(progress: Progress, quick: bool = False) -> list[Row]:
    """Rows of both studies; `quick`: two traces and one size of memory."""
    found = _measure(progress, quick)
    (toolchain.build_dir() / "bench").mkdir(parents=True, exist_ok=True)
    _raw().write_text(json.dumps(found, indent=1), encoding="utf-8")
    return [*_prefetch(found["prefetch"]), *_oversubscription(found["oversubscription"])]


def _raw() -> Path:
    return toolchain.build_dir() / "bench" / "prefetch.json"


def _measure(progress: Progress, quick: bool) -> dict[str, list[dict[str, Any]]]:
    root = toolchain.root()
    if not toolchain.is_checkout():
        raise SetupError(
            "the policies' traces are a native program, which needs a checkout of Godwit and Rust",
            found=f"the installed package, {root}",
            hint="run it in a checkout, or set GODWIT_ROOT to one",
        )
    progress("building the traces", 0, 2)
    build = ["cargo", "build", "--release", "--locked", "-p", "godwit-policy-bench"]
    program = Path(os.environ.get("CARGO_TARGET_DIR", root / "target")) / "release" / "godwit-policy-bench"
    output = ""
    for step, command in enumerate((build, [str(program), *(["quick"] if quick else [])])):
        progress("building the traces" if step == 0 else "running the traces", step, 2)
        try:
            done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            raise SetupError(f"{command[0]} is needed for the traces", hint="install it") from None
        if done.returncode:
            raise SetupError(f"`{' '.join(command[:3])}` failed", found=done.stderr.strip()[-2000:])
        output = done.stdout
    return json.loads(output)


def _time(row: dict[str, Any], machine: tuple[float, float, int]) -> float:
    """Microseconds that the migrations of a run take."""
    batch, page, _ = machine
    return row["batches"] * batch + row["bytes_in"] / 4096 * page


def _traces(rows: Sequence[dict[str, Any]]) -> dict[str, dict[tuple[str, int], dict[str, Any]]]:
    found: dict[str, dict[tuple[str, int], dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["trace"], {})[row["policy"], row["worth"]] = row
    return found


def _prefetch(rows: Sequence[dict[str, Any]]) -> Iterator[Row]:
    for trace, policies in _traces(rows).items():
        ours, uvm, chunks = policies[OURS, WORTH], policies[UVM, 0], policies[CHUNKS, 0]
        config = f"{ours['touched'] / MIB:.1f} MiB touched, a fault worth {WORTH} pages"
        for name, key, scale, unit in (
            ("page faults", "faults", 1, "faults"),
            ("moved", "bytes_in", MIB, "MiB"),
            ("wasted", "wasted", MIB, "MiB"),
        ):
            theirs = f"{uvm[key] / scale:g} UVM, {chunks[key] / scale:g} gpusvm"
            yield Row(
                "prefetch",
                f"{trace}: {name}",
                config,
                ours[key] / scale,
                unit,
                theirs,
                f"<= {uvm[key] / scale}",
                kind="native",
            )
        for machine, costs in MACHINES.items():
            base = _time(uvm, costs)
            yield Row(
                "prefetch",
                f"{trace}: time of migrations over UVM's",
                f"{machine}, a fault worth {costs[2]} pages",
                _time(policies[OURS, costs[2]], costs) / base,
                "x",
                f"{_time(chunks, costs) / base:.3f} gpusvm",
                "<= 1",
                kind="modelled",
            )


def _over_least(row: dict[str, Any]) -> float:
    return (row["bytes_in"] + row["bytes_out"]) / (row["least_in"] + row["least_out"])


def _cases(rows: Sequence[dict[str, Any]]) -> list[dict[str, dict[str, Any]]]:
    """Rows of a trace and a size of memory, by policy."""
    found: dict[tuple[str, float], dict[str, dict[str, Any]]] = {}
    for row in rows:
        found.setdefault((row["trace"], row["factor"]), {})[row["policy"]] = row
    return list(found.values())


def _oversubscription(rows: Sequence[dict[str, Any]]) -> Iterator[Row]:
    for case in _cases(rows):
        uvm, singly = case[UVM], case[DEMAND]
        for ours in (case[OURS], case[RUNTIME], case[BLIND]):
            least = ours["least_in"] + ours["least_out"]
            way = ours["policy"].removeprefix(OURS)
            yield Row(
                "prefetch",
                f"{ours['trace']}, {ours['factor']} x memory{way}: bytes moved over the least",
                f"Belady {least / MIB:.0f} MiB in and out; {ours['batches']} batches, LRU {uvm['batches']}",
                _over_least(ours),
                "x",
                f"{_over_least(uvm):.2f} LRU of 2 MiB, {_over_least(singly):.2f} without prefetch",
                f"<= {_over_least(uvm)}",
                kind="native",
            )


def plot(rows: list[Row], path: Path) -> None:
    """Batches and bytes of every policy by trace, and bytes over the least with less memory than data."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    found = json.loads(_raw().read_text(encoding="utf-8"))
    figure, axes = plt.subplots(1, 3, figsize=(16, 5), layout="constrained")
    reached, judged = sum(row.reached is True for row in rows), sum(row.reached is not None for row in rows)
    figure.suptitle(
        f"godwit bench prefetch: {reached} of {judged} goals reached", x=0.01, ha="left", fontweight="bold"
    )
    traces = _traces(found["prefetch"])
    policies = {(DEMAND, 0): "#999999", (UVM, 0): "#4a7ebb", (CHUNKS, 0): "#e0a100", (OURS, WORTH): "#d1495b"}
    for axis, key, scale, title in (
        (axes[0], "batches", 1, "Batches of faults"),
        (axes[1], "bytes_in", MIB, "MiB moved in"),
    ):
        for number, (policy, colour) in enumerate(policies.items()):
            values = [trace[policy][key] / scale for trace in traces.values()]
            places = [index + 0.2 * (number - 1.5) for index in range(len(traces))]
            axis.bar(places, values, 0.19, color=colour, label=policy[0])
        axis.set_yscale("log")
        axis.set_xticks(range(len(traces)), list(traces), fontsize=8)
        axis.set_title(title, fontsize=10, loc="left")
    axes[0].legend(fontsize=8, frameon=False)
    cases = _cases(found["oversubscription"])
    names = [f"{case[UVM]['trace']}\n{case[UVM]['factor']} x" for case in cases]
    for number, (name, whose, colour) in enumerate(
        (
            ("LRU of 2 MiB", UVM, "#4a7ebb"),
            ("... without prefetch", DEMAND, "#999999"),
            (OURS, OURS, "#d1495b"),
            (RUNTIME, RUNTIME, "#8c1c2f"),
            (BLIND, BLIND, "#e9a0a8"),
        )
    ):
        values = [_over_least(case[whose]) for case in cases]
        places = [index + 0.16 * (number - 2) for index in range(len(values))]
        axes[2].bar(places, values, 0.15, color=colour, label=name)
    axes[2].axhline(1, color="#555555", linewidth=1)
    axes[2].set_yscale("log")
    axes[2].set_xticks(range(len(names)), names, fontsize=8)
    axes[2].set_title("Bytes moved over the least (Belady), data over memory", fontsize=10, loc="left")
    axes[2].legend(fontsize=8, frameon=False)
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(axis="y", alpha=0.3)
    figure.savefig(path, dpi=110)
    plt.close(figure)
