# SPDX-License-Identifier: Apache-2.0
"""gw_card.h for the tests: thin enough that a test sees exactly what a C program would."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

OK, EINVAL, EHANG, EBUS, ENOMEM, EIO, EDESIGN = 0, -1, -2, -3, -4, -5, -6
OKAY, SLVERR, DECERR = 0, 2, 3

REQUEST = np.dtype(
    [
        ("token", "u8"),
        ("addr", "u8"),
        ("earliest_cycle", "u8"),
        ("data", "u8"),
        ("port", "u4"),
        ("write", "u1"),
        ("id", "u1"),
        ("len", "u1"),
        ("size", "u1"),
    ],
    align=True,
)
DONE = np.dtype(
    [
        ("token", "u8"),
        ("offered", "u8"),
        ("accepted", "u8"),
        ("first", "u8"),
        ("done", "u8"),
        ("order", "u8"),
        ("resp", "u4"),
        ("size_bytes", "u4"),
    ],
    align=True,
)
EVENT = np.dtype(
    [
        ("cycle", "u8"),
        ("addr", "u8"),
        ("port", "u4"),
        ("write", "u1"),
        ("id", "u1"),
        ("len", "u1"),
        ("size", "u1"),
    ],
    align=True,
)
STATS = (
    "cycles",
    "time_ps",
    "link_ps",
    "link_bytes",
    "reads",
    "writes",
    "read_bytes",
    "write_bytes",
    "pt_reads",
    "row_hits",
    "row_misses",
    "host_reads",
    "host_writes",
)


class LaunchTimes(NamedTuple):
    """Of gw_card_launch_times."""

    state: int
    start: int
    end: int
    stats: dict[str, int]


NONE, RUNNING, INTERRUPT, POLLED = range(4)
"""States of a launch."""


class CardFailure(Exception):
    """A call returned a negative status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Answer(NamedTuple):
    """One finished request of an external port, with a read's bytes."""

    token: int
    offered: int
    accepted: int
    first: int
    done: int
    order: int
    resp: int
    size_bytes: int
    data: bytes


def load(path: Path) -> ctypes.CDLL:
    """The library with the signatures that ctypes would get wrong by itself."""
    library = ctypes.CDLL(str(path), mode=ctypes.RTLD_LOCAL)
    u64, pointer = ctypes.c_uint64, ctypes.c_void_p
    library.gw_card_describe.restype = ctypes.c_char_p
    library.gw_card_open.restype = pointer
    library.gw_card_open.argtypes = [ctypes.c_char_p, pointer, ctypes.c_size_t]
    library.gw_card_close.argtypes = [pointer]
    library.gw_card_error.restype = ctypes.c_char_p
    library.gw_card_error.argtypes = [pointer]
    library.gw_card_memory.argtypes = [pointer] * 4
    library.gw_card_reg_read.argtypes = [pointer, u64, pointer]
    library.gw_card_reg_write.argtypes = [pointer, u64, ctypes.c_uint32]
    library.gw_card_run.argtypes = [pointer, u64, ctypes.c_uint32, pointer]
    library.gw_card_take_rises.restype = ctypes.c_uint32
    library.gw_card_take_rises.argtypes = [pointer]
    library.gw_card_transfer.argtypes = [pointer, ctypes.c_int, u64, pointer, u64]
    library.gw_card_host_window.argtypes = [pointer, u64, pointer, u64]
    library.gw_card_get_stats.argtypes = [pointer, pointer]
    library.gw_card_launch_times.argtypes = [pointer, ctypes.c_uint32, pointer]
    library.gw_card_get_decode_errors.argtypes = [pointer] * 3
    library.gw_card_port_submit.argtypes = [pointer, pointer, ctypes.c_size_t]
    library.gw_card_port_drain.argtypes = [pointer, u64, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p]
    library.gw_card_port_poll.restype = ctypes.c_size_t
    library.gw_card_port_poll.argtypes = [pointer, pointer, ctypes.c_size_t, pointer, ctypes.c_size_t]
    library.gw_card_record_events.argtypes = [pointer, ctypes.c_int]
    library.gw_card_take_events.restype = ctypes.c_size_t
    library.gw_card_take_events.argtypes = [pointer, pointer, ctypes.c_size_t]
    return library


class Card:
    """An open card. Options are those of gw_card_open()."""

    def __init__(self, library: ctypes.CDLL, options: str | None = None, **fields: object) -> None:
        self._library = library
        text = json.dumps(fields) if options is None and fields else options
        error = ctypes.create_string_buffer(2000)
        self.handle = library.gw_card_open(text.encode() if text is not None else None, error, len(error))
        if not self.handle:
            raise CardFailure(EINVAL, error.value.decode())
        size, base = ctypes.c_uint64(), ctypes.c_void_p()
        self._check(library.gw_card_memory(self.handle, None, ctypes.byref(size), ctypes.byref(base)))
        self.memory_bytes = size.value
        self._base = base.value

    def __enter__(self) -> Card:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._library.gw_card_close(self.handle)
        self.handle = None

    def _check(self, status: int) -> None:
        if status != OK:
            raise CardFailure(status, self._library.gw_card_error(self.handle).decode())

    def memory(self, addr: int, size: int) -> np.ndarray:
        """Device memory as bytes, shared with the card."""
        return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(self._base + addr))

    def read(self, offset: int) -> int:
        value = ctypes.c_uint32()
        self._check(self._library.gw_card_reg_read(self.handle, offset, ctypes.byref(value)))
        return value.value

    def write(self, offset: int, value: int) -> None:
        self._check(self._library.gw_card_reg_write(self.handle, offset, value))

    def run(self, cycles: int, mask: int = 0) -> int:
        irq = ctypes.c_uint32()
        self._check(self._library.gw_card_run(self.handle, cycles, mask, ctypes.byref(irq)))
        return irq.value

    def take_rises(self) -> int:
        return int(self._library.gw_card_take_rises(self.handle))

    def transfer(self, to_device: bool, addr: int, host: np.ndarray) -> None:
        self._check(
            self._library.gw_card_transfer(self.handle, to_device, addr, host.ctypes.data, host.nbytes)
        )

    def host_window(self, bus_addr: int, host: np.ndarray | None, size: int) -> None:
        self._check(
            self._library.gw_card_host_window(
                self.handle, bus_addr, host.ctypes.data if host is not None else None, size
            )
        )

    def stats(self) -> dict[str, int]:
        values = (ctypes.c_uint64 * len(STATS))()
        self._check(self._library.gw_card_get_stats(self.handle, values))
        return dict(zip(STATS, values, strict=True))

    def launch_times(self, kernel: int) -> LaunchTimes:
        raw = (ctypes.c_uint64 * (3 + len(STATS)))()
        self._check(self._library.gw_card_launch_times(self.handle, kernel, raw))
        return LaunchTimes(raw[0] & 0xFFFF_FFFF, raw[1], raw[2], dict(zip(STATS, raw[3:], strict=True)))

    def decode_errors(self) -> tuple[int, int]:
        count, first = ctypes.c_uint64(), ctypes.c_uint64()
        self._check(
            self._library.gw_card_get_decode_errors(self.handle, ctypes.byref(count), ctypes.byref(first))
        )
        return count.value, first.value

    def submit(self, requests: np.ndarray) -> None:
        self._check(self._library.gw_card_port_submit(self.handle, requests.ctypes.data, len(requests)))

    def drain(self, cycles: int = 1_000_000) -> None:
        self._check(self._library.gw_card_port_drain(self.handle, cycles, 0, None, None))

    def poll(self, max_answers: int = 1 << 20) -> list[Answer]:
        """All answers that are there, oldest first."""
        answers: list[Answer] = []
        done = np.zeros(4096, DONE)
        data = np.zeros(4096 * 64, np.uint8)
        while len(answers) < max_answers:
            wanted = min(len(done), max_answers - len(answers))
            count = self._library.gw_card_port_poll(
                self.handle, done.ctypes.data, wanted, data.ctypes.data, data.nbytes
            )
            if count == 0:
                break
            start = 0
            for fields in done[:count].tolist():
                size = fields[-1]
                answers.append(Answer(*fields, data[start : start + size].tobytes()))
                start += size
        return answers

    def play(self, requests: Iterable[dict[str, object]]) -> list[Answer]:
        """Runs until all requests are answered; returns the answers in the order of the requests."""
        requests = list(requests)
        table = np.zeros(len(requests), REQUEST)
        keep = []
        for index, fields in enumerate(requests):
            for name, value in fields.items():
                if name == "data":
                    keep.append(np.frombuffer(value, np.uint8))
                    value = keep[-1].ctypes.data
                table[index][name] = value
            table[index]["token"] = index
        self.submit(table)
        self.drain()
        answers = self.poll()
        assert len(answers) == len(requests)
        return sorted(answers, key=lambda answer: answer.token)

    def record_events(self, on: bool) -> None:
        self._check(self._library.gw_card_record_events(self.handle, on))

    def take_events(self) -> np.ndarray:
        events = np.zeros(1 << 16, EVENT)
        return events[: self._library.gw_card_take_events(self.handle, events.ctypes.data, len(events))]


def read(
    port: int, addr: int, *, id: int = 0, beats: int = 1, size: int = 6, at: int = 0
) -> dict[str, object]:
    """A read for `Card.play`: full-width beats unless `size` (log2) says less, not before cycle `at`."""
    return {"port": port, "addr": addr, "id": id, "len": beats - 1, "size": size, "earliest_cycle": at}


def write(port: int, addr: int, data: bytes, *, id: int = 0, size: int = 6, at: int = 0) -> dict[str, object]:
    """A write of all of `data`."""
    return {**read(port, addr, id=id, beats=len(data) >> size, size=size, at=at), "write": 1, "data": data}
