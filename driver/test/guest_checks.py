# SPDX-License-Identifier: Apache-2.0
"""What guests say of their checks: lines `ok NAME` or `not ok NAME: why`."""

from __future__ import annotations

import re

from godwit.vm.machine import Ended


def checks(guest: Ended) -> dict[str, str]:
    """Checks of a guest by name: empty, or why not."""
    found = {}
    for line in guest.lines:
        if said := re.fullmatch(r"ok (\w+)", line):
            found[said[1]] = ""
        elif said := re.fullmatch(r"not ok (\w+): (.*)", line):
            found[said[1]] = said[2]
    return found
