# SPDX-License-Identifier: Apache-2.0
"""Verilator and Verible on all hand-written SystemVerilog. Exits with 1 when either has something to say.

Verilator reads each named configuration as a whole card, one with a heap, one whose heap has two memories, one whose groups are of any size, one with access counters, and the one of a board as that, with every warning on; hw/rtl/lint.vlt says which are waived and
why. Verible checks the style of every file of ours; what PeakRDL and the builder generate is not among them.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))

from godwit import toolchain  # noqa: E402
from godwit.card import compile as compiler  # noqa: E402
from godwit.card import plan  # noqa: E402
from godwit.spec import config  # noqa: E402

# Sources: hardware, card, kernels; benches and proofs follow the same style.
STYLED = ("hw", "card", "kernels", "examples")

# Parts of a module's header and body, which are no source text by themselves.
FRAGMENTS = "kernels/common/gw_hls_*.svh"

# A card with a heap: no named configuration has one.
HEAP = "crates/godwit/tests/heap.toml"

# ... and one whose heap has two memories.
REGIONS = (HEAP, ("memory.fast.bytes=16MiB", "memory.fast.model=fixed", "memory.fast.heap_bytes=8MiB"))

# ... and one whose groups are of any power of two.
GROUPS = (HEAP, ("walker.napot=any",))

# Nor has one access counters behind its page cache.
COUNTERS = ("ng", ("page_cache.counters=64",))

# Verible's default rules; port lists and formulas may be a little wider than its 100 columns.
RULES = ("line-length=length:140",)


def verilator(name: str, top: str = compiler.SIMULATED, overrides: Sequence[str] = ()) -> list[str]:
    """Complaints of Verilator about one configuration."""
    with tempfile.TemporaryDirectory() as work:
        command = compiler.lint_command(plan.plan(name, overrides), Path(work), top)
        done = subprocess.run(command, env=toolchain.env(), capture_output=True, text=True, check=False)
    lines = [line for line in (done.stdout + done.stderr).splitlines() if not line.startswith("- ")]
    return lines if done.returncode != 0 or any(line.startswith("%") for line in lines) else []


def verible() -> list[str]:
    """Complaints of Verible about all files."""
    files = [
        path
        for folder in STYLED
        for path in sorted((ROOT / folder).rglob("*.sv*"))
        if path.suffix in (".sv", ".svh")
    ]
    files = [path for path in files if not path.match(FRAGMENTS)]
    command = [str(toolchain.verible("lint")), f"--rules={','.join(RULES)}", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).splitlines()


def main() -> int:
    """Runs both; prints what they say and one line a check."""
    failed = 0
    checks = {f"verilator {name}": lambda name=name: verilator(name) for name in config.names()}
    checks["verilator heap"] = lambda: verilator(str(ROOT / HEAP))
    checks["verilator heap of two memories"] = lambda: verilator(str(ROOT / REGIONS[0]), overrides=REGIONS[1])
    checks["verilator heap of groups of any size"] = lambda: verilator(
        str(ROOT / GROUPS[0]), overrides=GROUPS[1]
    )
    checks["verilator access counters"] = lambda: verilator(COUNTERS[0], overrides=COUNTERS[1])
    checks["verilator gw_board"] = lambda: verilator("ecp5", "hw/board/gw_board.sv")
    checks["verible"] = verible
    for title, check in checks.items():
        complaints = check()
        print("\n".join([*complaints, f"{title}: {'failed' if complaints else 'clean'}"]))
        failed += bool(complaints)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
