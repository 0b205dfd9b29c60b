# SPDX-License-Identifier: Apache-2.0
"""The events of a run's hardware as a file: Arrow IPC, or a trace for Perfetto and chrome://tracing.

The simulated card writes records as they happen (`card/sim/event_stream.hpp` has the format); here they become the
file that was asked for, piece by piece, so that a long run needs no more memory than a short one.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from godwit.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from godwit.shared import Migration

SUFFIXES = {".arrow": "Arrow IPC", ".json": "Chrome trace", ".perfetto": "Chrome trace"}
"""What `--events FILE` becomes, by the file's ending."""

RECORD = np.dtype(
    [
        ("cycle", "<u8"),
        ("kind", "u1"),
        ("port", "u1"),
        ("channel", "u1"),
        ("reserved", "u1"),
        ("context", "<u2"),
        ("value", "<u2"),
    ]
)
NONE, NO_CONTEXT = 0xFF, 0xFFFF
CHANNELS = ("read", "write")
SCOPES = ("all", "context", "range")
BATCH = 1 << 16
"""Records in memory at a time."""

_MAGIC = b"GWEVENTS"
_COUNTED = {"hit", "range_hit", "stall"}
"""Events of nearly every cycle: a trace shows them as counts of a window, and all others one by one."""
_WINDOW_CYCLES = 256


@dataclass(frozen=True)
class Header:
    """What a raw file says about its records."""

    clock_mhz: float
    ports: list[str]
    kinds: list[dict[str, str]]


def check_path(path: Path) -> None:
    """Raises InputError when the file's ending or its directory will not do."""
    if path.suffix not in SUFFIXES:
        raise InputError(
            f"cannot write events to '{path}'",
            found=f"no format for files ending in '{path.suffix}'",
            hint=", ".join(f"{suffix} ({name})" for suffix, name in SUFFIXES.items()),
        )
    if not path.resolve().parent.is_dir():
        raise InputError(f"cannot write '{path}'", found="there is no such directory", hint="make it first")


class EventFile:
    """A file of events in the making: the card writes to `raw`, `finish` makes `path` of it."""

    def __init__(self, path: Path) -> None:
        check_path(path)
        self.path = path
        self._directory = tempfile.TemporaryDirectory(prefix=".godwit-events-", dir=path.resolve().parent)
        self.raw = Path(self._directory.name) / "raw"
        self.moves: Sequence[Migration] = ()
        """Migrations that a trace shows beside the hardware's events."""

    def finish(self) -> None:
        """Converts what the card wrote and puts it in place at once. Idempotent."""
        if self.raw.is_file():
            made = self.raw.with_name("made")
            convert(self.raw, made, self.path.suffix, self.moves)
            made.replace(self.path)
        self._directory.cleanup()


def convert(raw: Path, path: Path, suffix: str, moves: Sequence[Migration] = ()) -> None:
    """Writes the records of `raw` to `path` in the format of `suffix`; a trace has `moves`, too."""
    with raw.open("rb") as file:
        header = read_header(file)
        if suffix == ".arrow":
            _write_arrow(header, _batches(file), path)
        else:
            _write_trace(header, _batches(file), path, moves)


def read_header(file: IO[bytes]) -> Header:
    """The header, with `file` at the first record afterwards."""
    magic = file.read(len(_MAGIC))
    if magic != _MAGIC:
        raise InputError("not an event stream", found=repr(magic))
    length = int.from_bytes(file.read(4), "little")
    return Header(**json.loads(file.read(length)))


def _batches(file: IO[bytes]) -> Iterator[np.ndarray]:
    while data := file.read(BATCH * RECORD.itemsize):
        yield np.frombuffer(data, RECORD, len(data) // RECORD.itemsize)


def schema() -> pa.Schema:
    """Columns of the Arrow file."""
    import pyarrow as pa

    word = pa.dictionary(pa.int8(), pa.string())
    return pa.schema(
        [
            ("cycle", pa.uint64()),
            ("level", word),
            ("event", word),
            ("port", word),
            ("channel", word),
            ("context", pa.uint16()),
            ("value", pa.uint16()),
        ]
    )


def _write_arrow(header: Header, batches: Iterator[np.ndarray], path: Path) -> None:
    import pyarrow as pa

    levels = list(dict.fromkeys(kind["level"] for kind in header.kinds))
    names = list(dict.fromkeys(kind["name"] for kind in header.kinds))
    level_of = np.array([levels.index(kind["level"]) for kind in header.kinds], np.int8)
    name_of = np.array([names.index(kind["name"]) for kind in header.kinds], np.int8)
    has_value = np.array([bool(kind["value"]) for kind in header.kinds])

    def words(indices: np.ndarray, values: list[str], missing: np.ndarray | None = None) -> pa.Array:
        codes = pa.array(indices.astype(np.int8), mask=missing)
        return pa.DictionaryArray.from_arrays(codes, pa.array(values, pa.string()))

    shape = schema()
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, shape) as writer:
        for batch in batches:
            kind, port, channel = batch["kind"], batch["port"], batch["channel"]
            columns = [
                pa.array(batch["cycle"]),
                words(level_of[kind], levels),
                words(name_of[kind], names),
                words(np.where(port == NONE, 0, port), header.ports, port == NONE),
                words(np.where(channel == NONE, 0, channel), list(CHANNELS), channel == NONE),
                pa.array(batch["context"], mask=batch["context"] == NO_CONTEXT),
                pa.array(batch["value"], mask=~has_value[kind]),
            ]
            writer.write_batch(pa.record_batch(columns, schema=shape))


def _write_trace(
    header: Header, batches: Iterator[np.ndarray], path: Path, moves: Sequence[Migration]
) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write('{"displayTimeUnit":"ns","traceEvents":[\n')
        shown = chain(_trace(header, batches), _moved(header, moves))
        lines = (json.dumps(event, separators=(",", ":")) for event in shown)
        for number, line in enumerate(lines):
            file.write(f",\n{line}" if number else line)
        file.write("\n]}\n")


def _moved(header: Header, moves: Sequence[Migration]) -> Iterator[dict[str, Any]]:
    """Migrations as a process of their own: what moved, a thread a direction, and how much is on the card."""
    if not moves:
        return
    from godwit.shared import residency_over_time

    pid = len({kind["level"] for kind in header.kinds})
    yield {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": "migrations"}}
    for tid, name in enumerate(("home", "to the card")):
        yield {"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": name}}
    for move in moves:
        args = {"address": hex(move.address), "bytes": move.nbytes, "copied": move.copied}
        where = {"pid": pid, "tid": int(move.to_device), "ts": move.time_ps / 1e6}
        yield {"ph": "i", "s": "t", "name": move.cause, **where, "args": args}
    for time_ps, resident in residency_over_time(moves):
        args = {"bytes": resident}
        yield {"ph": "C", "name": "on the card", "pid": pid, "ts": time_ps / 1e6, "args": args}


def _trace(header: Header, batches: Iterator[np.ndarray]) -> Iterator[dict[str, Any]]:
    """Chrome's trace events: a process a level, a thread a port and channel."""
    levels = list(dict.fromkeys(kind["level"] for kind in header.kinds))
    for pid, level in enumerate(levels):
        yield {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": level}}
    pid_of = [levels.index(kind["level"]) for kind in header.kinds]
    named: set[tuple[int, int]] = set()
    window: dict[tuple[int, str], dict[str, int]] = {}
    window_end = 0
    walks = 0
    args: dict[str, Any]

    def at(cycle: int) -> float:
        return cycle / header.clock_mhz  # microseconds

    def counts() -> Iterator[dict[str, Any]]:
        for (pid, name), args in window.items():
            yield {
                "ph": "C",
                "name": name,
                "pid": pid,
                "ts": at(window_end - _WINDOW_CYCLES),
                "args": dict(args),
            }
            for word in args:
                args[word] = 0

    for batch in batches:
        for cycle, code, port, channel, _, context, value in batch.tolist():
            kind = header.kinds[code]
            name, pid = kind["name"], pid_of[code]
            if cycle >= window_end:
                yield from counts()
                window_end = (cycle // _WINDOW_CYCLES + 1) * _WINDOW_CYCLES
            where = "" if port == NONE else f"{header.ports[port]} {CHANNELS[channel]}"
            tid = 0 if port == NONE else 1 + 2 * port + channel
            if where and (pid, tid) not in named:
                named.add((pid, tid))
                yield {"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": where}}
            if name in _COUNTED:
                track = where or kind["level"]
                window.setdefault((pid, track), dict.fromkeys(sorted(_COUNTED), 0))[name] += 1
            elif kind["value"] == "latency":
                # A walk as a span: the event comes at its end.
                walks += 1
                span = {"cat": kind["level"], "name": "walk", "id": walks, "pid": pid, "tid": tid}
                args = {"cycles": value} if context == NO_CONTEXT else {"cycles": value, "context": context}
                yield {**span, "ph": "b", "ts": at(cycle + 1 - value), "args": args}
                yield {**span, "ph": "e", "ts": at(cycle + 1)}
            elif name != "start":
                args = {"cycle": cycle}
                if context != NO_CONTEXT:
                    args["context"] = context
                if kind["value"] == "scope":
                    args["scope"] = SCOPES[value]
                elif kind["value"]:
                    args[kind["value"]] = value
                yield {
                    "ph": "i",
                    "s": "t",
                    "name": name,
                    "pid": pid,
                    "tid": tid,
                    "ts": at(cycle),
                    "args": args,
                }
    yield from counts()
