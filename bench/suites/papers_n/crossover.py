# SPDX-License-Identifier: Apache-2.0
"""In place against migration: pages of an array of which so many lines are read, so many times each (kernel `traffic`), moved to the card
when they are asked for, left in the host's memory behind the page cache, and as the system decides (`auto`): in a first launch, and when it
has learnt. Then a program with a dense array and a sparse index. Times are of the card's clock, from the launch until the array is home
again: cycles of the RTL with the modelled host (`[host]`) and link (`[host_link]`).
"""

from __future__ import annotations

import numpy as np

import godwit
from godwit.api import Card
from godwit.report import Progress, Row
from godwit.shared import Advice

SUITE = "papers"
OVERRIDES = (
    "page_cache.pages=16",
    "page_cache.fill=used",
    "page_cache.counters=256",
    'card.kernels=["traffic", "memcopy"]',
)
CONFIG = "default, page cache of 16 pages, fill=used"
REUSES = (1, 4, 16, 64)
DENSITIES = (1, 4, 16, 64)
QUICK = (1, 16)
PAGE, LINE, GROUP, PAGES = 4096, 64, 64 << 10, 32
LAUNCHES = 3
"""With `auto`, until it has learnt what there is to learn of launches that are all the same."""
DENSE, SPARSE = (64, 4), (1, 1)
"""Lines a page, and times that they are read."""
ROUNDS = 4
WAYS: tuple[Advice, ...] = ("migrate", "in_place", "auto")


def run(progress: Progress, quick: bool = False) -> list[Row]:
    """Rows a reuse and density, and of both kinds of pages. quick: the corners."""
    reuses, densities = (QUICK, QUICK) if quick else (REUSES, DENSITIES)
    rows: list[Row] = []
    with godwit.open("sim:default", shared=True, overrides=OVERRIDES) as card:
        array = pages(PAGES)
        for reuse in reuses:
            for density in densities:
                progress(
                    "paper N, in place against migration", len(rows) // 3, len(reuses) * len(densities) + 1
                )
                moved, in_place, first, later = _cell(card, array, reuse, density)
                what = f"{density} lines a page, read {reuse} times"
                better = min(moved, in_place)
                rows += [
                    row(f"{what}: time in place over moved", in_place / moved),
                    row(f"auto, first launch: {what}: time over the better of both", first / better),
                    row(
                        f"auto, later launches: {what}: time over the better of both",
                        later / better,
                        "<= 1.05",
                    ),
                ]
        rows += _both_kinds(card)
    return rows


def pages(count: int) -> np.ndarray:
    """Ones, in so many pages from the begin of a group on."""
    memory = np.ones((count * PAGE + GROUP) // 8, np.uint64)
    first = -memory.ctypes.data % GROUP // 8
    return memory[first : first + count * PAGE // 8]


def launches(way: Advice) -> int:
    """As many as it takes `auto` to learn; the others are as they are at once."""
    return LAUNCHES if way == "auto" else 1


def row(name: str, value: float, goal: str | None = None) -> Row:
    return Row(SUITE, name, CONFIG, value, "times", goal=goal, kind="modelled")


def _cell(card: Card, array: np.ndarray, reuse: int, density: int) -> tuple[float, float, float, float]:
    """Times moved, in place, and with `auto` the first and the last."""
    times = []
    for way in WAYS:
        card.advise(array, way)
        took = [_time(card, array, reuse, density) for _ in range(launches(way))]
        times += [took[0], took[-1]] if way == "auto" else took
    moved, in_place, first, later = times
    return moved, in_place, first, later


def _time(card: Card, array: np.ndarray, reuse: int, density: int) -> float:
    """Picoseconds of the card's clock until the array is home again."""
    positions = array.nbytes // PAGE * density
    before = card.stats()["time_ps"]
    done = card.launch(
        "traffic",
        base=array,
        positions=positions,
        stride=PAGE // density,
        count=positions * reuse,
        pattern=0,
        beats=1,
        writes=0,
        ids=8,
        outstanding=16,
        seed=1,
    )
    card.migrate_to_host(array)
    took = card.stats()["time_ps"] - before
    if done.checksum != positions * reuse * (LINE // 8):
        raise godwit.DeviceError(f"the sum of {positions} lines is {done.checksum}")
    return took


def _both_kinds(card: Card) -> list[Row]:
    """A program that works on a dense array and looks into a sparse index, round after round, and has both home after each."""
    dense, sparse = pages(PAGES), pages(2 * PAGES)
    took: dict[str, float] = {}
    for way in WAYS:
        for array in (dense, sparse):
            card.advise(array, way)
        rounds = [
            _time(card, dense, *DENSE[::-1]) + _time(card, sparse, *SPARSE[::-1]) for _ in range(ROUNDS)
        ]
        took[way] = sum(rounds)
        took[f"{way}, later"] = sum(rounds[1:])
    what = f"dense array and sparse index, {ROUNDS} rounds"
    rows = []
    for other, name in (("migrate", "all moved"), ("in_place", "all in place")):
        rows += [
            row(f"{what}: auto over {name}", took["auto"] / took[other]),
            row(
                f"{what}, from the second on: auto over {name}",
                took["auto, later"] / took[f"{other}, later"],
                "< 1",
            ),
        ]
    return rows
