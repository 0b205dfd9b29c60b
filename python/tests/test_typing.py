# SPDX-License-Identifier: Apache-2.0
"""What a type checker makes of a program that uses the API."""

import subprocess
import sys
from pathlib import Path

PROGRAM = """
from typing import assert_type

import numpy as np

import godwit


class Foreign:
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        raise NotImplementedError


with godwit.open("sim:default") as card:
    assert_type(card, godwit.Card)
    assert_type(card.put(np.arange(10)), godwit.Buffer)
    assert_type(card.default_context.put([1, 2, 3]), godwit.Buffer)
    assert_type(card.put(Foreign()), godwit.ArrayBuffer)
    assert_type(card.put(Foreign()).values, godwit.Buffer)
    with card.empty((np.int64(3), 4), "int32") as buffer:
        assert_type(buffer, godwit.Buffer)
        assert_type(memoryview(buffer).nbytes, int)
    result = card.launch("array_sum", values=buffer, count=12, dtype=0)
    assert_type(result.sum, int)
"""
WRONG = "    card.put(object())\n"


def check(folder: Path, program: str) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(program)
    return subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(folder / "cache"), "program.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_users_program_type_checks_and_a_wrong_one_does_not(tmp_path):
    done = check(tmp_path, PROGRAM)
    assert done.returncode == 0, done.stdout
    done = check(tmp_path, PROGRAM + WRONG)
    assert done.returncode == 1
    assert 'No overload variant of "put"' in done.stdout
