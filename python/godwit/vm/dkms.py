# SPDX-License-Identifier: Apache-2.0
"""godwit.ko as a DKMS package: a folder that builds the module for every kernel of a machine, with nothing else of Godwit there."""

from __future__ import annotations

import shutil
from pathlib import Path

import godwit
from godwit import toolchain
from godwit.errors import InputError
from godwit.vm import module

NAME = "godwit"


def package(under: Path, spec: Path) -> Path:
    """Makes `godwit-VERSION` in the folder `under`, such as /usr/src; it must not be there yet."""
    place = under / f"{NAME}-{godwit.__version__}"
    if place.exists():
        raise InputError(f"{place} is there already: remove it, or name another folder")
    for name, path in module.sources(spec).items():
        target = place / name
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"no folder can be made at {target.parent}: {error.strerror}") from None
        shutil.copyfile(path, target)
    text = (toolchain.root() / "driver/dkms.conf").read_text()
    (place / "dkms.conf").write_text(text.replace("@VERSION@", godwit.__version__))
    return place
