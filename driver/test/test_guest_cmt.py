# SPDX-License-Identifier: Apache-2.0
"""Contiguous memory of the driver: pages that it takes when it is loaded, and memory that was reserved at boot, as a parameter or the
machine's description says."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from guest_checks import KERNELS, LIMIT, checks

from godwit.vm import guests
from godwit.vm.machine import Ended

Boot = Callable[..., Ended]

RESERVED = "0x10000000"
"""Where memory is that Linux leaves alone, and in front of it a hole of some."""
BOOT = f"memmap=8M${RESERVED} memmap=4M$0x10c00000"
AREAS = f"cmt_areas={RESERVED}:4M,0x10400000:4096K:0,0x10c00000:0x400000"
"""Two areas that touch, and one that stands apart."""

USED = "0x400000"
"""Where memory is that Linux has, and never itself: it starts at 16 MiB or above, wherever it is put at random, and does not let a machine's
description name a part of what it lies in."""

REFUSED = {
    "cmt_mib=4000": "the machine has",
    f"cmt_mib=4 {AREAS}": "not both",
    "cmt_areas=0x10000001:4M": "is no BASE:BYTES",
    "cmt_areas=0x10000000": "is no BASE:BYTES",
    "cmt_areas=0x10000000:4M:x": "is no BASE:BYTES",
    "cmt_areas=0x10000000:0": "is no BASE:BYTES",
    "cmt_areas=0xfffffffffffff000:8192": "is no BASE:BYTES",
    f"cmt_areas={USED}:4M": f"is memory that Linux uses: memmap=4194304${USED} reserves it",
    f"cmt_areas={RESERVED}:4M,0x10200000:4M": "belongs to somebody else",
}
"""Parameters that make no sense, and what Linux's log says of each."""

PAGES = "cmt_mib=12"

DESCRIBED = f"areas={RESERVED},0x400000,0x10400000,0x400000,0x10c00000,0x400000"
"""The same memory, named by the machine's description, of which the tests' module is a part."""

MISDESCRIBED = {
    f"areas={USED},0x400000": "is memory that Linux uses",
    f"areas={RESERVED},0x400100": "in multiples of",
    "areas=" + ",".join(f"{0x10000000 + 0x10000 * at:#x},0x10000" for at in range(17)): "more than 16 areas",
}
""" ... that make no sense."""

CHECKS = [
    "blocks_are_one_piece_at_their_address",
    "limits_are_kept",
    "what_does_not_fit_is_refused_with_its_reason",
    "memory_in_pieces_is_found_or_said",
    "sizes_change_where_blocks_are",
    "processes_have_their_own",
    "a_process_that_is_killed_leaves_nothing",
    "a_block_lives_as_long_as_somebody_maps_it",
    "a_dma_buf_is_the_same_memory_elsewhere",
    "another_driver_gets_a_dma_buf_in_one_piece",
    "what_is_pinned_is_given_to_nobody",
    "mixedmap",
    "nonsense_is_refused",
    "a_pool_that_is_too_large_says_what_there_is",
    "blocks_are_of_the_drivers_memory",
    "a_pool_ends_with_its_process",
]


def script() -> str:
    """All of it in one guest."""
    lines = ["code=0", "insmod /rig.ko || exit 1"]
    for number, words in enumerate(REFUSED):
        lines.append(f"dmesg -c > /dev/null; insmod /godwit.ko {words} 2>/dev/null && exit 1")
        lines.append(f"dmesg | grep 'godwit-cmt: ' | sed 's/^.*godwit-cmt: /refused {number}: /'")
        lines.append("[ -e /dev/godwit-cmt ] && exit 1")
    lines.append("insmod /godwit.ko && [ ! -e /dev/godwit-cmt ] && rmmod godwit || exit 1")
    for number, words in enumerate(MISDESCRIBED):
        lines.append(f"rmmod rig && insmod /rig.ko {words} || exit 1")
        lines.append("dmesg -c > /dev/null; insmod /godwit.ko 2>/dev/null && exit 1")
        lines.append(f"dmesg | grep 'godwit-cmt' | sed 's/^.*godwit-cmt: /misdescribed {number}: /'")
        lines.append("[ -e /dev/godwit-cmt ] && exit 1")
    for kind, described, words in (
        ("pages", DESCRIBED, PAGES),
        ("reserved", "", AREAS),
        ("described", DESCRIBED, ""),
    ):
        lines.append(f"rmmod rig && insmod /rig.ko {described} && insmod /godwit.ko {words} || exit 1")
        lines.append(f"echo begin {kind}; {LIMIT} /cmt || code=1; {LIMIT} /cmt_pool || code=1")
        lines.append(
            "cat /sys/class/misc/godwit-cmt/free_bytes /sys/class/misc/godwit-cmt/total_bytes | uniq | wc -l"
        )
        lines.append("rmmod godwit || exit 1")
    lines.append("rmmod rig && insmod /rig.ko && grep -c godwit-cmt /proc/iomem")
    lines.append(f"insmod /godwit.ko {PAGES} || exit 1")
    return "\n".join(lines) + f"\n{guests.UNLOAD}"


@pytest.fixture(scope="module", params=KERNELS)
def guest(request: pytest.FixtureRequest, boot_on: Callable[[str], Boot]) -> Ended:
    """The same programs on both kinds of memory."""
    return boot_on(request.param)(script(), "cmt", "cmt_pool", boot=BOOT, rig=True)


def part(guest: Ended, kind: str) -> Ended:
    """What the guest said of one kind of memory."""
    start = guest.lines.index(f"begin {kind}")
    end = next((at for at, line in enumerate(guest.lines) if at > start and line.startswith("begin ")), None)
    return Ended(guest.lines[start:end], guest.code, guest.served, guest.seconds)


@pytest.mark.parametrize("kind", ["pages", "reserved", "described"])
def test_contiguous_memory(guest: Ended, kind: str) -> None:
    assert checks(part(guest, kind)) == dict.fromkeys(CHECKS, "")


def test_parameters_that_make_no_sense_are_refused_with_a_reason(guest: Ended) -> None:
    for number, (words, why) in enumerate(REFUSED.items()):
        said = [line for line in guest.lines if line.startswith(f"refused {number}: ")]
        assert any(why in line for line in said), (words, said)


def test_descriptions_that_make_no_sense_are_refused_with_a_reason(guest: Ended) -> None:
    for number, (words, why) in enumerate(MISDESCRIBED.items()):
        said = [line for line in guest.lines if line.startswith(f"misdescribed {number}: ")]
        assert any(why in line for line in said), (words, said)


def test_the_guest_ends_well_and_nothing_is_left(guest: Ended) -> None:
    assert guest.code == 0
    # Free is all of it when nobody has any, and what was reserved is nobody's when the module is gone.
    assert [line for line in guest.lines if line in ("0", "1", "2")] == ["1", "1", "1", "0"]
