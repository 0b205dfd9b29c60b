# SPDX-License-Identifier: Apache-2.0
"""What gw_groups promises, written down a second time: one bit a unit, searched from the front."""

from __future__ import annotations

import numpy as np


class Pool:
    """Free units of one pool, in blocks of `2**block_bits`."""

    def __init__(self, blocks: int, block_bits: int):
        self.blocks, self.block_bits = blocks, block_bits
        self.free = np.zeros((blocks, 1 << block_bits), dtype=bool)
        self.states = np.zeros(blocks, dtype=int)

    def reset(self, count: int) -> None:
        self.free[:] = np.arange(self.blocks)[:, None] < count
        self.states[:] = np.where(np.arange(self.blocks) < count, self.block_bits + 1, 0)

    def groups(self, block: int, order: int) -> np.ndarray:
        """Whether each aligned group of a block is free."""
        return self.free[block].reshape(-1, 1 << order).all(axis=1)

    def _note(self, block: int) -> None:
        self.states[block] = 0
        for order in range(self.block_bits, -1, -1):
            if self.groups(block, order).any():
                self.states[block] = order + 1
                break

    def take(self, order: int) -> int | None:
        """First unit of the group, or None."""
        enough = self.states > order
        if not enough.any():
            return None
        block = int(np.flatnonzero(self.states == self.states[enough].min())[0])
        unit = int(np.flatnonzero(self.groups(block, order))[0]) << order
        self.free[block, unit : unit + (1 << order)] = False
        self._note(block)
        return (block << self.block_bits) + unit

    def give(self, unit: int, order: int) -> bool:
        """Whether all of the group was taken; otherwise nothing changes."""
        block, unit = divmod(unit, 1 << self.block_bits)
        part = self.free[block, unit : unit + (1 << order)]
        if part.any():
            return False
        part[:] = True
        self._note(block)
        return True
