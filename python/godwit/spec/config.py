# SPDX-License-Identifier: Apache-2.0
"""Reads configurations: ``load("default")`` one of ``spec/configs``, ``load("my.toml")`` a user's own, both with overrides.

What is wrong with one is a single `ConfigError` about one field. What fields there are is in `schema`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from godwit.errors import InputError, nearest
from godwit.spec.schema import Config
from godwit.toolchain import root


class ConfigError(InputError):
    """A configuration cannot be used; says which field, what was found and what is legal."""


def config_dir() -> Path:
    """Where the named configurations are."""
    return root() / "spec" / "configs"


def names() -> list[str]:
    """The named configurations."""
    return sorted(path.stem for path in config_dir().glob("*.toml"))


def load(config: str | Path = "default", overrides: list[str] | tuple[str, ...] = ()) -> Config:
    """Reads a configuration by name or file, with ``section.field=value`` overrides. Raises `ConfigError`."""
    data, where = _read(str(config))
    for override in overrides:
        _override(data, override)
    data.setdefault("name", where.stem)
    return validate(data, str(config))


def validate(data: dict[str, Any], config: str) -> Config:
    """Checks a configuration's fields; `config` names it in errors. Raises `ConfigError`."""
    try:
        return Config.model_validate(data)
    except ValidationError as error:
        raise _explain(error, config) from None


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
    if section not in Config.model_fields or section in ("name", "description"):
        sections = [name for name in Config.model_fields if name not in ("name", "description")]
        raise ConfigError(f"there is no section '{section}'", found=override, hint=nearest(section, sections))
    data.setdefault(section, {})[field] = value


def _explain(error: ValidationError, config: str) -> ConfigError:
    """The first problem as one sentence about one field, with the value found and what is legal."""
    problem = error.errors()[0]
    where = ".".join(str(part) for part in problem["loc"])
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


def _section(names: Iterable[int | str]) -> type[BaseModel]:
    """The model that holds the field at the end of `names`."""
    model: type[BaseModel] = Config
    for name in names:
        model = model.model_fields[str(name)].annotation  # type: ignore[assignment]
    return model


def _legal(problem: ErrorDetails) -> str:
    """Legal range of the field a problem is about."""
    from godwit.spec.config_docs import legal

    *sections, name = (part for part in problem["loc"] if isinstance(part, str))
    fields = _section(sections).model_fields
    return f"legal is {legal(fields[name])}" if name in fields else ""
