# SPDX-License-Identifier: Apache-2.0
"""``godwit run sobel``: the gradient of a picture, by the kernel `sobel`, a byte a cycle.

Accesses are *early*, whole pages far ahead, or *late*, 64 bytes shortly before they are needed: the two cores that Kalkhof et al., "Efficient
physical page migrations in shared virtual memory reconfigurable computing systems", FPT 2021, compare.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from godwit.errors import CheckError, InputError, nearest
from godwit.outputs import OutputSet
from godwit.run.figures import cost_figures
from godwit.run.picture import read_picture, write_picture
from godwit.run.workload import Outcome, Setup, card_facts, run_all

if TYPE_CHECKING:
    from godwit.launches import LaunchResult

ACCESSES = ("early", "late")
MAX_WIDTH = 4096  # points a row that the kernel takes


def reference(picture: np.ndarray) -> np.ndarray:
    """The gradient by numpy, what the kernel has to give byte for byte: |horizontal| + |vertical|, at most 255; 0 at the border.

    picture: (height, width) bytes, as the result.
    """
    gradient = np.zeros_like(picture)
    if min(picture.shape) > 2:
        now = picture.astype(np.int16)
        smooth = now[:-2] + 2 * now[1:-1] + now[2:]
        fall = now[2:] - now[:-2]
        across = smooth[:, 2:] - smooth[:, :-2]
        down = fall[:, :-2] + 2 * fall[:, 1:-1] + fall[:, 2:]
        gradient[1:-1, 1:-1] = np.minimum(np.abs(across) + np.abs(down), 255)
    return gradient


def require_equal(found: np.ndarray, wanted: np.ndarray, which: str) -> None:
    """CheckError with the first point that is not numpy's. which: what ran, in a word or two."""
    different = np.argwhere(found != wanted)
    if len(different):
        row, column = different[0]
        raise CheckError(
            f"sobel gave {found[row, column]} at row {row}, column {column} ({which})",
            found=f"numpy gives {wanted[row, column]}; {len(different):,} of {wanted.size:,} points differ",
            hint="--axi-trace FILE records every access",
        )


def run(setup: Setup, *, path: Path, access: str = "early", output: Path | None = None) -> Outcome:
    """Makes the gradient of the picture in `path` (see `read_picture`), and compares every byte with numpy.

    access: one of `ACCESSES`. output: writes the gradient there, a picture or an array by its name. Raises GodwitError of some kind, and then
    leaves an existing file as it was.
    """
    if access not in ACCESSES:
        raise InputError(
            f"no access '{access}'", found="accesses: " + ", ".join(ACCESSES), hint=nearest(access, ACCESSES)
        )
    picture = read_picture(path)
    points = np.ascontiguousarray(picture.points)
    height, width = points.shape
    if width > MAX_WIDTH:
        raise InputError(
            f"'{path}' has rows of {width:,} points",
            found=f"the kernel keeps two rows of up to {MAX_WIDTH:,}",
            hint="turn the picture, or cut it",
        )
    wanted = reference(points)
    setup = setup.with_kernel("sobel")
    with OutputSet((output or path).parent, option="--output") as files, setup.open() as card:
        if output:
            write_picture(files, output, wanted)  # that it can be written is known before anything runs
        kernel = setup.kernel_name(card, "sobel")
        setup.require_memory(card, [points.nbytes, points.nbytes])
        context = setup.context(card)
        options: dict[str, Any] = {"page_size": setup.page_size, "contiguous": True}
        src, dst = (context.empty(points.nbytes, access=way, **options) for way in ("r", "rw"))
        before = card.stats()["link_ps"]
        src.upload(points)
        link_ps = card.stats()["link_ps"] - before

        def check(result: LaunchResult, which: str) -> None:
            require_equal(dst.to_numpy().view(np.uint8).reshape(points.shape), wanted, f"{which} addresses")

        args = {"src": src, "dst": dst, "width": width, "height": height, "late": ACCESSES.index(access)}
        runs = run_all(card, context, kernel, args, [dst], check, setup)
        figures = cost_figures(card, context, runs, link_ps)
        facts = card_facts(card, setup.page_size)
        if output:
            files.commit()
    return Outcome(
        "sobel",
        f"sobel {path.name}: {width} x {height}, {access} accesses",
        {
            "input": {"path": str(path), "type": picture.type},
            "width": width,
            "height": height,
            "access": access,
            "picture_bytes": points.nbytes,
            "outputs": {"picture": str(output)} if output else {},
        },
        figures,
        facts,
    )
