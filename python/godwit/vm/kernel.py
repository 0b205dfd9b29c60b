# SPDX-License-Identifier: Apache-2.0
"""A kernel image, and what modules for it are built with.

`stock` and `6.1` are Debian 12's own kernels: nothing to build, but they have no device-private memory (CONFIG_DEVICE_PRIVATE), so
pages of a process cannot move to the card. `backports`, the newest that Debian has for its next release, has it, and `hmm`, which is
built from Debian's source with `driver/kernel/hmm.config`. `debug` is `hmm` with the checks of `driver/kernel/debug.config`: memory,
locks, DMA mappings and leaks, and allocations that fail when a test wants it.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from godwit import toolchain
from godwit.errors import InputError, SetupError
from godwit.vm import debian

RELEASE = "6.12"
_BUILD_TOOLS = ("flex", "bison", "m4", "libfl2", "libsigsegv2", "libelf-dev", "libelf1")

Step = Callable[[str], None]
"""Told what is being done."""


@dataclass(frozen=True)
class Kernel:
    """A kernel to boot."""

    image: Path
    """What QEMU boots."""
    build: Path
    """Folder for `make -C`, when modules are built."""
    release: str
    """What `uname -r` says."""
    options: tuple[str, ...] = ()
    """Further words for that `make`."""
    memory_mib: int = 0
    """What a guest needs of memory at least."""
    slower: int = 1
    """What a guest may take of time, by that of others."""


def bookworm() -> debian.Suite:
    """Where kernels of the release are, and what they are built with."""
    return debian.Suite("bookworm", "bookworm-security")


def trixie() -> debian.Suite:
    """The release after that, with its backports: newer kernels and QEMU."""
    return debian.Suite("trixie", "trixie-backports")


@dataclass(frozen=True)
class _Debian:
    """A kernel of Debian's archive."""

    suite: Callable[[], debian.Suite]
    package: str
    """The package that depends on the newest image."""
    place: str
    """How the folder in the cache begins."""
    options: tuple[str, ...] = ()


_DEBIAN = {
    "stock": _Debian(bookworm, f"linux-image-{RELEASE}-amd64", f"linux-image-{RELEASE}"),
    "6.1": _Debian(bookworm, "linux-image-amd64", "linux-image-6.1."),
    # Made with a newer compiler than this release's, which lacks one of its options.
    "backports": _Debian(
        trixie, "linux-image-amd64", "linux-binary-", ("CC=gcc-12", "CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT=")
    ),
}
BUILT = {"hmm": ("hmm",), "debug": ("hmm", "debug")}
"""Kernels that are built, and the fragments in driver/kernel that their configuration is made of."""
KINDS = (*_DEBIAN, *BUILT)


def ensure(kind: str, step: Step = lambda _: None) -> Kernel:
    """The kernel of this kind, fetched or built if it is not there yet."""
    if kind in _DEBIAN:
        return _fetched(_DEBIAN[kind], step)
    if kind in BUILT:
        return _built(kind, step)
    raise InputError(f"there is no kernel '{kind}': {', '.join(KINDS[:-1])} or {KINDS[-1]}")


def is_there(kind: str) -> bool:
    """Whether that needs nothing to be fetched or built."""
    place = _DEBIAN[kind].place if kind in _DEBIAN else f"kernel-{kind}-"
    return any(debian.cache().glob(f"{place}*/complete"))


def _fetched(kernel: _Debian, step: Step) -> Kernel:
    suite = kernel.suite()
    step("Debian's kernel: looking for it")
    image = suite.dependency(kernel.package, "linux-image-")
    release = image.removeprefix("linux-image-")
    headers = f"linux-headers-{release}"
    common = suite.dependency(headers, "linux-headers-")
    step(f"Debian's kernel: {release}")
    # Newer ones have the image in a package of its own.
    contents = image if kernel.place.startswith("linux-image") else suite.dependency(image, kernel.place)
    root = suite.unpacked(contents, headers, common, suite.dependency(headers, "linux-kbuild-"))
    build = root / "usr/src" / headers
    makefile = build / "Makefile"
    said = makefile.read_text()
    if (here := placed(said, root)) != said:
        makefile.write_text(here)
    if suite.suites != bookworm().suites:
        _run_here(build, suite)
    images = (root / f"boot/vmlinuz-{release}", root / f"usr/lib/modules/{release}/vmlinuz")
    return Kernel(next(filter(Path.is_file, images)), build, release, kernel.options)


def placed(makefile: str, root: Path) -> str:
    """The Makefile of a package of headers, whose files are below `root`: it names the place where it would be installed, or
    where the cache was before somebody moved or copied it."""
    return re.sub(r"[^\s=]*/usr/src/", lambda _: f"{root}/usr/src/", makefile)


_TOOLS = ("tools/objtool/objtool.real-x86", "scripts/mod/modpost.real-lsb-64")


def _run_here(build: Path, suite: debian.Suite) -> None:
    """Has programs of a newer release, which modules are built with, run with its libraries."""
    libraries = suite.unpacked("libc6", "libelf1t64", "zlib1g", "libzstd1") / "usr/lib/x86_64-linux-gnu"
    start = f"{libraries}/ld-linux-x86-64.so.2 --library-path {libraries}"
    for name in _TOOLS:
        tool = build / name
        own = tool.with_name(tool.name + ".own")
        starter = f'#!/bin/sh\nexec {start} {own} "$@"\n'
        with debian.locked(own):
            found = tool.read_bytes()
            if found.startswith(b"\x7fELF"):
                shutil.copy2(tool, own)
            # That of a cache that was moved starts what is no longer there.
            if found != starter.encode():
                fresh = tool.with_name(tool.name + ".new")
                fresh.write_text(starter)
                fresh.chmod(0o755)
                fresh.rename(tool)


def _built(kind: str, step: Step) -> Kernel:
    suite = bookworm()
    source = f"linux-source-{RELEASE}"
    version = suite.version(source)
    fragments = [toolchain.root() / f"driver/kernel/{name}.config" for name in BUILT[kind]]
    digest = hashlib.sha256(b"".join(map(Path.read_bytes, fragments)) + version.encode()).hexdigest()[:12]
    place = debian.cache() / f"kernel-{kind}-{digest}"
    build = place / "build"
    with debian.locked(place):
        if not (place / "complete").is_file():
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
            step(f"Linux {version}: source")
            packed = suite.unpacked(source) / f"usr/src/{source}.tar.xz"
            tree = place / "source"
            tree.mkdir()
            debian.run(["tar", "-C", tree, "--strip-components=1", "-xf", packed], "unpacking the kernel")
            _make(suite, tree, build, fragments, lambda what: step(f"Linux {version}: {what}"))
            (place / "complete").touch()
    release = (build / "include/config/kernel.release").read_text().strip()
    # `allnoconfig` begins with 32 bits, whose limit of a function's stack stays: this is that of 64.
    built = Kernel(build / "arch/x86/boot/bzImage", build, release, ("CONFIG_FRAME_WARN=2048",))
    # KASAN has an eighth of memory and keeps what was freed, and each access and each lock is looked at.
    return replace(built, memory_mib=1024, slower=6) if kind == "debug" else built


def _make(suite: debian.Suite, tree: Path, build: Path, fragments: list[Path], step: Step) -> None:
    tools = suite.unpacked(*_BUILD_TOOLS) / "usr"
    libraries = tools / "lib/x86_64-linux-gnu"
    env = {
        **os.environ,
        "PATH": f"{tools / 'bin'}:{os.environ['PATH']}",
        "LD_LIBRARY_PATH": str(libraries),
        "BISON_PKGDATADIR": str(tools / "share/bison"),
        "M4": str(tools / "bin/m4"),
        "HOSTCFLAGS": f"-I{tools / 'include'}",
        "HOSTLDFLAGS": f"-L{libraries}",
        "KBUILD_BUILD_TIMESTAMP": "1970-01-01",
    }
    build.mkdir()
    make = ["nice", "make", f"O={build}", f"-j{toolchain.jobs()}"]
    elf = [f"LIBELF_FLAGS=-I{tools / 'include'}", f"LIBELF_LIBS=-L{libraries} -lelf"]

    def run(what: str, *command: str | Path) -> None:
        step(what)
        debian.run(command, f"building the kernel ({what})", cwd=tree, env=env)

    run("configuration", *make, "allnoconfig")
    config = build / ".config"
    run("configuration", "scripts/kconfig/merge_config.sh", "-O", build, "-m", config, *fragments)
    run("configuration", *make, "olddefconfig")
    require("\n".join(map(Path.read_text, fragments)), config.read_text())
    run("image, about 20 minutes of one processor", *make, *elf, "bzImage", "modules")


def require(wanted: str, got: str) -> None:
    """Fails if the configuration does not have what a fragment asks for: an option that depends on another is dropped silently."""
    lines = set(got.splitlines())
    asked = [line.split(" ")[0] for line in wanted.splitlines() if line.startswith("CONFIG_")]
    off = {line: f"# {line.removesuffix('=n')} is not set" for line in asked if line.endswith("=n")}
    refused = [
        line for line in asked if line not in lines and off.get(line) not in lines and not line.endswith("=n")
    ]
    refused += [
        line for line in off if line.replace("=n", "=y") in lines or line.replace("=n", "=m") in lines
    ]
    if refused:
        raise SetupError(
            "the kernel's configuration does not have all that the fragment asks for",
            found=", ".join(refused),
        )
