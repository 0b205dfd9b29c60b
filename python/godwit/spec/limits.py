# SPDX-License-Identifier: Apache-2.0
"""The limits of `schema`, for those who cannot read Python: C++ for the card's options, SystemVerilog for widths and checks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from godwit.spec import schema
from godwit.spec.sections.surroundings import REFRESH_PERIOD

BANNER = "Generated from the schema in python/godwit/spec by `python -m godwit.spec generate`; do not edit."


@dataclass(frozen=True)
class Limit:
    """Legal values of a number: from `low` (`above`: without it) to `high`, and multiples of `multiple`."""

    section: str
    name: str
    low: float
    high: float
    above: bool
    multiple: int


def limits() -> Iterator[Limit]:
    """Of all numbers of the configuration."""
    for section, field in schema.Config.model_fields.items():
        model = field.annotation
        if isinstance(model, type) and issubclass(model, BaseModel):
            for name, inner in model.model_fields.items():
                if (limit := _limit(section, name, inner)) is not None:
                    yield limit


def _limit(section: str, name: str, field: FieldInfo) -> Limit | None:
    bounds: dict[str, float] = {}
    for constraint in field.metadata:
        for key in ("ge", "gt", "le", "multiple_of"):
            if (value := getattr(constraint, key, None)) is not None:
                bounds[key] = value
    if "le" not in bounds:
        return None
    low = bounds.get("ge", bounds.get("gt"))
    if low is None:
        raise ValueError(f"schema: {section}.{name} has an upper bound and no lower one")
    return Limit(section, name, low, bounds["le"], "gt" in bounds, int(bounds.get("multiple_of", 0)))


def find(section: str, name: str) -> Limit:
    """The limit of one field."""
    return next(limit for limit in limits() if (limit.section, limit.name) == (section, name))


def _bits(values: float) -> int:
    """Bits that hold so many values."""
    return (int(values) - 1).bit_length()


def src_width() -> int:
    """Bits of a translator channel's number: a port's, and whether it writes."""
    return _bits(schema.MAX_PORTS) + 1


def ctx_id_width() -> int:
    """Bits of a context's number."""
    return _bits(find("contexts", "count").high)


def tag_width() -> int:
    """Bits that number the requests a channel has waiting."""
    return _bits(find("translator", "miss_entries").high)


def systemverilog_widths() -> str:
    """What gw_pkg holds of the limits."""
    widths = (
        ("CtxIdWidth", ctx_id_width(), "contexts (processes): contexts.count"),
        ("TagWidth", tag_width(), "requests a channel of a translator has waiting: translator.miss_entries"),
        ("SrcWidth", src_width(), "translator channels, 2 a port: {port, is_write}"),
    )
    return "\n".join(f"  localparam int unsigned {name} = {value};  // {doc}" for name, value, doc in widths)


def systemverilog() -> list[str]:
    """What gw_spec_pkg holds of them: whole numbers that the RTL checks its parameters against."""
    out = ["", "  // Legal values of the configuration's fields."]
    for limit in limits():
        if limit.section in RTL_SECTIONS and float(limit.high).is_integer() and float(limit.low).is_integer():
            name = "".join(part.capitalize() for part in f"{limit.section}_{limit.name}".split("_"))
            out.append(f"  localparam int unsigned {name}Min = {int(limit.low)};")
            out.append(f"  localparam int unsigned {name}Max = {int(limit.high)};")
    return out


RTL_SECTIONS = ("axi", "translator", "l2", "range", "walker", "page_requests", "contexts")


def cpp() -> str:
    """`godwit_limits.h`: legal values by section and field, for the card's options."""
    out = [
        "// SPDX-License-Identifier: Apache-2.0",
        f"// {BANNER}",
        "#pragma once",
        "",
        "namespace gw {",
        "",
        "/// Legal values of a number in the configuration; `above`: the lowest is not among them. multiple 0: any.",
        "struct Limit {",
        "    const char* section;",
        "    const char* field;",
        "    double low;",
        "    double high;",
        "    bool above;",
        "    unsigned long long multiple;",
        "};",
        "",
        "inline constexpr Limit kLimits[] = {",
    ]
    for limit in limits():
        low, high = (repr(float(value)) for value in (limit.low, limit.high))
        above = str(limit.above).lower()
        out.append(f'    {{"{limit.section}", "{limit.name}", {low}, {high}, {above}, {limit.multiple}}},')
    terms = " + ".join(f"memory.{name}" for name in REFRESH_PERIOD)
    out += [
        "};",
        "",
        "/// The least memory.t_refi_ns that is a period; 0 is none.",
        "template <class Memory>",
        "constexpr double least_refresh_ns(const Memory& memory, double clock_mhz) {",
        f"    return {terms} + 1000.0 / clock_mhz;",
        "}",
        "",
        f'inline constexpr const char* kRefreshPeriod = "{" + ".join(REFRESH_PERIOD)} + a cycle";',
        "",
        "}  // namespace gw",
        "",
    ]
    return "\n".join(out)
