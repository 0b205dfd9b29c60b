# SPDX-License-Identifier: Apache-2.0
"""``python -m godwit.card.train LIBRARY``: a short run of the kernels that a card has, for a compiler's profile.

What is measured later should not be what was trained on alone: `array_sum` reads in order, `memcopy` reads and writes pages of
both small sizes, twice over more than an L1 holds, so that the second level hits, and `traffic` jumps.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import godwit
from godwit import DeviceError
from godwit.card.plan import TRAINING_KERNELS
from godwit.run.traffic import Plan

BYTES = 256 << 10


def _memcopy(card: godwit.Card) -> None:
    for page_size in ("4K", "64K"):
        source = card.put(np.arange(BYTES, dtype="u1"), page_size=page_size)
        target = card.empty(BYTES, page_size=page_size)
        card.launch("memcopy", src=source, dst=target, bytes=BYTES, iterations=2)


def _array_sum(card: godwit.Card) -> None:
    values = card.put(np.arange(BYTES // 8, dtype="i8"), page_size="4K")
    card.launch("array_sum", values=values, count=BYTES // 8, dtype=1)


def _traffic(card: godwit.Card) -> None:
    size = min(16 << 20, card.config["card"]["memory_bytes"] // 4)
    for page_size in ("4K", "64K"):
        buffer = card.empty(size, page_size=page_size)
        for pattern in ("linear", "random"):
            ids = min(16, 1 << card.config["axi"]["id_width"])
            plan = Plan(size // 4096, 4096, 8192, pattern, writes=64, beats=2, ids=ids)
            args: dict[str, Any] = {**plan.args(buffer)}
            result = card.launch("traffic", **args)
            if result.status:
                raise DeviceError(f"traffic refused {plan}: status {result.status}")


RUNS = dict(zip(TRAINING_KERNELS, (_memcopy, _array_sum, _traffic), strict=True))


def main(library: str) -> None:
    with godwit.open(f"sim:{library}") as card:
        for name, run in RUNS.items():
            if name in card.kernels:
                run(card)


if __name__ == "__main__":
    main(sys.argv[1])
