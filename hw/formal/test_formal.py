# SPDX-License-Identifier: Apache-2.0
"""One test per proof file; run.py says how results are remembered."""

import importlib.util
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
