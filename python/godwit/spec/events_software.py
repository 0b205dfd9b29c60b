# SPDX-License-Identifier: Apache-2.0
"""C++ and Rust made of ``spec/events.toml``."""

from __future__ import annotations

import json
from collections.abc import Iterator

from godwit.spec.events import (
    BANNER,
    COUNTER_BYTES,
    CTX_ID_WIDTH,
    Bits,
    Event,
    Events,
    Group,
    Level,
    mmu_positions,
    mmu_width,
    positions,
)

CHANNELS = {"read": "AR", "write": "AW"}


def _bits(bits: Bits | None) -> str:
    return f"{{{bits.low}, {bits.width}}}" if bits else "{}"


def _kinds(level: Level, where: dict[str, Bits]) -> Iterator[str]:
    for event in level.events.values():
        if not event.streamed:
            continue
        owner = level.owners.get(event.owner)
        value = level.values.get(event.value)
        fields = {
            "level": json.dumps(level.name),
            "name": json.dumps(event.streamed),
            "value_name": json.dumps(_value_name(event, level)),
            "event": _bits(where[event.name]),
        }
        if value or event.count:
            fields["value"] = _bits(where[value.name if value else event.name])
        if owner:
            fields["owner_kind"] = f"OwnerKind::{owner.kind}"
            fields["owner"] = _bits(where[owner.name])
        if isinstance(event.ownerless, int):
            fields["ownerless_value"] = str(event.ownerless)
        elif event.ownerless:
            fields["ownerless"] = _bits(where[event.ownerless])
        yield "    {" + ", ".join(f".{name} = {text}" for name, text in fields.items()) + "},"


def _value_name(event: Event, level: Level) -> str:
    if event.value:
        return level.values[event.value].label
    return "entries" if event.count else ""


def cpp(events: Events) -> str:
    """`godwit_events.h`: where the packed structs of gw_pkg have each event, for the card's event stream."""
    channel = events.levels["l1"]
    out = [
        "// SPDX-License-Identifier: Apache-2.0",
        f"// {BANNER}",
        "#pragma once",
        '#include "event_kind.hpp"',
        "",
        "namespace gw {",
        "",
        "// gw_pkg::port_event_t: reads from bit 0, then writes, then the context.",
        f"inline constexpr unsigned kChannelEventBits = {channel.width};",
        f"inline constexpr Bits kPortContext{_bits(Bits(2 * channel.width, CTX_ID_WIDTH))};",
        f"inline constexpr unsigned kContextBits = {CTX_ID_WIDTH};",
        f"inline constexpr unsigned kMmuEventBits = {mmu_width(events)};",
        "inline constexpr EventKind kChannelEvents[] = {",
        *_kinds(channel, positions(channel)),
        "};",
        "inline constexpr EventKind kMmuEvents[] = {",
    ]
    for name, where in mmu_positions(events).items():
        out += _kinds(events.levels[name], where)
    return "\n".join([*out, "};", "", "}  // namespace gw", ""])


def _struct(group: Group) -> Iterator[str]:
    name = f"{group.camel}Counters"
    yield f"/// {group.doc}."
    yield "#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]"
    yield f"pub struct {name} {{"
    for counter in group.counters:
        yield f"    /// {counter.doc}"
        yield f"    pub {counter.name}: u64,"
    yield "}"
    yield ""
    yield f"impl {name} {{"
    yield "    /// Every counter, in the order of the registers."
    yield f"    pub const LIST: [CounterKind; {len(group.counters)}] = ["
    for counter in group.counters:
        yield f"        CounterKind {{ name: {json.dumps(counter.name)}, doc: {json.dumps(counter.doc)} }},"
    yield "    ];"
    yield ""
    yield "    /// Names and values, in the order of `LIST`."
    yield f"    pub fn iter(&self) -> std::array::IntoIter<(&'static str, u64), {len(group.counters)}> {{"
    yield "        ["
    for counter in group.counters:
        yield f"            ({json.dumps(counter.name)}, self.{counter.name}),"
    yield "        ]"
    yield "        .into_iter()"
    yield "    }"
    yield ""
    yield "    fn read<E>(first: u64, read: &mut impl FnMut(Width, u64) -> Result<u64, E>) -> Result<Self, E> {"
    yield "        Ok(Self {"
    for index, counter in enumerate(group.counters):
        offset = f" + {COUNTER_BYTES * index}" if index else ""
        yield f"            {counter.name}: read(Width::Counter, first{offset})?,"
    yield "        })"
    yield "    }"
    yield "}"
    yield ""


def rust(events: Events) -> str:
    """`counters.rs`, for `include!` beside `CounterKind` and `Width`."""
    out = ["// SPDX-License-Identifier: Apache-2.0", f"// {BANNER}", ""]
    counted = events.counted()
    for group in counted:
        out += _struct(group)
    own = [group for group in counted if group.name != "channel"]
    plain = [counter for group in events.groups.values() if not group.slots for counter in group.counters]
    out += [
        "/// Counters of one port.",
        "#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]",
        "pub struct PortCounters {",
    ]
    for name, channel in CHANNELS.items():
        out += [f"    /// Its {name}-address channel, {channel}.", f"    pub {name}: ChannelCounters,"]
    out += [
        "}",
        "",
        "/// All counters of a card as of one cycle.",
        "#[derive(Debug, Clone, Default, PartialEq, Eq)]",
        "pub struct Counters {",
        "    /// By port number.",
        "    pub ports: Vec<PortCounters>,",
    ]
    for group in own:
        out += [f"    /// {group.doc}.", f"    pub {group.name}: {group.camel}Counters,"]
    for counter in plain:
        out += [f"    /// {counter.doc}", f"    pub {counter.name}: u64,"]
    out += [
        "}",
        "",
        "impl Counters {",
        "    /// Every counter of a card with so many ports: its name (`port0.read.hits`, `walker.walks`) and what it counts.",
        "    pub fn list(ports: u32) -> Vec<(String, &'static str)> {",
        "        let mut list = Vec::new();",
        "        for port in 0..ports {",
        f"            for channel in [{', '.join(json.dumps(name) for name in CHANNELS)}] {{",
        "                for kind in ChannelCounters::LIST {",
        '                    list.push((format!("port{port}.{channel}.{}", kind.name), kind.doc));',
        "                }",
        "            }",
        "        }",
    ]
    for group in own:
        out += [
            f"        for kind in {group.camel}Counters::LIST {{",
            f'            list.push((format!("{group.name}.{{}}", kind.name), kind.doc));',
            "        }",
        ]
    for counter in plain:
        out.append(f"        list.push(({json.dumps(counter.name)}.into(), {json.dumps(counter.doc)}));")
    out += [
        "        list",
        "    }",
        "",
        "    /// All values, in the order of `list`.",
        "    pub fn values(&self) -> Vec<u64> {",
        "        let mut values = Vec::new();",
        "        for port in &self.ports {",
    ]
    out += [f"            values.extend(port.{name}.iter().map(|(_, value)| value));" for name in CHANNELS]
    out.append("        }")
    out += [f"        values.extend(self.{group.name}.iter().map(|(_, value)| value));" for group in own]
    out += [f"        values.push(self.{counter.name});" for counter in plain]
    out += [
        "        values",
        "    }",
        "",
        "    /// `read` gives a register of the MMU.",
        "    pub(crate) fn read<E>(",
        "        ports: u32,",
        "        mut read: impl FnMut(Width, u64) -> Result<u64, E>,",
        "    ) -> Result<Self, E> {",
        "        let read = &mut read;",
        "        Ok(Self {",
        "            ports: (0..u64::from(ports))",
        "                .map(|port| {",
        "                    let base = port * regs::PORT_COUNTERS_PORT_STRIDE;",
        "                    Ok(PortCounters {",
    ]
    first = events.groups["channel"].counters[0].name.upper()
    out += [
        f"                        {name}: ChannelCounters::read(base + regs::PORT_COUNTERS_PORT_{channel}_{first}, read)?,"
        for name, channel in CHANNELS.items()
    ]
    out += ["                    })", "                })", "                .collect::<Result<_, E>>()?,"]
    for group in own:
        register = f"regs::{group.name.upper()}_COUNTERS_{group.counters[0].name.upper()}"
        out.append(f"            {group.name}: {group.camel}Counters::read({register}, read)?,")
    out += [
        f"            {counter.name}: read(Width::Register, regs::{counter.register.upper()})?,"
        for counter in plain
    ]
    return "\n".join([*out, "        })", "    }", "}", ""])
