# SPDX-License-Identifier: Apache-2.0
"""Packages from Debian's archive, unpacked into the cache: nothing is installed, and root is not needed.

The archive is the one that this machine's apt already uses, and so are its keys. A suite has an apt configuration of its own,
so that the machine's is not touched. Versions are never pinned, for the archive drops old ones.
"""

from __future__ import annotations

import fcntl
import hashlib
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from godwit import toolchain
from godwit.errors import SetupError

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_FRESH_S = 24 * 3600
"""Lists of packages are fetched again after this time."""


def cache() -> Path:
    """Where everything of virtual machines is kept."""
    return toolchain.cache_dir() / "vm"


@contextmanager
def locked(place: Path) -> Iterator[None]:
    """Nobody else makes `place` meanwhile."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.with_name(place.name + ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def missing() -> str:
    """What this machine lacks for `Suite`; empty when nothing."""
    for program in ("apt-get", "apt-cache", "dpkg-deb"):
        if not shutil.which(program):
            return f"no {program}: not a Debian system"
    return "" if KEYRING.is_file() else f"no {KEYRING}: the keys of Debian's archive"


def run(
    command: Sequence[str | Path], what: str, *, cwd: Path | None = None, env: dict[str, str] | None = None
) -> str:
    """Output of a command; the end of what it says is in the error."""
    try:
        done = subprocess.run(
            list(map(str, command)), cwd=cwd, env=env, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise SetupError(f"{what}: {command[0]} cannot be started", found=str(error)) from None
    if done.returncode:
        tail = "\n".join((done.stdout + done.stderr).strip().splitlines()[-12:])
        raise SetupError(f"{what} failed", found=tail, hint=f"run it by hand: {' '.join(map(str, command))}")
    return done.stdout


class Suite:
    """Packages of Debian releases, such as `bookworm` and `bookworm-security`, latest first."""

    def __init__(self, *suites: str) -> None:
        self.suites = suites
        self.place = cache() / f"apt-{suites[0]}"

    def _options(self) -> list[str]:
        folders = {
            "Dir::State": "state",
            "Dir::State::status": "status",
            "Dir::Cache": "cache",
            # What containers turn off: without it every question reads all lists anew, seconds each.
            "Dir::Cache::pkgcache": "cache/pkgcache.bin",
            "Dir::Cache::srcpkgcache": "cache/srcpkgcache.bin",
            "Dir::Etc::sourcelist": "sources.list",
            "Dir::Etc::sourceparts": "nothing",
            "Dir::Etc::preferences": "nothing/none",
            "Dir::Etc::preferencesparts": "nothing",
        }
        settings = {name: str(self.place / folder) for name, folder in folders.items()}
        settings |= {
            "APT::Install-Recommends": "0",
            "Acquire::Languages": "none",
            "APT::Sandbox::User": "root",
        }
        # Neither contents nor metadata of programs are looked at.
        settings |= {"Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false"}
        return [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]

    def update(self) -> None:
        """Fetches the lists of packages, once a day."""
        if problem := missing():
            raise SetupError(
                "packages of Debian's archive are needed",
                found=problem,
                hint="use a Debian system or container",
            )
        stamp = self.place / "updated"
        with locked(self.place):
            text = "".join(
                f"deb [signed-by={KEYRING}] {_archive(suite)} {suite} main\n" for suite in self.suites
            )
            sources = self.place / "sources.list"
            if stamp.is_file() and sources.read_text() == text and _age_s(stamp) < _FRESH_S:
                return
            for folder in ("state/lists/partial", "cache/archives/partial", "nothing"):
                (self.place / folder).mkdir(parents=True, exist_ok=True)
            (self.place / "status").touch()
            sources.write_text(text)
            run(
                ["apt-get", *self._options(), "-q", "update"],
                f"fetching the lists of {', '.join(self.suites)}",
            )
            stamp.touch()

    def version(self, package: str) -> str:
        """The version that would be fetched: of the last suite that has it."""
        self.update()
        found = run(["apt-cache", *self._options(), "madison", package], f"looking for {package}")
        rows = [[field.strip() for field in line.split("|")] for line in found.splitlines()]
        for suite in reversed(self.suites):
            for row in rows:
                if len(row) == 3 and f" {suite}/main " in f" {row[2]} ":
                    return row[1]
        raise SetupError(f"{' and '.join(self.suites)} have no package {package}")

    def dependency(self, package: str, prefix: str) -> str:
        """The first package that `package` depends on whose name begins like this."""
        self.update()
        shown = run(
            ["apt-cache", *self._options(), "show", f"{package}={self.version(package)}"],
            f"looking at {package}",
        )
        for line in shown.splitlines():
            if line.startswith("Depends:"):
                names = (word.split()[0].split(":")[0] for word in line.removeprefix("Depends:").split(","))
                for name in names:
                    if name.startswith(prefix):
                        return name
        raise SetupError(f"{package} depends on no {prefix}")

    def unpacked(self, *packages: str, dependencies: bool = False) -> Path:
        """A folder with the files of these packages; with all that they depend on, or only themselves."""
        versions = [f"{package}={self.version(package)}" for package in packages]
        name = hashlib.sha256(" ".join(versions).encode()).hexdigest()[:12]
        root = cache() / f"{packages[0]}-{name}"
        if (root / "complete").is_file():
            return root
        with locked(root):
            if (root / "complete").is_file():
                return root
            shutil.rmtree(root, ignore_errors=True)
            debs = root / "debs"
            (debs / "partial").mkdir(parents=True)
            self._fetch(versions, debs, dependencies)
            for deb in sorted(debs.glob("*.deb")):
                run(["dpkg-deb", "-x", deb, root], f"unpacking {deb.name}")
            shutil.rmtree(debs)
            (root / "complete").touch()
        return root

    def _fetch(self, versions: list[str], debs: Path, dependencies: bool) -> None:
        what = f"fetching {', '.join(versions)}"
        if not dependencies:
            run(["apt-get", *self._options(), "-q", "download", *versions], what, cwd=debs)
            return
        into = ["-o", f"Dir::Cache::archives={debs}"]
        latest = ["-t", self.suites[-1]]
        install = ["-q", "-y", "--download-only", "install", *versions]
        run(["apt-get", *self._options(), *into, *latest, *install], what)


_RELEASES = {"bullseye", "bookworm", "trixie", "forky", "stable", "testing", "sid", "unstable"}


def _archive(suite: str) -> str:
    """Where this machine's apt has Debian's archive from, whether or not it has ever fetched its lists."""
    security = suite.endswith("-security")
    addresses = run(["apt-get", "--print-uris", "update"], "looking for Debian's archive")
    for address, release in re.findall(r"^'(\S+)/dists/(\S+?)/InRelease'", addresses, re.MULTILINE):
        if release.removesuffix("-security") in _RELEASES and release.endswith("-security") == security:
            return str(address)
    kind = "security archive" if security else "archive"
    raise SetupError(f"apt on this machine knows no Debian {kind}", hint="name one in /etc/apt/sources.list")


def _age_s(stamp: Path) -> float:
    return time.time() - stamp.stat().st_mtime
