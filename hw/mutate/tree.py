# SPDX-License-Identifier: Apache-2.0
"""Copies of the tree with faults in them: with many, of which a run chooses one, or with one alone.

For simulation all faults of a block are in one build: an expression E with a fault F becomes ``(gw_mutant == N ? F : E)``, and
``+gw_mutant=N`` of a run chooses, or N in a file of where it runs. A build takes minutes and a run seconds. Proofs and cards read one fault in its place.
"""

from __future__ import annotations

import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from sites import Change

PACKAGE = Path("hw/rtl/common/gw_pkg.sv")
CHOICE = "gw_pkg::gw_mutant"
NUMBER = "gw_mutant"
"""The file of the working directory that says which fault a run has; where there is none, an argument of the simulator does."""
_CHOSEN = f"""
  function automatic int gw_mutant_chosen();
    int chosen = 0, file;
    // The file first: where a model is a library, nobody gave it arguments, and asking for one ends the program.
    file = $fopen("{NUMBER}", "r");
    if (file != 0) begin
      if ($fscanf(file, "%d", chosen) != 1) chosen = 0;
      $fclose(file);
    end else if (!$value$plusargs("gw_mutant=%d", chosen)) chosen = 0;
    return chosen;
  endfunction
  int gw_mutant = gw_mutant_chosen();

endpackage
"""


def copy(root: Path, to: Path) -> None:
    """The tracked files of `root` as they are in the work tree; nothing built."""
    names = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        check=True,
    ).stdout.decode()
    for name in filter(None, names.split("\0")):
        source, target = root / name, to / name
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)


def place_all(tree: Path, faults: Mapping[int, Change]) -> None:
    """Puts every fault into `tree`, a fresh copy; the keys are what a run chooses by."""
    files: dict[Path, dict[int, Change]] = defaultdict(dict)
    for number, change in faults.items():
        files[change.file][number] = change
    for file, placed in files.items():
        path = tree / file
        path.write_bytes(_chosen_text(path.read_bytes(), placed))
    package = (tree / PACKAGE).read_text()
    assert package.count("endpackage") == 1
    (tree / PACKAGE).write_text(package.replace("endpackage\n", _CHOSEN))


def place_one(tree: Path, change: Change) -> None:
    """Puts one fault into `tree`, a fresh copy."""
    path = tree / change.file
    text = path.read_bytes()
    assert text[change.start : change.end] == change.before.encode()
    path.write_bytes(text[: change.start] + f"({change.after})".encode() + text[change.end :])


def _chosen_text(text: bytes, faults: Mapping[int, Change]) -> bytes:
    spans: dict[tuple[int, int], list[int]] = defaultdict(list)
    for number, change in faults.items():
        spans[change.start, change.end].append(number)

    def emit(start: int, end: int, inside: Iterable[tuple[int, int]]) -> bytes:
        """Bytes [start, end) with the faults at the spans in them, the outermost first."""
        out, at = b"", start
        rest = sorted(inside, key=lambda span: (span[0], -span[1]))
        while rest:
            span = rest.pop(0)
            within = [other for other in rest if other[1] <= span[1]]
            rest = [other for other in rest if other[1] > span[1]]
            choices = b"".join(
                f"{CHOICE} == {number} ? ({faults[number].after}) : ".encode() for number in spans[span]
            )
            out += text[at : span[0]] + b"(" + choices + b"(" + emit(*span, within) + b"))"
            at = span[1]
        return out + text[at:end]

    return emit(0, len(text), spans)
