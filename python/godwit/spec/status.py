# SPDX-License-Identifier: Apache-2.0
"""``spec/status.toml``: status codes and the families of errors, for C, Rust and Python."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field

from godwit.toolchain import root


class StatusError(ValueError):
    """``status.toml`` says something that cannot be generated."""


@dataclass(frozen=True)
class Code:
    """One status code."""

    name: str
    value: int
    doc: str
    kind: str = ""
    python: str = ""
    attributes: dict[str, str] = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        """`doc` as a sentence."""
        return self.doc[0].upper() + self.doc[1:] + "."


@dataclass(frozen=True)
class Codes:
    """The codes of one interface."""

    enum: str
    prefix: str
    codes: tuple[Code, ...]

    def families(self) -> Iterator[Code]:
        """Those that are a family of errors in Rust and Python."""
        return (code for code in self.codes if code.kind)


def load() -> dict[str, Codes]:
    """By interface: ``api`` (godwit.h) and ``card`` (gw_card.h). Raises `StatusError`."""
    data = tomllib.loads((root() / "spec" / "status.toml").read_text(encoding="utf-8"))
    found = {}
    for name, body in data.items():
        codes = tuple(Code(key, **item) for key, item in body["codes"].items())
        values = [code.value for code in codes]
        if len(set(values)) != len(values):
            raise StatusError(f"status.toml: {name}: two codes have the same value")
        found[name] = Codes(body["enum"], body["prefix"], codes)
    return found


def c_enum(group: str) -> str:
    """The enum of a header."""
    codes = load()[group]
    left = [f"{codes.prefix}{code.name.upper()} = {code.value}," for code in codes.codes]
    width = max(map(len, left))
    lines = [f"\t{text:{width}} /* {code.doc} */" for text, code in zip(left, codes.codes, strict=True)]
    return "\n".join([f"enum {codes.enum} {{", *lines, "};"])


def rust_constants(group: str, visibility: str) -> str:
    """The numbers, as `c_int`."""
    codes = load()[group]
    out = []
    for code in codes.codes:
        out.append(f"/// `{codes.prefix}{code.name.upper()}`: {code.doc}.")
        out.append(f"{visibility} const {code.name.upper()}: c_int = {code.value};")
    return "\n".join(out)


def rust_kinds() -> str:
    """`ErrorKind`."""
    out = [
        "/// Families of errors, as C and Python know them.",
        "#[derive(Debug, Clone, Copy, PartialEq, Eq)]",
        "pub enum ErrorKind {",
    ]
    for code in load()["api"].families():
        out += [f"    /// {code.sentence}", f"    {code.kind},"]
    return "\n".join([*out, "}"])


def rust_status_of() -> str:
    """From a family to its code."""
    arms = [f"        ErrorKind::{code.kind} => {code.name.upper()}," for code in load()["api"].families()]
    return "\n".join(
        [
            "fn status_of(error: &Error) -> c_int {",
            "    match error.kind() {",
            *arms,
            "    }",
            "}",
        ]
    )


def _python_doc(code: Code) -> str:
    return code.sentence + (f" Attributes: {', '.join(code.attributes)}." if code.attributes else "")


def rust_exceptions() -> str:
    """Exceptions of the native module, and the one of a family."""
    families = list(load()["api"].families())
    out = []
    for code in families:
        out += [
            "create_exception!(",
            "    godwit,",
            f"    {code.python},",
            "    GodwitError,",
            f'    "{_python_doc(code)}"',
            ");",
        ]
    out += [
        "",
        "pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {",
        "    let py = module.py();",
        '    module.add("GodwitError", py.get_type::<GodwitError>())?;',
        *(f'    module.add("{code.python}", py.get_type::<{code.python}>())?;' for code in families),
        "    Ok(())",
        "}",
        "",
        "fn exception(kind: ErrorKind, message: String) -> PyErr {",
        "    match kind {",
        *(f"        ErrorKind::{code.kind} => {code.python}::new_err(message)," for code in families),
        "    }",
        "}",
    ]
    return "\n".join(out)


def python_classes(indent: str, *, typed: bool) -> str:
    """The exceptions for those who have no native module, and for type checkers."""
    out = []
    for code in load()["api"].families():
        out += [f"{indent}class {code.python}(GodwitError):", f'{indent}    """{code.sentence}"""', ""]
        if typed and code.attributes:
            out += [*(f"{indent}    {name}: {kind}" for name, kind in code.attributes.items()), ""]
    return "\n".join(out)


def python_import(indent: str) -> str:
    """Their import from the native module."""
    names = sorted([code.python for code in load()["api"].families()] + ["GodwitError"])
    return "\n".join(
        [f"{indent}from godwit._native import (", *(f"{indent}    {name}," for name in names), f"{indent})"]
    )


def table() -> str:
    """For docs/c-api.md."""
    codes = load()["api"]
    rows = [
        f"| `{codes.prefix}{code.name.upper()}` | {code.value} | {f'`ErrorKind::{code.kind}`' if code.kind else ''} "
        f"| {f'`{code.python}`' if code.python else ''} | {code.doc} |"
        for code in codes.codes
    ]
    return "\n".join(["| C | | Rust | Python | |", "|---|---|---|---|---|", *rows])
