# SPDX-License-Identifier: Apache-2.0
"""Kernels with two control ports: which of them starts the kernel, and where the registers of the other are.

Vitis HLS gives pointers that no pragma puts elsewhere a port of their own, ``s_axi_control_r``, beside ``s_axi_control`` with start, end
and numbers. A card has one stretch of registers a kernel, so those of the second port begin at `SECOND_PORT` in it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

SECOND_PORT = 0x8000
"""Where registers of a second control port begin, in the register space of their kernel."""


def of_block(block: str, prefixes: Sequence[str]) -> str | None:
    """The port, of ``s_axi_BUNDLE``, that HLS's control block ``KERNEL_BUNDLE_s_axi`` is behind; None: none of these."""
    bundles = {prefix: re.sub("^s_axi_", "", prefix, flags=re.IGNORECASE) for prefix in prefixes}
    fits = [prefix for prefix, name in bundles.items() if block.lower().endswith(f"_{name.lower()}_s_axi")]
    return max(fits, key=len, default=None)


def starting(prefixes: Sequence[str], start_block: str | None) -> str | None:
    """The port with start and end: of the control block that has them, else by HLS's names; None: it cannot be told."""
    if start_block:
        return of_block(start_block, prefixes)
    named = [prefix for prefix in prefixes if f"{prefix}_r" in prefixes]
    return named[0] if len(named) == 1 else None
