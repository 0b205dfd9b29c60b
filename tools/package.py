# SPDX-License-Identifier: Apache-2.0
"""Makes the packages: `pip install .`, wheels and sdists come through here (PEP 517), and maturin does the most of it.

What maturin cannot do is added around it: the constants that the Rust crates read are generated from spec/ first, and
the wheel gets the part of the tree that commands need (`TREE`) as ``godwit/_tree``, where `godwit.toolchain.root`
finds it. `python tools/package.py wheel|sdist FOLDER` makes one with what is installed here, without pip.
"""

from __future__ import annotations

import base64
import hashlib
import os
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import maturin

ROOT = Path(__file__).resolve().parent.parent

TREE = (
    *("spec", "hw/rtl", "hw/synth", "hw/formal/yosys", "kernels", "card", "bench", "examples", "docs"),
    "godwit.core",
    "Bender.yml",
)
"""What a wheel has of the tree: all that a card is made from, the benchmark suites, the IP's manifests, the examples,
and the pages that errors name."""

NOT_IN_TREE = ("test", "__pycache__", "sim_build", "conftest.py", "test_area.py")
"""Files and folders below them that stay out."""


def tree() -> Iterator[Path]:
    """The files of `TREE`."""
    for name in TREE:
        place = ROOT / name
        for path in [place] if place.is_file() else sorted(place.rglob("*")):
            if path.is_file() and not set(path.relative_to(ROOT).parts) & set(NOT_IN_TREE):
                yield path


def generate() -> None:
    """build/spec, from spec/."""
    sys.path.insert(0, str(ROOT / "python"))
    from godwit.spec import config
    from godwit.spec import generate as generator

    generator.generate(ROOT / "build" / "spec", config.load())


def add_tree(wheel: Path) -> None:
    """Writes the tree into a wheel, with its lines in RECORD."""
    whole = wheel.with_suffix(".part")
    with zipfile.ZipFile(wheel) as made, zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as out:
        record = next(name for name in made.namelist() if name.endswith(".dist-info/RECORD"))
        for item in made.infolist():
            if item.filename != record:
                out.writestr(item, made.read(item))
        lines = made.read(record).decode()
        for path in tree():
            name, content = f"godwit/_tree/{path.relative_to(ROOT).as_posix()}", path.read_bytes()
            # The same wheel from the same files: no times of theirs.
            item = zipfile.ZipInfo(name, made.infolist()[0].date_time)
            item.compress_type = zipfile.ZIP_DEFLATED
            item.external_attr = (0o100755 if path.stat().st_mode & 0o100 else 0o100644) << 16
            out.writestr(item, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            lines += f"{name},sha256={digest},{len(content)}\n"
        out.writestr(record, lines)
    whole.replace(wheel)


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: Any = None) -> str:
    generate()
    name = maturin.build_wheel(wheel_directory, config_settings, metadata_directory)
    add_tree(Path(wheel_directory) / name)
    return name


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    generate()
    return maturin.build_sdist(sdist_directory, config_settings)


def build_editable(wheel_directory: str, config_settings: Any = None, metadata_directory: Any = None) -> str:
    generate()
    return maturin.build_editable(wheel_directory, config_settings, metadata_directory)


get_requires_for_build_wheel = maturin.get_requires_for_build_wheel
get_requires_for_build_sdist = maturin.get_requires_for_build_sdist
get_requires_for_build_editable = maturin.get_requires_for_build_editable
prepare_metadata_for_build_wheel = maturin.prepare_metadata_for_build_wheel
prepare_metadata_for_build_editable = maturin.prepare_metadata_for_build_editable


def main(argv: list[str]) -> int:
    kinds = {"wheel": build_wheel, "sdist": build_sdist}
    if len(argv) != 2 or argv[0] not in kinds:
        print("usage: package.py wheel|sdist FOLDER", file=sys.stderr)
        return 2
    folder = Path(argv[1]).absolute()
    os.chdir(ROOT)
    os.environ["PATH"] = f"{Path(sys.prefix) / 'bin'}:{os.environ['PATH']}"
    folder.mkdir(parents=True, exist_ok=True)
    print(folder / kinds[argv[0]](str(folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
