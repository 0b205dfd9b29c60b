# SPDX-License-Identifier: Apache-2.0
"""Runs the example kernel scale_add on virtual and on physical addresses.

Usage: python run_scale_add.py [CONFIG] [N]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import godwit

KERNEL = Path(__file__).with_name("scale_add.sv")


def main(config: str = "default", count: int = 100_000) -> None:
    """Computes y = 3 * x + y both ways, checks both, and prints what translation cost."""
    x = np.arange(count, dtype="int32")
    y = np.full(count, 7, dtype="int32")
    cycles = {}
    with godwit.open(f"sim:{config}", kernels=[KERNEL]) as card:
        for mode in ("translate", "bare"):
            with card.put(x) as x_buffer, card.put(y) as y_buffer:
                result = card.launch("scale_add", mode=mode, x=x_buffer, y=y_buffer, n=count, scale=3)
                assert result.status == 0
                assert np.array_equal(y_buffer.to_numpy(), 3 * x + y)
                cycles[mode] = result.cycles
    ratio = cycles["translate"] / cycles["bare"]
    print(f"{count} elements: {cycles['translate']} cycles, {cycles['bare']} physical, ratio {ratio:.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:2], *map(int, sys.argv[2:3]))
