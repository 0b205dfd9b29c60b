# SPDX-License-Identifier: Apache-2.0
"""Few large C++ files instead of many small ones: nearly all that a small file costs the compiler is its headers.

Verilator writes a model for machines with many cores: a dozen files and, for each way they are compiled, a precompiled
header that takes longer than the files themselves. On two cores that is most of a build.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def unite(sources: Sequence[Path], directory: Path, name: str, groups: int) -> list[Path]:
    """Writes `groups` files of about the same size below `directory` that include the sources; returns them."""
    parts: list[list[Path]] = [[] for _ in range(min(groups, len(sources)))]
    sizes = [0] * len(parts)
    for source in sorted(sources, key=lambda path: path.stat().st_size, reverse=True):
        least = sizes.index(min(sizes))
        parts[least].append(source)
        sizes[least] += source.stat().st_size
    files = [directory / f"{name}_{index}.cpp" for index in range(len(parts))]
    for file, part in zip(files, parts, strict=True):
        names = [source.name if source.parent == directory else source for source in sorted(part)]
        file.write_text("".join(f'#include "{name}"\n' for name in names))
    return files
