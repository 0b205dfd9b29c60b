# SPDX-License-Identifier: Apache-2.0
"""A guest that stays: started once, programs run in it one after the other, until it is stopped.

It has two serial lines: what Linux says goes to a file, and on the other one a shell script in the guest takes orders. One guest
a cache folder; who it is stands in `guest.json` there.
"""

from __future__ import annotations

import contextlib
import fcntl
import gzip
import json
import shlex
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from godwit.errors import GodwitError, InputError
from godwit.vm import debian, machine
from godwit.vm.kernel import Kernel

_CHUNK = 1 << 15
"""What the guest's terminal holds for sure while nobody reads: more is sent when this has been taken."""
_READY_S = 300
_ANSWER_S = 60
_END_S = 30
_READY = "godwit-guest-ready"

ORDERS = f"""
stty raw -echo < /dev/ttyS1 || exit 1
exec 3<>/dev/ttyS1
while read -r order words <&3; do
    case $order in
    hello) echo {_READY} >&3 ;;
    new) : > /tmp/packed && echo taken >&3 ;;
    more) head -c "$words" <&3 >> /tmp/packed && echo taken >&3 ;;
    run)
        if gunzip -c /tmp/packed > /tmp/program && chmod 755 /tmp/program; then
            eval "/tmp/program $words" < /dev/null >&3 2>&1
        else
            echo "the program did not arrive whole" >&3; false
        fi
        echo "{machine.END} $?" >&3 ;;
    stop) break ;;
    esac
done
"""
"""The guest's script, after the driver is loaded."""


@dataclass(frozen=True)
class State:
    """The guest that runs."""

    folder: str
    """Its sockets and logs."""
    qemu: int
    server: int
    kind: str
    release: str
    driver: str
    """Of which module, and which card."""
    busy: bool = False
    """A program that nobody waits for any more is in it."""

    def runs(self) -> bool:
        """Whether both processes are there, and are these."""
        return all(_is_ours(pid, self.folder) for pid in (self.qemu, self.server))


def _file() -> Path:
    return debian.cache() / "guest.json"


def find() -> State | None:
    """The guest that was started here, whether or not it still runs."""
    try:
        return State(**json.loads(_file().read_text()))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError):
        raise GodwitError(f"{_file()} is damaged: end the guest by hand and remove the file") from None


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Nobody else starts, stops or uses the guest meanwhile; who comes later is told so."""
    debian.cache().mkdir(parents=True, exist_ok=True)
    with _file().with_name("guest.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise GodwitError("the guest is in use: its program has not ended yet") from None
        yield


def start(kernel: Kernel, kind: str, guest: machine.Guest, card: str, driver: str) -> State:
    """Boots a guest that stays; returns when it takes orders."""
    there = find()
    if there and there.runs():
        raise InputError(f"a guest runs already, with Linux {there.release}: `godwit vm stop` ends it")
    if there:
        stop()
    folder = Path(tempfile.mkdtemp(prefix="godwit-vm-"))
    started: list[subprocess.Popen[bytes]] = []
    try:
        state = _boot(folder, kernel, kind, guest, card, driver, started)
        with _connected(state) as line:
            line.ask("hello", _READY, _READY_S)
    except BaseException:
        for process in reversed(started):
            process.kill()
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)
        raise
    _file().write_text(json.dumps(asdict(state)))
    return state


def _boot(
    folder: Path,
    kernel: Kernel,
    kind: str,
    guest: machine.Guest,
    card: str,
    driver: str,
    started: list[subprocess.Popen[bytes]],
) -> State:
    archive, place = folder / "initramfs", folder / "card"
    archive.write_bytes(machine.files(guest))
    serving = [str(machine.server()), "--card", card, "--socket", str(place), "--json"]
    started.append(_spawn(serving, folder, "server"))
    deadline = time.monotonic() + _ANSWER_S
    while not place.exists():
        if started[0].poll() is not None or time.monotonic() > deadline:
            raise GodwitError(f"the card {card} cannot be served: {(folder / 'server.log').read_text()}")
        time.sleep(0.02)
    serial = (f"file:{folder / 'console'}", f"unix:{folder / 'orders'},server=on,wait=off")
    started.append(_spawn(machine.command(kernel, archive, guest, [place], serial), folder, "qemu"))
    deadline = time.monotonic() + _ANSWER_S
    while not (folder / "orders").exists():
        if started[1].poll() is not None or time.monotonic() > deadline:
            raise GodwitError(f"QEMU does not start: {(folder / 'qemu.log').read_text()}")
        time.sleep(0.02)
    return State(str(folder), started[1].pid, started[0].pid, kind, kernel.release, driver)


def _spawn(words: list[str], folder: Path, name: str) -> subprocess.Popen[bytes]:
    """A process that outlives this one, and its terminal."""
    with (folder / f"{name}.out").open("w") as out, (folder / f"{name}.log").open("w") as log:
        return subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=out, stderr=log, start_new_session=True
        )


def run(state: State, program: bytes, words: list[str], say: Callable[[str], None]) -> machine.Ended:
    """Runs a program in the guest; `say` gets each line as it comes."""
    if state.busy:
        raise GodwitError(
            "a program that was interrupted still runs in the guest: `godwit vm stop` ends both"
        )
    if any("\n" in word for word in words):
        raise InputError("an argument of a program in the guest has no line breaks")
    begin = time.monotonic()
    packed = gzip.compress(program, compresslevel=6, mtime=0)
    try:
        with _connected(state) as line:
            line.ask("hello", _READY, _ANSWER_S)
            line.ask("new", "taken", _ANSWER_S)
            for at in range(0, len(packed), _CHUNK):
                chunk = packed[at : at + _CHUNK]
                line.ask(f"more {len(chunk)}", "taken", _ANSWER_S, chunk)
            line.send(f"run {shlex.join(words)}\n".encode())
            lines: list[str] = []
            while (text := line.next(None)).partition(machine.END)[1] == "":
                lines.append(text)
                say(text)
    except KeyboardInterrupt:
        _file().write_text(json.dumps(asdict(replace(state, busy=True))))
        raise
    rest, _, code = text.partition(machine.END)
    if rest:
        lines.append(rest)
        say(rest)
    return machine.Ended(lines, int(code), {}, time.monotonic() - begin)


def stop() -> dict[str, Any]:
    """Ends the guest and removes what it left; what the card did for it, empty when the guest had died before."""
    state = find()
    if not state:
        raise InputError("no guest runs: `godwit vm start` starts one")
    folder = Path(state.folder)
    if state.runs() and not state.busy:
        with contextlib.suppress(GodwitError, OSError), _connected(state) as line:
            line.send(b"stop\n")
            _wait(state, _END_S)
    for pid in (state.qemu, state.server):
        if _is_ours(pid, state.folder):
            subprocess.run(["kill", "-KILL", str(pid)], check=False)
    served: dict[str, Any] = {}
    with contextlib.suppress(OSError, ValueError):
        served = json.loads((folder / "server.out").read_text())
    shutil.rmtree(folder, ignore_errors=True)
    _file().unlink(missing_ok=True)
    return served


def _wait(state: State, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not any(_is_ours(pid, state.folder) for pid in (state.qemu, state.server)):
            return
        time.sleep(0.05)


def _is_ours(pid: int, folder: str) -> bool:
    """Whether a process runs that was started with files of this folder: numbers come again."""
    try:
        process = Path(f"/proc/{pid}")
        alive = process.joinpath("stat").read_text().rpartition(") ")[2][:1] != "Z"
        return alive and folder.encode() in process.joinpath("cmdline").read_bytes()
    except OSError:
        return False


class _Line:
    """The serial line that orders go over."""

    def __init__(self, state: State, connection: socket.socket) -> None:
        self._state = state
        self._socket = connection
        self._got = b""

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def next(self, seconds: float | None) -> str:
        """The next line; without a limit it is only looked whether the guest lives."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while b"\n" not in self._got:
            self._socket.settimeout(1.0)
            try:
                more = self._socket.recv(1 << 16)
            except TimeoutError:
                if deadline and time.monotonic() > deadline:
                    raise GodwitError(f"the guest does not answer: {_last_words(self._state)}") from None
                continue
            if not more:
                raise GodwitError(f"the guest has died: {_last_words(self._state)}")
            self._got += more
        line, _, self._got = self._got.partition(b"\n")
        return line.decode(errors="replace").rstrip("\r")

    def ask(self, order: str, answer: str, seconds: float, data: bytes = b"") -> None:
        """Gives an order and waits for its answer; the first one again and again, for a guest that boots hears nothing."""
        deadline = time.monotonic() + seconds
        self.send(order.encode() + b"\n" + data)
        while True:
            wait = min(2.0, deadline - time.monotonic()) if order == "hello" else deadline - time.monotonic()
            try:
                if self.next(max(wait, 0.1)) == answer:
                    return
            except GodwitError:
                if order != "hello" or time.monotonic() > deadline or not self._state.runs():
                    raise
                self.send(b"hello\n")


def _last_words(state: State) -> str:
    try:
        console = Path(state.folder, "console").read_text(errors="replace")
    except OSError:
        console = ""
    return "its last lines are\n" + "\n".join(console.splitlines()[-12:])


@contextlib.contextmanager
def _connected(state: State) -> Iterator[_Line]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        try:
            connection.connect(str(Path(state.folder, "orders")))
        except OSError as error:
            raise GodwitError(
                f"the guest cannot be reached ({error.strerror}): `godwit vm stop` cleans up"
            ) from None
        yield _Line(state, connection)
