# SPDX-License-Identifier: Apache-2.0
"""``godwit run tree``: look-ups in a binary search tree that the program has built, by the kernel `tree_walk`.

Its nodes point at each other by address. On shared memory the kernel follows the program's own pointers; wherever else the nodes are copied to,
each pointer has to be rewritten first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from godwit.errors import CheckError, InputError
from godwit.report import Figure
from godwit.run.figures import cost_figures
from godwit.run.workload import (
    LAUNCHES,
    Measurement,
    Outcome,
    Runs,
    Setup,
    as_bytes,
    card_facts,
    measure,
)
from godwit.units import seconds_text

if TYPE_CHECKING:
    from godwit.api import Card
    from godwit.launches import LaunchResult
    from godwit.run.migrated import Migrated

NODE = np.dtype([("key", "i8"), ("value", "i8"), ("left", "u8"), ("right", "u8")])
"""A node as the kernel reads it; pointers are addresses, 0 is none."""
MAX_NODES = 1 << 24
ABSENT = -1
"""What stands for a key that no node has."""


@dataclass(frozen=True)
class Tree:
    """A balanced binary search tree: its keys in order, and where in memory each node is."""

    keys: np.ndarray
    values: np.ndarray
    left: np.ndarray
    """Which key is below to the left, -1: none."""
    right: np.ndarray
    places: np.ndarray
    """Of each key's node, in nodes from the first on; the root's is 0."""

    @property
    def nbytes(self) -> int:
        return len(self.keys) * NODE.itemsize

    def at(self, address: int) -> np.ndarray:
        """The nodes with their pointers, as they have to be from this address on."""
        nodes = np.empty(len(self.keys), NODE)
        nodes["key"][self.places] = self.keys
        nodes["value"][self.places] = self.values
        where = address + NODE.itemsize * self.places.astype(np.uint64)
        for side, below in (("left", self.left), ("right", self.right)):
            nodes[side][self.places] = np.where(below < 0, 0, where[below])
        return nodes

    def look_up(self, keys: np.ndarray) -> np.ndarray:
        """The values that the kernel has to find."""
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[at] == keys, self.values[at], ABSENT)


def grown(count: int, seed: int) -> Tree:
    """A tree of `count` keys at random, whose nodes are at random places, as an allocator leaves them after a while."""
    random = np.random.default_rng(seed)
    keys = np.cumsum(random.integers(1, 1 << 32, count)) - (1 << 62)
    left, right = np.full(count, -1), np.full(count, -1)
    low, high = np.array([0]), np.array([count])
    while len(low):
        middle = (low + high) // 2
        lower, upper = low < middle, middle + 1 < high
        left[middle[lower]] = (low[lower] + middle[lower]) // 2
        right[middle[upper]] = (middle[upper] + 1 + high[upper]) // 2
        ends = (np.append(low[lower], middle[upper] + 1), np.append(middle[lower], high[upper]))
        low, high = ends
    places = random.permutation(count)
    root = count // 2
    first = np.flatnonzero(places == 0)[0]
    places[first], places[root] = places[root], 0
    return Tree(keys, random.integers(0, 1 << 62, count), left, right, places)


def asked_of(tree: Tree, count: int, seed: int) -> np.ndarray:
    """Keys to look up: most are there."""
    random = np.random.default_rng(seed)
    keys = random.choice(tree.keys, count)
    return keys + (random.random(count) < 1 / 16)


def require_equal(found: np.ndarray, wanted: np.ndarray, which: str) -> None:
    """CheckError with the first value that is not the host's. which: what ran, in a word or two."""
    different = np.flatnonzero(found != wanted)
    if len(different):
        at = different[0]
        raise CheckError(
            f"tree_walk found {found[at]} for key {at} ({which})",
            found=f"the host finds {wanted[at]}; {len(different):,} of {len(wanted):,} values differ",
            hint="--axi-trace FILE records every access",
        )


def relocation_ps(card: Card, tree: Tree) -> float:
    """Virtual time of rewriting the pointers on the way into a copy: one more pass of the host over the nodes, at the rate of staging."""
    gbps = card.config["host"]["staging_gbps"]
    return 1000 * tree.nbytes / gbps if gbps else 0.0


def run(setup: Setup, *, nodes: int, lookups: int, seed: int) -> Outcome:
    """Looks `lookups` keys up in a tree of `nodes`, and compares every value with the host's. Raises GodwitError of some kind."""
    if not 1 <= nodes <= MAX_NODES:
        raise InputError(f"no tree of {nodes:,} nodes", found=f"1 to {MAX_NODES:,} are made")
    if not 1 <= lookups <= MAX_NODES:
        raise InputError(f"{lookups:,} keys cannot be looked up", found=f"1 to {MAX_NODES:,} are")
    if setup.memory in ("cmt", "auto"):
        raise InputError(
            f"no tree in memory '{setup.memory}'",
            found="its pointers are addresses of the memory that it is in",
            hint="--memory shared, where they are the program's",
        )
    tree = grown(nodes, seed)
    keys = asked_of(tree, lookups, seed + 1)
    wanted = tree.look_up(keys)
    setup = setup.with_kernel("tree_walk")
    with setup.open() as card:
        kernel = setup.kernel_name(card, "tree_walk")
        setup.require_memory(card, [tree.nbytes, keys.nbytes, keys.nbytes])
        context = setup.context(card)
        options: dict[str, Any] = {"page_size": setup.page_size, "contiguous": True}
        # Not the root first: physical memory begins at 0, which is no node.
        values = context.empty(lookups, np.int64, access="rw", **options)
        root = context.empty(tree.nbytes, np.uint8, access="r", **options)
        before = card.stats()["link_ps"]
        root.upload(tree.at(root.address).view(np.uint8))
        args = {
            "root": root,
            "keys": context.put(keys, access="r", **options),
            "values": values,
            "count": lookups,
            "absent": ABSENT % (1 << 64),
        }
        link_ps = card.stats()["link_ps"] - before

        def check(result: LaunchResult, which: str) -> None:
            require_equal(values.to_numpy(), wanted, f"{which} addresses")

        measured: list[Measurement] = []
        for (mode, which), base in zip(LAUNCHES, (root.address, root.physical()[0][0]), strict=True):
            setup.progress(f"running {kernel}", len(measured), 2)
            as_bytes(root)[...] = as_bytes(tree.at(base))
            values.to_numpy()[...] = 0
            found = measure(card, context, kernel, args, mode)
            check(found.result, which)
            measured.append(found)
        ways = _migrated(setup, card, kernel, args, check, tree)
        virtual, physical = measured
        runs = Runs(virtual, physical, copied=ways.get("copied"), migrated=ways.get("migrated"))
        figures = cost_figures(card, context, runs, link_ps)
        if ways:
            took = relocation_ps(card, tree) * 1e-12
            figures.append(
                Figure(
                    "relocation_time",
                    "pointers rewritten for the copy, besides",
                    "s",
                    "modelled",
                    took,
                    show=seconds_text,
                )
            )
        facts = card_facts(card, setup.page_size)
    result = measured[0].result
    return Outcome(
        "tree",
        f"tree of {nodes:,} nodes",
        {
            "nodes": nodes,
            "lookups": lookups,
            "found": result.found,
            "visited": result.visited,
            "tree_bytes": tree.nbytes,
        },
        figures,
        facts,
    )


def _migrated(
    setup: Setup, card: Card, kernel: str, args: dict[str, Any], check: Any, tree: Tree
) -> dict[str, Migrated]:
    """The launches with explicit copies and on shared memory that the setup names."""
    from godwit.run import migrated

    ways = {}
    for way in {"copy": ["copied"], "shared": ["copied", "migrated"]}.get(setup.memory, []):
        ways[way] = migrated.run_migrated(
            card,
            kernel,
            args,
            [args["values"]],
            check,
            {},
            shared=way == "migrated",
            placed={"root": tree.at},
        )
    if setup.residency and "migrated" in ways:
        migrated.plot(ways["migrated"], setup.residency)
    return ways
