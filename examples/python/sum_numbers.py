# SPDX-License-Identifier: Apache-2.0
"""A numpy array, summed by a kernel that is given the same pointer numpy has."""

import sys

import numpy as np

import godwit


def main(device: str = "sim:default") -> None:
    numbers = np.arange(100_000, dtype="int64")
    with godwit.open(device) as card:
        buffer = card.put(numbers)
        view = buffer.to_numpy()  # the device memory itself
        view[0] = 42  # so the kernel sees this
        result = card.launch("array_sum", values=buffer, count=len(view), dtype=1)
        assert result.sum == numbers.sum() + 42
        print(f"sum {result.sum} of {len(view):,} numbers at {buffer.address:#x} in {result.cycles:,} cycles")
        walker = card.counters()["walker"]
        print(f"{walker['walks']} page-table walks, the longest took {walker['latency_max']} cycles")


if __name__ == "__main__":
    main(*sys.argv[1:])
