# SPDX-License-Identifier: Apache-2.0
"""Arrays of this process, buffers and memory of the heap, on the device that the first word names; says what it found."""

import sys

import numpy as np

import godwit


def main(device: str) -> None:
    numbers = np.arange(50_000, dtype="int64")
    with godwit.open(device, shared=True) as card:
        plain = card.launch("array_sum", values=numbers, count=len(numbers), dtype=1).sum
        memory = card.malloc(4096)
        memory.realloc(numbers.nbytes)
        memory.to_numpy("int64")[:] = numbers * 2
        heap = card.launch("array_sum", values=memory, count=len(numbers), dtype=1).sum
        copy = card.empty(len(numbers), "int64")
        card.launch("memcopy", src=memory, dst=copy, bytes=numbers.nbytes, iterations=1)
        same = bool((copy.to_numpy() == numbers * 2).all())
        memory.populate()
        memory.realloc(8)
        left = int(memory.to_numpy("int64")[0])
        memory.free()
        try:
            card.malloc(0)
            refused = ""
        except godwit.ArgumentError as error:
            refused = str(error)
        print(f"found {plain} {heap} {same} {left} {refused}")


if __name__ == "__main__":
    main(*sys.argv[1:])
