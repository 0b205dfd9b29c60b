# SPDX-License-Identifier: Apache-2.0
"""An Arrow column with nulls, split by a predicate; results come back as Arrow arrays on device memory."""

import struct
import sys

import pyarrow as pa

import godwit


def main(device: str = "sim:default") -> None:
    delays = pa.array([2.0, None, 47.0, 16.5, -3.0, 15.0, None, 120.0])
    with godwit.open(device) as card:
        column = card.put(delays)  # values and validity bitmap
        matches = card.empty(len(column), "uint32")
        rest = card.empty(len(column), "uint32")
        result = card.launch(
            "split",
            **column.column(),  # values, validity, rows, offset, dtype
            op=godwit.OPERATOR_CODES[">"],
            constant=int.from_bytes(struct.pack("<d", 15.0), "little"),
            matches=matches,
            rest=rest,
        )
        late = delays.take(matches.to_arrow(length=result.match_count))
        print(f"{result.match_count} of {len(delays)} match: {late.to_pylist()}")
        assert late.to_pylist() == [47.0, 16.5, 120.0]


if __name__ == "__main__":
    main(*sys.argv[1:])
