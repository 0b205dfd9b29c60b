# SPDX-License-Identifier: Apache-2.0
"""``godwit run tlb-stress``: accesses one page apart over growing footprints, by the kernel `traffic`.

What the TLB-stress benchmark of the SVNAPOT paper does: warm the TLBs up with one pass over the footprint, then
touch pages in order or at random and count cycles and misses.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from godwit.errors import CheckError, InputError, nearest
from godwit.run.contiguous import open_pool, place
from godwit.run.traffic import BEAT_BYTES, MAX_OUTSTANDING, Plan
from godwit.run.workload import PAGE_SIZES, Setup, card_facts, measure, require_memory
from godwit.units import bytes_text, parse_size

if TYPE_CHECKING:
    from rich.table import Table

    from godwit.api import Card, Mode
    from godwit.buffers import Buffer
    from godwit.memory import Context

STRIDE_BYTES = 4096
PATTERNS = ("linear", "random")
FRAMES = ("contiguous", "scattered")
PHYSICAL_ACCESSES = 100_000
"""Accesses of the run with physical addresses at most: its rate is steady from the start."""
MAX_FRAGMENTS = 32_000
"""Scattered pages at most: each is a mapping of this process, twice over, and Linux allows some 65,000."""


@dataclass(frozen=True)
class Point:
    """One measured footprint. Misses, walks and reads are counted in the translated run alone."""

    pattern: str
    footprint_bytes: int
    accesses: int
    cycles_per_access: float
    physical_cycles_per_access: float | None
    """The same accesses with physical addresses; None with scattered frames, which have none in one piece."""
    latency_mean: float
    """Cycles from address to data at the kernel."""
    latency_max: int
    l1_misses: int
    l2_misses: int | None
    """None on a card without a second-level TLB."""
    walks: int
    page_table_reads: int
    range_hits: int | None = None
    """None on a card without a second-level TLB."""
    memory: str = "device"
    """Or ``cmt``: the footprint is a block of contiguous memory, with an entry of the range TLB."""


@dataclass(frozen=True)
class Sweep:
    """All points of a run, and the card they were measured on."""

    card: dict[str, Any]
    frames: str
    outstanding: int
    points: list[Point]
    plot: Path | None = None
    """Where the curves were drawn."""

    def to_json(self) -> dict[str, Any]:
        """The report for machines."""
        return {
            "workload": "tlb-stress",
            "passed": True,  # a run that fails its check raises instead
            "card": self.card,
            "stride_bytes": STRIDE_BYTES,
            "frames": self.frames,
            "outstanding": self.outstanding,
            "kind": "simulated",
            "points": [asdict(point) for point in self.points],
        }


def footprints(text: str) -> list[int]:
    """Sizes of ``FIRST:LAST``, each twice the one before, or of one size; powers of two from 4 KiB on."""
    first, _, last = text.partition(":")
    low = parse_size(first)
    high = parse_size(last) if last else low
    for size in (low, high):
        if size < STRIDE_BYTES or size & size - 1:
            raise InputError(
                f"no footprint of {bytes_text(size)}",
                found="footprints are powers of two from 4 KiB on",
                hint="4K:256M, or one size",
            )
    if low > high:
        raise InputError(f"no footprints from {first} to {last}", hint=f"{last}:{first}")
    return [low << step for step in range((high // low).bit_length())]


def run(
    setup: Setup,
    *,
    sizes: Sequence[int],
    patterns: Sequence[str] = PATTERNS,
    accesses: int = 1_000_000,
    frames: str = "contiguous",
    outstanding: int = MAX_OUTSTANDING,
    seed: int = 1,
) -> Sweep:
    """Measures every pattern and footprint; what was read is checked against what memory holds."""
    for name, value, known in (("pattern", list(patterns), PATTERNS), ("frames", [frames], FRAMES)):
        for word in value:
            if word not in known:
                raise InputError(
                    f"no {name} '{word}'", found=f"there are: {', '.join(known)}", hint=nearest(word, known)
                )
    if not 1 <= accesses < 1 << 32:
        raise InputError(f"{accesses} accesses cannot be made", found="legal is 1 to 4,294,967,295")
    if not 1 <= outstanding <= MAX_OUTSTANDING:
        raise InputError(f"{outstanding} reads cannot be in flight", found=f"legal is 1 to {MAX_OUTSTANDING}")
    if setup.memory not in ("device", "cmt"):
        raise InputError(
            f"tlb-stress does not run on memory '{setup.memory}'",
            found="it measures translation of buffers on the card",
            hint="--memory cmt, or without",
        )
    setup = setup.with_kernel("traffic")
    with setup.open() as card:
        kernel = setup.kernel_name(card, "traffic")
        held: list[Buffer] = []  # what keeps the frames between those of the buffer
        require_memory(card, [max(sizes)] * (2 if frames == "scattered" else 1), setup.page_size)
        if setup.memory == "cmt":
            open_pool(card, [max(sizes)], setup.page_size)
        if frames == "scattered":
            held = fragment(card, max(sizes), setup.page_size)
        with card.context() as context:
            buffer = stress_buffer(context, max(sizes), setup.page_size, frames, seed)
            places = [("device", buffer)]
            if setup.memory == "cmt":
                block = place(context, max(sizes), setup.page_size)
                block.to_numpy()[...] = buffer.to_numpy()
                places.append(("cmt", block))
            points: list[Point] = []
            total = len(patterns) * len(sizes) * len(places)
            for pattern in patterns:
                for size, (memory, there) in itertools.product(sizes, places):
                    setup.progress(f"tlb-stress {pattern}, {bytes_text(size)}", len(points), total)
                    plan = Plan(
                        size // STRIDE_BYTES,
                        STRIDE_BYTES,
                        accesses,
                        pattern,
                        ids=1 << card.config["axi"]["id_width"],
                        outstanding=outstanding,
                        seed=seed,
                    )
                    one_piece = frames == "contiguous" or memory == "cmt"
                    found = point(card, context, kernel, there, plan, physical=one_piece)
                    points.append(replace(found, memory=memory))
            setup.progress("tlb-stress", total, total)
        held.clear()
        facts = card_facts(card, setup.page_size)
    return Sweep(facts, frames, outstanding, points)


def stress_buffer(context: Context, size: int, page_size: str, frames: str, seed: int) -> Buffer:
    """`size` bytes with random words where accesses go."""
    buffer = context.empty(
        size,
        page_size=page_size,  # type: ignore[arg-type]
        access="rw",
        contiguous=frames == "contiguous",
    )
    words = buffer.to_numpy().view(np.uint64).reshape(-1, STRIDE_BYTES // 8)
    words[:, : BEAT_BYTES // 8] = np.random.default_rng(seed).integers(
        0, 1 << 64, (len(words), BEAT_BYTES // 8), np.uint64
    )
    return buffer


def point(card: Card, context: Context, kernel: str, buffer: Buffer, plan: Plan, *, physical: bool) -> Point:
    """One footprint: TLBs emptied, one pass over all pages, then the plan."""
    card.native.invalidate()
    warm_up = replace(plan, pattern="linear", count=plan.positions)
    measure(card, context, kernel, warm_up.args(buffer), "translate")
    found = _checked(card, context, kernel, buffer, plan, "translate")
    counters, result = found.counters, found.result
    bare = None
    if physical:
        shorter = replace(plan, count=min(plan.count, PHYSICAL_ACCESSES))
        bare = _checked(card, context, kernel, buffer, shorter, "bare").result.run_cycles / shorter.count
    l2 = counters.get("l2")
    return Point(
        plan.pattern,
        plan.positions * plan.stride,
        plan.count,
        result.run_cycles / plan.count,
        bare,
        result.latency_sum / result.reads,
        result.latency_max,
        found.channel("misses"),
        None if l2 is None else l2["misses"],
        counters["walker"]["walks"],
        counters["walker"]["pte_reads"],
        None if l2 is None else l2["range_hits"],
    )


def _checked(card: Card, context: Context, kernel: str, buffer: Buffer, plan: Plan, mode: Mode):
    found = measure(card, context, kernel, plan.args(buffer), mode)
    wanted = plan.checksum(buffer.to_numpy().view(np.uint64))
    if found.result.checksum != wanted:
        raise CheckError(
            f"traffic read {found.result.checksum:#x} in all (mode {mode})",
            found=f"memory holds {wanted:#x}",
            hint="--axi-trace FILE records every access",
        )
    return found


def fragment(card: Card, size: int, page_size: str) -> list[Buffer]:
    """Leaves the free memory of the card in single pages, no two of them adjacent, as far as `size` bytes go, for
    as long as what it returns is kept.
    """
    granule = PAGE_SIZES[page_size]
    pages = -(-size // granule)
    if pages > MAX_FRAGMENTS:
        raise InputError(
            f"{pages:,} pages of {bytes_text(granule)} cannot be scattered",
            found=f"at most {MAX_FRAGMENTS:,}, {bytes_text(MAX_FRAGMENTS * granule)}: the operating system's limit of mappings",
            hint="smaller footprints, or larger pages",
        )
    holes, kept = card.context(), card.context()
    options: dict[str, Any] = {"page_size": page_size, "contiguous": True}
    pairs = [(holes.empty(granule, **options), kept.empty(granule, **options)) for _ in range(pages)]
    holes.close()
    return [page for _, page in pairs]


def points_table(sweep: Sweep, *, boxed: bool) -> Table:
    """The points as a table; all figures are simulated."""
    from godwit.report import empty_table, number_text

    shown = empty_table("", boxed=boxed)
    shown.add_column("pattern")
    beside = any(point.memory == "cmt" for point in sweep.points)
    for heading in (
        *(("memory",) if beside else ()),
        "footprint",
        "cycles/access",
        "physical",
        "latency",
        "longest",
        "L1 misses",
        "L2 misses",
        "walks",
        "page-table reads",
        *(("range hits",) if beside else ()),
    ):
        shown.add_column(heading, justify="right")
    for point in sweep.points:
        shown.add_row(
            point.pattern,
            *((point.memory,) if beside else ()),
            bytes_text(point.footprint_bytes),
            *map(
                number_text,
                (
                    point.cycles_per_access,
                    point.physical_cycles_per_access,
                    point.latency_mean,
                    point.latency_max,
                    point.l1_misses,
                    point.l2_misses,
                    point.walks,
                    point.page_table_reads,
                    *((point.range_hits,) if beside else ()),
                ),
            ),
        )
    return shown


def plot(sweep: Sweep, path: Path) -> None:
    """Writes cycles an access and walks an access by footprint, a line a pattern, as PNG."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (cycles, walks) = plt.subplots(2, 1, figsize=(8, 7), sharex=True, layout="constrained")
    figure.suptitle(
        f"tlb-stress, {sweep.card['config']}, {sweep.card['page_size']} pages, {sweep.frames} frames",
        x=0.01,
        ha="left",
        fontweight="bold",
    )
    curves = dict.fromkeys((point.pattern, point.memory) for point in sweep.points)
    for number, (wanted, memory) in enumerate(curves):
        line = [point for point in sweep.points if (point.pattern, point.memory) == (wanted, memory)]
        pattern = wanted if memory == "device" else f"{wanted}, contiguous"
        kib = [point.footprint_bytes / 1024 for point in line]
        colour = f"C{number}"
        cycles.plot(kib, [point.cycles_per_access for point in line], "o-", color=colour, label=pattern)
        if line[0].physical_cycles_per_access is not None:
            bare = [point.physical_cycles_per_access for point in line]
            cycles.plot(kib, bare, ":", color=colour, label=f"{pattern}, physical addresses")
        walks.plot(kib, [point.walks / point.accesses for point in line], "o-", color=colour, label=pattern)
    cycles.set_ylabel("cycles an access")
    walks.set_ylabel("walks an access")
    for axis in (cycles, walks):
        axis.set_xscale("log", base=2)
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
    cycles.legend(frameon=False, fontsize=8)
    walks.set_xlabel("footprint")
    ticks = sorted({point.footprint_bytes for point in sweep.points})
    walks.set_xticks(
        [size / 1024 for size in ticks], [bytes_text(size) for size in ticks], rotation=60, fontsize=8
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)
