# SPDX-License-Identifier: Apache-2.0
"""The wheel in an environment of its own, in a folder away from the checkout: what it has, and that it works there; the sdist and the crates."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from godwit import toolchain

ROOT = toolchain.root()
SMALLEST = (
    *(
        "translator.l1_entries=1",
        "translator.miss_entries=2",
        "translator.outstanding=2",
        "walker.requests=2",
    ),
    *("walker.lines=2", "l2.sets=0", "range.entries=0", "card.assertions=false", "card.external_ports=1"),
)
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Made from what is compiled already."""
    out = tmp_path_factory.mktemp("dist")
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "package.py", "wheel", out], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    (found,) = out.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Run:
    """Runs programs of an environment that has the wheel and what it asks for, and nothing of the checkout."""
    sys.path.insert(0, str(ROOT / "tools"))
    from setup import uv_environment

    home = tmp_path_factory.mktemp("elsewhere") / "folder"
    home.mkdir()
    settings = uv_environment([sys.executable, "-m", "pip"])
    uv = str(Path(sys.prefix) / "bin" / "uv")
    python = home / "venv" / "bin" / "python"
    # The versions that the set-up has fetched.
    wanted = ["--constraint", str(ROOT / "requirements" / "demo.txt"), str(wheel)]
    for command in (
        [uv, "venv", "--quiet", "--python", sys.executable, str(home / "venv")],
        [uv, "pip", "install", "--quiet", "--python", str(python), *wanted],
    ):
        done = subprocess.run(command, env=settings, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    dropped = ("GODWIT_ROOT", "PYTHONPATH", "VIRTUAL_ENV")
    environment = {name: value for name, value in os.environ.items() if name not in dropped}

    def run(program: str, *args: str | Path) -> subprocess.CompletedProcess[str]:
        command = [str(home / "venv" / "bin" / program), *map(str, args)]
        done = subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr + done.stdout
        return done

    return run


def test_a_wheel_has_what_its_commands_read(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        record = archive.read(next(name for name in names if name.endswith("RECORD"))).decode()
    has = {name.removeprefix("godwit/_tree/") for name in names if name.startswith("godwit/_tree/")}
    tracked = subprocess.run(
        ["git", "ls-files", "spec", "hw/rtl", "kernels", "card", "bench", "docs"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if tracked.returncode == 0:  # not in an unpacked sdist
        wanted = {name for name in tracked.stdout.splitlines() if "/test/" not in name}
        assert wanted <= has
    assert "spec/layout.toml" in has
    assert not any("/test/" in name or "__pycache__" in name for name in has)
    assert {line.split(",")[0] for line in record.splitlines()} == names


def test_a_run_in_another_folder_uses_the_tree_of_the_package(installed):
    where = installed("python", "-c", "from godwit import toolchain as t; print(t.root(), t.is_checkout())")
    assert where.stdout.split() == [*str(_tree_in(where)).split(), "False"]
    report = json.loads(installed("godwit", "run", "memcopy", "--bytes", "64KiB", "--json").stdout)
    assert report["passed"]
    # The same card as in the checkout: what it is made from is compared by content.
    from godwit.card import plan

    assert report["card"]["hash"] == plan.plan("default").hash


def _tree_in(where: subprocess.CompletedProcess[str]) -> Path:
    root = where.stdout.rsplit(maxsplit=1)[0]
    assert root.endswith("site-packages/godwit/_tree")
    assert not Path(root).is_relative_to(ROOT)
    return Path(root)


def test_a_card_with_a_kernel_of_the_user_is_built_from_the_package(installed, tmp_path):
    for suffix in ("sv", "toml"):
        source = ROOT / "examples" / "kernel" / f"scale_add.{suffix}"
        (tmp_path / f"mine.{suffix}").write_text(source.read_text().replace("scale_add", "mine"))
    changes = [word for change in SMALLEST for word in ("--set", change)]
    kernel = ["--kernel", tmp_path / "mine.sv"]
    built = json.loads(installed("godwit", "card", "build", "tiny", *changes, *kernel, "--json").stdout)
    described = json.loads(installed("godwit", "card", "info", built["hash"], "--json").stdout)
    assert [item["name"] for item in described["kernels"]] == ["mine"]


def test_a_suite_of_the_package_measures(installed):
    rows = json.loads(installed("godwit", "bench", "translate", "--quick", "--json").stdout)
    found = {row["row"]: row["value"] for row in rows if row["unit"] == "cycles"}
    assert 0 < found["L1 hit"] < found["L2 hit"]
    assert {row["kind"] for row in rows} <= {"simulated", "yosys", "nextpnr"}


def test_the_suites_of_the_package_load(installed):
    program = """
from godwit.cli import bench
from godwit import toolchain
suites = bench._suites(toolchain.root() / "bench" / "suites")
print(sorted(name for name, path in suites.items() if bench._load(name, path).run))
"""
    assert installed("python", "-c", program).stdout.strip() == str(
        sorted(installed("godwit", "bench", "--list").stdout.split())
    )


def test_the_sdist_makes_the_same_wheel(wheel, tmp_path):
    """Unpacked elsewhere, it builds without the checkout; `pip install` of it comes through the same hooks."""
    tool = str(ROOT / "tools" / "package.py")
    done = subprocess.run([sys.executable, tool, "sdist", tmp_path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (packed,) = tmp_path.glob("*.tar.gz")
    # Python 3.11 as Debian 12 has it knows no filters of tarfile.
    shutil.unpack_archive(packed, tmp_path)
    folder = tmp_path / packed.name.removesuffix(".tar.gz")
    environment = {
        name: value for name, value in os.environ.items() if name not in ("GODWIT_ROOT", "PYTHONPATH")
    }
    if kept := environment.get("CARGO_BUILD_BUILD_DIR"):
        # Its crates have the names of the checkout's, and would take their places there while others link them.
        environment["CARGO_BUILD_BUILD_DIR"] = f"{kept}-of-sdist"
        # Files of an sdist all bear one old date, so cargo would take crates of an earlier sdist for these.
        subprocess.run(
            ["cargo", "clean", "--quiet", "--release", "--workspace"], cwd=folder, env=environment, check=True
        )
    done = subprocess.run(
        [sys.executable, folder / "tools" / "package.py", "wheel", tmp_path / "dist"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    (again,) = (tmp_path / "dist").glob("*.whl")
    assert again.name == wheel.name
    with zipfile.ZipFile(wheel) as first, zipfile.ZipFile(again) as second:
        assert set(first.namelist()) == set(second.namelist())
        differing = [
            name
            for name in first.namelist()
            if name.startswith("godwit/_tree/") and first.read(name) != second.read(name)
        ]
    assert not differing


def cargo_home_of_its_own(folder: Path) -> Path:
    """Cargo keeps what it unpacked by name and version, packages made here too: the next ones would be compiled with these."""
    usual = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    for config in usual.glob("config*"):
        (folder / config.name).symlink_to(config)
    for kind in ("index", "cache", "src"):
        (folder / "registry" / kind).mkdir(parents=True)
        for registry in (usual / "registry" / kind).glob("[!-]*"):
            (folder / "registry" / kind / registry.name).symlink_to(registry)
    return folder


def test_the_public_crates_can_be_packaged(tmp_path):
    """Each is unpacked and compiled from its package alone, with the packages of the others."""
    crates = ("godwit-core", "godwit-card", "godwit-cmt", "godwit", "godwit-cmt-preload")
    wanted = [word for crate in crates for word in ("-p", crate)]
    target, home = tmp_path / "target", tmp_path / "cargo"
    home.mkdir()
    command = ["cargo", "package", "--locked", "--allow-dirty", "--target-dir", str(target), *wanted]
    own = {"CARGO_HOME": str(cargo_home_of_its_own(home)), "CARGO_BUILD_BUILD_DIR": str(target)}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, **own})
    assert done.returncode == 0, done.stderr
    assert {path.name.rpartition("-")[0] for path in (target / "package").glob("*.crate")} == set(crates)
