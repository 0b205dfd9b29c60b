# SPDX-License-Identifier: Apache-2.0
"""What the virtual machine is made of, without starting one."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from godwit import toolchain
from godwit.errors import InputError, SetupError
from godwit.vm import initramfs, kernel, module


def records(archive: bytes) -> dict[str, tuple[int, bytes]]:
    """Modes and contents of a `newc` archive, read from the format's description."""
    data, at, found = gzip.decompress(archive), 0, {}
    while True:
        assert data[at : at + 6] == b"070701"
        fields = [int(data[at + 6 + 8 * i : at + 14 + 8 * i], 16) for i in range(13)]
        size, length = fields[6], fields[11]
        name = data[at + 110 : at + 110 + length - 1].decode()
        start = (at + 110 + length + 3) // 4 * 4
        if name == "TRAILER!!!":
            return found
        found[name] = (fields[1], data[start : start + size])
        at = (start + size + 3) // 4 * 4


def test_an_archive_has_files_and_the_folders_before_them() -> None:
    files = {
        "/a/b/run": initramfs.program(b"#!/bin/sh\n"),
        "/a/data": initramfs.plain(b"123"),
        "/a/link": initramfs.link("data"),
    }
    found = records(initramfs.pack(files))
    assert found["a/b/run"] == (0o100755, b"#!/bin/sh\n")
    assert found["a/data"] == (0o100644, b"123")
    assert found["a/link"] == (0o120777, b"data")
    assert found["dev/console"][0] == 0o020600
    assert list(found).index("a") < list(found).index("a/b") < list(found).index("a/b/run")
    assert initramfs.pack(files) == initramfs.pack(dict(reversed(files.items())))


def test_an_option_that_the_kernel_dropped_is_named() -> None:
    kernel.require("CONFIG_A=y\nCONFIG_B=n\n", "CONFIG_A=y\n# CONFIG_B is not set\n")
    with pytest.raises(SetupError) as missing:
        kernel.require("CONFIG_A=y\nCONFIG_C=m\n", "CONFIG_A=y\n")
    assert missing.value.found == "CONFIG_C=m"
    with pytest.raises(SetupError) as left_on:
        kernel.require("CONFIG_B=n\n", "CONFIG_B=y\n")
    assert left_on.value.found == "CONFIG_B=n"


def test_a_package_of_headers_finds_itself_wherever_the_cache_is() -> None:
    installed = "KBUILD_OUTPUT=/usr/src/headers-7\ninclude /usr/src/headers-7-common/Makefile\n"
    here = kernel.placed(installed, Path("/a/cache"))
    assert (
        here
        == "KBUILD_OUTPUT=/a/cache/usr/src/headers-7\ninclude /a/cache/usr/src/headers-7-common/Makefile\n"
    )
    assert kernel.placed(here, Path("/a/cache")) == here
    assert kernel.placed(here, Path("/b")) == installed.replace("/usr", "/b/usr")


def test_the_module_is_made_of_driver_core_and_the_generated_headers() -> None:
    found = module.sources(toolchain.root() / "build/spec")
    assert {"pci.c", "Kbuild", "uapi/godwit.h", "core/src/pt.c", "spec/c/godwit_regs.h"} <= set(found)
    assert not any(name.startswith(("test/", "kernel/")) for name in found)


@pytest.mark.parametrize(
    "source", sorted(Path(__file__).parents[1].glob("*.[ch]")), ids=lambda path: path.name
)
def test_a_file_is_one_concern(source: Path) -> None:
    assert len(source.read_text().splitlines()) < 400


@pytest.mark.parametrize("kind", ["6.1", "stock", "backports"])
def test_the_module_is_built_for_every_kernel_without_a_warning(
    kernel_named: Callable[[str], kernel.Kernel], kind: str
) -> None:
    built = module.build(kernel_named(kind), toolchain.root() / "build/spec")
    assert f"vermagic={kernel_named(kind).release} ".encode() in built.read_bytes()


def test_a_kernel_that_is_none_is_refused_with_those_that_are() -> None:
    with pytest.raises(InputError) as wrong:
        kernel.ensure("7")
    assert str(wrong.value) == "there is no kernel '7': stock, 6.1, backports, hmm or debug"


@pytest.mark.parametrize("kind", ["stock", "backports"])
def test_sparse_finds_nothing(kernel_named: Callable[[str], kernel.Kernel], kind: str) -> None:
    module.check(kernel_named(kind), toolchain.root() / "build/spec")


def test_apt_keeps_what_it_has_read(stock: kernel.Kernel) -> None:
    suite = kernel.bookworm()
    kept = suite.place / "cache/pkgcache.bin"
    kept.unlink(missing_ok=True)
    assert suite.version("sparse")
    assert kept.is_file()


def test_sparse_is_heard(stock: kernel.Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = tmp_path / "frames.c"
    source = toolchain.root() / "driver/frames.c"
    wrong.write_text(source.read_text() + "int godwit_not_declared;\n")
    files = {**module.sources(toolchain.root() / "build/spec"), "frames.c": wrong}
    monkeypatch.setattr(module, "sources", lambda _: files)
    with pytest.raises(SetupError) as failed:
        module.check(stock, toolchain.root() / "build/spec")
    assert "godwit_not_declared" in failed.value.found
