# SPDX-License-Identifier: Apache-2.0
"""The driver as a DKMS package, and what the kernel's own checkers and udev's syntax have to say of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import godwit
from godwit import toolchain
from godwit.errors import InputError, SetupError
from godwit.vm import checkers, debian, dkms, kernel, machine

DRIVER = Path(__file__).parents[1]
SPEC = toolchain.root() / "build/spec"
SOURCES = sorted([*DRIVER.glob("*.[ch]"), *DRIVER.glob("uapi/*.h"), *DRIVER.glob("shim/*.h")])


@pytest.fixture(scope="module")
def scripts() -> Path:
    if problems := machine.lacking():
        pytest.skip(f"nothing can be fetched here: {'; '.join(problems)}")
    try:
        return checkers.scripts()
    except SetupError as error:
        pytest.skip(f"Debian's archive does not give the kernel's source here: {error}")


def test_dkms_builds_the_package(kernel_named: Callable[[str], kernel.Kernel], tmp_path: Path) -> None:
    stock = kernel_named("stock")
    place = dkms.package(tmp_path / "src", SPEC)
    tree = tmp_path / "tree"
    tree.mkdir()
    tool = kernel.bookworm().unpacked("dkms") / "usr/sbin/dkms"
    words = ["-m", "godwit", "-v", godwit.__version__, "-k", stock.release, "--sourcetree", place.parent]
    words += ["--dkmstree", tree, "--kernelsourcedir", stock.build]
    debian.run([tool, "build", *words], "dkms build")
    built = next(tree.glob(f"godwit/{godwit.__version__}/{stock.release}/*/module/godwit.ko*"))
    assert built.stat().st_size > 0


def test_a_package_is_not_made_over_another(tmp_path: Path) -> None:
    place = dkms.package(tmp_path, SPEC)
    assert f'PACKAGE_VERSION="{godwit.__version__}"' in (place / "dkms.conf").read_text()
    with pytest.raises(InputError, match="is there already"):
        dkms.package(tmp_path, SPEC)


def test_checkpatch_finds_nothing(scripts: Path) -> None:
    assert checkers.checkpatch(SOURCES) == []


def test_coccicheck_finds_nothing(scripts: Path) -> None:
    assert checkers.coccicheck([path for path in SOURCES if path.suffix == ".c"]) == []


def test_both_are_heard(scripts: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.c"
    wrong.write_text(
        "// SPDX-License-Identifier: GPL-2.0-only\n"
        "void drop(struct item *item)\n{\n\tif (item) \n\t\tkfree(item);\n\tkfree(item);\n}\n"
    )
    assert any("trailing whitespace" in line for line in checkers.checkpatch([wrong]))
    assert any(line.startswith("ifnullfree: ") for line in checkers.coccicheck([wrong], "ifnull*"))


def test_udev_rules_are_pairs_of_keys_that_udev_has() -> None:
    text = (DRIVER / "udev/60-godwit.rules").read_text()
    rules = [line for line in text.splitlines() if line and not line.startswith("#")]
    known = {"SUBSYSTEM", "KERNEL", "SUBSYSTEMS", "GROUP", "MODE", "TAG", "SYMLINK"}
    for rule in rules:
        pairs = [re.fullmatch(r'([A-Z]+)(==|=|\+=)"[^"]+"', pair.strip()) for pair in rule.split(",")]
        assert all(pair and pair[1] in known for pair in pairs), rule
    assert rules
