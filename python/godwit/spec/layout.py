# SPDX-License-Identifier: Apache-2.0
"""``spec/layout.toml``: PTE bits, causes and address-space constants as SystemVerilog, C and Rust."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from godwit.spec import events, events_rtl, limits
from godwit.toolchain import root

BANNER = "Generated from spec/layout.toml by `python -m godwit.spec generate`; do not edit."


class LayoutError(ValueError):
    """``layout.toml`` says something that cannot be generated."""


@dataclasses.dataclass(frozen=True)
class Constant:
    """One named constant.

    `kind`: ``bit`` (`value` is a position), ``field`` (`value` is the lsb, `width` the field's width) or ``value``
    (a number of `width` bits).
    """

    group: str
    name: str
    kind: str
    value: int
    width: int
    doc: str

    @property
    def mask(self) -> int:
        """The bits of the word that a ``bit`` or ``field`` stands for."""
        return ((1 << (1 if self.kind == "bit" else self.width)) - 1) << self.value

    @property
    def camel(self) -> str:
        """lowRISC name of a SystemVerilog constant: PteV, CauseLoadPageFault."""
        return "".join(part.capitalize() for part in f"{self._prefix}_{self.name}".split("_"))

    @property
    def upper(self) -> str:
        """Name in C (after GODWIT_) and Rust: PTE_V, CAUSE_LOAD_PAGE_FAULT."""
        return f"{self._prefix}_{self.name}".upper()

    @property
    def _prefix(self) -> str:
        return "pte" if self.group == "pte_field" else self.group


@dataclasses.dataclass(frozen=True)
class Group:
    """Constants that belong together."""

    name: str
    doc: str
    constants: tuple[Constant, ...]


def _number(where: str, value: object) -> int:
    """TOML integers are signed 64-bit, so large ones are written as strings."""
    try:
        number = int(value, 0) if isinstance(value, str) else value
    except ValueError as error:
        raise LayoutError(f"{where}: {value!r} is not a number") from error
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise LayoutError(f"{where}: {value!r} is not a non-negative integer")
    return number


def _constant(group: str, kind: str, width: int | None, name: str, item: dict) -> Constant:
    where = f"layout.toml: {group}.{name}"
    expected = {"fields": {"lsb", "width", "doc"}}.get(kind, {"value", "width", "doc"})
    if unknown := set(item) - expected:
        raise LayoutError(f"{where}: unknown key {min(unknown)!r}, known are {sorted(expected)}")
    if kind == "bits":
        constant = Constant(group, name, "bit", _number(where, item["value"]), 1, item["doc"])
        limit = 64
    elif kind == "fields":
        constant = Constant(
            group, name, "field", _number(where, item["lsb"]), _number(where, item["width"]), item["doc"]
        )
        limit = 64 - constant.width + 1
    elif kind == "values":
        bits = _number(where, item.get("width", width))
        constant = Constant(group, name, "value", _number(where, item["value"]), bits, item["doc"])
        limit = 1 << bits
    else:
        raise LayoutError(f"layout.toml: {group}: kind {kind!r} is not bits, fields or values")
    if constant.value >= limit:
        raise LayoutError(f"{where}: {constant.value} does not fit, legal is 0..{limit - 1}")
    return constant


WORDS = re.compile(r'//[^\n]*|(?:\w+->)?\b(?:name|desc)\s*=\s*"[^"]*"\s*;')
"""What a register description tells people: comments, names and descriptions."""


def spec_hash() -> int:
    """32 bits that hardware and software compare: SHA-256 over the values of layout.toml, the counters and the registers.

    Wording is left out: a card and a program that differ in it still understand each other.
    """
    layout = tomllib.loads((root() / "spec" / "layout.toml").read_text(encoding="utf-8"))
    described = [
        path.read_text(encoding="utf-8") for path in sorted((root() / "spec" / "regs").glob("*.rdl"))
    ]
    # In their order, which is that of the registers.
    counted = tomllib.loads(events.path().read_text(encoding="utf-8"))["counters"]
    counters = json.dumps(_without_docs(counted))
    meaning = [
        json.dumps(_without_docs(layout), sort_keys=True),
        counters,
        *WORDS.sub(" ", "\n".join(described)).split(),
    ]
    return int.from_bytes(hashlib.sha256("\n".join(meaning).encode()).digest()[:4], "big")


def _without_docs(item: object) -> object:
    if not isinstance(item, dict):
        return item
    return {key: _without_docs(value) for key, value in item.items() if key != "doc"}


def load(path: Path | None = None) -> list[Group]:
    """Groups in the order of the file."""
    data = tomllib.loads((path or root() / "spec" / "layout.toml").read_text(encoding="utf-8"))
    groups = []
    for name, body in data.items():
        items = {key: item for key, item in body.items() if isinstance(item, dict)}
        constants = tuple(
            _constant(name, body["kind"], body.get("width"), key, item) for key, item in items.items()
        )
        groups.append(Group(name, body["doc"], constants))
    fingerprint = Constant(
        "spec",
        "hash",
        "value",
        spec_hash(),
        32,
        "SHA-256 over the values of layout.toml, the counters and the registers",
    )
    return [*groups, Group("spec", "Which specification this was generated from", (fingerprint,))]


def systemverilog(groups: list[Group]) -> str:
    """`gw_spec_pkg`: bit positions, `...Lsb` and `...Width` of fields, sized values, and the numbers of the counters."""

    def lines(constant: Constant) -> Iterator[str]:
        name, value = constant.camel, constant.value
        if constant.kind == "value" and constant.width != 32:
            yield f"localparam logic [{constant.width - 1}:0] {name} = {constant.width}'h{value:x};"
        elif constant.kind == "field":
            yield f"localparam int unsigned {name}Lsb = {value};"
            yield f"localparam int unsigned {name}Width = {constant.width};"
        else:
            yield f"localparam int unsigned {name} = 32'd{value};"

    out = ["// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1", f"// {BANNER}", "package gw_spec_pkg;"]
    for group in groups:
        out += ["", f"  // {group.doc}."]
        for constant in group.constants:
            first, *rest = lines(constant)
            out += [f"  {first}  // {constant.doc}", *(f"  {line}" for line in rest)]
    out += [*events_rtl.constants(events.load()), *limits.systemverilog()]
    return "\n".join([*out, "", "endpackage", ""])


def c_header(groups: list[Group]) -> str:
    """`godwit_layout.h`: masks of bits, `_SHIFT` and `_MASK` of fields, values. Needs no other header."""

    def literal(value: int, width: int) -> str:
        return f"0x{value:x}ULL" if width > 32 else f"{value}u"

    out = ["/* SPDX-License-Identifier: Apache-2.0 */", f"/* {BANNER} */"]
    out += ["#ifndef GODWIT_LAYOUT_H_", "#define GODWIT_LAYOUT_H_"]
    for group in groups:
        out += ["", f"/* {group.doc}. */"]
        for constant in group.constants:
            name, comment = f"GODWIT_{constant.upper}", f"/* {constant.doc} */"
            if constant.kind == "bit":
                out.append(f"#define {name} (1ULL << {constant.value}) {comment}")
            elif constant.kind == "field":
                out.append(f"#define {name}_SHIFT {constant.value} {comment}")
                out.append(f"#define {name}_MASK 0x{constant.mask:x}ULL")
            else:
                out.append(f"#define {name} {literal(constant.value, constant.width)} {comment}")
    return "\n".join([*out, "", "#endif /* GODWIT_LAYOUT_H_ */", ""])


def rust(groups: list[Group]) -> str:
    """`layout.rs`, for `include!`: the C names without their prefix; values up to 32 bits are `u32`, others `u64`."""
    out = ["// SPDX-License-Identifier: Apache-2.0", f"// {BANNER}"]
    for group in groups:
        out += ["", f"// {group.doc}."]
        for constant in group.constants:
            name, comment = constant.upper, f"/// {constant.doc}"
            if constant.kind == "bit":
                out += [comment, f"pub const {name}: u64 = 1 << {constant.value};"]
            elif constant.kind == "field":
                out += [comment, f"pub const {name}_SHIFT: u32 = {constant.value};"]
                out += [f"/// mask of {name}", f"pub const {name}_MASK: u64 = 0x{constant.mask:x};"]
            else:
                kind = "u64" if constant.width > 32 else "u32"
                out += [comment, f"pub const {name}: {kind} = 0x{constant.value:x};"]
    return "\n".join([*out, ""])
