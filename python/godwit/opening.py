# SPDX-License-Identifier: Apache-2.0
"""What a device is opened with: the native module, and the library of a simulated card, built when it is missing."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from godwit.errors import InputError, SetupError

if TYPE_CHECKING:
    from godwit.report import Progress


def native_module() -> Any:
    """The module that Rust is behind. Raises SetupError."""
    try:
        return importlib.import_module("godwit._native")
    except ImportError as error:
        raise SetupError(
            "the native module is not built",
            found=str(error).splitlines()[0],
            hint="make demo, or maturin develop --release",
        ) from None


def _require_this_spec() -> None:
    """A card built now would be refused by a native module built from another spec/."""
    from godwit.spec import layout

    native, tree = native_module().SPEC_HASH, layout.spec_hash()
    if native != tree:
        raise SetupError(
            "the native module was built from another specification than this source tree has",
            found=f"{native:08x} there, {tree:08x} in spec/",
            hint="make demo builds it again",
        )


def library_of(
    device: str,
    overrides: Sequence[str],
    kernels: Sequence[str | Path],
    waves: bool,
    build: bool,
    progress: Progress | None,
) -> tuple[Path, dict[str, dict[str, Any]]]:
    """The shared library behind a device name, built when it is a configuration's and missing; and what it is opened with."""
    backend, _, name = device.partition(":")
    if backend != "sim" or not name:
        raise InputError(
            f"no device '{device}'", found="devices: sim:NAME, sim:/path/to/libgw_card.so, /dev/godwit0"
        )
    if name.endswith(".so"):
        if not Path(name).is_file():
            raise InputError(f"no card library '{name}'", hint="godwit card list shows those that are built")
        if overrides or kernels:
            raise InputError(
                f"'{name}' is built already", hint="name a configuration to change it or to add kernels"
            )
        return Path(name).resolve(), {}
    from godwit import cards
    from godwit.spec import config

    config.load(name, tuple(overrides), [cards.brought_kernel(kernel).name for kernel in kernels])
    _require_this_spec()  # said before a build of minutes, not after it
    card = cards.ensure(name, overrides, kernels, waves=waves, build=build, progress=progress)
    if not card.cached:
        for text in card.warnings:
            warnings.warn(text, stacklevel=3)
    return card.library, card.settings
