# SPDX-License-Identifier: Apache-2.0
"""Runs tests again and again with fresh seeds, and says at the end which seed failed which test.

`hunt.py [--seeds N] [TEST ...]`: N runs (until Ctrl-C when not given) of the named tests, of the hardware's random benches
when none is named. A CI run has fixed seeds; this is where new ones are looked at.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON = ROOT / ".venv/bin/python"
BENCHES = ("hw/test", "kernels/test", "card/test")


def failed_tests(report: Path) -> list[str]:
    """Names of the failed tests of a JUnit report; a run that wrote none has failed as a whole."""
    if not report.exists():
        return ["no report: pytest itself ended early"]
    cases = ElementTree.parse(report).getroot().iter("testcase")
    bad = [case for case in cases if case.find("failure") is not None or case.find("error") is not None]
    return [f"{case.get('classname')}::{case.get('name')}" for case in bad]


def hunt(seeds: int | None, tests: list[str]) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    rounds = range(seeds) if seeds else itertools.count()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        for number in rounds:
            seed = random.SystemRandom().randrange(1, 1 << 31)
            report.unlink(missing_ok=True)
            command = [str(PYTHON), "-m", "pytest", "-q", "-n", "2", f"--junit-xml={report}", *tests]
            env = dict(os.environ, GODWIT_SEED=str(seed), PROPTEST_RNG_SEED=str(seed))
            done = subprocess.run(
                command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
            bad = failed_tests(report) if done.returncode else []
            found += [(seed, name) for name in bad]
            print(f"run {number + 1}, seed {seed}: {f'{len(bad)} failed' if bad else 'passed'}", flush=True)
            for name in bad:
                print(f"  GODWIT_SEED={seed}  {name}", flush=True)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, metavar="N", help="end after N runs; until Ctrl-C without it")
    parser.add_argument(
        "tests", nargs="*", default=list(BENCHES), help=f"tests as pytest names them: {' '.join(BENCHES)}"
    )
    options = parser.parse_args()
    if options.seeds is not None and options.seeds < 1:
        parser.error(f"--seeds {options.seeds}: at least 1 run")
    try:
        return 1 if hunt(options.seeds, options.tests) else 0
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
