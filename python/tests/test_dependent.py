# SPDX-License-Identifier: Apache-2.0
"""A kernel whose writes wait for its reads, on memory whose pages go while it works: nothing waits for ever."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import pytest

import godwit
from godwit import cards, toolchain
from godwit.card import plan

EXAMPLE = toolchain.root() / "examples" / "kernel" / "scale_add.toml"
ALONE = ["card.kernels=[]"]
COUNT = 1 << 18


def aligned(values: np.ndarray) -> np.ndarray:
    """A copy on pages of its own."""
    room = np.empty(values.nbytes + 4096, dtype="u1")
    start = -room.ctypes.data % 4096
    copy = room[start : start + values.nbytes].view(values.dtype)
    copy[:] = values
    return copy


def test_a_write_that_waits_for_a_parked_read_stops_nobody() -> None:
    """The address of a write is sent with those of the reads that its data are made of, while a thread takes pages back."""
    x, y = aligned(np.arange(COUNT, dtype="i4")), aligned(3 * np.arange(COUNT, dtype="i4"))
    expected = 5 * x + y
    ended = threading.Event()

    def touch() -> None:
        at = 0
        while not ended.is_set():
            at = (at + 8191) % COUNT
            assert y[at] in (3 * at, expected[at])
            time.sleep(0.0005)

    card = cards.ensure("default", ALONE, kernels=[str(EXAMPLE)])
    with godwit.open(f"sim:{card.library}", shared=True) as opened:
        thread = threading.Thread(target=touch)
        thread.start()
        try:
            result = opened.launch("scale_add", x=x, y=y, n=COUNT, scale=5)
        finally:
            ended.set()
            thread.join()
        assert result.status == 0
        assert opened.migrations()["touches"] > 0
    assert np.array_equal(y, expected)


def buffered(*overrides: str, kernel: Path = EXAMPLE) -> list[int]:
    found = plan.plan("default", [*ALONE, *overrides], [kernel]).config.translator.buffered_ports
    assert found != "auto"
    return found


def test_ports_of_kernels_that_say_nothing_are_buffered_where_accesses_can_be_parked(tmp_path: Path) -> None:
    assert buffered() == [0]
    assert buffered("page_requests.places=0") == []
    assert buffered("page_requests.places=0", "heap.slots=1024", "heap.memory_bytes=32MiB") == [0]
    assert buffered("translator.buffered_ports=[]") == []
    text = EXAMPLE.read_text().replace("[[args]]", "independent = true\n\n[[args]]", 1)
    (tmp_path / "scale_add.toml").write_text(text)
    (tmp_path / "scale_add.sv").write_bytes(EXAMPLE.with_suffix(".sv").read_bytes())
    assert buffered(kernel=tmp_path / "scale_add.toml") == []


@pytest.mark.parametrize("name", ["default", "tiny", "tapasco", "ng"])
def test_no_kernel_of_godwit_needs_one(name: str) -> None:
    assert plan.plan(name).config.translator.buffered_ports == []
