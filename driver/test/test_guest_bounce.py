# SPDX-License-Identifier: Apache-2.0
"""A guest whose Linux gives devices copies of memory, as one with encrypted memory has to: a card cannot share memory there, and says so."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from guest_checks import KERNELS

from godwit.vm import guests
from godwit.vm.machine import Ended

Boot = Callable[..., Ended]

BOOT = "swiotlb=force"
SCRIPT = f"""code=0
{guests.LOAD} || exit 1
dmesg | grep 'godwit 0'
[ ! -e /dev/godwit0 ] || code=1
{guests.UNLOAD}
"""


@pytest.mark.parametrize("kind", KERNELS)
def test_a_card_that_would_work_on_copies_of_memory_is_refused(
    boot_on: Callable[[str], Boot], kind: str
) -> None:
    guest = boot_on(kind)(SCRIPT, boot=BOOT)
    assert guest.code == 0
    assert any("copies of memory (bounce buffers)" in line for line in guest.lines)
    # It is not looked at, let alone turned on.
    assert (guest.served["interrupts"], guest.served["register_accesses"]) == (0, 0)
