# SPDX-License-Identifier: Apache-2.0
"""Data that are full of pointers, the paper's motive: a search tree built by the program and walked by a kernel, on shared memory beside
explicit copies for which every pointer is rewritten.

The time of rewriting is one more pass of the host over the nodes at the rate at which the configuration stages copies, which a walk from pointer to
pointer does not reach: in favour of the copy.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.suites.papers_k.migrations import CONFIG, SUITE, Measured, plain, timed
from godwit.api import Card
from godwit.report import Progress, Row
from godwit.run.tree import ABSENT, NODE, Tree, asked_of, grown, relocation_ps, require_equal
from godwit.run.workload import Setup
from godwit.units import bytes_text

TREES = {8 << 10: (16, 4096), 256 << 10: (16, 256, 4096)}
"""Look-ups by nodes."""
GOAL = "<= 1.0"


def trees(progress: Progress, amount: dict[int, tuple[int, ...]]) -> Iterator[Row]:
    """Rows a tree and number of look-ups. amount: see `TREES`."""
    if not amount:
        return
    with Setup(CONFIG, memory="shared", progress=progress).with_kernel("tree_walk").open() as card:
        for step, (nodes, lookups) in enumerate(amount.items()):
            progress(f"paper K, tree of {nodes:,} nodes", step, len(amount))
            tree = grown(nodes, nodes)
            for count in lookups:
                yield from _rows(card, tree, asked_of(tree, count, count))


def _rows(card: Card, tree: Tree, keys: np.ndarray) -> Iterator[Row]:
    wanted = tree.look_up(keys)
    name = f"tree of {bytes_text(tree.nbytes)}, {len(keys):,} look-ups"
    copied = timed(card, lambda: _copied(card, tree, keys, wanted)).total
    rewritten = relocation_ps(card, tree) / 1e9
    base = copied + rewritten
    config = f"{rewritten:.4g} ms of it rewriting pointers, at the rate of staging"
    yield Row(SUITE, f"{name}, explicit copies", config, base, "ms", kind="modelled")
    for way, by_hand in (("on demand", False), ("nodes moved by hand", True)):
        found = _shared(card, tree, keys, wanted, by_hand)
        moved = found.moved
        what = (
            f"{found.total:.4g} ms, {bytes_text(moved['to_device'])} to the card, {moved['requests']} requests in "
            f"{moved['batches']} batches"
        )
        yield Row(
            SUITE, f"{name}, {way}, over copy", what, found.total / base, "times", None, GOAL, "modelled"
        )


def _arguments(keys: np.ndarray) -> dict[str, int]:
    return {"count": len(keys), "absent": ABSENT % (1 << 64)}


def _copied(card: Card, tree: Tree, keys: np.ndarray, wanted: np.ndarray) -> None:
    """Physical addresses, as for all explicit copies of the paper."""
    with card.context() as context:
        options = {"page_size": "4K", "contiguous": True}
        # Not the root first: physical memory begins at 0, which is no node.
        asked, values = (context.empty(len(keys), np.int64, access=access, **options) for access in "rw")
        root = context.empty(tree.nbytes, np.uint8, access="r", **options)
        root.upload(tree.at(root.physical()[0][0]).view(np.uint8))
        asked.upload(keys)
        arguments = {"root": root, "keys": asked, "values": values, **_arguments(keys)}
        card.launch("tree_walk", context=context, mode="bare", **arguments)
        found = np.frombuffer(values.download(), np.int64)
    require_equal(found, wanted, "explicit copies")


def _shared(card: Card, tree: Tree, keys: np.ndarray, wanted: np.ndarray, by_hand: bool) -> Measured:
    nodes = plain(tree.nbytes)
    nodes.view(NODE)[:] = tree.at(nodes.ctypes.data)
    asked, values = (plain(keys.nbytes).view(np.int64) for _ in range(2))
    asked[:] = keys

    def work() -> None:
        if by_hand:
            card.migrate_to_device(nodes)
        card.launch("tree_walk", root=nodes, keys=asked, values=values, **_arguments(keys))
        require_equal(values, wanted, "shared memory")

    return timed(card, work)
