# SPDX-License-Identifier: Apache-2.0
"""A mutation campaign: faults put into the RTL one at a time, and what of the net under it notices.

    python hw/mutate/run.py [--sample N] [--seed S] [--out FILE] [BLOCK ...]
    python hw/mutate/run.py --list [BLOCK ...]

Blocks, their benches and their proofs are in blocks.toml, faults that a person thought of in faults.toml; the rest are operators
applied at random (`sites`), `--sample` of them a block. What is cheapest looks first: the benches, of which all faults of a block
share one build; then, for what they let pass, the proofs; then the co-simulation, on a card with all faults of a block. A fault that
changes nothing anybody could see is listed as equivalent, with the reason, in faults.toml. The exit code is 1 when a fault that is not
got through.

The report is a table of who found what, and in FILE (JSON, build/mutate.json) every fault with its finder.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import MappingProxyType

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

import cosim  # noqa: E402
import tree  # noqa: E402
from cosim import Cosim  # noqa: E402
from sites import Change, changes  # noqa: E402

# Faults make dead code and odd widths; what a user's build would warn of is no finder.
BUILD_ARGS = "-Wno-fatal -Wno-lint -Wno-style"
SLOWER = 3
"""A run that takes so many times as long as the one without a fault hangs: the fault is found."""
BODY_S = 30
NOBODY, EQUIVALENT = "nobody", "equivalent"


@dataclass(frozen=True)
class Block:
    """What belongs together: files (patterns below hw/rtl), pytest nodes of benches, names of proofs, co-simulations."""

    name: str
    files: tuple[str, ...]
    benches: tuple[str, ...]
    proofs: tuple[str, ...] = ()
    cosims: tuple[Cosim, ...] = ()

    def sources(self, root: Path) -> list[Path]:
        found = [path for pattern in self.files for path in sorted((root / "hw/rtl").glob(pattern))]
        return [path.relative_to(root) for path in found]


@dataclass(frozen=True)
class Fault:
    """A fault, where it came from, and who found it."""

    block: str
    change: Change
    origin: str
    """`named`: of faults.toml; `operator`: made."""
    about: str = ""
    finder: str = NOBODY
    seconds: float = 0.0


def blocks() -> dict[str, Block]:
    """The blocks of blocks.toml by name."""
    listed = tomllib.loads((HERE / "blocks.toml").read_text(encoding="utf-8"))["block"]
    return {
        b["name"]: Block(
            b["name"],
            tuple(b["files"]),
            tuple(b["benches"]),
            tuple(b.get("proofs", ())),
            tuple(map(Cosim.of, b.get("cosims", ()))),
        )
        for b in listed
    }


def _listed(what: str) -> list[dict[str, str]]:
    return tomllib.loads((HERE / "faults.toml").read_text(encoding="utf-8")).get(what, [])


def _named(root: Path, block: Block) -> Iterator[Fault]:
    """Faults of faults.toml in the files of `block`. ValueError when one has no place any more."""
    sources = block.sources(root)
    for entry in _listed("fault"):
        file = Path(entry["file"])
        if file not in sources:
            continue
        text = (root / file).read_text(encoding="utf-8")
        if text.count(entry["before"]) != 1:
            raise ValueError(f"faults.toml: {file} has not exactly one `{entry['before']}`")
        start = len(text[: text.index(entry["before"])].encode())
        line = text[: text.index(entry["before"])].count("\n") + 1
        end = start + len(entry["before"].encode())
        change = Change(file, start, end, entry["before"], entry["after"], line, "named")
        yield Fault(block.name, change, "named", entry["about"])


def _equivalent(change: Change) -> str | None:
    """Why nobody could see this fault, if it is listed as such."""
    for entry in _listed("equivalent"):
        if (entry["file"], entry["before"], entry["name"]) == (str(change.file), change.before, change.name):
            return entry["why"]
    return None


def choose(root: Path, block: Block, sample: int | None, seed: int) -> list[Fault]:
    """The faults of a campaign: all that are named, and `sample` (None: all) of those that operators make."""
    made = [change for file in block.sources(root) for change in changes(root, file)]
    if sample is not None and sample < len(made):
        made = random.Random(f"{seed} {block.name}").sample(made, sample)
    return [*_named(root, block), *(Fault(block.name, change, "operator", change.name) for change in made)]


class Campaign:
    """The faults of one block, in a copy of the tree that is gone afterwards."""

    def __init__(self, block: Block, faults: Sequence[Fault], seed: int, work: Path) -> None:
        self.block = block
        self.faults = dict(enumerate(faults, 1))
        self.seed = seed
        self.tree = work / "all"
        self.work = work
        self.cards: dict[Cosim, tuple[Path, float]] = {}
        """Built when the first fault comes so far, with the limit of a run."""

    def run(self) -> Iterator[Fault]:
        """Every fault with its finder, as they come. RuntimeError when the tree without a fault does not pass."""
        tree.copy(ROOT, self.tree)
        tree.place_all(self.tree, {number: fault.change for number, fault in self.faults.items()})
        limits = {bench: self._sound(bench) for bench in self.block.benches}
        for number, fault in self.faults.items():
            began = time.monotonic()
            finder = (
                self._bench_that_finds(number, limits)
                or self._proof_that_finds(fault)
                or self._cosim_that_finds(number)
            )
            if not finder:
                finder = EQUIVALENT if _equivalent(fault.change) else NOBODY
            yield replace(fault, finder=finder, seconds=round(time.monotonic() - began, 1))

    def _sound(self, bench: str) -> float:
        """How long a bench takes without a fault; it is built meanwhile, so it runs twice. All of it: none of it is left out as passed."""
        for _ in range(2):
            began = time.monotonic()
            done = self._pytest(bench, 0, None, {"GODWIT_FORCE": "1"})
            if done is None or done.returncode:
                raise RuntimeError(f"{bench} fails without a fault:\n{done.stdout[-3000:] if done else ''}")
        return SLOWER * (time.monotonic() - began) + BODY_S

    def _pytest(
        self, bench: str, number: int, limit: float | None, more: Mapping[str, str] = MappingProxyType({})
    ) -> subprocess.CompletedProcess[str] | None:
        """One run of a bench; None when it was still going at its limit."""
        environment = {
            **os.environ,
            "GODWIT_BUILD_ARGS": BUILD_ARGS,
            "GODWIT_PLUSARGS": f"+gw_mutant={number}",
            "GODWIT_SEED": str(self.seed),
            "PYTHONPATH": str(self.tree / "python"),
            **more,
        }
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", bench]
        process = subprocess.Popen(
            command,
            cwd=self.tree,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=limit)
        except BaseException as error:
            os.killpg(process.pid, 9)
            process.wait()
            if isinstance(error, subprocess.TimeoutExpired):
                return None
            raise
        return subprocess.CompletedProcess(command, process.returncode, output, "")

    def _bench_that_finds(self, number: int, limits: dict[str, float]) -> str | None:
        for bench, limit in limits.items():
            # A part's own bench is the likeliest and the quickest of a directory's.
            own = f"{bench}/test_{self.faults[number].change.file.stem.removeprefix('gw_')}.py"
            for node in (own, bench) if (ROOT / own).is_file() else (bench,):
                done = self._pytest(node, number, limit)
                if done is None or done.returncode:
                    return f"bench {node.removeprefix('hw/test/')}" + ("" if done else " (hangs)")
        return None

    def _proof_that_finds(self, fault: Fault) -> str | None:
        if not self.block.proofs:
            return None
        alone = self.work / "one"
        tree.copy(ROOT, alone)
        tree.place_one(alone, fault.change)
        try:
            for proof in self.block.proofs:
                done = subprocess.run(
                    [sys.executable, "hw/formal/run.py", proof],
                    cwd=alone,
                    env={**os.environ, "PYTHONPATH": str(alone / "python")},
                    capture_output=True,
                    text=True,
                    check=False,
                )
                if done.returncode:
                    return f"proof {proof}"
        finally:
            shutil.rmtree(alone)
        return None

    def _card(self, binary: Path, of: Cosim) -> tuple[Path, float]:
        if of not in self.cards:
            library = cosim.card(self.tree, of.config, self.work / "cards")
            began = time.monotonic()
            done = cosim.run(binary, library, of.arguments, 0, self.seed, self.work, None)
            if done is None or done.returncode:
                raise RuntimeError(f"{of} fails without a fault:\n{done.stdout[-3000:] if done else ''}")
            self.cards[of] = library, SLOWER * (time.monotonic() - began) + BODY_S
        return self.cards[of]

    def _cosim_that_finds(self, number: int) -> str | None:
        if not self.block.cosims:
            return None
        binary = cosim.program(ROOT)
        for of in self.block.cosims:
            library, limit = self._card(binary, of)
            done = cosim.run(binary, library, of.arguments, number, self.seed, self.work, limit)
            if done is None or done.returncode:
                return f"cosim {of}" + ("" if done else " (hangs)")
        return None


def table(faults: Sequence[Fault]) -> str:
    """Who found how many, by block, and what got through."""
    lines = [
        f"{'block':<14} {'faults':>6} {'benches':>8} {'proofs':>7} {'cosim':>6} {'equivalent':>11} {'nobody':>7} {'found':>7}"
    ]
    for name in dict.fromkeys(fault.block for fault in faults):
        of = [fault for fault in faults if fault.block == name]
        by = Counter(fault.finder.split()[0] for fault in of)
        real = len(of) - by[EQUIVALENT]
        share = f"{100 * (real - by[NOBODY]) / real:.1f} %" if real else ""
        lines.append(
            f"{name:<14} {len(of):>6} {by['bench']:>8} {by['proof']:>7} {by['cosim']:>6} {by[EQUIVALENT]:>11} {by[NOBODY]:>7} {share:>7}"
        )
    through = [fault for fault in faults if fault.finder == NOBODY]
    return "\n".join([*lines, *(f"NOT FOUND {fault.change} ({fault.about})" for fault in through)])


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "names", nargs="*", metavar="BLOCK", help="blocks of blocks.toml; all when none is given"
    )
    parser.add_argument(
        "--sample", type=int, default=20, metavar="N", help="made faults a block (20); 0: named ones only"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the choice, and of the benches (1)")
    parser.add_argument(
        "--out", type=Path, default=ROOT / "build/mutate.json", metavar="FILE", help="every fault, as JSON"
    )
    parser.add_argument("--list", action="store_true", help="print the faults that would be tried")
    args = parser.parse_args()
    known = blocks()
    unknown = [name for name in args.names if name not in known]
    if unknown:
        parser.error(f"no block {unknown[0]}; blocks are: {', '.join(known)}")
    if args.sample < 0:
        parser.error(f"--sample {args.sample}: 0 for named faults only, or more")
    found: list[Fault] = []
    for block in (known[name] for name in args.names or known):
        faults = choose(ROOT, block, args.sample, args.seed)
        if args.list:
            print("\n".join(f"{block.name}: {fault.change} ({fault.about})" for fault in faults))
            continue
        with tempfile.TemporaryDirectory(prefix="godwit-mutate-") as work:
            for fault in Campaign(block, faults, args.seed, Path(work)).run():
                found.append(fault)
                print(f"{fault.finder:<40} {fault.seconds:>6.1f} s  {fault.change}", flush=True)
    if args.list:
        return 0
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(
        json.dumps([asdict(fault) for fault in found], indent=1, default=str), encoding="utf-8"
    )
    print(f"\n{table(found)}\nwritten: {args.out}")
    return 1 if any(fault.finder == NOBODY for fault in found) else 0


if __name__ == "__main__":
    sys.exit(main())
