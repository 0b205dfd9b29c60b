# SPDX-License-Identifier: Apache-2.0
"""Memory of this process as kernels use it: plain arrays whose pages move to the card and come back when they are touched.

>>> import godwit, numpy
>>> values = numpy.arange(100_000, dtype="int64")
>>> with godwit.open("sim:default", shared=True) as card:
...     print(card.launch("array_sum", values=values, count=len(values)).sum)
...     values[0] += 1
...     print(card.launch("array_sum", values=values, count=len(values)).sum)
4999950000
4999950001
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from godwit.errors import ArgumentError

if TYPE_CHECKING:
    from godwit import _native
    from godwit.memory import Context

Advice = Literal["will_need", "will_need_host", "in_place", "migrate", "auto", "read_mostly"]
"""Who will use memory: kernels, or the program; and how its pages serve kernels: used in the host's memory, moved to the card, or on both
sides at once while they are only read."""


class Residency(NamedTuple):
    """Pages in a row, and where they are: ``host``, ``device``, ``both`` (to be read), ``in_place`` (in the host's memory, for
    kernels of this context), or ``elsewhere`` (another card or context)."""

    address: int
    nbytes: int
    where: Literal["host", "device", "both", "in_place", "elsewhere"]


class Migration(NamedTuple):
    """Pages in a row that moved together."""

    time_ps: int
    """Virtual time of the card by which all that moved at once was there."""
    to_device: bool
    cause: str
    """As in `SharedMemory.migrations`."""
    address: int
    nbytes: int
    copied: bool
    """They crossed the link: pages never touched, not written, or given up do not."""


def residency_over_time(log: Sequence[Migration]) -> list[tuple[int, int]]:
    """Bytes on the card after each moment in which something moved; time in ps."""
    found: list[tuple[int, int]] = []
    resident = 0
    for move in log:
        resident += move.nbytes if move.to_device else -move.nbytes
        if found and found[-1][0] == move.time_ps:
            found.pop()
        found.append((move.time_ps, resident))
    return found


def array_of(what: str, value: object) -> np.ndarray:
    """The array whose memory kernels get. Raises ArgumentError for what has none, or none in one piece."""
    array = value if isinstance(value, np.ndarray) else None
    if array is None and isinstance(value, (bytearray, memoryview, bytes)):
        array = np.frombuffer(value, dtype=np.uint8)
    if array is None:
        raise ArgumentError(
            f"{what} is of type {type(value).__name__}, not a numpy array: kernels are given memory, so say whose with "
            "numpy.asarray, or put it on the card"
        )
    if array.dtype.hasobject:
        raise ArgumentError(f"{what} has Python objects in it: kernels understand numbers only")
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        raise ArgumentError(
            f"{what} is a view with gaps (strides {array.strides}): kernels take memory in one piece, "
            "numpy.ascontiguousarray makes one"
        )
    return array


class SharedMemory:
    """The memory of this process, shared with one context: `Context.shared_memory`."""

    def __init__(self, context: Context) -> None:
        from godwit import _native

        self.native = _native.SharedMemory(context.native)
        self._kept: dict[int, weakref.finalize] = {}

    @property
    def with_system_calls(self) -> bool:
        """Whether system calls reach pages that are on a card. Where not, bring memory home before a file or socket is
        read or written with it."""
        return self.native.with_system_calls

    def host_array(self, what: str, value: object) -> _native.HostArray:
        """The memory of an array as the native module takes it. Raises ArgumentError."""
        from godwit import _native

        array = array_of(what, value)
        kept = self._keep(array)
        return _native.HostArray(array.ctypes.data, array.nbytes, bool(array.flags.writeable), kept, array)

    def _keep(self, array: np.ndarray) -> bool:
        """Has its memory leave the card before it is freed; whether that can be known. Memory of the allocator's arenas may be
        away only then.
        """
        whole = array
        while isinstance(whole.base, np.ndarray):
            whole = whole.base
        if not whole.flags.owndata:
            return False
        known = self._kept.get(id(whole))
        if known is None or not known.alive:
            key, forget = id(whole), self.native.forget
            address, nbytes, kept = whole.ctypes.data, whole.nbytes, self._kept

            def freed() -> None:
                kept.pop(key, None)
                forget(address, nbytes)

            known = weakref.finalize(whole, freed)
            known.atexit = False
            kept[key] = known
        return True

    def migrate_to_device(self, *arrays: np.ndarray) -> None:
        """Brings the pages to the card that `arrays` cover wholly and that can move, of all or of none: the host works on pages of the one
        while those of the other cross the link. Raises OutOfMemory."""
        self.native.migrate_to_device([self.host_array("what should migrate", array) for array in arrays])

    def migrate_to_host(self, array: np.ndarray) -> None:
        """Brings pages home, from wherever they are; when a kernel works on them, after its end."""
        self.native.migrate_to_host(self.host_array("what should migrate", array))

    def prefetch(self, array: np.ndarray) -> None:
        """Brings pages to the card, as far as there is room."""
        self.advise(array, "will_need")

    def advise(self, array: np.ndarray, advice: Advice) -> None:
        """Says who will use memory, or how its whole pages serve kernels from now on: ``in_place``, ``migrate``, ``auto``: one or
        the other for each group of 64 KiB, as the lines say that kernels moved over the link by using it in place, on cards that count them
        (``page_cache.counters``); or ``read_mostly``: card and program have them at once, from when the program reads one that the card
        has until somebody writes it. A hint: what cannot be done is not done.
        """
        self.native.advise(self.host_array("what is advised on", array), advice)

    def discard(self, array: np.ndarray) -> None:
        """Gives up what is in `array`: nothing of it is copied any more, neither way. Its whole pages read as zero then, where they are
        private memory that is not locked. A hint, too.
        """
        self.native.discard(self.host_array("what is discarded", array))

    def residency(self, array: np.ndarray) -> list[Residency]:
        """Where its pages are."""
        runs = self.native.residency(self.host_array("what is looked for", array))
        return [Residency(*run) for run in runs]  # type: ignore[arg-type]

    def migrations(self) -> dict[str, Any]:
        """What moved since the start of the process, in bytes: ``to_device`` and ``to_host`` by cause, ``cleared`` (never
        touched, so not copied), ``clean`` (not written, so not copied back), ``in_place``, ``duplicated`` (read by both), ``across`` (from
        one card to another), ``lent``, and more; how often: ``touches``, ``groups``; and ``time_ps``: the virtual time that migrations of this card took, by step.
        """
        return self.native.migrations()

    def log(self) -> list[Migration]:
        """What moved to this card and home, one by one in the order of time; of very many the last 65,536 of the process."""
        return [Migration(*move) for move in self.native.log()]
