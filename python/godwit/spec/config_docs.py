# SPDX-License-Identifier: Apache-2.0
"""The field tables of ``docs/configuration.md``, made from the schema so that they cannot drift."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from godwit.spec import config, schema
from godwit.spec.sections.fields import Legal


def _number(value: float) -> str:
    if isinstance(value, int) and value >= 1 << 20 and value & (value - 1) == 0:
        power = value.bit_length() - 1
        return f"2^{power}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def legal(field: FieldInfo) -> str:
    """Legal values of a field in words."""
    if field.annotation is bool:
        return "true or false"
    if get_origin(field.annotation) is Literal:
        return " or ".join(f"{value}" for value in get_args(field.annotation))
    for constraint in field.metadata:
        if isinstance(constraint, Legal):
            return constraint.text
    bounds = {}
    for constraint in field.metadata:
        for name in ("ge", "gt", "le", "multiple_of", "pattern"):
            if (value := getattr(constraint, name, None)) is not None:
                bounds[name] = value
    if "pattern" in bounds:
        return "lower-case letters, digits, - and _"
    low = f"{_number(bounds['ge'])} to " if "ge" in bounds else "above 0, up to " if "gt" in bounds else ""
    text = low + (_number(bounds["le"]) if "le" in bounds else "")
    if "multiple_of" in bounds:
        text += f", a multiple of {bounds['multiple_of']}"
    return text or ("names" if get_origin(field.annotation) is list else "text")


def _rows(model: type[BaseModel], section: str, instances: list[schema.Config]) -> Iterator[str]:
    for name, field in model.model_fields.items():
        values = [
            getattr(getattr(instance, section) if section else instance, name) for instance in instances
        ]
        cells = [f"`{name}`", field.description or "", legal(field), *(_cell(value) for value in values)]
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ", ".join(value) or "none"
    return _number(value) if isinstance(value, (int, float)) else str(value)


def tables() -> str:
    """All sections, one table each, with the values of the named configurations."""
    instances = [config.load(name) for name in config.names()]
    head = "| field | meaning | legal | " + " | ".join(instance.name for instance in instances) + " |"
    rule = "|---" * (3 + len(instances)) + "|"
    out = []
    for name, field in schema.Config.model_fields.items():
        model = field.annotation
        if isinstance(model, type) and issubclass(model, BaseModel):
            out += [
                f"## `[{name}]`",
                "",
                inspect.cleandoc(model.__doc__ or ""),
                "",
                head,
                rule,
                *_rows(model, name, instances),
                "",
            ]
    return "\n".join(out)
