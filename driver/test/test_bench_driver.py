# SPDX-License-Identifier: Apache-2.0
"""`godwit bench driver` still runs, and its rows are of what the driver did."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bench.suites import driver
from godwit.vm import kernel


def test_every_page_goes_once_and_comes_home(kernel_named: Callable[[str], kernel.Kernel]) -> None:
    kernel_named(driver.KERNEL)
    rows = {row.row: row for row in driver.run(lambda what, done, total: None, quick=True)}

    def value(row: str) -> float:
        found = rows[row].value
        assert found is not None
        return found

    for way in ("on demand", "by calls"):
        for phase in ("first launch", "home"):
            assert value(f"{way}, 32 KiB, {phase}: DMA descriptors") == 1
        assert value(f"{way}, 32 KiB, to the card: time") > 0
    # What was moved by a call is not asked for, and what stays is not copied.
    assert "by calls, 32 KiB, first launch: requests" not in rows
    assert value("in place, 32 KiB, first launch: requests") == 1
    assert "in place, 32 KiB, first launch: DMA descriptors" not in rows
    assert value("by calls, 32 KiB, home: time in user space") > 0
    # Without large pages each page has an entry of its own; what is at home has none.
    for way in ("on demand", "by calls", "in place"):
        assert value(f"{way} by 4 KiB, 32 KiB, second launch: entries") == 1
        assert value(f"{way}, 32 KiB, second launch: entries") <= 1
    assert "by calls, 32 KiB, home: entries" not in rows
    # What a card with a page cache has alone is taken from it before a processor reads it, more and more at a time.
    assert value("in place with a page cache, 32 KiB, first launch: requests") == 1
    assert 0 < value("in place with a page cache, 32 KiB, home: touches") < 1


def test_what_the_guest_says_is_read() -> None:
    said = ["counted hand home 8192 calls=1 page_requests=0", "godwit-guest-end 0"]
    assert driver.parse(said) == {("hand", "home", 8192): {"calls": 1, "page_requests": 0}}


NOTHING = dict.fromkeys(
    [
        "mmu_interrupts",
        "dma_interrupts",
        "dma_lists",
        "dma_pages",
        "dma_doorbells",
        "dma_drains",
        "dma_copies",
        "pages_out",
        "pages_home",
        "folios_out",
        "folios_home",
    ],
    0,
)


def test_time_is_that_of_the_costs() -> None:
    assert driver.modelled_us(NOTHING, home=False) == 0
    # One list of two pages, told by an interrupt: a group, two pages, their bytes, and who waits.
    one = {
        "dma_interrupts": 1,
        "dma_lists": 1,
        "dma_pages": 2,
        "dma_doorbells": 1,
        "dma_drains": 1,
        "pages_out": 2,
    }
    assert driver.modelled_us(NOTHING | one, home=False) == pytest.approx(
        2.5 + 5.5 + 8.9 + 2 * 1.3 + 0.4 + 8192 / 1440
    )


def test_what_crosses_while_the_host_works_costs_once() -> None:
    # Two lists of 16 pages each: to the card the link is what takes longer, and home the host.
    two = {"dma_interrupts": 2, "dma_lists": 2, "dma_pages": 32, "dma_doorbells": 2, "dma_drains": 1}
    there = driver.modelled_us(NOTHING | two | {"pages_out": 32}, home=False)
    assert there == pytest.approx(8.9 + 16 * 1.3 + 0.4 + 32 * 4096 / 1440 + 8)
    home = driver.modelled_us(NOTHING | two | {"pages_home": 32}, home=True)
    assert home == pytest.approx(2 * (12.9 + 16 * 2.55 + 0.4) + 2.5 + 16 * 4096 / 1710 + 8)
    # Each waited for before the next is made.
    alone = driver.modelled_us(NOTHING | two | {"dma_drains": 2, "pages_home": 32}, home=True)
    assert alone == pytest.approx(2 * (12.9 + 16 * 2.55 + 0.4 + 16 * 4096 / 1710 + 8))
