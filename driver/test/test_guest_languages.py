# SPDX-License-Identifier: Apache-2.0
"""Programs in C, C++ and Rust, unchanged, on a simulated card of their own and behind the driver; Python: test_guest_python."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from guest_checks import KERNELS, LIMIT

from godwit import cards, toolchain
from godwit.errors import InputError
from godwit.vm import guests, module
from godwit.vm.machine import Ended

Boot = Callable[..., Ended]

C = toolchain.root() / "examples/c/plain_pointers.c"
CPP = toolchain.root() / "examples/cpp/plain_pointers.cpp"


def rust() -> Path:
    """The example in Rust, as cargo builds it: it loads the C library of this machine."""
    return module.of_crates(
        "the example", ["-p", "godwit", "--example", "plain_pointers"], "examples/plain_pointers"
    )


def found(lines: list[str]) -> list[str]:
    return [line for line in lines if line.startswith(("split: ", "array_sum: "))]


@pytest.mark.parametrize("kind", KERNELS)
def test_programs_of_every_language_find_the_same_on_both(
    boot_on: Callable[[str], Boot], kind: str, tmp_path: Path
) -> None:
    # A guest knows programs by their names.
    programs = [
        shutil.copy(path, tmp_path / name)
        for name, path in (("in_c.c", C), ("in_cpp.cpp", CPP), ("in_rust", rust()))
    ]
    calls = "".join(f"{LIMIT} {guests.call(program, ['/dev/godwit0'])} || code=1\n" for program in programs)
    ended = boot_on(kind)(f"code=0\n{guests.LOAD} || exit 1\n{calls}{guests.UNLOAD}", *programs)
    assert ended.code == 0
    simulated = [str(rust()), f"sim:{cards.ensure('default').library}"]
    alone = subprocess.run(simulated, capture_output=True, text=True, check=True).stdout.splitlines()
    assert alone == ["split: 16980 of 20000 rows are greater than 15, right", "array_sum: 968700, right"]
    assert found(ended.lines) == 3 * alone


def test_a_program_that_was_built_comes_with_what_it_loads(tmp_path: Path) -> None:
    source = tmp_path / "hello.c"
    source.write_text('#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n')
    for name, flags in (("static", ["-static"]), ("dynamic", [])):
        subprocess.run(["gcc", *flags, "-o", tmp_path / name, source], check=True)
    assert module.is_built(tmp_path / "static") and not module.is_built(source)
    assert module.libraries(tmp_path / "static") == {}
    loaded = module.libraries(tmp_path / "dynamic")
    assert {path.name.split(".")[0].split("-")[0] for path in loaded.values()} == {"libc", "ld"}
    assert guests.goes_alone(source) and guests.goes_alone(tmp_path / "static")
    assert not guests.goes_alone(tmp_path / "dynamic")
    assert guests.call(tmp_path / "dynamic", ["a b"]) == "/dynamic 'a b'"


def test_what_is_no_program_is_refused_with_what_is_one(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("hello")
    with pytest.raises(InputError) as refused:
        module.program(text, {})
    assert str(refused.value.hint).startswith(".c, .cpp, .cc, .cxx: a source of one file")
    broken = tmp_path / "broken"
    broken.write_bytes(b"\x7fELF and nothing else")
    with pytest.raises(InputError, match="is no program of this machine"):
        module.libraries(broken)
