# SPDX-License-Identifier: Apache-2.0
"""Tables for people, made of ``spec/events.toml``."""

from __future__ import annotations

from collections.abc import Iterator

from godwit.spec.events import COUNTER_BYTES, Events, Group
from godwit.spec.events_software import CHANNELS


def _names(group: Group) -> list[str]:
    if group.name == "channel":
        return [f"portN.{channel}." for channel in CHANNELS]
    return [f"{group.name}."] if group.slots else [""]


def c_comment(events: Events) -> str:
    """The list of counters in godwit.h."""
    out = ["/*", " * Counters by name; N is a port, and kernel k is on port k."]
    for group in events.groups.values():
        prefix = " and ".join(_names(group))
        out += [" *", f" * {group.doc}{f', {prefix}' if prefix else ''}"]
        width = max(len(counter.name) for counter in group.counters)
        out += [f" *   {counter.name:{width}}  {counter.doc}" for counter in group.counters]
    return "\n".join([*out, " */"])


def counter_tables(events: Events) -> str:
    """One table a group: name, register, event, meaning."""
    out = []
    for group in events.groups.values():
        prefix = ", ".join(f"`{name}...`" for name in _names(group) if name)
        out += [f"### {group.doc}", ""]
        if prefix:
            out += [f"Names: {prefix}", ""]
        out += ["| counter | register | counts | |", "|---|---|---|---|", *_counter_rows(group), ""]
    return "\n".join(out)


def _counter_rows(group: Group) -> Iterator[str]:
    for index, counter in enumerate(group.counters):
        if counter.register:
            register, counts = f"`{counter.register}`", ""
        else:
            place = "`port_counters.port[N].ar/aw`" if group.name == "channel" else f"`{group.name}_counters`"
            register = f"{place} + `0x{COUNTER_BYTES * index:02x}`"
            how = " (sum of its value)" if counter.sum else " (largest value)" if counter.max else ""
            counts = f"`{counter.counts}`{how}"
        yield f"| `{counter.name}` | {register} | {counts} | {counter.doc} |"


def event_tables(events: Events) -> str:
    """One table a level: the RTL's field, the name in event files, whose it is, meaning."""
    out = []
    for level in events.levels.values():
        struct = f"`gw_pkg::{level.struct}`" if level.struct else "in `gw_pkg::mmu_event_t`"
        out += [f"### `{level.name}`: {struct}", "", level.doc, ""]
        out += ["| field | in event files | of | value | |", "|---|---|---|---|---|"]
        for event in level.events.values():
            owner = f"`{event.owner}`" if event.owner else "its port" if level.name == "l1" else ""
            value = level.values[event.value].label if event.value else "entries" if event.count else ""
            out.append(
                f"| `{event.name}` | {f'`{event.streamed}`' if event.streamed else ''} | {owner} | {value} | {event.doc} |"
            )
        out.append("")
    return "\n".join(out)
