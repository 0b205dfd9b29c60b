# SPDX-License-Identifier: Apache-2.0
"""Python in a guest: Debian's interpreter, and of the environment that this runs in the package itself and numpy."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from godwit.errors import SetupError
from godwit.vm import initramfs
from godwit.vm.kernel import bookworm

PLACE = "/python"
"""Where the guest has packages."""
MEMORY_MIB = 1024
"""Of a guest with Python: its files are in memory."""
_LIBRARIES = ("libc6", "libexpat1", "libffi8", "libgcc-s1", "libstdc++6", "zlib1g")
_NOT_NEEDED = {
    "doc",
    "man",
    "locale",
    "lintian",
    "__pycache__",
    "tests",
    "ensurepip",
    "idlelib",
    "lib2to3",
    "include",
}
"""Folders that no program of a guest looks into."""


def words(script: str) -> str:
    """What runs a script, which its arguments follow."""
    return f"PYTHONPATH={PLACE} PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 {script}"


def files() -> dict[str, initramfs.Node]:
    """The interpreter, this package and numpy, by absolute path in the guest. Raises SetupError when this interpreter is of another
    version than Debian's, for numpy is made for one.
    """
    suite = bookworm()
    interpreter = suite.dependency("python3", "python3.")
    ours = f"python{sys.version_info.major}.{sys.version_info.minor}"
    if interpreter != ours:
        raise SetupError(
            f"Debian's {interpreter} cannot use this environment's packages",
            found=f"they are for {ours}",
            hint=f"make the environment with {interpreter}",
        )
    needed = (f"{interpreter}-minimal", f"lib{interpreter}-minimal", f"lib{interpreter}-stdlib", *_LIBRARIES)
    found = dict(_below(suite.unpacked(*needed), "/"))
    found["/usr/bin/python3"] = initramfs.link(interpreter)
    numpy = _package("numpy")
    for folder in (_package("godwit"), numpy, numpy.with_name("numpy.libs")):
        found.update(_below(folder, f"{PLACE}/{folder.name}"))
    return found


def _package(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise SetupError(f"the package {name} is not in this environment", hint="make setup-test")
    return Path(spec.origin).parent


def _below(root: Path, place: str) -> Iterator[tuple[str, initramfs.Node]]:
    """What is in a folder, by where the guest has it."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(set(folders) - _NOT_NEEDED)
        inside = PurePosixPath(place) / Path(folder).relative_to(root)
        for name in sorted(set(folders) | set(names)):
            path = Path(folder) / name
            if path.is_symlink():
                yield str(inside / name), initramfs.link(str(path.readlink()))
            elif path.is_file():
                make = initramfs.program if os.access(path, os.X_OK) else initramfs.plain
                yield str(inside / name), make(path.read_bytes())
