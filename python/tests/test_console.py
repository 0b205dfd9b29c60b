# SPDX-License-Identifier: Apache-2.0
"""Progress and errors: quick work is silent, elsewhere one line a step, never on standard output."""

import time

from godwit.cli import console
from godwit.errors import InputError


def test_quick_work_says_nothing(capsys):
    with console.progress_bar() as progress:
        for step in range(100):
            progress("building", step, 100)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_long_work_says_each_step_once(capsys, monkeypatch):
    monkeypatch.setattr(console, "DELAY_S", 0.05)
    with console.progress_bar() as progress:
        progress("verilate", 0, 1)
        time.sleep(0.5)
        for step in range(100):
            progress("compile", step, 100)
        progress("link", 0, 0)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == ["verilate ...", "compile ...", "link ..."]


def test_an_error_shows_what_was_found_and_what_to_do_without_markup(capsys):
    console.print_error(InputError("no [bold]x[/bold]", found="a [list]", hint="another"))
    assert capsys.readouterr().err == "error: no [bold]x[/bold]\nfound: a [list]\ntry: another\n"


def test_an_error_without_details_is_one_line(capsys, monkeypatch):
    monkeypatch.delenv("GODWIT_DEBUG", raising=False)
    console.print_error(ValueError("odd"))
    console.print_error(ValueError())
    assert capsys.readouterr().err == "error: odd\nerror: ValueError\n"
