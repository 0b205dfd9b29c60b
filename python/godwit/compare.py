# SPDX-License-Identifier: Apache-2.0
"""Two configurations, two runs or two runs of a benchmark suite, side by side.

A side is a configuration (a name, or a TOML file), the report that ``godwit run ... --json`` printed, or the rows that
``godwit bench ... --json`` printed. Both sides are of one kind.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from godwit.errors import InputError
from godwit.spec import config

Kind = Literal["configuration", "run", "bench"]
_TITLES = {"configuration": "field", "run": "figure", "bench": "row"}


@dataclass(frozen=True)
class Line:
    """One thing that both sides can have. A side without it is None."""

    name: str
    a: Any
    b: Any
    unit: str = ""
    kind: str = ""
    """Of a figure: simulated, modelled, native, ... (`godwit.report.Kind`)."""

    @property
    def same(self) -> bool:
        return self.a == self.b

    @property
    def ratio(self) -> float | None:
        """b : a of two numbers that are measured; None of others and of a zero."""
        numbers = all(
            isinstance(value, int | float) and not isinstance(value, bool) for value in (self.a, self.b)
        )
        return self.b / self.a if self.kind and numbers and self.a else None


@dataclass(frozen=True)
class Comparison:
    """Two sides. `about` is what the runs were of, `lines` what they gave, in the order of A, then what only B has."""

    kind: Kind
    a: str
    b: str
    about: list[Line]
    lines: list[Line]

    @property
    def heading(self) -> str:
        """What a line is: field, figure or row."""
        return _TITLES[self.kind]

    def to_json(self) -> dict[str, Any]:
        """For machines; every line, those alike too."""
        return {
            "kind": self.kind,
            "a": self.a,
            "b": self.b,
            "about": [{"name": line.name, "a": line.a, "b": line.b} for line in self.about],
            "lines": [{**asdict(line), "same": line.same, "ratio": line.ratio} for line in self.lines],
        }


def compare(a: str, b: str) -> Comparison:
    """Puts `a` and `b` side by side. Raises InputError when one cannot be read or they are of different kinds."""
    (kind, left), (other, right) = _read(a), _read(b)
    if kind != other:
        raise InputError(
            f"'{a}' and '{b}' cannot be compared",
            found=f"the one is a {kind}, the other a {other}",
            hint="two configurations, or two files of `godwit run ... --json` or of `godwit bench ... --json`",
        )
    if kind == "configuration":
        return Comparison(kind, a, b, [], _lines(_flat(left), _flat(right)))
    if kind == "run":
        about = _lines(_flat(_facts(left)), _flat(_facts(right)))
        return Comparison(kind, a, b, about, _figures(left["figures"], right["figures"]))
    return Comparison(kind, a, b, [], _rows(left, right))


def _read(side: str) -> tuple[Kind, Any]:
    path = Path(side)
    if path.suffix == ".toml" or side in config.names():
        fields = config.load(side).model_dump(mode="json")
        return "configuration", {name: value for name, value in fields.items() if name != "description"}
    if path.suffix != ".json" and not path.is_file():
        raise InputError(
            f"there is nothing to compare called '{side}'",
            found=f"no file, and no configuration: {', '.join(config.names())}",
            hint="a configuration's name or TOML file, or a file of `godwit run ... --json`",
        )
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(
            f"no file '{side}'", hint=f"godwit run memcopy --json > {path.name} makes one"
        ) from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError(f"'{side}' cannot be read as JSON", found=str(error)) from None
    if isinstance(data, dict) and isinstance(data.get("figures"), dict):
        return "run", data
    if isinstance(data, list) and data and all(isinstance(row, dict) and "row" in row for row in data):
        return "bench", data
    raise InputError(
        f"'{side}' is no report",
        found="neither figures of a run nor rows of a benchmark",
        hint="write one with `godwit run ... --json` or `godwit bench ... --json`",
    )


def _facts(report: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in report.items() if name not in ("figures", "passed", "outputs")}


def _flat(data: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested sections as ``section.field``."""
    found: dict[str, Any] = {}
    for name, value in data.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{prefix}{name}.")
        else:
            found[prefix + name] = value
    return found


def _both(a: Sequence[Any], b: Sequence[Any]) -> Iterator[Any]:
    yield from dict.fromkeys((*a, *b))


def _lines(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[Line]:
    return [Line(name, a.get(name), b.get(name)) for name in _both(list(a), list(b))]


def _figures(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[Line]:
    found = []
    for name in _both(list(a), list(b)):
        sides = [side.get(name) for side in (a, b)]
        known = next(side for side in sides if side)
        for part, suffix in (("value", ""), ("physical", ", physical")):
            if any(side and part in side for side in sides):
                left, right = (side.get(part) if side else None for side in sides)
                found.append(Line(name + suffix, left, right, unit=known["unit"], kind=known["kind"]))
    return found


def _rows(a: Sequence[Mapping[str, Any]], b: Sequence[Mapping[str, Any]]) -> list[Line]:
    def named(rows: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
        return {f"{row['row']} [{row['config']}]": row for row in rows}

    left, right = named(a), named(b)
    found = []
    for name in _both(list(left), list(right)):
        known = left.get(name) or right[name]
        ours, theirs = (side[name]["value"] if name in side else None for side in (left, right))
        found.append(Line(name, ours, theirs, unit=known["unit"], kind=known["kind"]))
    return found
