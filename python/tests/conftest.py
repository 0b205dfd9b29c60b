# SPDX-License-Identifier: Apache-2.0
"""Fixtures: the command run in a process of its own, tables to run it on, and a real card."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

Done = subprocess.CompletedProcess[str]
SEED = int(os.environ.get("GODWIT_SEED") or random.SystemRandom().randrange(1 << 32))


def pytest_report_header() -> str:
    return f"random inputs: GODWIT_SEED={SEED} repeats them"


@pytest.fixture
def seed() -> int:
    """Seed of random inputs; GODWIT_SEED sets it."""
    print(f"GODWIT_SEED={SEED}")
    return SEED


@pytest.fixture
def godwit(tmp_path: Path) -> Callable[..., Done]:
    """Runs the command in `tmp_path` as a user's shell does, with output that is not a terminal."""

    def run(*args: str | Path, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "godwit", *map(str, args)],
            cwd=tmp_path,
            env={**os.environ, "COLUMNS": "100", **env},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    return run


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Done]:
    """Runs the command inside this process: the same but for the start-up, which is most of the time."""

    def run(*args: str | Path, **env: str) -> Done:
        from godwit.cli.app import run

        for name, value in {"COLUMNS": "100", **env}.items():
            monkeypatch.setenv(name, value)
        capsys.readouterr()
        code = run([str(arg) for arg in args])
        captured = capsys.readouterr()
        return Done(args, code, captured.out, captured.err)

    return run


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A small Parquet file with a column of every kind that matters here."""
    path = tmp_path / "table.parquet"
    columns = {
        "small": pa.array([1, None, 30, -4, 15], pa.int32()),
        "big": pa.array([1 << 40, 2, None, 4, 5], pa.int64()),
        "single": pa.array([0.5, float("nan"), None, 2.5, -1.0], pa.float32()),
        "double": pa.array([16.0, 15.0, None, float("nan"), 1e300], pa.float64()),
        "name": pa.array(["a", "b", "c", "d", "e"]),
    }
    pq.write_table(pa.table(columns), path)
    return path


@pytest.fixture(scope="session")
def library() -> Path:
    """The real card `sim:default`, built when it is not in the cache."""
    from godwit import cards

    return cards.ensure("default").library


@pytest.fixture(scope="session")
def traffic() -> Path:
    """The card that `godwit run tlb-stress` makes of the default configuration: built here, and not in a command's time."""
    from godwit import cards

    return cards.ensure("default", ['card.kernels=["traffic"]']).library


@pytest.fixture
def card(library: Path) -> Iterator:
    """A freshly opened `sim:default`."""
    import godwit

    with godwit.open(f"sim:{library}") as card:
        yield card
