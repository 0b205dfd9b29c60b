# SPDX-License-Identifier: Apache-2.0
"""Fig. 5: the Sobel gradient of a real picture at a byte a cycle, by a kernel that asks for pages early and in long bursts, and by one that
asks for 64 bytes shortly before it needs them; pages moved three ways, beside explicit copies.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bench.suites.papers_k.migrations import CONFIG, SUITE, WAYS, Measured, Way, plain, timed
from godwit import data
from godwit.api import Card
from godwit.report import Progress, Row
from godwit.run.sobel import ACCESSES, reference, require_equal
from godwit.run.workload import Setup

SIZES = ((512, 512), (1024, 768), (1920, 1080))
"""Width and height; the paper's first and last."""
THEIRS = {
    ("early", "ODPM both ways"): "above 1",
    ("early", "ODPM in, UMPM back"): "about 1",
    ("early", "UMPM both ways"): "above 1",
    ("late", "ODPM both ways"): "above 2",
    ("late", "ODPM in, UMPM back"): "above 2",
    ("late", "UMPM both ways"): "above 1",
}
"""What the text says of the figure, by access and way."""
GOALS = {"early": "<= 0.95", "late": "<= 1.2"}
"""Where the kernel asks for its pages."""


def sobel(progress: Progress, sizes: tuple[tuple[int, int], ...]) -> Iterator[Row]:
    """Rows a size, access and way. sizes: (width, height) in points of a byte."""
    if not sizes:
        return
    setup = Setup(CONFIG, memory="shared", progress=progress).with_kernel("sobel")
    with setup.open() as card:
        for step, (width, height) in enumerate(sizes):
            progress(f"paper K, Sobel of {width} x {height}", step, len(sizes))
            picture = photograph(width, height)
            for access in ACCESSES:
                yield from _rows(card, picture, access)


def photograph(width: int, height: int) -> np.ndarray:
    """The photograph of `godwit data picture`, (height, width) bytes."""
    from PIL import Image

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "picture.png"
        data.picture(path)
        with Image.open(path) as image:
            return np.asarray(image.resize((width, height), Image.Resampling.LANCZOS))


def _rows(card: Card, picture: np.ndarray, access: str) -> Iterator[Row]:
    height, width = picture.shape
    wanted = reference(picture)
    late = ACCESSES.index(access)
    name = f"Sobel, {width} x {height}, {access}"
    base = timed(card, lambda: _copied(card, picture, wanted, late)).total
    yield Row(SUITE, f"{name}, explicit copies (Fig. 5)", "total", base, "ms", kind="modelled")
    for way in WAYS:
        found = _shared(card, picture, wanted, late, way)
        moved = found.moved
        what = f"{found.total:.4g} ms, {moved['requests']} requests in {moved['batches']} batches"
        goal = None if way.in_by_hand else GOALS[access]
        ratio = found.total / base
        theirs = THEIRS[access, way.name]
        row = f"{name}, {way.name}, over copy (Fig. 5)"
        yield Row(SUITE, row, what, ratio, "times", theirs, goal, kind="modelled")


def _arguments(picture: np.ndarray, late: int) -> dict[str, int]:
    return {"width": picture.shape[1], "height": picture.shape[0], "late": late}


def _copied(card: Card, picture: np.ndarray, wanted: np.ndarray, late: int) -> None:
    """Physical addresses, as there."""
    options = {"page_size": "4K", "contiguous": True}
    with card.context() as context:
        src, dst = (context.empty(picture.nbytes, np.uint8, access=access, **options) for access in "rw")
        src.upload(picture)
        arguments = {"src": src, "dst": dst, **_arguments(picture, late)}
        card.launch("sobel", context=context, mode="bare", **arguments)
        found = np.frombuffer(dst.download(), np.uint8)
    require_equal(found.reshape(picture.shape), wanted, "explicit copies")


def _shared(card: Card, picture: np.ndarray, wanted: np.ndarray, late: int, way: Way) -> Measured:
    src, dst = plain(picture.nbytes), plain(picture.nbytes)
    src[:] = picture.reshape(-1)

    def work() -> None:
        if way.in_by_hand:
            card.migrate_to_device(src)
            card.migrate_to_device(dst)
        card.launch("sobel", src=src, dst=dst, **_arguments(picture, late))
        if way.back_by_hand:
            card.migrate_to_host(dst)
        # Touched from end to end.
        require_equal(dst.reshape(picture.shape), wanted, way.name)

    return timed(card, work)
