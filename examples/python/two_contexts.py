# SPDX-License-Identifier: Apache-2.0
"""Two address spaces on one card: a kernel bound to one cannot read the other's memory, whatever pointer it is given."""

import sys

import numpy as np

import godwit


def main(device: str = "sim:default") -> None:
    with godwit.open(device) as card:
        mine, yours = card.context(), card.context()
        numbers = yours.put(np.arange(1000, dtype="int64"))
        result = yours.launch("array_sum", values=numbers, count=1000, dtype=1)
        print(f"its owner sums it: {result.sum}")
        try:
            # An address is only a number; what it reaches depends on the context.
            mine.launch("array_sum", values=numbers.address, count=1000, dtype=1)
        except godwit.FaultError as error:
            print(f"another context is refused: {error}")
        else:
            raise AssertionError("a context read memory that it does not own")


if __name__ == "__main__":
    main(*sys.argv[1:])
