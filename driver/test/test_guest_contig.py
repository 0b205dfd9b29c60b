# SPDX-License-Identifier: Apache-2.0
"""Contiguous memory of the driver beside what Linux has, when memory was used before: twelve pieces of 20 MiB, as in the paper's Table 2.

Pieces that came are counted, and pages that Linux had to move for them; times of an emulated machine say nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from guest_checks import LIMIT, MOVING

from godwit.vm import guests
from godwit.vm.machine import Ended

Boot = Callable[..., Ended]

PIECES = 12
BOOT = "cma=240M nokaslr"
"""As much as the driver takes: twelve pieces, and nothing more. Linux itself lies at the same place in each boot."""
LOAD = "insmod /godwit.ko cmt_mib=240 || exit 1\ninsmod /rig.ko || exit 1\n"
CONDITIONS = ["fresh", "used", "pinned", "kernel"]
"""After boot; in memory of which a process has every other page; when 16 of these are pinned, too; with a page of the kernel's own a MiB."""
ASKED = ["godwit-cmt", "hugetlb", "cma", "contig"]


@pytest.fixture(scope="module")
def rows(boot_on: Callable[[str], Boot]) -> dict[tuple[str, str], tuple[int, int]]:
    """Pieces that came, and pages that moved, by condition and by who was asked."""
    script = f"code=0\n{LOAD}{LIMIT} /contig || code=1\nrmmod rig || code=1\n{guests.UNLOAD}"
    guest = boot_on(MOVING)(script, "contig", config=None, boot=BOOT, memory_mib=1024, rig=True)
    assert guest.code == 0
    said = [line.split() for line in guest.lines if line.startswith("row ")]
    return {(condition, asked): (int(got), int(moved)) for _, condition, asked, got, moved, _ in said}


def test_the_drivers_memory_serves_all_that_arithmetic_allows_and_moves_nothing(
    rows: dict[tuple[str, str], tuple[int, int]],
) -> None:
    assert list(rows) == [(condition, asked) for condition in CONDITIONS for asked in ASKED]
    assert {rows[condition, "godwit-cmt"] for condition in CONDITIONS} == {(PIECES, 0)}


def test_no_other_serves_more(rows: dict[tuple[str, str], tuple[int, int]]) -> None:
    assert all(got <= PIECES for got, _ in rows.values())
    # What nobody reserved is gone when the kernel's own pages are in it.
    assert rows["kernel", "contig"][0] < PIECES
