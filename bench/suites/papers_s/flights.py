# SPDX-License-Identifier: Apache-2.0
"""The tables of the join, from the flights data set."""

from __future__ import annotations

from pathlib import Path


def tables(directory: Path, rows: int) -> tuple[Path, Path]:
    """Two tables of `rows` keys: flights by day, carrier, number and origin; and what a day later would be."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    from godwit import data

    source = directory / "flights.parquet"
    data.flights(source)
    table = pq.read_table(source, columns=["year", "month", "day", "carrier", "flight", "origin"])
    order = np.random.default_rng(1).permutation(len(table))[:rows]
    table = table.take(order)
    days = pa.array(
        np.array(
            [
                f"{y:04}-{m:02}-{d:02}"
                for y, m, d in zip(*(table[n].to_pylist() for n in ("year", "month", "day")), strict=True)
            ],
            dtype="datetime64[D]",
        ).astype(np.int64)
    )
    codes = [
        pc.dictionary_encode(table[name].combine_chunks()).indices.to_numpy()
        for name in ("carrier", "origin")
    ]
    flight = table["flight"].to_numpy()
    paths = []
    for name, shift in (("build", 0), ("probe", 1)):
        keys = (((days.to_numpy() + shift) * 32 + codes[0]) * 4 + codes[1]) * 16384 + flight
        paths.append(directory / f"{name}.parquet")
        pq.write_table(pa.table({"flight_key": pa.array(keys, pa.int64())}), paths[-1])
    return paths[0], paths[1]
