# SPDX-License-Identifier: Apache-2.0
"""The paper's Fig. 6.2 to 6.4 from the suite's rows: share of raw throughput by burst."""

from __future__ import annotations

from pathlib import Path

from godwit.report import Row

STYLES = ("-", "--", "-.", ":")
"""Curves that lie on each other stay visible."""


def draw(rows: list[Row], path: Path, theirs: tuple[float, float], few_pages: int) -> None:
    """One panel a figure."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 4, figsize=(16, 4.4), layout="constrained")
    linear, l1, walks, second = axes
    shares = [row for row in rows if row.unit == "% of raw" and row.value is not None]
    by_page = [row for row in shares if row.row.startswith("linear reads")]
    few = [row for row in shares if row.row.startswith(f"random reads of {few_pages} pages")]
    everywhere = [row for row in shares if row.row.startswith("random reads of") and row not in few]
    _curves(linear, by_page, lambda row: f"{row.row.split(', ')[1]}, {row.config.split(', ')[3]}")
    _curves(l1, few, lambda row: row.config.split(", ")[0])
    by_walks = [row for row in everywhere if row.config.startswith("one L1 entry, no L2")]
    _curves(walks, by_walks, lambda row: ", ".join(row.config.split(", ")[2:4]))
    by_size = [row for row in everywhere if "64 walks" in row.config]
    _curves(second, by_size, lambda row: ", ".join(row.config.split(", ")[i] for i in (0, 1, 3)))
    walks.axhspan(*theirs, color="#333333", alpha=0.08, label="theirs, by request size")
    for goal in (99.7, 99.9):
        linear.axhline(goal, color="#333333", linestyle=":", linewidth=1)
        linear.annotate(f"goal {goal}", (1, goal), fontsize=8, va="bottom")
    titles = (
        "Fig. 6.3: linear, by page size",
        f"Fig. 6.2: random in {few_pages} pages, by L1",
        "Fig. 6.4: random in 2 GiB, by walks in flight",
        "random in 2 GiB, by L1 and L2",
    )
    for axis, title in zip(axes, titles, strict=True):
        axis.set_title(title, fontsize=10, loc="left")
        axis.set_xscale("log", base=2)
        axis.set_xticks([1, 2, 4, 8, 16, 32, 64], ["1", "2", "4", "8", "16", "32", "64"])
        axis.set_xlabel("beats a burst")
        axis.grid(alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
        axis.legend(frameon=False, fontsize=8, loc="lower right")
        axis.set_ylim(0, 105)
    linear.set_ylabel("% of raw throughput")
    linear.set_ylim(98.5, 100.1)
    figure.suptitle("Configuration fletcher: 71-cycle reads, one request in four cycles", x=0.01, ha="left")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _curves(axis, rows: list[Row], name) -> None:
    lines: dict[str, list[tuple[int, float]]] = {}
    for row in rows:
        beats = int(row.row.rsplit(", ", 1)[1].split()[0])
        lines.setdefault(name(row), []).append((beats, row.value or 0.0))
    for label, points in lines.items():
        style = STYLES[list(lines).index(label) % len(STYLES)]
        axis.plot(*zip(*points, strict=True), f"o{style}", label=label, markersize=4)
