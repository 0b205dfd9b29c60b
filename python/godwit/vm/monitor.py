# SPDX-License-Identifier: Apache-2.0
"""QEMU's monitor (QMP, over a socket): what a machine that says nothing is asked by."""

from __future__ import annotations

import json
import socket
from pathlib import Path

_ANSWER_S = 10.0
"""QEMU answers at once, unless it waits for the card."""


def words(place: Path) -> list[str]:
    """What QEMU is started with to have its monitor at `place`."""
    return ["-qmp", f"unix:{place},server=on,wait=off"]


def interrupt(place: Path) -> bool:
    """Sends all processors an interrupt that cannot be masked: a Linux with `unknown_nmi_panic` says where each was, and ends.

    False if QEMU does not answer, as while an access to the card has no answer.
    """
    try:
        with socket.socket(socket.AF_UNIX) as monitor:
            monitor.settimeout(_ANSWER_S)
            monitor.connect(str(place))
            with monitor.makefile("rw") as stream:
                stream.readline()  # the greeting
                for order in ("qmp_capabilities", "inject-nmi"):
                    stream.write(json.dumps({"execute": order}) + "\n")
                    stream.flush()
                    while "return" not in json.loads(stream.readline()):
                        pass  # events come between answers
    except (OSError, ValueError):
        return False
    return True
