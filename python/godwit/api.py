# SPDX-License-Identifier: Apache-2.0
"""Cards and launches from Python.

A `Card` is one device. A `Context` is one address space on it (a process, as the hardware sees it); a card
opens with one, and its own `put`, `empty` and `launch` use that one. A `Buffer` is device memory mapped into
a context *and* into this process at the same address, so that numpy and Arrow views of it are the memory
itself: nothing is copied, and a kernel is given the same pointer that Python sees.

>>> import godwit, numpy
>>> with godwit.open("sim:default") as card:
...     values = card.put(numpy.arange(1000, dtype="int64"))
...     result = card.launch("array_sum", values=values, count=1000)
...     print(result.sum, result.cycles > 0)
499500 True
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, overload
from weakref import WeakSet

import numpy as np

from godwit.arguments import Argument, Mode, native_arguments
from godwit.arrow import ArrayBuffer, ArrowArray, ArrowStream
from godwit.buffers import Access, Buffer, PageSize, Shape, end
from godwit.counters import nested
from godwit.errors import InputError, StatusError
from godwit.events import EventFile
from godwit.heap import HeapMemory
from godwit.heap_report import HeapReport, heap_report
from godwit.launches import Launch, LaunchResult, with_result
from godwit.memories import CardMemory
from godwit.memory import Context, Place, Ranges
from godwit.opening import library_of, native_module
from godwit.shared import Advice, Migration, Residency, SharedMemory
from godwit.units import parse_size

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike

    from godwit import _native
    from godwit.report import Progress

OPERATOR_CODES = {">": 0, ">=": 1, "<": 2, "<=": 3, "==": 4, "!=": 5}
"""Comparisons as the `op` argument of the kernel `split` has them."""


def open(
    device: str = "sim:default",
    *,
    shared: bool = False,
    overrides: Sequence[str] = (),
    kernels: Sequence[str | Path] = (),
    waves: str | Path | None = None,
    axi_trace: str | Path | None = None,
    events: str | Path | None = None,
    memory: Mapping[str, Any] | None = None,
    host_link: Mapping[str, Any] | None = None,
    watchdog_cycles: int | None = None,
    stall: Mapping[str, int] | None = None,
    build: bool = True,
    progress: Progress | None = None,
) -> Card:
    """Opens a device.

    device: ``sim:NAME`` for a simulated card of the named configuration, ``sim:/path/to/libgw_card.so``, or ``/dev/godwit0`` for a card
    that the Linux driver has: its kernels take arrays of this process, whatever `shared` says, and of the options below
    it has none (docs/driver.md).
    shared: kernels take plain arrays of this process; their pages move to the card before a launch and come back when they
    are touched (docs/shared-memory.md).
    overrides: ``section.field=value`` for the configuration. Another card is built for them, but not for those of
    sections memory and host_link.
    kernels: sources (``.sv``, with the ``.toml`` beside them) of kernels to build in besides the
    configuration's.
    waves: writes an FST file of everything the RTL does (a card with waves is slower and is built
    separately).
    axi_trace: writes every AXI handshake as CSV.
    events: writes what TLBs and walker did in every cycle, when the card is closed: Arrow IPC (``.arrow``), or a
    trace for Perfetto (``.json``, ``.perfetto``).
    memory, host_link: fields of these configuration sections to change for this session, without a build.
    watchdog_cycles: cycles without progress after which a launch raises HangError; 0 turns that off.
    stall: ``{"seed": S, "percent": P}``, random back-pressure on every channel.
    build: builds the card when it is missing (minutes, once); False raises SetupError instead.
    progress: called as ``progress(what, done, total)`` while building.

    Raises InputError for an unknown configuration or option, SetupError when a tool is missing, DeviceError
    when the card cannot be opened.
    """
    if device.startswith("/dev/"):
        given = {
            "overrides": overrides,
            "kernels": kernels,
            "waves": waves,
            "axi_trace": axi_trace,
            "events": events,
            "memory": memory,
            "host_link": host_link,
            "watchdog_cycles": watchdog_cycles,
            "stall": stall,
        }
        return _behind_driver(
            device, [name for name, value in given.items() if value not in (None, (), [], {})]
        )
    library, settings = library_of(device, overrides, kernels, waves is not None, build, progress)
    changes = {
        section: {**settings.get(section, {}), **(given or {})}
        for section, given in (("memory", memory), ("host_link", host_link))
    }
    native = native_module()
    event_file = EventFile(Path(events)) if events else None
    options: dict[str, Any] = {
        "memory": changes["memory"] or None,
        "host_link": changes["host_link"] or None,
        "watchdog_cycles": watchdog_cycles,
        "stall": dict(stall) if stall else None,
        "waves": str(waves) if waves else None,
        "axi_trace": str(axi_trace) if axi_trace else None,
        "events": str(event_file.raw) if event_file else None,
    }
    chosen = {name: value for name, value in options.items() if value is not None}
    opened = native.Card.open(f"sim:{library}", json.dumps(chosen) if chosen else None)
    card = Card(opened, device, event_file, shared=shared)
    if shared:
        # From here on large arrays are allocated so that they can move.
        card.shared_memory  # noqa: B018
    return card


class Card:
    """An open device; `godwit.open` makes it. Use it as a context manager, or call `close`."""

    def __init__(
        self,
        native: _native.Card,
        device: str,
        events: EventFile | None = None,
        *,
        shared: bool = False,
    ) -> None:
        self.native = native
        """The native card, for what has no face here: external ports, registers, recorded events."""
        self._default: Context | None = None
        self.contexts: WeakSet[Context] = WeakSet()  # its open address spaces
        self._default_lock = Lock()
        self._events = events
        self.device = device
        """The name it was opened with."""
        self.description: dict[str, Any] = json.loads(native.describe())
        """What was built: name, hash, resolved configuration, kernels and their arguments."""
        self.shared = shared
        """Whether its contexts share the memory of this process."""

    @property
    def config(self) -> dict[str, Any]:
        """The resolved configuration the card was built from, with what was changed when it was opened."""
        found: dict[str, Any] = self.description["config"]
        return found

    @property
    def clock_hz(self) -> float:
        """The configured clock, in Hz."""
        return float(self.config["card"]["clock_mhz"]) * 1e6

    @property
    def kernels(self) -> dict[str, dict[str, Any]]:
        """The card's kernels by name, with their arguments as their manifests have them."""
        return {kernel["name"]: kernel for kernel in self.description["kernels"]}

    @property
    def default_context(self) -> Context:
        """The context that the card's own methods use; made on first use, one for all threads."""
        with self._default_lock:
            if self._default is None:
                self._default = self.context()
            return self._default

    def context(
        self, mode: Literal["sv39", "sv48", "sv57"] | None = None, *, place: Place = "device"
    ) -> Context:
        """A new, empty address space. mode: the widest the card walks when None. place: where its buffers are (`Context.empty`)."""
        context = Context(self, self.native.context(mode), shared=self.shared, place=place)
        self.contexts.add(context)
        return context

    @property
    def shared_memory(self) -> SharedMemory:
        """The memory of this process as the card's own context has it; `open` with ``shared=True``."""
        return self.default_context.shared_memory

    def migrate_to_device(self, *arrays: np.ndarray) -> None:
        """Brings pages of `arrays` to the card; see `SharedMemory.migrate_to_device`."""
        self.shared_memory.migrate_to_device(*arrays)

    def migrate_to_host(self, array: np.ndarray) -> None:
        """Brings pages of `array` home; see `SharedMemory.migrate_to_host`."""
        self.shared_memory.migrate_to_host(array)

    def prefetch(self, array: np.ndarray) -> None:
        """Brings pages of `array` to the card, as far as there is room; see `SharedMemory.prefetch`."""
        self.shared_memory.prefetch(array)

    def advise(self, array: np.ndarray, advice: Advice) -> None:
        """Says who will use `array`, or how it serves kernels; see `SharedMemory.advise`."""
        self.shared_memory.advise(array, advice)

    def discard(self, array: np.ndarray) -> None:
        """Gives up what is in `array`; see `SharedMemory.discard`."""
        self.shared_memory.discard(array)

    def residency(self, array: np.ndarray) -> list[Residency]:
        """Where the pages of `array` are; see `SharedMemory.residency`."""
        return self.shared_memory.residency(array)

    def migrations(self) -> dict[str, Any]:
        """What moved, and why; see `SharedMemory.migrations`."""
        return self.shared_memory.migrations()

    def migration_log(self) -> list[Migration]:
        """What moved, one by one; see `SharedMemory.log`."""
        return self.shared_memory.log()

    def cmt_config(self, size: int | str) -> str:
        """Sets `size` bytes (or ``"64MiB"``) of device memory aside for contiguous memory, as long as the card is open, and
        returns the configuration with which the process's pool opens on it: ``godwit.cmt.init(card.cmt_config("64MiB"))``.
        Asked again it returns the same. Raises OutOfMemory; ArgumentError when less was set aside before.
        """
        return self.native.cmt_config(parse_size(size) if isinstance(size, str) else size)

    def share(
        self,
        array: np.ndarray,
        *,
        page_size: PageSize = "auto",
        access: Access = "rw",
        ranges: Ranges = "preferred",
    ) -> Buffer:
        """Gives contiguous memory to kernels; see `Context.share`."""
        return self.default_context.share(array, page_size=page_size, access=access, ranges=ranges)

    @overload
    def put(
        self, data: ArrowArray | ArrowStream, *, page_size: PageSize = "auto", access: Access = "rw"
    ) -> ArrayBuffer: ...

    @overload
    def put(self, data: ArrayLike, *, page_size: PageSize = "auto", access: Access = "rw") -> Buffer: ...

    def put(self, data: Any, *, page_size: PageSize = "auto", access: Access = "rw") -> Buffer | ArrayBuffer:
        """Copies `data` into new device memory; see `Context.put`."""
        return self.default_context.put(data, page_size=page_size, access=access)

    def empty(
        self,
        shape: Shape,
        dtype: DTypeLike = np.uint8,
        *,
        page_size: PageSize = "auto",
        access: Access = "rw",
        contiguous: bool | None = None,
        place: Place | None = None,
        region: str | None = None,
        strict: bool = True,
    ) -> Buffer:
        """New device memory, or memory used in place; see `Context.empty`."""
        return self.default_context.empty(
            shape,
            dtype,
            page_size=page_size,
            access=access,
            contiguous=contiguous,
            place=place,
            region=region,
            strict=strict,
        )

    def reserve(
        self,
        shape: Shape | None = None,
        dtype: DTypeLike = np.uint8,
        *,
        backing: str | PathLike[str] = "zero",
        access: Access = "rw",
    ) -> Buffer:
        """Memory whose pages come when kernels touch them; see `Context.reserve`."""
        return self.default_context.reserve(shape, dtype, backing=backing, access=access)

    def malloc(
        self,
        nbytes: int,
        *,
        granule: int = 4096,
        small: bool = False,
        region: str | None = None,
        strict: bool = True,
    ) -> HeapMemory:
        """Memory of the heap in hardware; see `Context.malloc`."""
        return self.default_context.malloc(nbytes, granule=granule, small=small, region=region, strict=strict)

    def adopt(self, address: int, nbytes: int) -> HeapMemory:
        """What a kernel allocated by itself; see `Context.adopt`."""
        return self.default_context.adopt(address, nbytes)

    def growing(self, type: Any) -> Any:
        """An array that grows where it is, in memory of the heap in hardware; see `Context.growing`."""
        return self.default_context.growing(type)

    def heap_free(self) -> int:
        """Bytes of the heap's memory that nobody has."""
        return self.native.heap_free()

    def heap(self) -> HeapReport:
        """What the heap in hardware has, and which of this card's contexts has it. Raises InputError on a card without one."""
        return heap_report(self, sorted(self.contexts, key=lambda context: context.native.id))

    def launch(
        self,
        kernel: str,
        /,
        *,
        context: Context | None = None,
        mode: Mode = "translate",
        timeout_cycles: int | None = None,
        check_status: bool = True,
        arguments: Mapping[str, Argument] | None = None,
        **args: Argument,
    ) -> LaunchResult:
        """Runs a kernel to its end, after the launches of it that came before.

        args: the kernel's arguments by name. A buffer, and a view of one, gives its address, None the null pointer, an integer
        itself; results (`out_...`) are not given. arguments: more of them, for names that are parameters here, such as
        ``mode`` and ``context``. mode ``bare`` gives physical addresses instead, for
        comparison: every buffer must then be physically contiguous. timeout_cycles: raises HangError when the
        kernel is not done so many cycles after its start. check_status: False takes an end with an error status as any other.

        Raises ArgumentError for an unknown kernel or wrong arguments, FaultError when translation refused an
        access, StatusError when the kernel says that it failed (its `result` is what it gave all the same), HangError
        when nothing moves any more. Ctrl-C stops the kernel.
        """
        space = context or self.default_context
        shared = space.shared_memory if space.shared else None
        plain = native_arguments(kernel, arguments, args, shared, self.kernels.get(kernel), mode)
        try:
            done = self.native.launch(
                kernel,
                plain,
                space.native,
                mode=mode,
                timeout_cycles=timeout_cycles,
                check_status=check_status,
            )
        except StatusError as error:
            raise with_result(error, kernel) from None
        return LaunchResult.of(kernel, done)

    def start(
        self,
        kernel: str,
        /,
        *,
        context: Context | None = None,
        mode: Mode = "translate",
        timeout_cycles: int | None = None,
        check_status: bool = True,
        arguments: Mapping[str, Argument] | None = None,
        **args: Argument,
    ) -> Launch:
        """Starts a kernel, and returns while it works: a future, which can be awaited. Behind a launch of the same kernel it
        waits for its turn; kernels beside each other run at once. The arguments are those of `launch`.
        """
        space = context or self.default_context
        shared = space.shared_memory if space.shared else None
        plain = native_arguments(kernel, arguments, args, shared, self.kernels.get(kernel), mode)
        native = self.native.start(
            kernel, plain, space.native, mode=mode, timeout_cycles=timeout_cycles, check_status=check_status
        )
        return Launch(kernel, native, (arguments, args))

    def stats(self) -> dict[str, int]:
        """Totals since the card was opened: cycles, time_ps, link_ps, bytes and bursts on the memory side."""
        return self.native.stats()

    def counters(self) -> dict[str, Any]:
        """The RTL's counters, all as of one cycle: ``ports[k]["read"|"write"]``, ``l2``, ``walker``, ``faults_lost``
        (docs/counters.md has each; `counter_docs` too).
        """
        return nested(self.native.counters())

    def counter_docs(self) -> dict[str, str]:
        """What each counter counts, by its whole name: ``walker.walks``, ``port0.read.hits``."""
        return self.native.counter_docs()

    def clear_counters(self) -> None:
        """Sets the RTL's counters to zero."""
        self.native.clear_counters()

    def count_only(self, context: Context | None) -> None:
        """From now on counts, of events that belong to a context, only those of `context`; None counts all again.
        The walker's prefetches, the L2's drops and the entries that an invalidation cleared belong to no context.
        """
        self.native.count_only(context.native if context else None)

    def memories(self) -> list[CardMemory]:
        """Its memories, in the order of their addresses."""
        return [CardMemory(*memory) for memory in self.native.memories()]

    def memory_free(self) -> tuple[int, int]:
        """Bytes of device memory not in use, and the largest contiguous piece of them; of several memories it is the first."""
        return self.native.memory_free()

    def run(self, max_cycles: int, irq_mask: int = 0) -> int:
        """Lets the clock run until an interrupt in `irq_mask` is high or `max_cycles` passed; returns the
        lines.
        """
        return self.native.run(max_cycles, irq_mask)

    def close(self) -> None:
        """Closes the card and writes its events, if they were asked for; what its buffers hold stays readable for
        this process. Idempotent.
        """
        if self._events and self.shared and not self.native.closed:
            self._events.moves = self.migration_log()
        self._default = None
        self.native.close()
        if self._events:
            self._events.finish()
            self._events = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        end(self.close, value)

    def __repr__(self) -> str:
        return f"<godwit.Card {self.device} {self.description['hash'][:12]}>"


def _behind_driver(device: str, given: Sequence[str]) -> Card:
    """A card that the Linux driver has."""
    if given:
        raise InputError(
            f"'{device}' is a card of the Linux driver, which has no option '{given[0]}'",
            hint="that is one of simulated cards: sim:NAME",
        )
    return Card(native_module().Card.open(device, None), device, shared=True)
