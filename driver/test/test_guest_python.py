# SPDX-License-Identifier: Apache-2.0
"""Python in a guest: a script of the runtime, the same on a simulated card of its own and behind the driver."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from godwit import cards, toolchain
from godwit.vm import guests, kernel, machine, pythons

HERE = Path(__file__).parent
CARD = HERE / "heap.toml"
SCRIPTS = [toolchain.root() / "examples/python/sum_numbers.py", HERE / "guest/both.py"]
FOUND = re.compile(r"(sum \d+ of [\d,]+ numbers|found .*)")
"""What is the same on both; addresses and cycles are not."""


def found(lines: list[str]) -> list[str]:
    said = (FOUND.match(line) for line in lines)
    return [line[1] for line in said if line]


def test_scripts_find_the_same_on_both(kernel_named: Callable[[str], kernel.Kernel]) -> None:
    if not importlib.util.find_spec("godwit._native"):
        pytest.skip("the native module is not built: make setup-test")
    stock = kernel_named("stock")
    calls = "".join(f"{guests.call(script, ['/dev/godwit0'])} || code=1\n" for script in SCRIPTS)
    script = f"code=0\n{guests.LOAD} || exit 1\n{calls}{guests.UNLOAD}"
    guest, card = guests.with_driver(stock, script, SCRIPTS, CARD)
    ended = machine.run(stock, guest, card, say=print)
    assert ended.code == 0
    alone: list[str] = []
    for path in SCRIPTS:
        words = [sys.executable, path, f"sim:{cards.ensure(CARD).library}"]
        alone += subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    assert found(alone)[0] == f"sum {sum(range(100_000)) + 42} of 100,000 numbers"
    assert found(ended.lines) == found(alone)
    assert len(found(alone)) == len(SCRIPTS)


def test_scripts_are_run_with_their_arguments() -> None:
    words = guests.call(Path("examples/some one.py"), ["a b", "c"])
    assert words.endswith("/usr/bin/python3 '/some one.py' 'a b' c")
    assert f"PYTHONPATH={pythons.PLACE}" in words
    assert guests.call(Path("driver/some.c"), ["a b"]) == "/some 'a b'"
