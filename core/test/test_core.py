# SPDX-License-Identifier: Apache-2.0
"""core/ by itself: builds freestanding, keeps no state, passes its C unit tests under sanitizers, is fuzzed.

GODWIT_FUZZ_SECONDS (default 20) bounds the fuzzer, GODWIT_SEED makes it choose the same inputs again.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# What a compiler may call even when freestanding (GCC manual, "Language Standards Supported by GCC").
COMPILER_CALLS = {"memcpy", "memmove", "memset", "memcmp"}


def need(program: str, package: str) -> None:
    if shutil.which(program) is None:
        pytest.fail(f"{program} is not installed: install the package {package}", pytrace=False)


def make(*args: str, timeout: float) -> str:
    need("make", "make")
    done = subprocess.run(
        ["make", "-C", str(ROOT / "core"), *args],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    if done.returncode:
        pytest.fail(f"make {' '.join(args)} failed\n{done.stdout}{done.stderr}", pytrace=False)
    return done.stdout + done.stderr


@pytest.mark.parametrize(("compiler", "package"), [("gcc", "gcc"), ("clang", "clang")])
def test_builds_freestanding_without_warnings_and_keeps_no_state(
    compiler: str, package: str, tmp_path: Path
) -> None:
    need(compiler, package)
    make(f"CC={compiler}", f"OUT={tmp_path}", timeout=300)

    symbols = subprocess.run(
        ["nm", str(tmp_path / "libgodwit_core.a")], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    # Lines are `[address] kind name`; a symbol is listed once a file, so `U` in one may be `T` in another.
    names: dict[str, set[str]] = {}
    for fields in map(str.split, symbols):
        if len(fields) >= 2:
            names.setdefault(fields[-2], set()).add(fields[-1])
    assert {"gw_pt_init", "gw_pt_map", "gw_pt_unmap", "gw_pt_protect", "gw_pt_lookup"} <= names["T"]
    assert {"gw_range_init", "gw_range_alloc", "gw_range_free", "gw_range_resize"} <= names["T"]
    assert {"gw_fault_coalesce", "gw_prefetch_plan", "gw_evict_choose", "gw_stay_due"} <= names["T"]
    assert all(name.startswith("gw_") for name in names["T"])
    assert names["U"] - names["T"] <= COMPILER_CALLS
    assert not {kind: found for kind, found in names.items() if kind in "bBdDC"}


def test_unit_tests_pass_under_sanitizers(tmp_path: Path) -> None:
    need("gcc", "gcc")
    assert make("test", f"OUT={tmp_path}", timeout=300).count("tests passed") == 3


def test_threads_on_one_range_allocator_under_thread_sanitizer(tmp_path: Path) -> None:
    need("gcc", "gcc")
    output = make("threads", f"OUT={tmp_path}", timeout=300)
    assert "tests passed" in output
    print(output)


@pytest.mark.parametrize("target", ["fuzz", "fuzz-range", "fuzz-svm"])
def test_fuzzer_finds_no_difference_from_the_model(target: str) -> None:
    need("clang", "clang")
    seconds = int(os.environ.get("GODWIT_FUZZ_SECONDS", "20"))
    output = make(target, f"GODWIT_FUZZ_SECONDS={seconds}", timeout=seconds + 300)
    print(
        "\n".join(line for line in output.splitlines() if line.startswith(("INFO: Seed", "Done", "stat::")))
    )
    # Done N runs in S second(s)
    runs = next(int(line.split()[1]) for line in output.splitlines() if line.startswith("Done "))
    assert runs > 10, "the fuzzer did not get to run"
