# SPDX-License-Identifier: Apache-2.0
"""What guests say of their checks: lines `ok NAME` or `not ok NAME: why`."""

from __future__ import annotations

import os
import re

from godwit.vm.machine import Ended

KERNELS = os.environ.get("GODWIT_KERNELS", "stock backports").split()
"""Those that guests boot: Debian's in CI; `GODWIT_KERNELS=debug` has all of it on a kernel with Linux's own checks in it."""
MOVING = "debug" if "debug" in KERNELS else "backports"
"""One on which memory of processes moves to the card."""
LIMIT = f"timeout {1200 if 'debug' in KERNELS else 600}"
"""The words before a program of a guest: one that hangs ends. On a machine that does much else a program of two minutes takes five."""
PULL = {"pull the card out": "remove"}
"""What the server is told when a guest says so."""
GUEST_S = 1800.0
"""The same for a guest with many programs."""


def checks(guest: Ended) -> dict[str, str]:
    """Checks of a guest by name: empty, or why not."""
    found = {}
    for line in guest.lines:
        if said := re.fullmatch(r"ok (\w+)", line):
            found[said[1]] = ""
        elif said := re.fullmatch(r"not ok (\w+): (.*)", line):
            found[said[1]] = said[2]
    return found
