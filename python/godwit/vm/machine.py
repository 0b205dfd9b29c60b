# SPDX-License-Identifier: Apache-2.0
"""A machine that runs: the card's server, QEMU, and what the guest says on its serial line."""

from __future__ import annotations

import contextlib
import functools
import json
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from godwit import toolchain
from godwit.errors import GodwitError, SetupError
from godwit.group import Group
from godwit.vm import debian, initramfs, module, monitor
from godwit.vm.kernel import Kernel, bookworm, trixie

QEMU_AT_LEAST = (10, 1)
"""The first QEMU with `vfio-user-pci`."""
_MESSAGE_TIMEOUT_MS = 600_000
"""A simulated card may take long for an answer; a card that does not answer is lost for good."""
_LAST_WORDS_S = 30.0
"""... and so may a machine that is asked where it hangs."""
_LAST_LINES = 60
"""Those of a Linux that was: what it found wrong, and two processors' calls."""
BEGIN = "godwit-guest-begin"
"""What a guest says when Linux is up and its script begins."""
END = "godwit-guest-end"
"""The last line of a guest, with the exit code of its program."""

_INIT = """#!/bin/sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm /sys/kernel/debug
mount -t tmpfs shm /dev/shm
mount -t debugfs debug /sys/kernel/debug 2>/dev/null
# What Linux complains of in its own start is nobody's here: with its checks of memory it does, in some starts.
dmesg -c > /dev/null
echo {begin}
{script}
echo {end} $?
# Linux sends what was written later, and does not wait for it when it goes; a change of the terminal does.
stty -echo < /dev/console
poweroff -f
"""


@dataclass(frozen=True)
class Guest:
    """What runs in the machine: a shell script, and the files it finds, by absolute path."""

    script: str
    files: Mapping[str, initramfs.Node] = field(default_factory=dict)
    memory_mib: int = 512
    processors: int = 1
    boot: str = ""
    """Further words for Linux, such as memory that it shall leave alone."""


@dataclass(frozen=True)
class Ended:
    """How a guest ended."""

    lines: list[str]
    """What it said, from the first line of Linux on."""
    code: int
    """The exit code of its script."""
    served: dict[str, int]
    """What the card did for it; empty without a card."""
    seconds: float


def qemu() -> tuple[Path, list[str]]:
    """QEMU's folder, and the words that start it: its own libraries with their own loader, for its release is not this machine's."""
    suite = trixie()
    package = "qemu-system-x86"
    version = suite.version(package)
    number = version.split(":")[-1].split("+")[0].split("-")[0]
    if tuple(int(part) for part in number.split(".")[:2]) < QEMU_AT_LEAST:
        wanted = ".".join(map(str, QEMU_AT_LEAST))
        raise SetupError(f"QEMU {wanted} or later is needed for a card in a virtual machine", found=version)
    root = suite.unpacked(package, dependencies=True)
    libraries = root / "usr/lib/x86_64-linux-gnu"
    loader = [str(libraries / "ld-linux-x86-64.so.2"), "--library-path", str(libraries)]
    return root, [*loader, str(root / "usr/bin/qemu-system-x86_64")]


def lacking() -> list[str]:
    """What this machine lacks for a virtual machine, one phrase each."""
    programs = [f"no {name}" for name in ("make", "gcc", "gcc-12", "cargo") if not shutil.which(name)]
    try:
        tree = "" if toolchain.is_checkout() else "no checkout of Godwit"
    except SetupError:
        tree = "no source tree"
    return [problem for problem in (debian.missing(), *programs, tree) if problem]


def busybox() -> bytes:
    """The guest's commands, one static program."""
    return (bookworm().unpacked("busybox-static") / "bin/busybox").read_bytes()


def server() -> Path:
    """The program `godwit-vfio`, built if its sources have changed."""
    return module.of_crates("godwit-vfio", ["--workspace", "--bin", "godwit-vfio"], "godwit-vfio")


def files(guest: Guest) -> bytes:
    """The initramfs of a guest."""
    base = {
        "/init": initramfs.program(_INIT.format(script=guest.script, begin=BEGIN, end=END).encode()),
        "/bin/busybox": initramfs.program(busybox()),
        "/bin/sh": initramfs.link("busybox"),
    }
    return initramfs.pack({**base, **guest.files})


def command(
    kernel: Kernel,
    archive: Path,
    guest: Guest,
    sockets: Sequence[Path],
    serial: Sequence[str] = ("stdio",),
) -> list[str]:
    """The words that start QEMU, with a card for each socket; `serial` is where its serial lines go."""
    root, start = qemu()
    memory_mib = max(guest.memory_mib, kernel.memory_mib)
    memory = f"memory-backend-memfd,id=m,size={memory_mib}M,share=on"
    words = [*start, "-L", str(root / "usr/share/qemu"), "-L", str(root / "usr/share/seabios")]
    words += ["-accel", "tcg", "-cpu", "max", "-smp", str(guest.processors), "-m", f"{memory_mib}M"]
    words += ["-machine", "q35,memory-backend=m", "-object", memory]
    words += ["-nodefaults", "-display", "none", "-no-reboot"]
    words += [word for line in serial for word in ("-serial", line)]
    # A machine beside others may stand still for long: neither its timer nor its stalls say anything. Linux 7.3 can hang for ever when it
    # compares its processors' clocks while it changes to another clock: it waits, by the one that interrupts drive, and lets none come.
    boot = (
        "console=ttyS0 panic=-1 oops=panic unknown_nmi_panic quiet no_timer_check rcupdate.rcu_cpu_stall_suppress=1 "
        "nowatchdog tsc=nowatchdog"
    )
    words += [
        "-kernel",
        str(kernel.image),
        "-initrd",
        str(archive),
        "-append",
        f"{boot} {guest.boot}".rstrip(),
    ]
    for socket in sockets:
        place = f'{{"path":"{socket}","type":"unix"}}'
        device = f'{{"driver":"vfio-user-pci","socket":{place},"x-msg-timeout":{_MESSAGE_TIMEOUT_MS}}}'
        words += ["-device", device]
    return words


@contextlib.contextmanager
def serving(
    card: str, socket: Path, errors: Path, group: Group, orders: Collection[str] = ()
) -> Iterator[subprocess.Popen[str]]:
    """The server of a card, from when it listens on; of one that can do what these orders say."""
    with errors.open("w") as log:
        words = [str(server()), "--card", card, "--socket", str(socket), "--json", "--control"]
        words += ["--spares"] if "insert" in orders else []
        words += ["--lies"] if any(order.startswith("lie ") for order in orders) else []
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            words, stdin=pipe, stdout=pipe, stderr=log, text=True, process_group=group.pid
        )
        try:
            while not socket.exists():
                if process.poll() is not None:
                    raise SetupError(f"the card {card} cannot be served", found=errors.read_text().strip())
                time.sleep(0.02)
            yield process
        finally:
            if process.poll() is None:
                process.terminate()
            process.wait()


@contextlib.contextmanager
def _started(
    kernel: Kernel, guest: Guest, card: str | None, orders: Collection[str] = (), cards: int = 1
) -> Iterator[_Started]:
    """The servers of so many cards, of which the first takes orders, and the words that start QEMU with them."""
    with (
        tempfile.TemporaryDirectory(prefix="godwit-vm-") as folder,
        Group(Path(folder)) as group,
        contextlib.ExitStack() as stack,
    ):
        archive, errors, asked = (Path(folder) / name for name in ("initramfs", "errors", "monitor"))
        archive.write_bytes(files(guest))
        sockets = [Path(folder) / f"card{number or ''}" for number in range(cards if card else 0)]
        servers = []
        for number, socket in enumerate(sockets):
            log = errors if number == 0 else errors.with_name(f"errors{number}")
            server = serving(str(card), socket, log, group, orders if number == 0 else ())
            servers.append(stack.enter_context(server))
        words = command(kernel, archive, guest, sockets)
        yield _Started(words, servers[0] if servers else None, errors, asked, group)


@dataclass(frozen=True)
class _Started:
    words: list[str]
    server: subprocess.Popen[str] | None
    errors: Path
    monitor: Path
    group: Group
    """That ends with this process; QEMU at a terminal is in the terminal's."""


class _DiedAtBootError(GodwitError):
    """Of Linux itself: QEMU and the card's server did as they should, and nothing of ours ran in the guest."""


def run(
    kernel: Kernel,
    guest: Guest,
    card: str | None = "sim:default",
    *,
    timeout_s: float = 600,
    say: Callable[[str], None] = lambda _: None,
    orders: Mapping[str, str] = {},
    cards: int = 1,
) -> Ended:
    """Boots a machine and returns when it has ended; `say` gets each line as it comes. A Linux that dies before its script begins boots
    once more.

    timeout_s: for what it does; a kernel with checks gets as much more as it needs.
    orders: what the card's server is told whenever the guest says a line: `remove`, `insert`, `lie N SEED` or `stop lying`, as
        `godwit-vfio --control` has them. Where there is more than `remove`, device memory is slow.
    cards: how many of its kind there are; orders, and what is said of what a card did, are the first one's.
    """
    once = functools.partial(_run, kernel, guest, card, timeout_s, say, orders, cards)
    try:
        return once()
    except _DiedAtBootError:
        # Linux changes its own code while its other processors run it, which QEMU without KVM does not bear every time.
        say("Linux has died before its script began: it boots once more")
        return once()


def _run(
    kernel: Kernel,
    guest: Guest,
    card: str | None,
    timeout_s: float,
    say: Callable[[str], None],
    orders: Mapping[str, str],
    cards: int,
) -> Ended:
    start = time.monotonic()
    with _started(kernel, guest, card, orders.values(), cards) as started:

        def heard(line: str) -> None:
            if line in orders and started.server and started.server.stdin:
                started.server.stdin.write(f"{orders[line]}\n")
                started.server.stdin.flush()
            say(line)

        lines, qemu_code = _follow(started, timeout_s * kernel.slower, heard)
        code = _code(lines, qemu_code, started)
        served = _served(started.server, started.errors) if started.server else {}
        return Ended(lines, code, served, time.monotonic() - start)


def interact(kernel: Kernel, guest: Guest, card: str | None = "sim:default") -> int:
    """Boots a machine whose serial line is this terminal; returns QEMU's exit code when it has ended."""
    with _started(kernel, guest, card) as started:
        return subprocess.run(started.words, check=False).returncode


def _follow(started: _Started, timeout_s: float, say: Callable[[str], None]) -> tuple[list[str], int]:
    """What the guest says until it ends, and QEMU's exit code; one that does not in time is asked where it is, and ended."""
    words = [*started.words, *monitor.words(started.monitor)]
    with subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        process_group=started.group.pid,
    ) as process:
        lines: list[str] = []
        silent: list[str] = []
        overdue = threading.Event()

        def end() -> None:
            overdue.set()
            if not monitor.interrupt(started.monitor):
                silent.append("QEMU does not answer: it waits for the card")
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0 if silent else _LAST_WORDS_S)
            process.kill()

        late = threading.Timer(timeout_s, end)
        late.start()
        try:
            assert process.stdout is not None
            for raw in process.stdout:
                line = raw.decode(errors="replace").rstrip()
                lines.append(line)
                say(line)
            process.wait()
        finally:
            late.cancel()
            if process.poll() is None:
                process.kill()
        if overdue.is_set():
            tail = "\n".join([*lines[-_LAST_LINES:], *silent, *_of_the_card(started)])
            raise GodwitError(f"the guest has not ended in {timeout_s:.0f} s; its last lines:\n{tail}")
        return lines, process.returncode


def _code(lines: list[str], qemu_code: int, started: _Started) -> int:
    """The exit code of a guest's script; one that did not come to its end says how its machine and its card ended."""
    for line in reversed(lines):
        if line.startswith(END):
            return int(line.split()[1])
    card = _of_the_card(started)
    tail = "\n".join([*lines[-_LAST_LINES:], *card, f"QEMU {_how_it_ended(qemu_code)}"])
    if BEGIN in lines or card or qemu_code:
        raise GodwitError(f"the guest ended before its script did; its last lines:\n{tail}")
    raise _DiedAtBootError(f"Linux died before its script began; its last lines:\n{tail}")


def _of_the_card(started: _Started) -> list[str]:
    """What the card's server complains of, and how it ended if it did not end well."""
    said = started.errors.read_text().splitlines() if started.errors.exists() else []
    failed = started.server.poll() if started.server else None
    return [*said, f"the card's server {_how_it_ended(failed)}"] if failed else said


def _how_it_ended(code: int) -> str:
    return f"was ended by a signal: {signal.strsignal(-code)}" if code < 0 else f"ended with code {code}"


def _served(process: subprocess.Popen[str], errors: Path) -> dict[str, int]:
    out, _ = process.communicate(timeout=60)
    if process.returncode:
        raise SetupError("the card's server failed", found=errors.read_text().strip())
    served: dict[str, int] = json.loads(out)
    return served
