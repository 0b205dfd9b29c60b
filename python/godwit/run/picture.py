# SPDX-License-Identifier: Apache-2.0
"""Pictures as workloads take them: a byte a point, from picture files and numpy arrays, and back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from godwit.errors import InputError

if TYPE_CHECKING:
    from godwit.outputs import OutputSet

SUFFIXES = (".png", ".npy")
GRAY = {"L": "8-bit gray", "RGB": "colour, made gray", "RGBA": "colour, made gray", "P": "palette, made gray"}
"""What a PNG can hold, by Pillow's name."""


@dataclass(frozen=True)
class Picture:
    """A picture of `points.shape` = (height, width) bytes."""

    points: np.ndarray
    type: str
    """What the file holds."""


def read_picture(path: Path) -> Picture:
    """The picture in a PNG of 8 bits (colours become luminance, ITU-R 601), or the array of uint8 in a .npy file. InputError."""
    if not path.is_file():
        raise InputError(
            f"there is no file '{path}'", hint="`godwit data picture --output FILE.png` makes one to try with"
        )
    _require_suffix(path, "read")
    return _read_array(path) if path.suffix.lower() == ".npy" else _read_png(path)


def write_picture(files: OutputSet, path: Path, points: np.ndarray) -> Path:
    """Puts the picture among `files` as a PNG, or as an array when `path` ends in .npy. InputError for another ending."""
    _require_suffix(path, "write")

    def write(to: Path) -> None:
        from PIL import Image

        if path.suffix.lower() == ".npy":
            np.save(to, points)
        else:
            Image.fromarray(points).save(to, "PNG")

    return files.place(path.name, write)


def _require_suffix(path: Path, what: str) -> None:
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(
            f"cannot {what} '{path}'", found="pictures are .png or .npy", hint="give one of these endings"
        )


def _read_array(path: Path) -> Picture:
    try:
        array = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(
            f"'{path}' cannot be read as an array",
            found=str(error).splitlines()[0].rstrip("."),
            hint="write it with numpy.save",
        ) from None
    if not isinstance(array, np.ndarray) or array.dtype != np.uint8:
        raise InputError(
            f"'{path}' holds {getattr(array, 'dtype', 'several arrays')}",
            found="the kernel takes uint8, 64 points a beat",
            hint='numpy.save(FILE, array.astype("uint8"))',
        )
    if array.ndim != 2 or 0 in array.shape:
        raise InputError(
            f"'{path}' has the shape {array.shape}",
            found="a picture has two dimensions, neither of them 0",
            hint="save one plane of it, array[..., 0]",
        )
    return Picture(np.ascontiguousarray(array), "array of uint8")


def _read_png(path: Path) -> Picture:
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path, formats=["PNG"]) as image:
            if image.mode not in GRAY:
                raise InputError(
                    f"'{path}' is a PNG of mode {image.mode}",
                    found="pictures have 8 bits a channel: " + ", ".join(GRAY),
                    hint="convert it to 8-bit gray",
                )
            points = np.asarray(image.convert("RGB").convert("L") if image.mode != "L" else image)
            return Picture(points, f"PNG, {GRAY[image.mode]}")
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise InputError(
            f"'{path}' cannot be read as PNG",
            found=str(error).splitlines()[0].rstrip("."),
            hint="write the file again, or give an array (.npy)",
        ) from None
