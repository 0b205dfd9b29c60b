# SPDX-License-Identifier: Apache-2.0
"""``python -m godwit.card.train LIBRARY``: a short run of the kernels that a card has, for a compiler's profile.

What is measured later should not be what was trained on alone, so reads, writes, walks and hits of all levels are in it.
"""

from __future__ import annotations

import sys

import numpy as np

import godwit
from godwit.card.plan import TRAINING_KERNELS

BYTES = 256 << 10


def _memcopy(card: godwit.Card) -> None:
    for page_size in ("4K", "64K"):
        source = card.put(np.arange(BYTES, dtype="u1"), page_size=page_size)
        target = card.empty(BYTES, page_size=page_size)
        card.launch("memcopy", src=source, dst=target, bytes=BYTES, iterations=1)


def _array_sum(card: godwit.Card) -> None:
    values = card.put(np.arange(BYTES // 8, dtype="i8"), page_size="4K")
    card.launch("array_sum", values=values, count=BYTES // 8, dtype=1)


RUNS = dict(zip(TRAINING_KERNELS, (_memcopy, _array_sum), strict=True))


def main(library: str) -> None:
    with godwit.open(f"sim:{library}") as card:
        for name, run in RUNS.items():
            if name in card.kernels:
                run(card)


if __name__ == "__main__":
    main(sys.argv[1])
