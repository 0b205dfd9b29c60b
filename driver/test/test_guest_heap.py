# SPDX-License-Identifier: Apache-2.0
"""The heap in hardware behind the driver: one address for program and card, and the RTL makes the accesses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from guest_checks import KERNELS, LIMIT, PULL, checks

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
    "heap_kernel": [
        "what_a_kernel_frees_is_gone_for_the_process",
        "what_is_freed_is_nobody_elses_while_the_launch_runs",
        "what_a_kernel_cuts_off_is_gone_and_the_rest_stays",
        "what_a_kernel_refuses_or_leaves_alone_stays",
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
    with_host = config.load(CARD, ["heap.host_bytes=4MiB", "heap.host_strict=true"])
    assert regions.heap_regions(with_host.model_dump(mode="json")) == f"{REGIONS},host:0x400000:strict"


HOST = "0x1e800000:8M,host:4M:strict"
"""The second region is memory of the host."""
NO_HOST = ("host:4M", "0x1e800000:8M,host:3M", "0x1e800000:8M,host:4M:lax", "0x1e800000:8M,host:8M")
"""Page tables are in the first, half a block, no such word, and more than Linux has in one piece."""
OF_HOST = f"""
for regions in {" ".join(NO_HOST)}; do
  insmod /godwit.ko heap_regions=$regions || exit 1
  [ "$(cat /sys/class/misc/godwit0/heap_bytes)" = 0 ] && rmmod godwit || exit 1
done
dmesg | grep -q "in which page tables are" || exit 1
dmesg | grep -q "has no 8 MiB of the host's memory in one piece" || exit 1
dmesg -c > /dev/null
insmod /godwit.ko heap_regions={HOST} || exit 1
[ "$(cat /sys/class/misc/godwit0/heap_bytes)" = 12582912 ] || exit 1
"""
ANOTHER = """
rmmod godwit && insmod /godwit.ko heap_mib=6 || exit 1
[ "$(cat /sys/class/misc/godwit0/heap_bytes)" = 6291456 ] || code=1
"""
"""One with memory of the host ends with its driver: the next begins its own."""


@pytest.mark.parametrize("kind", KERNELS)
def test_memory_of_the_host_is_a_region(boot_on: Callable[[str], Boot], kind: str) -> None:
    guest = boot_on(kind)(
        f"code=0\n{OF_HOST}{LIMIT} /heap_host || code=1\n{ANOTHER}{guests.UNLOAD}", "heap_host", config=CARD
    )
    assert checks(guest) == {
        "frames_of_the_host_are_one_memory_for_both": "",
        "a_driver_that_goes_takes_them_back": "",
    }
    assert guest.code == 0


@pytest.mark.parametrize("kind", KERNELS)
def test_a_card_with_a_heap_is_pulled_out(boot_on: Callable[[str], Boot], kind: str) -> None:
    script = f"{LOAD}{LIMIT} /lost 20000; code=$?\n{guests.UNLOAD}"
    guest = boot_on(kind)(script, "lost", orders=PULL, config=CARD)
    assert guest.code == 0
    assert checks(guest) == {"a_card_that_is_pulled_out_ends_launches_and_nothing_else": ""}


def test_the_guest_ends_well_and_the_card_saw_nothing_wrong(guest: Ended) -> None:
    assert guest.code == 0
    # Each time that a driver takes the card it looks for a page DMA, which this card has not.
    assert guest.served["errors"] == 0 and guest.served["bus_errors"] > 0
