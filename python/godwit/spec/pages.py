# SPDX-License-Identifier: Apache-2.0
"""The parts of hand-written files that are generated from ``spec/``: between two marks, and committed with the rest, so that
a reader of the file has everything in front of him. ``python -m godwit.spec pages`` brings them up to date; a test says when
they are not.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from godwit.spec import config_docs, events, events_docs, events_rtl, limits, status
from godwit.spec.generate import write_if_changed
from godwit.toolchain import root

BEGIN = "begin: generated {} by `python -m godwit.spec pages`"
END = "end: generated"

BLOCKS: dict[str, dict[str, Callable[[], str]]] = {
    "hw/rtl/common/gw_pkg.sv": {
        "widths": limits.systemverilog_widths,
        "structs": lambda: events_rtl.structs(events.load()),
    },
    "crates/godwit/include/godwit.h": {
        "statuses": lambda: status.c_enum("api"),
        "counters": lambda: events_docs.c_comment(events.load()),
    },
    "crates/godwit/src/capi/types.rs": {"statuses": lambda: status.rust_constants("api", "pub")},
    "crates/godwit/src/capi/mod.rs": {"statuses": status.rust_status_of},
    "crates/godwit/src/error.rs": {"kinds": status.rust_kinds},
    "crates/godwit-card/src/abi.rs": {"statuses": lambda: status.rust_constants("card", "pub(crate)")},
    "crates/godwit-py/src/error.rs": {"exceptions": status.rust_exceptions},
    "python/godwit/errors.py": {
        "typed": lambda: status.python_classes("    ", typed=True),
        "import": lambda: status.python_import("        "),
        "fallback": lambda: status.python_classes("        ", typed=False),
    },
    "card/sim/gw_card.h": {"statuses": lambda: status.c_enum("card")},
    "docs/c-api.md": {"statuses": status.table},
    "docs/configuration.md": {"fields": config_docs.tables},
    "docs/counters.md": {
        "counters": lambda: events_docs.counter_tables(events.load()),
        "events": lambda: events_docs.event_tables(events.load()),
    },
}
"""Files by what is generated in them."""

CLASSES = tuple(BLOCKS["python/godwit/errors.py"][name] for name in ("typed", "fallback"))
"""Blocks of Python classes, behind which the formatter wants a blank line."""


def _refilled(body: str, match: re.Match[str]) -> str:
    return f"{match[1]}{body}{match[2]}"


def page(name: str, text: str) -> str:
    """The text of file `name` with its generated parts as they should be. Raises ValueError when a mark is missing."""
    for block, make in BLOCKS[name].items():
        begin = re.escape(BEGIN.format(block))
        pattern = re.compile(rf"^(.*{begin}.*\n)(?s:.*?)^(.*{END}.*)$", re.MULTILINE)
        before = "\n" if name.endswith(".md") else ""
        after = "\n" if name.endswith(".md") or make in CLASSES else ""
        body = f"{before}{make().rstrip()}\n{after}"
        text, found = pattern.subn(partial(_refilled, body), text)
        if found != 1:
            raise ValueError(
                f"{name} must have one part marked '{BEGIN.format(block)}' to '{END}', has {found}"
            )
    return text


def update() -> list[Path]:
    """Brings all files up to date; those that changed."""
    changed = []
    for name in BLOCKS:
        path = root() / name
        old = path.read_text(encoding="utf-8")
        new = page(name, old)
        if new != old:
            write_if_changed(path, new)
            changed.append(path)
    return changed
