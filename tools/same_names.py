# SPDX-License-Identifier: Apache-2.0
"""Names test modules that have the name of another: pytest collects one of them only. Exits with 1 when there are some."""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SKIPPED = {"build", "target", ".venv", ".git"}


def same_names(root: Path) -> list[list[Path]]:
    """Paths of test modules below `root` that share a name, by name."""
    named: dict[str, list[Path]] = defaultdict(list)
    for path in sorted(root.rglob("test_*.py")):
        place = path.relative_to(root)
        if place.parts[0] not in SKIPPED:
            named[path.name].append(place)
    return [paths for paths in named.values() if len(paths) > 1]


def main() -> int:
    """Prints a line for each name that is there more than once."""
    found = same_names(ROOT)
    for paths in found:
        print(f"one name, of which pytest runs one: rename all but one of {', '.join(map(str, paths))}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
