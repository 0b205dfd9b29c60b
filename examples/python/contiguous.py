# SPDX-License-Identifier: Apache-2.0
"""An array of contiguous memory is a kernel's argument where it is: one entry of the range TLB instead of pages."""

import sys

import numpy as np

import godwit
from godwit import cmt


def main(device: str = "sim:default") -> None:
    with godwit.open(device) as card:
        cmt.init(card.cmt_config("16MiB"))  # the process's pool lies in the card's memory
        numbers = cmt.empty(200_000, "int64")
        numbers[:] = np.arange(len(numbers))
        ((address, nbytes),) = cmt.extents(numbers)
        print(f"{nbytes:,} bytes in one piece at physical {address:#x}")

        paged = card.put(numbers, page_size="4K")  # a copy in pages, to compare
        shared = card.share(numbers, page_size="4K")  # the array itself
        for name, values in (("pages", paged), ("range entry", shared)):
            card.clear_counters()
            result = card.launch("array_sum", values=values, count=len(numbers), dtype=1)
            assert result.sum == numbers.sum()
            walks = card.counters()["walker"]["walks"]
            print(f"{name:11}  sum {result.sum:,} in {result.cycles:,} cycles, {walks} page-table walks")


if __name__ == "__main__":
    main(*sys.argv[1:])
