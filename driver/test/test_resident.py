# SPDX-License-Identifier: Apache-2.0
"""A guest that stays: programs run in it one after the other, and it is gone without a trace when it is stopped."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from godwit import toolchain
from godwit.errors import GodwitError, InputError
from godwit.vm import guests, kernel, resident

DEMO = toolchain.root() / "driver/demo/array_sum.c"
SAY = """
#include <stdio.h>
int main(int count, char **words)
{
	for (int i = 1; i < count; i++)
		printf("<%s>", words[i]);
	return count;
}
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state file of the test's own, so that a guest which somebody has started is left alone."""
    place = tmp_path / "guest.json"
    monkeypatch.setattr(resident, "_file", lambda: place)
    return place


def test_programs_run_in_a_guest_that_stays(
    place: Path, tmp_path: Path, kernel_named: Callable[[str], kernel.Kernel]
) -> None:
    stock = kernel_named("stock")
    guest, card = guests.with_driver(stock, f"insmod /godwit.ko || exit 1\n{resident.ORDERS}")
    state = resident.start(stock, "stock", guest, card, "one")
    try:
        assert resident.find() == state and state.runs()
        with pytest.raises(InputError, match="a guest runs already"):
            resident.start(stock, "stock", guest, card, "one")

        lines: list[str] = []
        ended = resident.run(state, guests.built(DEMO), ["5000"], lines.append)
        assert ended.code == 0 and lines == ended.lines
        assert "on the card" in lines[-1]
        say = tmp_path / "say.c"
        say.write_text(SAY)
        ended = resident.run(state, guests.built(say), ["a b", "$HOME;'\"", "*"], lines.append)
        assert (ended.code, ended.lines) == (4, ["<a b><$HOME;'\"><*>"])
        with pytest.raises(InputError, match="no line breaks"):
            resident.run(state, b"", ["a\nb"], lines.append)
        ended = resident.run(state, b"no program", [], lines.append)
        assert ended.code != 0

        with pytest.raises(GodwitError, match="was interrupted"):
            resident.run(replace(state, busy=True), b"", [], lines.append)
    finally:
        served = resident.stop()
    assert served["cycles"] > 0 and served["errors"] == 0
    assert not state.runs() and not Path(state.folder).exists() and not place.exists()


def test_what_a_dead_guest_left_is_removed(place: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no guest runs"):
        resident.stop()
    folder = tmp_path / "sockets"
    folder.mkdir()
    # A number that another process has now.
    dead = resident.State(str(folder), os.getpid(), os.getppid(), "stock", "6.12", "one")
    place.write_text(json.dumps(asdict(dead)))
    assert resident.find() == dead and not dead.runs()
    with pytest.raises(GodwitError, match="`godwit vm stop` cleans up"):
        resident.run(dead, b"", [], print)
    assert resident.stop() == {}
    assert not folder.exists() and not place.exists()


def test_a_state_file_that_is_none_is_not_believed(place: Path) -> None:
    place.write_text("{}")
    with pytest.raises(GodwitError, match="is damaged"):
        resident.find()


def test_one_at_a_time(place: Path) -> None:
    with resident.alone(), pytest.raises(GodwitError, match="in use"), resident.alone():
        pass
