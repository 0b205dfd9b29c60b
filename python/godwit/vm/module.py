# SPDX-License-Identifier: Apache-2.0
"""godwit.ko for a kernel, and programs for the guest: built beside the checkout, never in it."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from godwit import toolchain
from godwit.errors import InputError, SetupError
from godwit.vm import debian
from godwit.vm.kernel import Kernel, bookworm

_DRIVER = ("*.c", "*.h", "Kbuild", "shim/*.h", "uapi/*.h")
_CORE = ("src/*.c", "src/*.h", "include/godwit/*.h")
_SPEC = ("c/godwit_layout.h", "c/godwit_regs.h", "c/godwit_heap_regs.h", "c/godwit_dma_regs.h")
_RUNTIME = re.compile(r'^\s*#\s*include\s*["<]godwit\.h(pp)?[">]', re.MULTILINE)
"""What says that a program uses the runtime."""
_POOL = re.compile(r'^\s*#\s*include\s*["<]cmt\.h(pp)?[">]', re.MULTILINE)
"""What says that it uses contiguous memory's library."""
_COMPILERS = {
    ".c": ("gcc", "-std=gnu11"),
    **dict.fromkeys((".cpp", ".cc", ".cxx"), ("g++", "-std=c++20")),
}
"""What builds a source, by its suffix."""
_RUNTIME_NEEDS = ("-ldl", "-lm", "-lgcc_eh", "-Wl,--gc-sections", "-s")
"""Libraries that these are linked with, static ones. What is not needed of them stays away, for a guest that stays gets programs over a
serial line.
"""


def sources(spec: Path) -> dict[str, Path]:
    """All files of the module, by their place in the folder it is built in: driver/, core/ and the headers generated into `spec`."""
    root = toolchain.root()
    groups = ((root / "driver", "", _DRIVER), (root / "core", "core/", _CORE), (spec, "spec/", _SPEC))
    found = {}
    for folder, inside, patterns in groups:
        for path in _files(folder, patterns):
            found[inside + str(path.relative_to(folder))] = path
    return found


def build(kernel: Kernel, spec: Path) -> Path:
    """The module for a kernel; from the cache when nothing of it has changed."""
    files = sources(spec)
    place = _place("module", [kernel.release, str(kernel.build)], files)
    with debian.locked(place):
        if not (place / "godwit.ko").is_file():
            shutil.rmtree(place, ignore_errors=True)
            _make(kernel, files, place)
    return place / "godwit.ko"


def beside(kernel: Kernel, folder: Path) -> Path:
    """Another module, all of it in a folder: one that the tests need."""
    files = {path.name: path for path in _files(folder, ("Kbuild", "*.c", "*.h"))}
    place = _place("beside", [kernel.release, str(kernel.build)], files)
    with debian.locked(place):
        if not any(place.glob("*.ko")):
            shutil.rmtree(place, ignore_errors=True)
            _make(kernel, files, place)
    return next(place.glob("*.ko"))


def check(kernel: Kernel, spec: Path) -> None:
    """Fails on what sparse, the kernel's own checker of address spaces, locks and byte orders, finds in the module."""
    sparse = bookworm().unpacked("sparse") / "usr/bin/sparse"
    with tempfile.TemporaryDirectory() as folder:
        _make(kernel, sources(spec), Path(folder), "C=2", f"CHECK={sparse} -Wsparse-error")


def _make(kernel: Kernel, files: dict[str, Path], place: Path, *options: str) -> None:
    for name, path in files.items():
        target = place / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    # Without vmlinux there is no BTF to be made for a module.
    options = (
        f"M={place}",
        "CONFIG_DEBUG_INFO_BTF_MODULES=",
        f"-j{toolchain.jobs()}",
        "KCFLAGS=-Werror",
        *kernel.options,
        *options,
    )
    debian.run(["make", "-C", kernel.build, *options, "modules"], f"building a module for {kernel.release}")


def program(source: Path, headers: dict[str, str]) -> bytes:
    """A program of the guest: one file of C or C++, linked statically, with `headers` beside it; with the runtime, if it includes
    godwit.h, or with contiguous memory's library, if it includes cmt.h.
    """
    compiler = _COMPILERS.get(source.suffix)
    if not compiler:
        raise InputError(
            f"{source} is no program for a guest",
            hint=f"{', '.join(_COMPILERS)}: a source of one file; .py: a script; or a program that was built for this machine",
        )
    with tempfile.TemporaryDirectory() as folder:
        for name, text in headers.items():
            Path(folder, name).write_text(text)
        out = Path(folder, "program")
        flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-static", "-pthread", f"-I{folder}"]
        words: list[str | Path] = [*compiler, *flags, "-o", out, source]
        text = source.read_text(errors="replace")
        if _RUNTIME.search(text):
            words += [f"-I{toolchain.root() / 'crates/godwit/include'}", runtime(), *_RUNTIME_NEEDS]
        elif _POOL.search(text):
            words += [f"-I{toolchain.root() / 'crates/godwit-cmt/include'}", pool(), *_RUNTIME_NEEDS]
        debian.run(words, f"building {source.name} for the guest")
        return out.read_bytes()


def is_built(path: Path) -> bool:
    """Whether a program was built already: it is no source, and begins as such programs do."""
    if path.suffix in _COMPILERS:
        return False
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def libraries(built: Path) -> dict[str, Path]:
    """What a program that was built loads when it starts, by where it looks for it; nothing when it was linked statically."""
    with built.open("rb") as file:
        header = file.read(20)
    # 64 bits, and x86-64.
    if header[4:5] != b"\x02" or header[18:] != b"\x3e\x00":
        raise InputError(f"{built} is no program of this machine", hint="a guest runs programs for x86-64")
    done = subprocess.run(["ldd", built], capture_output=True, text=True, check=False)
    found = {}
    for line in done.stdout.splitlines():
        name, arrow, rest = line.strip().partition(" => ")
        place = (rest if arrow else name).split(" (")[0].strip()
        if place == "not found":
            raise InputError(
                f"{built} needs {name}, which is not here", hint="LD_LIBRARY_PATH says where it is"
            )
        if place.startswith("/"):
            found[place] = Path(place)
    return found


def has_rust(source: Path) -> bool:
    """Whether a program has one of our libraries in it, or may have."""
    if is_built(source):
        return True
    text = source.read_text(errors="replace")
    return bool(_RUNTIME.search(text) or _POOL.search(text))


def runtime() -> Path:
    """The static library of the runtime, built if its sources have changed."""
    return of_crates("the runtime", ["-p", "godwit", "--lib"], "libgodwit.a")


def pool() -> Path:
    """The static library of contiguous memory, built if its sources have changed."""
    return of_crates("contiguous memory's library", ["-p", "godwit-cmt", "--lib"], "libgodwit_cmt.a")


def of_crates(what: str, words: list[str], product: str) -> Path:
    """Something that cargo builds of this checkout, if its sources have changed; `words` say what."""
    root = toolchain.root()
    if not toolchain.is_checkout():
        raise SetupError(f"{what} is built from a checkout of Godwit", found=str(root))
    build = ["cargo", "build", "--release", "--locked", "--quiet", *words]
    debian.run(build, f"building {what}", cwd=root)
    return Path(os.environ.get("CARGO_TARGET_DIR", root / "target")) / "release" / product


def _files(folder: Path, patterns: Iterable[str]) -> list[Path]:
    return sorted(path for pattern in patterns for path in folder.glob(pattern))


def _place(what: str, words: list[str], files: dict[str, Path]) -> Path:
    digest = hashlib.sha256("\0".join(words).encode())
    for name, path in sorted(files.items()):
        digest.update(name.encode() + b"\0" + path.read_bytes())
    return debian.cache() / f"{what}-{digest.hexdigest()[:16]}"
