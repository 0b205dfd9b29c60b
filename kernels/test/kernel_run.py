# SPDX-License-Identifier: Apache-2.0
"""Starts a cocotb bench on a kernel: finds its sources, generates its argument package."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from runner import run

from godwit.card import manifest
from godwit.card.kernel import packages

ROOT = Path(__file__).resolve().parents[2]
COMMON = ROOT / "kernels" / "common"


def manifest_path(name: str) -> Path:
    """The manifest of one of Godwit's kernels, or of the documented example."""
    own = ROOT / "kernels" / name / f"{name}.toml"
    return own if own.is_file() else ROOT / "examples" / "kernel" / f"{name}.toml"


def args_package(name: str) -> Path:
    """Writes the kernel's argument package; the same file for the same content, so that builds are kept."""
    path = ROOT / "build" / "kernels" / f"{name}_args_pkg.sv"
    return _written(path, manifest.load(manifest_path(name)).args_package())


def data_path(data_width: int = 512) -> list[Path]:
    """Packages of the kernels' data path, for beats of so many bits."""
    with tempfile.TemporaryDirectory() as directory:
        found = packages(data_width, Path(directory))
        made = {path: path.read_text() for path in found if path.parent == Path(directory)}
    own = ROOT / "build" / "kernels" / f"beats_of_{data_width}"
    placed = [_written(own / path.name, made[path]) if path in made else path for path in found]
    return [path for path in placed if path.parent in (COMMON, own)]


def _written(path: Path, text: str) -> Path:
    if not path.is_file() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return path


def run_kernel(
    name: str,
    bench: str | None = None,
    *,
    id_width: int = 4,
    data_width: int = 512,
    testcase: str | list[str] | None = None,
    parameters: Mapping[str, int] = MappingProxyType({}),
) -> None:
    """Runs the cocotb tests of ``bench`` (``cocotb_NAME``) on kernel ``name``: all, or those named."""
    sources = manifest.load(manifest_path(name)).sources
    own_packages = [path for path in sources if path.stem.endswith("_pkg")]
    run(
        name,
        bench or f"cocotb_{name}",
        here=__file__,
        parameters={"C_M_AXI_GMEM_ID_WIDTH": id_width, **parameters},
        packages=[*data_path(data_width), args_package(name), *own_packages],
        dirs=list(dict.fromkeys([COMMON, *(path.parent for path in sources)])),
        spec=False,
        testcase=testcase,
        # HLS chose the name of port `interrupt`; that a C++ library knows one like it does not matter.
        build_args=["-Wno-SYMRSVDWORD"],
    )
