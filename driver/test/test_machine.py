# SPDX-License-Identifier: Apache-2.0
"""A machine that does not end says where it hangs, none hangs by its clocks, and nothing is left of one whose owner was killed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from godwit import cards
from godwit.errors import GodwitError
from godwit.vm import machine
from godwit.vm.kernel import Kernel
from godwit.vm.machine import Ended

Boot = Callable[..., Ended]


def test_a_guest_that_hangs_says_where(boot_on: Callable[[str], Boot]) -> None:
    with pytest.raises(GodwitError) as hangs:
        boot_on("stock")("echo here; while :; do :; done", config=None, timeout_s=30)
    said = str(hangs.value).splitlines()
    assert said[0] == "the guest has not ended in 30 s; its last lines:"
    assert any("Kernel panic" in line and "NMI" in line for line in said)


TRACED = "/sys/kernel/debug/tracing/trace"


def test_no_guest_compares_its_processors_clocks(boot_on: Callable[[str], Boot]) -> None:
    """Of which Linux 7.3 hangs now and then, on a machine that does much else."""
    script = f"sleep 1; grep -q -v '^#' {TRACED} && ! grep clocksource_watchdog {TRACED}"
    assert boot_on("backports")(script, config=None, boot="trace_event=timer:timer_expire_entry").code == 0


OWNER = """
import sys
from godwit.vm import kernel, machine
machine.run(kernel.ensure("stock"), machine.Guest("echo here; sleep 1000"), sys.argv[1], say=lambda line: print(line, flush=True))
"""


def programs_in(folder: Path) -> dict[int, str]:
    """Those that run and were told of the folder, by number."""
    found = {}
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = process.read_bytes().split(b"\0")
            if any(bytes(folder) in word for word in words):
                found[int(process.parent.name)] = b" ".join(words).decode()
    return found


@pytest.mark.parametrize(("program", "name"), [("qemu-system", "QEMU"), ("godwit-vfio", "the card's server")])
def test_a_guest_whose_machine_is_killed_says_so(
    stock: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, name: str
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    card = f"sim:{cards.ensure('default').library}"

    def kill(line: str) -> None:
        if line == "here":
            for number, words in programs_in(tmp_path).items():
                if program in words.partition(" -")[0]:
                    os.kill(number, signal.SIGKILL)

    # Without its card it goes on, until it ends itself before its last line.
    with pytest.raises(GodwitError) as ended:
        machine.run(stock, machine.Guest("echo here; sleep 5; exit 1"), card, say=kill)
    first, *last = str(ended.value).splitlines()
    assert first == "the guest ended before its script did; its last lines:"
    assert f"{name} was ended by a signal: Killed" in last


def test_a_linux_that_dies_before_its_script_boots_once_more(
    stock: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    guest = machine.Guest("echo here")
    dying = replace(guest, boot="rdinit=/nothing")
    boots = iter((dying, guest))
    command = machine.command
    monkeypatch.setattr(
        machine, "command", lambda kernel, archive, _, *rest: command(kernel, archive, next(boots), *rest)
    )
    said: list[str] = []
    ended = machine.run(stock, guest, None, say=said.append)
    assert ended.code == 0 and "here" in ended.lines
    assert any("Kernel panic" in line for line in said) and not any(
        "Kernel panic" in line for line in ended.lines
    )

    boots = iter((dying, dying))
    with pytest.raises(GodwitError, match=r"^Linux died before its script began; its last lines:\n") as died:
        machine.run(stock, guest, None)
    assert "Kernel panic" in str(died.value)


def test_nothing_is_left_of_a_machine_whose_owner_is_killed(stock: Kernel, tmp_path: Path) -> None:
    card = f"sim:{cards.ensure('default').library}"
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, card],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    ) as owner:
        assert owner.stdout is not None
        assert "here\n" in owner.stdout
        # The card's server, QEMU, and who ends them.
        assert len(programs_in(tmp_path)) == 3
        owner.kill()
    for _ in range(100):
        if not programs_in(tmp_path):
            break
        time.sleep(0.1)
    assert programs_in(tmp_path) == {}
    assert list(tmp_path.iterdir()) == []
