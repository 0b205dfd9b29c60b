# SPDX-License-Identifier: Apache-2.0
"""The heap in hardware behind the driver: one address for program and card, and the RTL makes the accesses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from guest_checks import KERNELS, LIMIT, checks

from godwit.spec import config
from godwit.vm import guests, regions
from godwit.vm.machine import Ended

Boot = Callable[..., Ended]

CARD = Path(__file__).parent / "heap.toml"
LOAD = "insmod /godwit.ko heap_mib=4 || exit 1\n"
"""A heap that is soon full."""
OTHERS = """
rmmod godwit && insmod /godwit.ko heap_mib=0 || exit 1
[ "$(cat /sys/class/misc/godwit0/heap_bytes)" = 0 ] && rmmod godwit && insmod /godwit.ko || exit 1
[ "$(cat /sys/class/misc/godwit0/heap_bytes)" = 4194304 ] || exit 1
"""
"""Drivers that come later find the heap as the first one began it, and one that wants none leaves it alone."""
CALLS = 2000

CHECKS = {
    "heap": [
        "memory_has_one_address_for_both",
        "what_the_card_writes_is_seen_where_nothing_was",
        "realloc_changes_the_size_where_it_is",
        "what_is_freed_is_gone_for_both",
        "processes_have_their_own",
        "what_makes_no_sense_is_refused",
        "a_heap_that_is_full_says_so",
    ],
    "runtime_heap": [
        "malloc_realloc_and_release_of_the_runtime_work",
        "refusals_have_the_heaps_reasons",
        "what_a_kernel_allocated_becomes_the_programs",
    ],
    "removal": ["a_card_goes_while_it_is_used"],
    "fuzz": ["calls_that_make_no_sense_harm_nobody"],
}


@pytest.fixture(scope="module", params=KERNELS)
def guest(request: pytest.FixtureRequest, boot_on: Callable[[str], Boot]) -> Ended:
    """All programs, before and after other drivers had the card."""
    words = {name: f"{LIMIT} /{name}" for name in CHECKS}
    words["fuzz"] += f" {CALLS}"
    programs = [f"{word} || code=1\n" for word in words.values()]
    script = f"code=0\n{LOAD}{programs[0]}{OTHERS}{''.join(programs)}{guests.UNLOAD}"
    return boot_on(request.param)(script, *CHECKS, config=CARD)


@pytest.mark.parametrize("name", [name for names in CHECKS.values() for name in names])
def test_guest(guest: Ended, name: str) -> None:
    assert checks(guest).get(name, "it was not reached") == ""


REGIONS = "0x1e800000:0x800000,0x1fc00000:0x400000:strict"
"""Where the card's configuration has them."""
NONE = (
    "0x1e800000:3M",
    "0x1e800000:8M:lax",
    "0x1ff00000:2M",
    "0x20000000:2M",
    "0x1e800000:8M,0x1ec00000:4M",
    "0:2M,2M:2M,4M:2M",
)
"""Regions that no card has, or not this one: it then has no heap, and can be given one later."""
ASKED = f"""
for regions in {" ".join(NONE)}; do
  insmod /godwit.ko heap_regions=$regions || exit 1
  [ "$(cat /sys/class/misc/godwit0/heap_bytes)" = 0 ] && rmmod godwit || exit 1
done
dmesg -c > /dev/null
insmod /godwit.ko heap_regions={REGIONS} || exit 1
"""
AGAIN = """
rmmod godwit && insmod /godwit.ko || exit 1
[ "$(cat /sys/class/misc/godwit0/heap_bytes)" = 12582912 ] || exit 1
grep -q "heap_region 1 1024 " /sys/kernel/debug/godwit/godwit0/pages || code=1
"""
"""A driver that is told nothing finds the regions as they were begun."""

OF_REGIONS = {
    "heap_regions": [
        "each_region_gives_its_own_frames",
        "a_strict_region_refuses_what_it_has_not",
        "a_region_that_is_not_there_is_refused",
    ],
    "runtime_regions": ["memories_of_the_card_are_regions_of_its_heap"],
}


@pytest.mark.parametrize("kind", KERNELS)
def test_each_memory_of_the_card_is_a_region(boot_on: Callable[[str], Boot], kind: str) -> None:
    programs = "".join(f"{LIMIT} /{name} || code=1\n" for name in OF_REGIONS)
    guest = boot_on(kind)(
        f"code=0\n{ASKED}{programs}{AGAIN}{programs}{guests.UNLOAD}", *OF_REGIONS, config=CARD
    )
    assert checks(guest) == {name: "" for names in OF_REGIONS.values() for name in names}
    assert guest.code == 0


def test_regions_are_where_the_configuration_has_them() -> None:
    assert guests.load(CARD) == f"insmod /godwit.ko heap_regions={REGIONS}"
    assert regions.heap_regions(config.load("default").model_dump(mode="json")) == ""


@pytest.mark.parametrize("kind", KERNELS)
def test_a_card_with_a_heap_is_pulled_out(boot_on: Callable[[str], Boot], kind: str) -> None:
    script = f"{LOAD}{LIMIT} /lost 20000; code=$?\n{guests.UNLOAD}"
    guest = boot_on(kind)(script, "lost", remove_at="pull the card out", config=CARD)
    assert guest.code == 0
    assert checks(guest) == {"a_card_that_is_pulled_out_ends_launches_and_nothing_else": ""}


def test_the_guest_ends_well_and_the_card_saw_nothing_wrong(guest: Ended) -> None:
    assert guest.code == 0
    # Each time that a driver takes the card it looks for a page DMA, which this card has not.
    assert guest.served["errors"] == 0 and guest.served["bus_errors"] > 0
