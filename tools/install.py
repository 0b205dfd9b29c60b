# SPDX-License-Identifier: Apache-2.0
"""Installs what C and C++ programs build against: `install.py PREFIX [DESTDIR]`, which `make install` calls.

Headers, static and shared libraries (SONAME ``NAME.so.MAJOR.MINOR``), pkg-config files and a CMake package, from the release
build that cargo keeps. No installed file names the place it was installed to: a tree can be moved.

A shared library is linked from the static one: it exports the functions of its header, and nothing else.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
ABI = ".".join(VERSION.split(".")[:2])
"""Before 1.0 a minor version may change the ABI."""

LIBRARIES = {
    "godwit": ("godwit", "Shared virtual memory for accelerators: contexts, buffers, launches"),
    "godwit-cmt": ("godwit_cmt", "Contiguous memory from scattered areas: cmt_malloc and cmt_free"),
}
"""Crate: library, description."""

SYSTEM = ("-lgcc_s", "-lpthread", "-ldl", "-lm", "-lc")
"""What a Rust library asks of the system."""

PC = """prefix=${{pcfiledir}}/../..
includedir=${{prefix}}/include/godwit
libdir=${{prefix}}/lib

Name: {name}
Description: {description}
Version: {version}
Cflags: -I${{includedir}}
Libs: -L${{libdir}} -l{library}
Libs.private: {system}
"""

CMAKE = """# SPDX-License-Identifier: Apache-2.0
# find_package(Godwit): targets Godwit::godwit and Godwit::cmt, and Godwit::godwit_static, Godwit::cmt_static.
get_filename_component(_godwit_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
foreach(_godwit_name IN ITEMS godwit cmt)
  if(_godwit_name STREQUAL "godwit")
    set(_godwit_library godwit)
  else()
    set(_godwit_library godwit_cmt)
  endif()
  if(NOT TARGET Godwit::${_godwit_name})
    add_library(Godwit::${_godwit_name} SHARED IMPORTED)
    set_target_properties(Godwit::${_godwit_name} PROPERTIES
      IMPORTED_LOCATION "${_godwit_prefix}/lib/lib${_godwit_library}.so.@VERSION@"
      IMPORTED_SONAME "lib${_godwit_library}.so.@ABI@"
      INTERFACE_INCLUDE_DIRECTORIES "${_godwit_prefix}/include/godwit")
    add_library(Godwit::${_godwit_name}_static STATIC IMPORTED)
    set_target_properties(Godwit::${_godwit_name}_static PROPERTIES
      IMPORTED_LOCATION "${_godwit_prefix}/lib/lib${_godwit_library}.a"
      INTERFACE_INCLUDE_DIRECTORIES "${_godwit_prefix}/include/godwit"
      INTERFACE_LINK_LIBRARIES "gcc_s;pthread;dl;m")
  endif()
endforeach()
unset(_godwit_prefix)
unset(_godwit_name)
unset(_godwit_library)
set(Godwit_FOUND TRUE)
"""

CMAKE_VERSION = """# SPDX-License-Identifier: Apache-2.0
set(PACKAGE_VERSION "@VERSION@")
if(PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
elseif("${PACKAGE_FIND_VERSION_MAJOR}.${PACKAGE_FIND_VERSION_MINOR}" STREQUAL "@ABI@" OR NOT PACKAGE_FIND_VERSION_MINOR)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
  if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
  endif()
else()
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
endif()
"""


def release() -> Path:
    """Where cargo puts release builds."""
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release"


def exported(crate: str, library: str) -> list[str]:
    """Functions that cargo's own shared library has and the crate's headers declare."""
    headers = "".join(path.read_text() for path in (ROOT / "crates" / crate / "include").iterdir())
    command = ["nm", "-D", "--defined-only", str(release() / f"lib{library}.so")]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    names = {line.split()[-1] for line in listed.splitlines()}
    return sorted(name for name in names if re.search(rf"\b{re.escape(name)}\(", headers))


def shared(library: str, names: list[str], lib: Path) -> None:
    """Links ``libNAME.so.VERSION`` and its two links."""
    whole, soname = lib / f"lib{library}.so.{VERSION}", f"lib{library}.so.{ABI}"
    script = lib / f".{library}.map"
    script.write_text(f"{{ global: {'; '.join(names)}; local: *; }};\n")
    command = [os.environ.get("CC", "cc"), "-shared", "-o", str(whole), f"-Wl,-soname,{soname}"]
    command += [f"-Wl,--version-script={script}", "-Wl,--gc-sections", "-Wl,-O1", "-Wl,-z,relro,-z,now"]
    archive = str(release() / f"lib{library}.a")
    command += [f"-Wl,-u,{name}" for name in names]
    subprocess.run([*command, archive, "-Wl,--strip-debug", *SYSTEM], check=True)
    script.unlink()
    for name in (soname, f"lib{library}.so"):
        link = lib / name
        link.unlink(missing_ok=True)
        link.symlink_to(whole.name)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.replace("@VERSION@", VERSION).replace("@ABI@", ABI))


def install(root: Path) -> None:
    """Everything below `root`."""
    lib, include = root / "lib", root / "include" / "godwit"
    for folder in (lib, include):
        folder.mkdir(parents=True, exist_ok=True)
    for crate, (library, description) in LIBRARIES.items():
        for header in sorted((ROOT / "crates" / crate / "include").iterdir()):
            shutil.copy(header, include / header.name)
        archive = lib / f"lib{library}.a"
        subprocess.run(["strip", "-g", "-o", str(archive), str(release() / archive.name)], check=True)
        shared(library, exported(crate, library), lib)
        system = " ".join(SYSTEM)
        pc = PC.format(name=crate, description=description, version=VERSION, library=library, system=system)
        write(lib / "pkgconfig" / f"{crate}.pc", pc)
    shutil.copy(release() / "libgodwit_cmt_preload.so", lib)
    write(lib / "cmake" / "Godwit" / "GodwitConfig.cmake", CMAKE)
    write(lib / "cmake" / "Godwit" / "GodwitConfigVersion.cmake", CMAKE_VERSION)
    examples = root / "share" / "godwit" / "examples"
    examples.mkdir(parents=True, exist_ok=True)
    for source in (*(ROOT / "examples" / "c").glob("*.c"), *(ROOT / "examples" / "cpp").glob("*.cpp")):
        shutil.copy(source, examples)


def main(argv: list[str]) -> int:
    if len(argv) not in (1, 2) or not argv[0]:
        print("usage: install.py PREFIX [DESTDIR]", file=sys.stderr)
        return 2
    prefix, stage = Path(argv[0]), argv[1] if len(argv) == 2 else ""
    if stage and not prefix.is_absolute():
        print(
            f"install: PREFIX `{prefix}`: below DESTDIR it must be absolute, such as /usr/local",
            file=sys.stderr,
        )
        return 2
    root = Path(f"{stage}{prefix}").absolute()
    crates = [f"-p{name}" for name in (*LIBRARIES, "godwit-cmt-preload")]
    try:
        subprocess.run(["cargo", "build", "--release", "--locked", *crates], cwd=ROOT, check=True)
        install(root)
    except subprocess.CalledProcessError as error:
        print(f"install: `{error.cmd[0]}` failed, see above", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"install: {root} cannot be written: {error}", file=sys.stderr)
        return 1
    print(f"installed in {root}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
