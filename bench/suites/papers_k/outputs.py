# SPDX-License-Identifier: Apache-2.0
"""What the paper's migrations move needlessly: outputs that are only written."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.suites.papers_k.migrations import SUITE, plain, timed
from godwit.api import Card
from godwit.errors import CheckError
from godwit.report import Row
from godwit.units import bytes_text


def write_only(card: Card, nbytes: int) -> Iterator[Row]:
    """MemCopy into memory that the program used before, with and without a hint."""
    for hint in (False, True):
        source, target = plain(nbytes), plain(nbytes)
        source[:] = np.frombuffer(np.random.default_rng(nbytes).bytes(nbytes), np.uint8)
        target[:] = 1
        wanted = source.copy()

        def work(source=source, target=target, wanted=wanted, hint=hint) -> None:
            if hint:
                card.discard(target)
            card.launch("memcopy", src=source, dst=target, bytes=nbytes, iterations=1)
            if not np.array_equal(target, wanted):
                raise CheckError("memcopy brought other bytes than were there", found=bytes_text(nbytes))

        found = timed(card, work)
        name = f"MemCopy, {bytes_text(nbytes)}, output used before, {'discarded' if hint else 'no hint'}"
        extra = found.moved["to_device"] - nbytes
        config = f"{found.moved['cleared']:,} bytes cleared on the card"
        goal = "== 0" if hint else None
        yield Row(SUITE, f"{name}: copied in for the output", config, extra, "bytes", nbytes, goal)
        config = "ODPM both ways, total"
        yield Row(SUITE, f"{name}: time", config, found.total, "ms", kind="modelled")
