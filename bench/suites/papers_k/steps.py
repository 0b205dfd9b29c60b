# SPDX-License-Identifier: Apache-2.0
"""Table III whole: what pages of a buffer take to the card and back, step by step, moved by hand on shared memory.

Their set-up, allocation and completion are the host's work, which the configuration charges as a line through what they measured; here it
is one step, for the pages of a buffer are taken, given room and mapped in one go. The rest is simulated: what the host waits for the page DMA,
which works on a turn of pages while the host works on the next, and unmapping with the invalidation that it needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from bench.suites.papers_k.migrations import KIB, MIB, SUITE, plain
from godwit.api import Card
from godwit.errors import CheckError
from godwit.report import Row
from godwit.units import bytes_text

THEIRS: dict[int, tuple[tuple[float, float], tuple[float, float]]] = {
    32 * KIB: ((6.52 + 3.43 + 9.33, 38.14), (18.75 + 4.49 + 10.03, 34.29)),
    MIB: ((360.0, 760.0), (670.0, 650.0)),
    32 * MIB: ((10_010.0, 23_320.0), (20_640.0, 19_630.0)),
}
"""To the card and back: µs of the host's work (set-up, allocate, finalise), and of the DMA, one after the other there."""


def table_iii(card: Card, nbytes: int) -> Iterator[Row]:
    """Steps of a buffer's way to the card, and of its way home."""
    data = plain(nbytes)
    data[:] = np.frombuffer(np.random.default_rng(nbytes).bytes(nbytes), np.uint8)
    wanted = data.copy()
    target = plain(nbytes)
    into = _timed(card, lambda: card.migrate_to_device(data))
    # Written by a kernel, so that all of it has to come back.
    card.launch("memcopy", src=data, dst=target, bytes=nbytes, iterations=1)
    back = _timed(card, lambda: card.migrate_to_host(target))
    if not np.array_equal(target, wanted):
        raise CheckError("migration brought other bytes than were there", found=bytes_text(nbytes))
    for way, found, (host, dma) in zip(("to the card", "back"), (into, back), THEIRS[nbytes], strict=True):
        name = f"migration {way}, {bytes_text(nbytes)}"
        steps = found["time_ps"]
        work = steps["leave"] + steps["return"]
        config = "set-up, allocate, finalise, charged as they measured them"
        yield Row(SUITE, f"{name}: host (Table III)", config, work / 1e6, "µs", host, kind="modelled")
        config = "what of the DMA is not beside the host's work"
        yield Row(SUITE, f"{name}: waiting for the link (Table III)", config, steps["link"] / 1e6, "µs", dma)
        if steps["unmap"]:
            yield Row(SUITE, f"{name}: unmapping", "until no access uses it", steps["unmap"] / 1e6, "µs")
        total = host + dma
        yield Row(
            SUITE,
            f"{name}: all steps (Table III)",
            "from the call to its end",
            found["total_ps"] / 1e6,
            "µs",
            round(total, 2),
            f"<= {total:.2f}",
            kind="modelled",
        )


def two_buffers(card: Card, nbytes: int) -> Iterator[Row]:
    """Two buffers to the card in one call, over one call after the other, which waits for the first one's last bytes."""
    took = []
    for one_call in (False, True):
        arrays = [plain(nbytes), plain(nbytes)]
        for value, array in enumerate(arrays, 1):
            array[:] = value
        calls = [arrays] if one_call else [[array] for array in arrays]
        found = _timed(card, partial(_to_device, card, calls))
        took.append(found["total_ps"])
    yield Row(
        SUITE,
        f"migration of two buffers of {bytes_text(nbytes)} to the card, one call over two",
        f"{took[1] / 1e6:.4g} µs over {took[0] / 1e6:.4g}",
        took[1] / took[0],
        "times",
        None,
        "< 1",
        kind="modelled",
    )


def _to_device(card: Card, calls: list[list[np.ndarray]]) -> None:
    for arrays in calls:
        card.migrate_to_device(*arrays)


def _timed(card: Card, work: Any) -> dict[str, Any]:
    steps, before = card.migrations()["time_ps"], card.stats()["time_ps"]
    work()
    now = card.migrations()["time_ps"]
    took = card.stats()["time_ps"] - before
    return {"total_ps": took, "time_ps": {name: now[name] - value for name, value in steps.items()}}
