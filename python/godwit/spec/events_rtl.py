# SPDX-License-Identifier: Apache-2.0
"""SystemVerilog and SystemRDL made of ``spec/events.toml``."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from godwit.spec.events import (
    BANNER,
    COUNTER_BYTES,
    OWNER_TYPES,
    Counter,
    Event,
    Events,
    Group,
    Level,
    Owner,
    Value,
)

LICENSE = "// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1"


def _comment(text: str, indent: str) -> list[str]:
    return [f"{indent}// {line}" for line in textwrap.wrap(text, 124 - len(indent))]


def _type(item: Event | Value | Owner) -> str:
    if isinstance(item, Owner):
        return OWNER_TYPES[item.kind]
    if isinstance(item, Value) and item.type:
        return item.type
    return "logic" if item.width == 1 else f"logic [{item.width - 1}:0]"


def _fields(level: Level, indent: str) -> list[str]:
    items = list(level.fields())
    left = [f"{_type(item)} {item.name};" for item in items]
    width = max(map(len, left))
    return [f"{indent}{text:{width}}  // {item.doc}" for text, item in zip(left, items, strict=True)]


def structs(events: Events) -> str:
    """The structs of gw_pkg: one a level, those of a port and of the MMU."""
    out = []
    for level in events.levels.values():
        if level.struct:
            out += _comment(level.doc, "  ")
            out += ["  typedef struct packed {", *_fields(level, "    "), f"  }} {level.struct};", ""]
    out += [
        "  // Events of one accelerator port, with the context it is bound to.",
        "  typedef struct packed {",
        "    ctx_id_t     ctx;",
        "    chan_event_t write;",
        "    chan_event_t read;",
        "  } port_event_t;",
        "",
        "  // Events that belong to no port.",
        "  typedef struct packed {",
    ]
    for level in events.levels.values():
        if level.member:
            out.append(f"    {level.struct} {level.member};")
        elif level.name != "l1":
            out += _fields(level, "    ")
    return "\n".join([*out, "  } mmu_event_t;"])


def _packed(numbers: list[int], width: int) -> str:
    return "{" + ", ".join(f"{width}'d{number}" for number in reversed(numbers)) + "}"


def constants(events: Events) -> list[str]:
    """What gw_spec_pkg says of the counters, a group each; element 0 is the first register."""
    out = [
        "",
        "  // Counters, in the order of their registers: how many; bits of what each adds; which keep a maximum.",
    ]
    for group in events.counted():
        widths = [events.increment_width(counter) for counter in group.counters]
        name, count = group.camel, len(widths)
        out += [
            f"  localparam int unsigned {name}Counters = {count};",
            f"  localparam int unsigned {name}Slots = {group.slots};",
            f"  localparam int unsigned {name}IncWidth = {max(widths)};",
            f"  localparam logic [{count - 1}:0][4:0] {name}IncBits = {_packed(widths, 5)};",
            f"  localparam logic [{count - 1}:0] {name}IsMax = {_packed([int(c.max) for c in group.counters], 1)};",
        ]
    return out


def _source(events: Events, event: Event) -> str:
    """The struct that has an event's fields, in gw_csr_events."""
    level = events.levels[event.level]
    return f"mmu_event_i.{level.member}." if level.member else "mmu_event_i."


def _condition(events: Events, group: Group, counter: Counter) -> str:
    """When an event counts: the context is the one asked for, and in a channel's counter the owner is that channel."""
    event = events.event(counter.counts)
    if event.level == "l1":
        return "!other(port_cfg_i[p].ctx)"
    at, level = _source(events, event), events.levels[event.level]
    terms = []
    if event.owner:
        kind = level.owners[event.owner].kind
        context = f"{at}{event.owner}{'.ctx' if kind == 'channel' else ''}"
        passes = f"!other({context})"
        if isinstance(event.ownerless, int):
            passes = f"({passes} || {at}{event.value} == {event.ownerless})"
        elif event.ownerless:
            passes = f"({passes} || {at}{event.ownerless})"
        terms.append(passes)
    if group.name == "channel":
        terms.append(f"{at}{event.owner}.src == gw_pkg::src_t'(2 * p + c)")
    return " && ".join(terms)


def _increment(events: Events, group: Group, counter: Counter) -> str:
    event = events.event(counter.counts)
    at = "chan_event_i[p][c]." if event.level == "l1" else _source(events, event)
    condition = _condition(events, group, counter)
    width = f"{group.camel}IncWidth"
    if counter.sum or counter.max:
        whole = " && ".join(part for part in (f"{at}{event.name}", condition) if part)
        return f"{whole} ? {width}'({at}{event.value}) : '0"
    if event.count:
        return (
            f"{condition} ? {width}'({at}{event.name}) : '0" if condition else f"{width}'({at}{event.name})"
        )
    return f"{width}'({' && '.join(part for part in (at + event.name, condition) if part)})"


def module(events: Events) -> str:
    """`gw_csr_events`: what the counters add in a cycle."""
    groups = events.counted()
    out = [
        LICENSE,
        "//",
        f"// {BANNER}",
        "// What the events of a cycle add to each counter.",
        "//",
        "// Contract",
        "// - Combinational. Without `filter_i.enable` every event counts.",
        "// - With it, of events that have a context only those of `filter_i.ctx`: the context that their port is bound to, or",
        "//   that of the access or answer they belong to. Events of none always count.",
        "module gw_csr_events",
        "  import gw_spec_pkg::*;",
        "#(",
        "  /// Accelerator ports, 1 to 2**(gw_pkg::SrcWidth-1).",
        "  parameter int unsigned NumPorts = 1",
        ") (",
        "  input  gw_pkg::count_filter_t                   filter_i,",
        "  input  gw_pkg::port_cfg_t [NumPorts-1:0]        port_cfg_i,",
        "  /// Per port: [0] AR, [1] AW.",
        "  input  gw_pkg::chan_event_t [NumPorts-1:0][1:0] chan_event_i,",
        "  input  gw_pkg::mmu_event_t                      mmu_event_i,",
    ]
    ports = []
    for group in groups:
        around = "[NumPorts-1:0][1:0]" if group.name == "channel" else ""
        ports.append(
            f"  output logic {around}[{group.camel}Counters-1:0][{group.camel}IncWidth-1:0] {group.name}_o"
        )
    out += [",\n".join(ports), ");", ""]
    out += [
        "  function automatic logic other(gw_pkg::ctx_id_t ctx);",
        "    return filter_i.enable && ctx != filter_i.ctx;",
        "  endfunction",
        "",
    ]
    for group in groups:
        if group.name == "channel":
            out += [
                "  for (genvar p = 0; p < NumPorts; p++) begin : gen_port",
                "    for (genvar c = 0; c < 2; c++) begin : gen_channel",
                *_assigns(events, group, "      ", "channel_o[p][c]"),
                "    end",
                "  end",
                "",
            ]
        else:
            out += [*_assigns(events, group, "  ", f"{group.name}_o"), ""]
    return "\n".join(
        [*out, "  logic unused;", "  assign unused = ^{port_cfg_i, mmu_event_i};", "", "endmodule", ""]
    )


def _assigns(events: Events, group: Group, indent: str, target: str) -> Iterator[str]:
    for index, counter in enumerate(group.counters):
        yield f"{indent}assign {target}[{index}] = {_increment(events, group, counter)};  // {counter.name}"


def _rdl_text(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def rdl(events: Events) -> str:
    """`counters.rdl`: a register file a group, for gw_mmu.rdl to place."""
    out = [
        "// SPDX-License-Identifier: Apache-2.0",
        f"// {BANNER}",
        "reg counter {",
        '  name = "Counter";',
        '  desc = "64 bits, counts since reset or the last `count_control.clear`. Stop all counters with '
        '`count_control.inhibit` to read both halves, or several counters, at one point in time.";',
        "  regwidth = 64; accesswidth = 32;",
        "  default sw = r; default hw = w;",
        '  field { desc = "Bits 31:0."; } lo[32];',
        '  field { desc = "Bits 63:32."; } hi[32];',
        "};",
    ]
    for group in events.counted():
        out += ["", f"regfile {group.name}_counters_t {{", f'  name = "{_rdl_text(group.doc)}";']
        for counter in group.counters:
            out.append(f'  counter {counter.name}; {counter.name}->desc = "{_rdl_text(counter.doc)}";')
        out.append("};")
        if group.name == "channel":
            stride = group.slots * COUNTER_BYTES
            out += [
                "",
                "regfile port_counters_t {",
                '  name = "Counters of one port";',
                "  channel_counters_t ar @ 0x0;",
                f"  channel_counters_t aw @ 0x{stride:x};",
                "};",
            ]
    return "\n".join([*out, ""])
