# SPDX-License-Identifier: Apache-2.0
"""A card that counts what crosses the link behind the driver, which decides by that where memory is used, on kernels where it can move and
where it cannot. With the page cache that belongs to it, what each side writes is seen by the other, and nothing of it is lost. Its heap has
no memory of the host, which the cache would keep lines of.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from guest_checks import KERNELS, LIMIT, checks
from test_guest import CHECKS, skipped
from test_guest_heap import CHECKS as HEAP

from godwit.vm import costs, guests
from godwit.vm.machine import Ended

Boot = Callable[..., Ended]

CARD = Path(__file__).parent / "stays.toml"
REGIONS = "heap_regions=0x1e800000:0x800000,0x1fc00000:0x400000"
"""Where the card's configuration has them."""
COSTS = "link_latency_ns=500 link_mbps=1000 leave_ns=0 leave_page_ns=0"
CALLS = 2000
EVERYWHERE = [
    "advice_says_what_it_comes_to",
    "what_both_read_is_where_both_can",
    "what_each_side_writes_the_other_sees",
]
"""What of `stays` is so on a kernel without device-private memory, too."""
STAYS = [
    *EVERYWHERE,
    "what_is_used_much_moves_and_goes_on_moving",
    "what_is_used_here_and_there_stays",
    "what_crossed_before_does_not_count",
    "halves_of_an_array_are_where_each_is_better",
    "what_the_program_takes_back_each_time_stays_in_the_end",
    "what_cannot_move_stays_and_is_asked_less",
]
ALONE = [
    "no_write_is_lost_in_a_line_that_both_write",
    "no_write_is_lost_in_memory_of_which_the_driver_decides",
    "a_touch_takes_a_page_from_the_card_and_no_other",
    "what_is_alone_moves_when_it_is_told",
    "a_child_has_what_the_card_wrote",
    "a_child_keeps_what_was_there_when_it_began",
    "what_is_protected_has_what_the_card_wrote",
    "two_contexts_of_a_process_see_what_each_writes",
    "what_has_a_file_or_is_shared_is_both_sides",
]
"""What of `alone` is so where Linux gives a page to the card alone."""
ALIKE = ("demand", "fuzz")
MOVING = ("asked", "migrate")
"""Programs for other cards that see whether a page cache loses anything, those behind on kernels where memory moves."""
NAMES = STAYS + ALONE + [name for program in ALIKE + MOVING for name in CHECKS[program]]


@pytest.fixture(scope="module", params=KERNELS)
def guest(request: pytest.FixtureRequest, boot_on: Callable[[str], Boot]) -> Ended:
    names = ["stays", "alone", *ALIKE, *(MOVING if request.param != "stock" else ())]
    words = {name: f"{LIMIT} /{name}" for name in names}
    words["fuzz"] += f" {CALLS}"
    programs = "".join(f"{word} || code=1\n" for word in words.values())
    script = f"code=0\n{guests.load(CARD)} || exit 1\n{programs}{guests.UNLOAD}"
    return boot_on(request.param)(script, *names, config=CARD)


@pytest.mark.parametrize("name", NAMES)
def test_guest(guest: Ended, name: str) -> None:
    moving = {*STAYS, *ALONE, *(name for program in MOVING for name in CHECKS[program])} - {*EVERYWHERE}
    if name in moving and (why := skipped(guest)):
        pytest.skip(why)
    assert checks(guest).get(name, "it was not reached") == ""


def test_the_guest_ends_well_and_the_card_saw_nothing_wrong(guest: Ended) -> None:
    assert guest.code == 0
    assert guest.served["errors"] == 0


HOST = f"""
insmod /godwit.ko heap_regions=0x1e800000:8M,host:4M || exit 1
[ "$(cat /sys/class/misc/godwit0/heap_bytes)" = 0 ] || code=1
dmesg | grep -q "has a page cache, and its heap can have no memory of the host" || code=1
{LIMIT} /pinned || code=1
rmmod godwit && insmod /godwit.ko heap_mib=4 || exit 1
[ "$(cat /sys/class/misc/godwit0/heap_bytes)" = 4194304 ] || code=1
{LIMIT} /heap || code=1
"""
"""Programs get nothing of it, all else of the card works, and the next driver begins a heap in the card's own memory, which works."""


@pytest.mark.parametrize("kind", KERNELS)
def test_a_heap_beside_a_page_cache_has_no_memory_of_the_host(
    boot_on: Callable[[str], Boot], kind: str
) -> None:
    guest = boot_on(kind)(f"code=0{HOST}{guests.UNLOAD}", "pinned", "heap", config=CARD)
    assert checks(guest) == dict.fromkeys(CHECKS["pinned"] + HEAP["heap"], "")
    assert guest.code == 0


def test_the_driver_is_told_what_the_link_costs() -> None:
    assert guests.load(CARD) == f"insmod /godwit.ko {REGIONS} {COSTS}"


def test_a_link_of_packets_carries_what_its_headers_leave() -> None:
    link = {
        "model": "packets",
        "packet_gbps": 8,
        "completion_header_bytes": 16,
        "max_payload_bytes": 128,
        "completion_bytes": 0,
    }
    assert costs.payload_gbps(link) == 8 * 128 / 144
    assert costs.payload_gbps({**link, "completion_bytes": 64}) == 8 * 64 / 80


def test_a_driver_that_has_nothing_to_count_is_told_nothing() -> None:
    assert costs.parameters({"page_cache": {"counters": 0}}) == ""
