# SPDX-License-Identifier: Apache-2.0
"""What all workloads share: where they run, one measured launch, and the report of the two launches.

Every workload runs its kernel twice on the same buffers, which are physically contiguous: with virtual
addresses through the translator, then with physical addresses past it. The difference is what translation
costs.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from godwit.errors import CheckError, InputError, StatusError, TooLarge, nearest
from godwit.events import check_path
from godwit.outputs import check_png
from godwit.report import Figure, Progress, figures_json
from godwit.run import figures
from godwit.units import bytes_text

if TYPE_CHECKING:
    from godwit.api import Card, Mode
    from godwit.buffers import Buffer, PageSize
    from godwit.launches import LaunchResult
    from godwit.memory import Context
    from godwit.run.contiguous import Shared
    from godwit.run.migrated import Migrated

EVERYWHERE = {"4K": 4096, "64K": 65536, "2M": 2 << 20, "1G": 1 << 30}
"""Page sizes that every card has."""
PAGE_SIZES = {
    "auto": 4096,
    **{f"{4 << order}K": 4096 << order for order in range(8)},
    **{f"{1 << order}M": 1 << 20 + order for order in range(10)},
    "1G": 1 << 30,
}
"""Page sizes by name; the number is what an allocation is rounded up to."""

MEMORIES = ("device", "cmt", "shared", "copy", "in-place", "auto")
"""Where data is: in buffers of the card in pages alone; beside that in contiguous memory, with an entry of the range TLB a buffer; beside
that in plain memory of the process, whose pages move, and with explicit copies; or with these only; or in host memory, where the kernel uses
it in place; or, beside what ``shared`` has, in plain memory that stays, and in such of which the system decides what stays."""

_STATUS = {
    1: "a read was answered with an error",
    2: "a write was answered with an error",
    3: "it refused an argument",
}


def _silent(what: str, done: int, total: int) -> None:
    pass


@dataclass(frozen=True)
class Setup:
    """Where and how a workload runs."""

    config: str = "default"
    overrides: tuple[str, ...] = ()
    kernel: Path | None = None
    """Source of a kernel that takes the place of Godwit's own; it must have the same arguments."""
    page_size: PageSize = "auto"
    memory: str = "device"
    """One of `MEMORIES`. A process runs ``cmt`` once: it has one pool of contiguous memory."""
    waves: Path | None = None
    axi_trace: Path | None = None
    events: Path | None = None
    residency: Path | None = None
    """Where a plot of what was on the card when goes, with ``shared``."""
    progress: Progress = _silent

    def __post_init__(self) -> None:
        if self.page_size not in PAGE_SIZES:
            raise InputError(
                f"no page size '{self.page_size}'",
                found="page sizes: " + ", ".join(PAGE_SIZES),
                hint=nearest(self.page_size.upper(), PAGE_SIZES),
            )
        if self.memory not in MEMORIES:
            raise InputError(
                f"no memory '{self.memory}'",
                found="memory is one of " + ", ".join(MEMORIES),
                hint=nearest(self.memory, MEMORIES),
            )

        if self.residency is not None:
            self._check_residency(self.residency)

    def _check_residency(self, path: Path) -> None:
        if self.memory != "shared":
            raise InputError(
                "no plot of residency",
                found=f"memory '{self.memory}', of which no page moves while the kernel runs",
                hint="--memory shared",
            )
        check_png(path)

    def open(self) -> Card:
        """Opens the card, building it when it is missing. Raises InputError when it cannot have buffers where they shall be."""
        from godwit import api
        from godwit.spec import config

        found = config.load(self.config, self.overrides)
        if self.page_size not in ("auto", *EVERYWHERE) and found.walker.napot != "any":
            raise InputError(
                f"no pages of {self.page_size}",
                found=f"configuration '{self.config}' has pages of {', '.join(EVERYWHERE)}",
                hint="--set walker.napot=any",
            )
        if self.in_place and not found.page_cache.pages:
            raise InputError(
                "memory 'in-place' needs a page cache",
                found=f"configuration '{self.config}' has none",
                hint="--set page_cache.pages=16, or --config ng",
            )
        if self.memory == "auto" and not found.page_cache.counters:
            raise InputError(
                "memory 'auto' needs a page cache with access counters",
                found=f"configuration '{self.config}' has none",
                hint="--set page_cache.pages=16 --set page_cache.counters=256",
            )

        if self.events is not None:
            check_path(self.events)
        for path in (self.waves, self.axi_trace):
            if path is not None and not path.resolve().parent.is_dir():
                raise InputError(
                    f"cannot write '{path}'", found="there is no such directory", hint="make it first"
                )
        return api.open(
            f"sim:{self.config}",
            overrides=self.overrides,
            kernels=[self.kernel] if self.kernel else [],
            waves=self.waves,
            axi_trace=self.axi_trace,
            events=self.events,
            shared=self.memory in ("shared", "auto"),
            progress=self.progress,
        )

    @property
    def in_place(self) -> bool:
        """Whether buffers stay in host memory."""
        return self.memory == "in-place"

    def context(self, card: Card) -> Context:
        """An address space whose buffers are where the setup says."""
        return card.context(place="host" if self.in_place else "device")

    def require_memory(self, card: Card, sizes: Sequence[int]) -> None:
        """Raises TooLarge, with the numbers, when buffers of `sizes` bytes cannot be had contiguously."""
        if not self.in_place:
            require_memory(card, sizes, self.page_size)

    def with_kernel(self, *names: str) -> Setup:
        """The same with Godwit's kernels `names` on the card: in place of the configuration's when it has not all of them."""
        from godwit.spec import config

        if set(names) <= set(config.load(self.config, self.overrides).card.kernels):
            return self
        return replace(self, overrides=(*self.overrides, f"card.kernels={json.dumps(names)}"))

    def kernel_name(self, card: Card, own: str) -> str:
        """The kernel to launch: `own`, or the one brought with ``--kernel``. Its arguments must be those of
        `own`.
        """
        if self.kernel is None:
            if own not in card.kernels:
                raise InputError(
                    f"configuration '{self.config}' has no kernel '{own}'",
                    found="its kernels: " + (", ".join(card.kernels) or "none"),
                    hint="choose another --config",
                )
            return own
        from godwit.cards import brought_kernel

        brought = brought_kernel(self.kernel)
        of_own = card.kernels[own]["args"] if own in card.kernels else None
        wanted = [arg["name"] for arg in of_own or () if arg.get("default") is None]
        has = [arg.name for arg in brought.args]
        known = {arg["name"] for arg in of_own or ()}
        if of_own is not None and not set(wanted) <= set(has) <= known:
            raise InputError(
                f"kernel '{brought.name}' of '{self.kernel}' cannot take the place of '{own}'",
                found=f"its arguments are {', '.join(has)}",
                hint=f"give it the arguments {', '.join(wanted)}, or launch it from Python (docs/python.md)",
            )
        return brought.name


@dataclass(frozen=True)
class Measurement:
    """One launch, and what the card counted during it."""

    result: LaunchResult
    wall_s: float
    counters: dict[str, Any]

    @property
    def moved_bytes(self) -> int:
        """Bytes read from and written to memory for the kernel: by itself, or as lines by the page cache."""
        lines = self.counters["cache"]["fills"] + self.counters["cache"]["writebacks"]
        return self.result.stats["read_bytes"] + self.result.stats["write_bytes"] + 64 * lines

    @property
    def cache_hits(self) -> int:
        """Beats that the page cache had when they were asked for."""
        cache = self.counters["cache"]
        return cache["reads"] + cache["stores"] - cache["read_misses"]

    def channel(self, event: str) -> int:
        """An event of the translators, all ports, reads and writes."""
        return figures.channel(self.counters, event)


@dataclass(frozen=True)
class Outcome:
    """A finished, checked run."""

    workload: str
    subject: str
    """What ran, in a few words: the report's title."""
    facts: dict[str, Any]
    """Counts and names that are not measurements: rows, matches, types, paths."""
    figures: list[Figure]
    card: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The report for machines; every figure with its unit and its kind."""
        return {
            "workload": self.workload,
            "passed": True,  # a run that fails its check raises instead
            "card": self.card,
            **self.facts,
            "figures": figures_json(self.figures),
        }


LAUNCHES: tuple[tuple[Mode, str], ...] = (("translate", "virtual"), ("bare", "physical"))
"""The launches that are compared, and what their addresses are."""


class Check(Protocol):
    """Looks at what a launch made, `which` saying which launch it was. Raises CheckError."""

    def __call__(self, result: LaunchResult, which: str) -> None: ...


def launch(card: Card, context: Context, kernel: str, args: dict[str, Any], mode: Mode) -> LaunchResult:
    """Launches `kernel` once. Raises CheckError when it reports an error in its `status`."""
    why = "see the kernel's manifest"
    try:
        result = card.launch(kernel, context=context, mode=mode, **args)
        status = result.results.get("status", 0)
    except StatusError as error:
        status, why = error.status, str(error)
    if status:
        raise CheckError(
            f"kernel '{kernel}' ended with status {status} (mode {mode})",
            found=_STATUS.get(status, why),
            hint="--axi-trace FILE records every access" if status in _STATUS else "",
        )
    return result


def measure(
    card: Card,
    context: Context,
    kernel: str,
    args: dict[str, Any],
    mode: Mode,
    look: Callable[[LaunchResult], None] | None = None,
) -> Measurement:
    """A `launch`, and what the card counted during it. `look` is called in between: reading counters takes simulated time, which is not
    the workload's.
    """
    card.clear_counters()
    start = time.perf_counter()
    result = launch(card, context, kernel, args, mode)
    wall_s = time.perf_counter() - start
    if look:
        look(result)
    return Measurement(result, wall_s, card.counters())


def summed(results: Sequence[LaunchResult]) -> LaunchResult:
    """Launches after each other as one: cycles, time and statistics added up, the results of the last."""
    from godwit.launches import LaunchResult

    last = results[-1]
    return LaunchResult(
        last.kernel,
        sum(result.cycles for result in results),
        sum(result.time_ps for result in results),
        last.results,
        {name: sum(result.stats[name] for result in results) for name in last.stats},
        start_cycle=results[0].start_cycle,
        end_cycle=last.end_cycle,
    )


@dataclass(frozen=True)
class Runs:
    """The launches of one workload, on the same data."""

    translated: Measurement
    physical: Measurement
    shared: Shared | None = None
    """With ``--memory cmt``."""
    copied: Migrated | None = None
    """With ``--memory copy`` and ``shared``."""
    migrated: Migrated | None = None
    """With ``--memory shared`` and ``auto``."""
    advised: Mapping[str, Migrated] = field(default_factory=dict)
    """With ``--memory auto``: ``in_place``, ``auto_first`` and ``auto``, a later launch."""


def run_all(
    card: Card,
    context: Context,
    kernel: str,
    args: dict[str, Any],
    outputs: Sequence[Buffer],
    check: Check,
    setup: Setup,
    *,
    initial: Mapping[str, np.ndarray] | None = None,
) -> Runs:
    """The translated launch and the physical one, and those on other memory that the setup names; `check(result, which)`, `which` being
    ``virtual``, ``physical``, ``contiguous``, ``copied``, ``migrated``, ``in_place`` or ``auto``, looks at each before the next begins.

    Outputs are filled with ones before each launch, so that nothing of one run can pass for a result of the
    other; `initial` is what is put into some of them after that, by their argument's name.
    """
    initial = initial or {}
    measurements = []
    total = 2 + {"cmt": 1, "copy": 1, "shared": 2, "auto": 4}.get(setup.memory, 0)
    for step, (mode, which) in enumerate(LAUNCHES):
        setup.progress(f"running {kernel}", step, total)
        for output in outputs:
            output.to_numpy().view("u1")[...] = 0xFF
        for name, data in initial.items():
            as_bytes(args[name])[...] = as_bytes(data)
        look = partial(check, which=which)
        measurements.append(measure(card, context, kernel, args, mode, look))
    shared = None
    if setup.memory == "cmt":
        from godwit.run.contiguous import run_shared

        setup.progress(f"running {kernel}", 2, total)
        shared = run_shared(card, kernel, args, outputs, check, setup.page_size, initial)
    ways: dict[str, Migrated] = {}
    both = ["copied", "migrated"]
    for way in {"copy": ["copied"], "shared": both, "auto": both}.get(setup.memory, []):
        from godwit.run.migrated import run_migrated

        setup.progress(f"running {kernel}", 2 + len(ways), total)
        ways[way] = run_migrated(card, kernel, args, outputs, check, initial, shared=way == "migrated")
    advised: dict[str, Migrated] = {}
    if setup.memory == "auto":
        from godwit.run.migrated import run_advised

        setup.progress(f"running {kernel}", 4, total)
        advised = run_advised(card, kernel, args, outputs, check, initial)
    if setup.residency and "migrated" in ways:
        from godwit.run import migrated

        migrated.plot(ways["migrated"], setup.residency)
    setup.progress(f"running {kernel}", total, total)
    return Runs(measurements[0], measurements[1], shared, **ways, advised=advised)


def as_bytes(data: Buffer | np.ndarray) -> np.ndarray:
    """The bytes of a buffer, or of an array, themselves."""
    array = data if isinstance(data, np.ndarray) else data.to_numpy()
    return array.reshape(-1).view(np.uint8)


def require_memory(card: Card, sizes: Sequence[int], page_size: str) -> None:
    """Raises TooLarge, with the numbers, when buffers of `sizes` bytes cannot be had contiguously."""
    granule = PAGE_SIZES[page_size]
    needed = sum(-(-size // granule) * granule for size in sizes)
    free, largest = card.memory_free()
    if needed > free or max(sizes) > largest:
        memory = card.config["card"]["memory_bytes"]
        enough = bytes_text(1 << (needed + needed // 8).bit_length()).replace(" ", "")
        raise TooLarge(
            f"the run needs {bytes_text(needed)} of device memory in {bytes_text(granule)} pages",
            found=f"the card has {bytes_text(memory)}, of which {bytes_text(free)} are free",
            hint=f"less data, or a larger card: --set card.memory_bytes={enough}",
        )


def card_facts(card: Card, page_size: str) -> dict[str, Any]:
    """What the report says about the card."""
    return {
        "device": card.device,
        "config": card.config["name"],
        "hash": card.description["hash"],
        "page_size": page_size,
    }
