# SPDX-License-Identifier: Apache-2.0
"""What `make install` installs: programs in C and C++ build against it from any folder, by pkg-config and by CMake."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from godwit import toolchain

ROOT = toolchain.root()
PROJECT = """
cmake_minimum_required(VERSION 3.16)
project(outside LANGUAGES C CXX)
find_package(Godwit 0.1 REQUIRED)
add_executable(split "{examples}/split.cpp")
target_compile_features(split PRIVATE cxx_std_17)
target_link_libraries(split PRIVATE Godwit::godwit)
add_executable(vector_sum "{examples}/vector_sum.c")
target_link_libraries(vector_sum PRIVATE Godwit::godwit_static)
add_executable(contiguous contiguous.c)
target_link_libraries(contiguous PRIVATE Godwit::cmt)
"""
CONTIGUOUS = """
#include <cmt.h>
#include <stdio.h>

int main(void)
{
	if (cmt_init("size=64MiB") != 0)
		return puts(cmt_reason()), 1;
	void *block = cmt_malloc(100000);
	printf("%zu bytes\\n", cmt_usable_size(block));
	cmt_free(block);
	return cmt_check();
}
"""


def run(*command: str | Path, cwd: Path, **variables: str) -> str:
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """Installed below a DESTDIR and then moved: nothing in it may know where it was, and a space in a path means nothing."""
    place = tmp_path_factory.mktemp("install")
    run(sys.executable, ROOT / "tools" / "install.py", "/opt/god wit", place / "a stage", cwd=place)
    (place / "a stage" / "opt" / "god wit").rename(place / "moved here")
    return place / "moved here"


def test_make_passes_on_paths_with_spaces():
    words = ("make", "--no-print-directory", "--dry-run", "install", "PREFIX=/opt/god wit", "DESTDIR=a stage")
    last = run(*words, cwd=ROOT).splitlines()[-1]
    assert shlex.split(last)[-3:] == ["tools/install.py", "/opt/god wit", "a stage"]


def test_a_prefix_is_absolute_below_a_stage(tmp_path):
    tool = [sys.executable, str(ROOT / "tools" / "install.py")]
    done = subprocess.run([*tool, "opt", str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "PREFIX `opt`: below DESTDIR it must be absolute, such as /usr/local" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_programs_in_c_and_cpp_are_installed(installed):
    programs = {path.name for folder in ("c", "cpp") for path in (ROOT / "examples" / folder).iterdir()}
    assert {path.name for path in (installed / "share" / "godwit" / "examples").iterdir()} == programs


def test_the_shared_libraries_have_sonames_and_export_their_headers_only(installed):
    for library, prefix in (("godwit", "godwit_"), ("godwit_cmt", "cmt_")):
        link = installed / "lib" / f"lib{library}.so"
        said = run("objdump", "-p", link, cwd=installed)
        assert f"SONAME               lib{library}.so.0.1\n" in said
        assert (installed / "lib" / f"lib{library}.so.0.1").resolve() == link.resolve()
        symbols = run("nm", "-D", "--defined-only", link, cwd=installed).splitlines()
        names = {line.split()[2] for line in symbols}
        header = (
            installed / "include" / "godwit" / ("cmt.h" if prefix == "cmt_" else "godwit.h")
        ).read_text()
        assert names
        assert {name for name in names if f"{name}(" not in header} == set()


def test_an_example_builds_with_pkg_config(installed, tmp_path, library):
    packages = str(installed / "lib" / "pkgconfig")
    words = ("pkg-config", "--cflags", "--libs", "godwit")
    flags = shlex.split(run(*words, cwd=tmp_path, PKG_CONFIG_PATH=packages))
    source = installed / "share" / "godwit" / "examples" / "vector_sum.c"
    run("cc", "-std=c11", source, "-o", "sum", *flags, cwd=tmp_path)
    paths = {"LD_LIBRARY_PATH": str(installed / "lib")}
    assert "sum of 100000 values" in run("./sum", f"sim:{library}", cwd=tmp_path, **paths)
    version = run("pkg-config", "--modversion", "godwit-cmt", cwd=tmp_path, PKG_CONFIG_PATH=packages)
    assert version.strip() == "0.1.0"


def test_a_program_on_contiguous_memory_finds_its_header_and_asks_for_the_soname(installed, tmp_path):
    packages = str(installed / "lib" / "pkgconfig")
    words = ("pkg-config", "--cflags", "--libs", "godwit-cmt")
    flags = shlex.split(run(*words, cwd=tmp_path, PKG_CONFIG_PATH=packages))
    (tmp_path / "contiguous.c").write_text(CONTIGUOUS)
    run("cc", "-std=c11", "contiguous.c", "-o", "contiguous", *flags, cwd=tmp_path)
    assert "NEEDED               libgodwit_cmt.so.0.1\n" in run("objdump", "-p", "contiguous", cwd=tmp_path)
    assert "bytes" in run("./contiguous", cwd=tmp_path, LD_LIBRARY_PATH=str(installed / "lib"))


def test_a_program_gives_contiguous_memory_to_a_kernel_with_both_libraries(installed, tmp_path, library):
    packages = str(installed / "lib" / "pkgconfig")
    words = ("pkg-config", "--cflags", "--libs", "godwit", "godwit-cmt")
    flags = shlex.split(run(*words, cwd=tmp_path, PKG_CONFIG_PATH=packages))
    source = installed / "share" / "godwit" / "examples" / "contiguous.c"
    run("cc", "-std=c11", source, "-o", "shared", *flags, cwd=tmp_path)
    said = run("./shared", f"sim:{library}", cwd=tmp_path, LD_LIBRARY_PATH=str(installed / "lib"))
    assert ", 0 page-table walks" in said


def test_the_examples_build_with_cmake(installed, tmp_path, library):
    examples = installed / "share" / "godwit" / "examples"
    (tmp_path / "CMakeLists.txt").write_text(PROJECT.format(examples=examples))
    (tmp_path / "contiguous.c").write_text(CONTIGUOUS)
    run("cmake", "-B", "build", f"-DCMAKE_PREFIX_PATH={installed}", cwd=tmp_path)
    run("cmake", "--build", "build", cwd=tmp_path)
    assert "rows are greater" in run("build/split", f"sim:{library}", cwd=tmp_path)
    assert "sum of 100000 values" in run("build/vector_sum", f"sim:{library}", cwd=tmp_path)
    assert "bytes" in run("build/contiguous", cwd=tmp_path)
