# SPDX-License-Identifier: Apache-2.0
"""What a kernel cannot do: use the memory of another context, or run past the end of its own."""

import sys

import numpy as np

import godwit


def main(device: str = "sim:default") -> None:
    with godwit.open(device) as card:
        mine, yours = card.context(), card.context()
        numbers = yours.put(np.arange(512, dtype="int64"))
        result = yours.launch("array_sum", values=numbers, count=512, dtype=1)
        print(f"its owner sums it: {result.sum}")

        try:
            mine.launch("array_sum", values=numbers, count=512, dtype=1)
        except godwit.ArgumentError as error:
            print(f"another context is refused before the start: {error}")

        try:  # twice the buffer's length: the next page is mapped to nothing
            yours.launch("array_sum", values=numbers, count=1024, dtype=1)
        except godwit.FaultError as error:
            print(f"a runaway kernel is stopped by the hardware: {error}")

        result = yours.launch("array_sum", values=numbers, count=512, dtype=1)
        print(f"and the card goes on: {result.sum}")


if __name__ == "__main__":
    main(*sys.argv[1:])
