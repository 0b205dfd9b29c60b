# SPDX-License-Identifier: Apache-2.0
"""The IP's manifests: what they list is what is there; FuseSoC lints and simulates it away from the checkout, Bender's list
of files lints there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from godwit import toolchain
from godwit.spec import config, generate

ROOT = toolchain.root()
sys.path.insert(0, str(ROOT / "tools"))
import manifests  # noqa: E402

BENDER = "0.32.1"


@pytest.mark.parametrize("name", manifests.MANIFESTS)
def test_a_manifest_is_what_the_tool_writes(name):
    assert (ROOT / name).read_text() == manifests.MANIFESTS[name](), (
        "python tools/manifests.py writes it anew"
    )


def test_both_manifests_list_every_file_once():
    tree = {path.relative_to(ROOT).as_posix() for path in (ROOT / "hw/rtl").rglob("*.sv*")}
    core = yaml.safe_load((ROOT / "godwit.core").read_text().removeprefix("CAPI=2:"))
    listed = [
        next(iter(item)) if isinstance(item, dict) else item for item in core["filesets"]["rtl"]["files"]
    ]
    assert sorted(name for name in listed if name.startswith("hw/rtl")) == sorted(tree)
    bender = yaml.safe_load((ROOT / "Bender.yml").read_text())["sources"][0]["files"]
    # Bender finds headers by their folder.
    assert sorted(name for name in bender if name.startswith("hw/rtl")) == sorted(
        name for name in tree if name.endswith(".sv")
    )
    assert all((ROOT / name).is_file() for name in (*listed, *bender) if not name.startswith("build/"))


def test_what_is_generated_is_listed(tmp_path):
    generate.generate_rtl(tmp_path, config.load("tiny"))
    written = sorted(path.name for path in (tmp_path / "sv").iterdir())
    assert written == sorted((*generate.RTL_PACKAGES, *generate.RTL_MODULES))


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    """What somebody has who takes the IP: manifests, RTL, spec and their generator."""
    place = tmp_path_factory.mktemp("project")
    for name in ("hw/rtl", "hw/ip", "spec", "python/godwit"):
        shutil.copytree(ROOT / name, place / "ip" / name)
    for name in manifests.MANIFESTS:
        shutil.copy(ROOT / name, place / "ip")
    return place


@pytest.mark.parametrize("target", ["lint", "smoke"])
def test_fusesoc_runs(project, target):
    environment = toolchain.env()
    environment["PATH"] = f"{Path(sys.prefix) / 'bin'}:{environment['PATH']}"
    environment["XDG_CACHE_HOME"] = str(project)
    environment["CCACHE_DIR"] = os.environ.get("CCACHE_DIR", str(Path.home() / ".cache" / "ccache"))
    done = subprocess.run(
        ["fusesoc", "--cores-root", "ip", "run", f"--target={target}", "godwit:ip:mmu"],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    if target == "smoke":
        assert "gw_mmu_smoke: PASSED" in done.stdout + done.stderr


@pytest.fixture(scope="module")
def bender() -> Path:
    """Bender, compiled once a machine; without its SystemVerilog parser, which a list of files does not need."""
    place = toolchain.cache_dir() / "tools" / f"bender-{BENDER}"
    program = place / "bin" / "bender"
    if not program.is_file():
        what = ["bender", "--version", BENDER, "--locked", "--no-default-features", "--debug"]
        done = subprocess.run(
            ["cargo", "install", *what, "--root", str(place)], capture_output=True, text=True, cwd=ROOT
        )
        if done.returncode != 0:
            pytest.skip(f"Bender {BENDER} cannot be had: {done.stderr.strip().splitlines()[-1]}")
    return program


def test_bender_lists_what_verilator_lints_without_a_warning(project, bender, tmp_path):
    """As somebody has it whose own package depends on this one."""
    generate.generate_rtl(project / "ip" / "build" / "spec", config.load("default"))
    (tmp_path / "Bender.yml").write_text(
        "package:\n  name: project\n"
        f"dependencies:\n  godwit: {{ path: {project / 'ip'} }}\n"
        "sources:\n  - own.sv\n"
    )
    (tmp_path / "own.sv").write_text("module own; endmodule\n")

    def run(*command: str | Path) -> str:
        done = subprocess.run(
            list(map(str, command)), cwd=tmp_path, env=toolchain.env(), capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    listed = run(bender, "script", "verilator")
    files = [Path(line) for line in listed.splitlines() if line.startswith("/")]
    made = {*generate.RTL_PACKAGES, *generate.RTL_MODULES}
    assert {file.name for file in files} == {
        "own.sv",
        "gw_mmu_configured.sv",
        *made,
        *(file.name for file in (ROOT / "hw/rtl").rglob("*.sv")),
    }
    assert all(file.is_file() for file in files)
    (tmp_path / "files.f").write_text(listed)
    lint = [toolchain.verilator(), "--lint-only", "-Wall", "--no-timing", "--top-module", "gw_mmu_configured"]
    run(*lint, project / "ip" / "hw/rtl/lint.vlt", "-f", "files.f")
