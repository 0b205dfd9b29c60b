# SPDX-License-Identifier: Apache-2.0
"""Counters as the native module names them, and as people read them."""

from __future__ import annotations

import re
from typing import Any

_PORT = re.compile(r"port(\d+)")


def nested(flat: dict[str, int]) -> dict[str, Any]:
    """``{"port0.read.hits": 1, "walker.walks": 2}`` as ``{"ports": [{"read": {"hits": 1}}], "walker": {"walks": 2}}``."""
    result: dict[str, Any] = {"ports": []}
    for name, value in flat.items():
        first, *groups = name.split(".")
        place: dict[str, Any] = result
        if groups and (port := _PORT.fullmatch(first)):
            ports = result["ports"]
            ports.extend({} for _ in range(len(ports), int(port[1]) + 1))
            place = ports[int(port[1])]
            *groups, last = groups
        else:
            *groups, last = [first, *groups]
        for group in groups:
            place = place.setdefault(group, {})
        place[last] = value
    return result
