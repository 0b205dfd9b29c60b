# SPDX-License-Identifier: Apache-2.0
"""One test per proof file; run.py says how results are remembered."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

_spec = importlib.util.spec_from_file_location("formal_run", Path(__file__).with_name("run.py"))
formal_run = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(formal_run)


@pytest.mark.parametrize("proof", formal_run.all_proofs(), ids=lambda proof: proof.stem)
def test_proof(proof):
    passed, text = formal_run.run(proof)
    assert passed, text
    print(text)


def test_a_proof_is_remembered_under_one_name():
    """In every process, whatever its hash seed: else nothing is ever remembered."""
    ask = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import run; print(run.key(run.all_proofs()[0]))"
    keys = {
        subprocess.run(
            [sys.executable, "-c", ask],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            text=True,
            capture_output=True,
            check=True,
        ).stdout
        for seed in range(4)
    }
    assert len(keys) == 1
