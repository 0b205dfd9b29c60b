# SPDX-License-Identifier: Apache-2.0
"""The examples in examples/python run and say what they found."""

import doctest
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "python"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_the_example_runs(path, library):
    done = subprocess.run(
        [sys.executable, path, f"sim:{library}"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("module", ["godwit", "godwit.api", "godwit.shared"])
def test_examples_in_the_help_give_what_they_show(library, module):
    done = doctest.testmod(importlib.import_module(module), optionflags=doctest.ELLIPSIS)
    assert done.attempted > 0
    assert done.failed == 0
