# SPDX-License-Identifier: Apache-2.0
"""Reads configurations: ``load("default")`` one of ``spec/configs``, ``load("my.toml")`` a user's own, both with overrides.

What is wrong with one is a single `ConfigError` about one field. What fields there are is in `schema`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from godwit.errors import InputError, nearest
from godwit.spec.schema import Config
from godwit.spec.sections.surroundings import Memory
from godwit.toolchain import root


class ConfigError(InputError):
    """A configuration cannot be used; says which field, what was found and what is legal."""


def config_dir() -> Path:
    """Where the named configurations are."""
    return root() / "spec" / "configs"


def names() -> list[str]:
    """The named configurations."""
    return sorted(path.stem for path in config_dir().glob("*.toml"))


def load(
    config: str | Path = "default",
    overrides: list[str] | tuple[str, ...] = (),
    more_kernels: Iterable[str] = (),
) -> Config:
    """Reads a configuration by name or file, with ``section.field=value`` overrides. Raises `ConfigError`.

    `more_kernels` are names that come after those of ``card.kernels``.
    """
    data, where = _read(str(config))
    clock = _clock(data)
    _several(data)
    for override in overrides:
        _override(data, override)
    if _clock(data) != clock and not any(each.strip().startswith("card.clock_from") for each in overrides):
        # Whatever the file's clock was: another one is chosen.
        data["card"]["clock_from"] = "configured"
    data.setdefault("name", where.stem)
    if added := list(more_kernels):
        card = data.setdefault("card", {})
        card["kernels"] = [*card.get("kernels", []), *added]
    try:
        return Config.model_validate(data)
    except ValidationError as error:
        raise _explain(error, str(config), data) from None


def _several(data: dict[str, Any]) -> None:
    """``[[memory]]`` is the first memory and the further ones."""
    if isinstance(memories := data.get("memory"), list):
        data["memory"], data["further_memory"] = (memories or [{}])[0], memories[1:]


def _clock(data: dict[str, Any]) -> Any:
    """What a configuration says of its clock, legal or not."""
    card = data.get("card")
    return card.get("clock_mhz") if isinstance(card, dict) else None


def path(config: str | Path) -> Path:
    """The file of a configuration. Raises `ConfigError`."""
    return _read(str(config))[1].resolve()


NO_SECTIONS = ("name", "description", "stream", "further_memory")
"""Fields of a configuration that an override does not name."""

RUN_TIME = ("memory", "host_link")
"""Sections that a card is opened with, so that none is built for them."""


def split(
    config: str | Path, overrides: Iterable[str] = (), more_kernels: Iterable[str] = ()
) -> tuple[list[str], dict[str, dict[str, Any]]]:
    """The overrides that a card has to be built for, and those it is opened with: fields by section.

    Fields of a further memory are a dictionary by its name among those of `memory`. Which memories there are is part of a card, and so
    is LiteDRAM's controller: choosing it, leaving it and its clock take a build. Raises `ConfigError`.
    """
    everything, kernels = list(overrides), list(more_kernels)
    whole = load(config, everything, kernels)
    fixed = [override for override in everything if override.strip().partition(".")[0] not in RUN_TIME]
    built = load(config, fixed, kernels)
    memory = [override for override in everything if override.strip().startswith("memory.")]
    if _built_in(whole) != _built_in(built):
        fixed += memory
        built = load(config, fixed, kernels)
    settings = {}
    for section in RUN_TIME:
        if changed := _changed(getattr(built, section), getattr(whole, section)):
            settings[section] = changed
    for before, after in zip(built.further_memory, whole.further_memory, strict=True):
        if changed := _changed(before, after):
            settings.setdefault("memory", {})[after.name] = changed
    return fixed, settings


def _built_in(config: Config) -> tuple[Any, ...]:
    """What of its memories is part of a card."""
    first = config.memory
    controller = first.controller_mhz if first.model == "litedram-ddr4" else None
    return controller, [(memory.name, memory.bytes, memory.heap_bytes) for memory in config.memories]


def _changed(before: BaseModel, after: BaseModel) -> dict[str, Any]:
    """Fields of a section with their values, where they are others than before."""
    old = before.model_dump(mode="json")
    return {name: value for name, value in after.model_dump(mode="json").items() if old[name] != value}


def _read(config: str) -> tuple[dict[str, Any], Path]:
    path = Path(config)
    if path.suffix != ".toml":
        path = config_dir() / f"{config}.toml"
        if not path.is_file():
            raise ConfigError(
                f"there is no configuration '{config}'",
                found=f"known are {', '.join(names())}",
                hint=nearest(config, names()),
            )
    try:
        return tomllib.loads(path.read_text(encoding="utf-8")), path
    except FileNotFoundError:
        raise ConfigError(f"configuration file {path} does not exist") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"configuration file {path} cannot be read as TOML", found=str(error)) from error


def _override(data: dict[str, Any], override: str) -> None:
    """Applies ``section.field=value``; the value is TOML, or a bare word taken as a string."""
    target, equals, text = override.partition("=")
    section, dot, field = target.strip().partition(".")
    if not equals or not dot:
        raise ConfigError(
            f"'{override}' is not an override",
            hint="--set section.field=value, for example translator.l1_entries=4",
        )
    try:
        value = tomllib.loads(f"value = {text.strip()}")["value"]
    except tomllib.TOMLDecodeError:
        value = text.strip()
    if section == "stream":
        raise ConfigError(
            "streams are written in a configuration file", hint='[[stream]] from = "a.out" to = "b.in"'
        )
    sections = [name for name in Config.model_fields if name not in NO_SECTIONS]
    if section not in sections:
        raise ConfigError(f"there is no section '{section}'", found=override, hint=nearest(section, sections))
    of_one, dot, name = field.partition(".")
    if section == "memory" and dot:
        _memory(data, of_one)[name] = value
    else:
        data.setdefault(section, {})[field] = value


def _memory(data: dict[str, Any], name: str) -> dict[str, Any]:
    """The section of the memory of that name, a new one if there is none yet."""
    first, further = data.setdefault("memory", {}), data.setdefault("further_memory", [])
    for memory in (first, *further):
        if memory.get("name", Memory.model_fields["name"].default) == name:
            return memory
    further.append({"name": name})
    return further[-1]


def _explain(error: ValidationError, config: str, data: dict[str, Any]) -> ConfigError:
    """The first problem as one sentence about one field, with the value found and what is legal."""
    problem = error.errors()[0]
    where = ".".join(_named(problem["loc"], data))
    prefix = f"configuration '{config}'"
    if problem["type"] == "extra_forbidden":
        fields = list(_section(problem["loc"][:-1]).model_fields)
        return ConfigError(
            f"{prefix}: there is no field {where}", hint=nearest(str(problem["loc"][-1]), fields)
        )
    if problem["type"] == "missing":
        return ConfigError(
            f"{prefix}: {where} is missing", hint=f"set it in the file or with --set {where}=VALUE"
        )
    message = problem["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
    if not where:
        return ConfigError(f"{prefix}: {message}")
    found = "" if isinstance(problem["input"], dict) else repr(problem["input"])
    return ConfigError(f"{prefix}: {where}: {message}", found=found, hint=_legal(problem))


def _named(names: tuple[int | str, ...], data: dict[str, Any]) -> list[str]:
    """The place of a problem as `--set` has it."""
    if names[:1] == ("further_memory",) and len(names) > 1:
        memory = data["further_memory"][names[1]]
        name = memory.get("name", names[1]) if isinstance(memory, dict) else names[1]
        return ["memory", *(str(part) for part in (name, *names[2:]))]
    return [str(part) for part in names]


def _section(names: Iterable[int | str]) -> type[BaseModel]:
    """The model that holds the field at the end of `names`."""
    model: type[BaseModel] = Config
    for name in names:
        if isinstance(name, str):
            field = model.model_fields[name].annotation
            model = get_args(field)[0] if get_origin(field) is list else field  # type: ignore[assignment]
    return model


def _legal(problem: ErrorDetails) -> str:
    """Legal range of the field a problem is about."""
    from godwit.spec.config_docs import legal

    *sections, name = (part for part in problem["loc"] if isinstance(part, str))
    fields = _section(sections).model_fields
    return f"legal is {legal(fields[name])}" if name in fields else ""
