# SPDX-License-Identifier: Apache-2.0
"""Where a card's heap has its regions, as the driver is told: no register of a card says where its memories are, nor whether memory of
the host is to be one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def heap_regions(config: Mapping[str, Any]) -> str:
    """The driver's parameter ``heap_regions`` for a card of this configuration (as its description has it).

    Empty where the heap has one memory: the driver finds that itself.
    """
    heap, further = config.get("heap", {}), config.get("further_memory", [])
    host = heap.get("host_bytes", 0)
    if not heap.get("slots") or not (host or any(memory["heap_bytes"] for memory in further)):
        return ""
    end = config["card"]["memory_bytes"] - sum(memory["bytes"] for memory in further)
    regions = []
    for memory, part in [
        (config["memory"], heap["memory_bytes"]),
        *((memory, memory["heap_bytes"]) for memory in further),
    ]:
        if memory is not config["memory"]:
            end += memory["bytes"]
        if part:
            strict = ":strict" if heap["strict"] or memory["heap_strict"] else ""
            regions.append(f"{end - part:#x}:{part:#x}{strict}")
    if host:
        regions.append(f"host:{host:#x}{':strict' if heap['strict'] or heap['host_strict'] else ''}")
    return ",".join(regions)


def parameter(config: Mapping[str, Any]) -> str:
    """The same as a word behind ``insmod godwit.ko``, with a space before it where there is one."""
    regions = heap_regions(config)
    return f" heap_regions={regions}" if regions else ""
