# SPDX-License-Identifier: Apache-2.0
"""The kernel's own checkers of style and of usual mistakes, checkpatch and coccicheck, on the module's sources.

Both are in the kernel's source only, not in the packages that modules are built with: so that is fetched, and they are kept.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from godwit.errors import SetupError
from godwit.vm import debian
from godwit.vm.kernel import RELEASE, bookworm

MAX_LINE = 130
_CHECKPATCH_IGNORE = (
    # One header is for what kernels call differently.
    "LINUX_VERSION_CODE",
    "CONSTANT_COMPARISON",
)
_NO_OCAML = ("badzero.cocci", "check_bq27xxx_data.cocci")
"""These want an OCaml compiler, and look for what no driver of ours has."""


def scripts() -> Path:
    """The kernel's folder `scripts` with both checkers in it."""
    source = f"linux-source-{RELEASE}"
    package = bookworm().unpacked(source)
    place = package / "checkers"
    with debian.locked(place):
        if not (place / "complete").is_file():
            place.mkdir(exist_ok=True)
            names = ("checkpatch.pl", "spelling.txt", "const_structs.checkpatch", "coccinelle")
            wanted = [f"{source}/scripts/{name}" for name in names]
            packed = package / f"usr/src/{source}.tar.xz"
            debian.run(
                ["tar", "-C", place, "--strip-components=1", "-xf", packed, *wanted],
                "unpacking the kernel's checkers",
            )
            (place / "complete").touch()
    return place / "scripts"


def checkpatch(files: Sequence[Path]) -> list[str]:
    """What checkpatch complains of in these files, a line each."""
    words: list[str | Path] = [
        "perl",
        scripts() / "checkpatch.pl",
        "--no-tree",
        "--terse",
        "--no-summary",
        "-q",
    ]
    words += [f"--max-line-length={MAX_LINE}", f"--ignore={','.join(_CHECKPATCH_IGNORE)}", "-f", *files]
    # It ends with 1 when it has something to say.
    return _said(words, {}, (0, 1))


def coccicheck(files: Sequence[Path], only: str = "*") -> list[str]:
    """What the kernel's semantic patches, or those of such names, report of these files, a line each."""
    tool = bookworm().unpacked("coccinelle") / "usr"
    pcre = bookworm().unpacked("libpcre3") / "lib/x86_64-linux-gnu"
    env = {"COCCINELLE_HOME": str(tool / "lib/coccinelle"), "LD_LIBRARY_PATH": str(pcre)}
    found = []
    for patch in sorted((scripts() / "coccinelle").rglob(f"{only}.cocci")):
        if patch.name in _NO_OCAML:
            continue
        words: list[str | Path] = [
            tool / "bin/spatch",
            "-D",
            "report",
            "--no-show-diff",
            "--very-quiet",
            "--cocci-file",
            patch,
        ]
        lines = _said([*words, *files], env, (0,))
        found += [f"{patch.stem}: {line}" for line in lines if not line.startswith("warning: line ")]
    return found


def _said(words: Sequence[str | Path], env: dict[str, str], fine: tuple[int, ...]) -> list[str]:
    command = list(map(str, words))
    done = subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True, check=False)
    said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    if done.returncode not in fine:
        raise SetupError(f"{Path(command[0]).name} failed", found="\n".join(said[-12:]))
    return said
