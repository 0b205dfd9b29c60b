# SPDX-License-Identifier: Apache-2.0
"""``spec/events.toml``: the events and counters of the hardware, read and checked. What is made of them: `events_rtl`,
`events_software`, `pages`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from godwit.spec import limits
from godwit.toolchain import root

BANNER = "Generated from spec/events.toml by `python -m godwit.spec generate`; do not edit."
CTX_ID_WIDTH = limits.ctx_id_width()
SRC_WIDTH = limits.src_width()
COUNTER_BYTES = 8
OWNER_WIDTHS = {"channel": SRC_WIDTH + CTX_ID_WIDTH, "context": CTX_ID_WIDTH}
OWNER_TYPES = {"channel": "owner_t", "context": "ctx_id_t"}


class EventsError(ValueError):
    """``events.toml`` says something that cannot be generated."""


@dataclass(frozen=True)
class Owner:
    """A field that says whose access events are of."""

    name: str
    kind: str
    doc: str

    @property
    def width(self) -> int:
        return OWNER_WIDTHS[self.kind]


@dataclass(frozen=True)
class Value:
    """A field that says more of an event."""

    name: str
    width: int
    doc: str
    type: str = ""
    stream: str = ""

    @property
    def label(self) -> str:
        """Its name in event files."""
        return self.stream or self.name


@dataclass(frozen=True)
class Event:
    """A pulse, or with `count` a number of so many bits."""

    level: str
    name: str
    doc: str
    owner: str = ""
    ownerless: str | int = ""
    value: str = ""
    count: int = 0
    stream: str | bool = ""

    @property
    def width(self) -> int:
        return self.count or 1

    @property
    def streamed(self) -> str:
        """Its name in event files; empty when it is not in them."""
        return "" if self.stream is False else (str(self.stream) or self.name)


@dataclass(frozen=True)
class Level:
    """Events of one part of the hardware: a struct of the RTL, or members of mmu_event_t."""

    name: str
    doc: str
    struct: str
    member: str
    owners: dict[str, Owner]
    values: dict[str, Value]
    events: dict[str, Event]

    def fields(self) -> Iterator[Event | Value | Owner]:
        """Fields of the struct, highest bit first."""
        yield from self.events.values()
        yield from self.values.values()
        yield from self.owners.values()

    @property
    def width(self) -> int:
        return sum(item.width for item in self.fields())


@dataclass(frozen=True)
class Counter:
    """One counter of a group."""

    group: str
    name: str
    doc: str
    counts: str = ""
    sum: bool = False
    max: bool = False
    register: str = ""


@dataclass(frozen=True)
class Group:
    """Counters that stand together."""

    name: str
    doc: str
    slots: int
    counters: tuple[Counter, ...] = field(default=())

    @property
    def camel(self) -> str:
        return self.name.capitalize()


@dataclass(frozen=True)
class Events:
    """All of ``events.toml``."""

    levels: dict[str, Level]
    groups: dict[str, Group]

    def event(self, path: str) -> Event:
        """``level.name``."""
        level, _, name = path.partition(".")
        return self.levels[level].events[name]

    def increment_width(self, counter: Counter) -> int:
        """Bits of what the counter adds, or compares, in a cycle."""
        event = self.event(counter.counts)
        if counter.sum or counter.max:
            return self.levels[event.level].values[event.value].width
        return event.width

    def counted(self) -> list[Group]:
        """Groups whose counters are gw_csr's, each a register file."""
        return [group for group in self.groups.values() if group.slots]


def path() -> Path:
    """The declaration."""
    return root() / "spec" / "events.toml"


def load(file: Path | None = None) -> Events:
    """Reads and checks the declaration. Raises `EventsError` with what is wrong and where."""
    data = tomllib.loads((file or path()).read_text(encoding="utf-8"))
    levels = {name: _level(name, body) for name, body in data["levels"].items()}
    groups = {name: _group(name, body) for name, body in data["counters"].items()}
    events = Events(levels, groups)
    for group in groups.values():
        for counter in group.counters:
            _check_counter(events, group, counter)
    return events


def _make(where: str, kind: type, body: dict[str, Any], **known: Any) -> Any:
    try:
        return kind(**known, **body)
    except TypeError as error:
        names = ", ".join(field.name for field in fields(kind) if field.name not in known)
        raise EventsError(f"events.toml: {where}: {sorted(body)} is not of {names} ({error})") from error


def _level(name: str, body: dict[str, Any]) -> Level:
    where = f"levels.{name}"
    owners = {
        key: _make(f"{where}.{key}", Owner, item, name=key) for key, item in body.get("owners", {}).items()
    }
    values = {
        key: _make(f"{where}.{key}", Value, item, name=key) for key, item in body.get("values", {}).items()
    }
    events = {
        key: _make(f"{where}.{key}", Event, item, name=key, level=name)
        for key, item in body["events"].items()
    }
    names = [*owners, *values, *events]
    if duplicate := {key for key in names if names.count(key) > 1}:
        raise EventsError(f"events.toml: {where}: {min(duplicate)} is there twice")
    for event in events.values():
        for what, known in (("owner", owners), ("value", values)):
            if (wanted := getattr(event, what)) and wanted not in known:
                raise EventsError(f"events.toml: {where}.{event.name}: there is no {what} '{wanted}'")
        if isinstance(event.ownerless, str) and event.ownerless and event.ownerless not in events:
            raise EventsError(f"events.toml: {where}.{event.name}: there is no event '{event.ownerless}'")
    for owner in owners.values():
        if owner.kind not in OWNER_WIDTHS:
            raise EventsError(
                f"events.toml: {where}.{owner.name}: kind '{owner.kind}' is not channel or context"
            )
    return Level(name, body["doc"], body.get("struct", ""), body.get("member", ""), owners, values, events)


def _group(name: str, body: dict[str, Any]) -> Group:
    counters = tuple(
        _make(f"counters.{name}.{key}", Counter, item, name=key, group=name)
        for key, item in body["list"].items()
    )
    group = Group(name, body["doc"], body.get("slots", 0), counters)
    if group.slots and len(counters) > group.slots:
        raise EventsError(
            f"events.toml: counters.{name}: {len(counters)} counters in {group.slots} slots; a larger `slots` "
            "must fit between the register files of gw_mmu.rdl"
        )
    if group.slots & (group.slots - 1):
        raise EventsError(f"events.toml: counters.{name}: slots = {group.slots} is not a power of two")
    return group


def _check_counter(events: Events, group: Group, counter: Counter) -> None:
    where = f"events.toml: counters.{group.name}.{counter.name}"
    if bool(counter.register) == bool(group.slots):
        raise EventsError(
            f"{where}: a group with slots has `counts`, one without has registers of gw_mmu.rdl"
        )
    if counter.register:
        return
    level, _, name = counter.counts.partition(".")
    if level not in events.levels or name not in events.levels[level].events:
        raise EventsError(f"{where}: there is no event '{counter.counts}'")
    event = events.event(counter.counts)
    if (counter.sum or counter.max) and not event.value:
        raise EventsError(f"{where}: event {counter.counts} has no value")
    own = events.levels[level]
    if group.name == "channel" and level != "l1" and _owner_kind(own, event) != "channel":
        raise EventsError(f"{where}: event {counter.counts} is of no channel")
    if group.name != "channel" and level == "l1":
        raise EventsError(f"{where}: events of l1 are counted by channel")


def _owner_kind(level: Level, event: Event) -> str:
    return level.owners[event.owner].kind if event.owner else ""


@dataclass(frozen=True)
class Bits:
    """Where a field stands in the packed struct around it."""

    low: int
    width: int


def positions(level: Level, base: int = 0) -> dict[str, Bits]:
    """Fields of a level's struct by name, its lowest bit at `base`."""
    found = {}
    low = base + level.width
    for item in level.fields():
        low -= item.width
        found[item.name] = Bits(low, item.width)
    return found


def mmu_positions(events: Events) -> dict[str, dict[str, Bits]]:
    """Fields of gw_pkg::mmu_event_t by level and name."""
    levels = [level for level in events.levels.values() if level.name != "l1"]
    low = sum(level.width for level in levels)
    found = {}
    for level in levels:
        low -= level.width
        found[level.name] = positions(level, low)
    return found


def mmu_width(events: Events) -> int:
    """Bits of gw_pkg::mmu_event_t."""
    return sum(level.width for level in events.levels.values() if level.name != "l1")
