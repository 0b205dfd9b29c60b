# SPDX-License-Identifier: Apache-2.0
"""Verilator's warnings about somebody's RTL, as few lines: one a kind, with its first place and how many more there are."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

# Of taste, or about how the simulation is made rather than about the design.
_TASTE = {
    "DECLFILENAME",
    "EOFNEWLINE",
    "GENUNNAMED",
    "INCABSPATH",
    "TIMESCALEMOD",
    "STMTDLY",
    "UNOPTFLAT",
    "VARHIDDEN",
    "SYMRSVDWORD",
}
_LINE = re.compile(r"^%Warning-(\w+): (.+?):(\d+):\d+: (.*)$")


def warnings_of(text: str, files: Collection[Path]) -> list[str]:
    """The warnings in Verilator's output that are about `files`, those of one kind together."""
    wanted = {str(path) for path in files}
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        match = _LINE.match(line)
        if match and match[1] not in _TASTE and match[2] in wanted:
            message = f"{match[2]}:{match[3]}: {match[4]}"
            if message not in found.setdefault(match[1], []):
                found[match[1]].append(message)
    return [_one(kind, messages) for kind, messages in sorted(found.items())]


def _one(kind: str, messages: list[str]) -> str:
    more = f" (and {len(messages) - 1} more of this kind)" if len(messages) > 1 else ""
    return f"{messages[0]} [{kind}]{more}"
