# SPDX-License-Identifier: Apache-2.0
"""Cards are pulled out while they are used, one after the other, and another one comes into the slot each time.

`GODWIT_PULLS=50 GODWIT_SEED=7` has as many as are wanted, at other moments.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable

import pytest
from guest_checks import GUEST_S, KERNELS, LIMIT, PULL

from godwit.vm import guests
from godwit.vm.machine import Ended

Boot = Callable[..., Ended]

PULLS = int(os.environ.get("GODWIT_PULLS", "3"))
MOVED = "8"
"""Pages that move meanwhile: each is 512 accesses of a card whose memory is not mapped."""
WHOLE = "1024 huge"
"""The same of every other card on a kernel on which huge pages move whole."""
LONGEST_US = 200_000
"""In which all of them go and come on a machine that has nothing else to do."""
BOOT = "pci=no_e820"
"""The place that the firmware gave the first card's memory is one that Linux gives to no other card without this word."""

CARDS = """
echo madvise > /sys/kernel/mm/transparent_hugepage/enabled
card() { grep -l 0x10f5 /sys/bus/pci/devices/*/device | head -n 1 | xargs -r dirname; }
another() {
    echo 1 > "$(card)/remove"
    [ -z "$(card)" ] || exit 1
    echo put a card in
    for turn in $(seq 100); do
        echo 1 > /sys/bus/pci/rescan
        [ -n "$(card)" ] && return
        usleep 100000
    done
    exit 1
}
left() {
    ! grep -q godwit /proc/iomem /proc/interrupts || code=1
    echo 3 > /proc/sys/vm/drop_caches
    echo 1 > /proc/sys/vm/compact_memory
    echo left $(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)
}
"""
"""Where the card is on the bus; the next one comes, and Linux finds it; what the module has left, and memory in KiB, of which no
processor keeps any for itself: less by tens of
MiB from when somebody asks for huge pages on, for which Linux keeps more free, so they are asked for at the start."""


def script(delays_us: list[int], moved: tuple[str, str]) -> str:
    """What the guest does: a card each time, and one more that stays."""
    rounds = [
        f"{guests.LOAD} || exit 1\n{LIMIT} /lost {delay} {moved[turn % 2]} || code=1\nrmmod godwit || exit 1\nleft\nanother\n"
        for turn, delay in enumerate(delays_us)
    ]
    return (
        f"code=0\n{CARDS}{''.join(rounds)}{guests.LOAD} || exit 1\n{LIMIT} /pinned || code=1\n{guests.UNLOAD}"
    )


@pytest.mark.parametrize("kind", KERNELS)
def test_cards_are_pulled_out_at_any_moment_and_others_come(
    boot_on: Callable[[str], Boot], kind: str
) -> None:
    seed = os.environ.get("GODWIT_SEED", "1")
    print(f"GODWIT_PULLS={PULLS} GODWIT_SEED={seed}")
    chance = random.Random(seed)
    guest = boot_on(kind)(
        script(
            [chance.randrange(LONGEST_US) for _ in range(PULLS)],
            (MOVED, WHOLE if kind == "backports" else MOVED),
        ),
        "lost",
        "pinned",
        orders={**PULL, "put a card in": "insert"},
        boot=BOOT,
        timeout_s=GUEST_S + 30 * PULLS,
    )
    assert guest.code == 0
    assert guest.lines.count("ok a_card_that_is_pulled_out_ends_launches_and_nothing_else") == PULLS
    assert "ok a_kernel_sums_what_malloc_gave" in guest.lines
    left = [int(line.split()[1]) for line in guest.lines if line.startswith("left ")]
    assert len(left) == PULLS
    # What is not given back each time would be seen: a pool alone has some MiB of pages.
    assert left[-1] > left[0] - 16 * 1024, left
