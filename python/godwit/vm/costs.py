# SPDX-License-Identifier: Apache-2.0
"""What a card's link and the host's work cost, as the driver is told: it decides by that where memory is used, and no register says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def payload_gbps(link: Mapping[str, Any]) -> float:
    """10^9 bytes of data that the link (`[host_link]`) carries to the card in a second."""
    if link["model"] == "rate":
        return float(link["bandwidth_gbps"])
    payload = link["completion_bytes"] or link["max_payload_bytes"]
    return float(link["packet_gbps"] * payload / (payload + link["completion_header_bytes"]))


def parameters(config: Mapping[str, Any]) -> str:
    """The driver's parameters for a card of this configuration (as its description has it); empty where it counts no lines."""
    if not config.get("page_cache", {}).get("counters"):
        return ""
    link, host = config["host_link"], config["host"]
    values = {
        "link_latency_ns": link["latency_ns"],
        "link_mbps": max(payload_gbps(link) * 1000, 1),
        "leave_ns": host["leave_ns"],
        "leave_page_ns": host["leave_page_ns"],
    }
    return " ".join(f"{name}={round(value)}" for name, value in values.items())
