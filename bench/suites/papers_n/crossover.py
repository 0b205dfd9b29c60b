# SPDX-License-Identifier: Apache-2.0
"""In place against migration: pages of an array of which so many lines are read, so many times each (kernel `traffic`), moved to the card
when they are asked for, and left in the host's memory behind the page cache. Times are of the card's clock, from the launch until
the array is home again: cycles of the RTL with the modelled host (`[host]`) and link (`[host_link]`).
"""

from __future__ import annotations

import numpy as np

import godwit
from godwit.api import Card
from godwit.report import Progress, Row

SUITE = "papers"
OVERRIDES = ("page_cache.pages=16", "page_cache.fill=used", 'card.kernels=["traffic"]')
CONFIG = "default, page cache of 16 pages, fill=used"
REUSES = (1, 4, 16, 64)
DENSITIES = (1, 4, 16, 64)
QUICK = (1, 64)
PAGE, LINE, PAGES = 4096, 64, 32


def run(progress: Progress, quick: bool = False) -> list[Row]:
    """A row for each reuse and density. quick: the corners."""
    reuses, densities = (QUICK, QUICK) if quick else (REUSES, DENSITIES)
    rows: list[Row] = []
    with godwit.open("sim:default", shared=True, overrides=OVERRIDES) as card:
        for reuse in reuses:
            for density in densities:
                progress("paper N, in place against migration", len(rows), len(reuses) * len(densities))
                moved, in_place = (_time(card, way, reuse, density) for way in ("migrate", "in_place"))
                rows.append(
                    Row(
                        SUITE,
                        f"{density} lines a page, read {reuse} times: time in place over moved",
                        CONFIG,
                        in_place / moved,
                        "times",
                        kind="modelled",
                    )
                )
    return rows


def _time(card: Card, way: str, reuse: int, density: int) -> float:
    """Picoseconds of the card's clock until the array is home again."""
    memory = np.ones((PAGES + 1) * PAGE // 8, np.uint64)
    first = -memory.ctypes.data % PAGE // 8
    array = memory[first : first + PAGES * PAGE // 8]
    card.advise(array, way)  # type: ignore[arg-type]
    positions = PAGES * density
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
        raise godwit.DeviceError(f"the sum of {positions} lines, {way}, is {done.checksum}")
    return took
