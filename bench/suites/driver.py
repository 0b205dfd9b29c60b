# SPDX-License-Identifier: Apache-2.0
"""The driver in a real Linux: what a page costs in events, and what that is in time, beside memory shared in user space and paper K.

An ordinary program in a guest (QEMU, the newest kernel of Debian's backports) gives an array to the card `tapasco`, whose RTL makes the
accesses. Events are counted by the driver. Times are modelled: events by the configuration's cost table, and bytes by its link.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from godwit import toolchain
from godwit.errors import CheckError
from godwit.report import Progress, Row
from godwit.units import bytes_text

OPTIONS = frozenset({"quick"})
"""Options of ``godwit bench`` that this suite takes."""

SUITE, CONFIG, KERNEL = "driver", "tapasco", "backports"
CACHED = toolchain.root() / "driver/test/stays.toml"
"""A card with a page cache, on which pages in place are the card's alone."""
KIB, MIB, PAGE = 1 << 10, 1 << 20, 4096
FOLIO = 512
"""Pages of one that moves whole."""
SIZES = (32 * KIB, MIB, 8 * MIB)
WAYS = {"demand": "on demand", "hand": "by calls", "in_place": "in place"}
WAYS |= {f"{way}_small": f"{name} by 4 KiB" for way, name in WAYS.items()}
"""How an array goes, and the same with entries of 4 KiB alone."""
ALONE = "in_place_alone"
WAYS[ALONE] = "in place with a page cache"
HUGE = "huge"
"""Of huge pages, which move whole, or in pieces (`large_folios=N`)."""
WAYS |= {f"{way}_whole": f"{WAYS[way]}, huge pages whole" for way in ("demand", "hand")}
WAYS |= {f"{way}_pieces": f"{WAYS[way]}, huge pages in pieces" for way in ("demand", "hand")}
HUGE_SIZES = (2 * MIB, 32 * MIB)
TIMED = ("demand", "hand", "demand_whole", "hand_whole", "demand_pieces", "hand_pieces")
PHASES = {"there": "first launch", "again": "second launch", "home": "home"}
EVENTS = {
    "requests": ("page_requests",),
    "batches": ("batches",),
    "DMA descriptors": ("dma_copies",),
    "moves": ("pieces",),
    "DMA lists": ("dma_lists",),
    "DMA doorbells": ("dma_doorbells",),
    "interrupts": ("mmu_interrupts", "dma_interrupts", "kernel_interrupts"),
    "touches": ("touches", "alone_touches"),
    "invalidations": ("invalidations",),
    "fences": ("fences",),
    "calls": ("calls",),
    "L1 TLB misses": ("misses",),
    "entries": ("translations",),
}
"""What is counted for a row, and what of the driver's counters that is."""
THEIRS = {
    32 * KIB: (6.52 + 3.43 + 9.33 + 38.14, 18.75 + 4.49 + 10.03 + 34.29),
    MIB: (360.0 + 760.0, 670.0 + 650.0),
}
"""Table III of the paper: all steps of a buffer to the card, and home, in µs."""

Counted = dict[tuple[str, str, int], dict[str, int]]
"""By way, phase and bytes: the driver's counters."""


def run(progress: Progress, quick: bool = False) -> list[Row]:
    """Rows of events and times; `quick`: the smallest array."""
    sizes = SIZES[:1] if quick else SIZES
    progress("a guest with the driver", 0, 0)
    counted, release = _guest(sizes, progress, CONFIG, "")
    progress("the same with a page cache", 0, 0)
    alone, _ = _guest(sizes[:2], progress, CACHED, ALONE)
    progress("the same in user space", 0, 0)
    own = {size: _user_space(size) for size in sizes}
    if not quick:
        progress("huge pages", 0, 0)
        counted |= _guest(HUGE_SIZES, progress, CONFIG, HUGE)[0]
    events = [*_events(counted, release, CONFIG), *_events(alone, release, CACHED.stem)]
    return [*events, *_times(counted, release, own)]


def _guest(sizes: tuple[int, ...], progress: Progress, config: str | Path, only: str) -> tuple[Counted, str]:
    """What is counted on a card of this configuration; `only`: of the ways of huge pages, or of one, which stays in the host."""
    from godwit.vm import guests, kernel, machine

    booted = kernel.ensure(KERNEL, lambda what: progress(what, 0, 0))
    words = " ".join([only, *map(str, sizes)])
    script = f"{guests.load(config)} || exit 1\n/ways {words}; code=$?\n{guests.UNLOAD}"
    source = Path(__file__).parent / "driver_guest/ways.c"
    guest, card = guests.with_driver(booted, script, [source], config)
    ended = machine.run(booted, guest, card, timeout_s=1800)
    if ended.code != 0:
        raise CheckError("the program in the guest went wrong", found="\n".join(ended.lines[-5:]))
    return parse(ended.lines), booted.release


def parse(lines: list[str]) -> Counted:
    """What the guest's program said of the driver's counters."""
    found: Counted = {}
    for line in lines:
        if line.startswith("counted "):
            _, way, phase, size, *pairs = line.split()
            found[way, phase, int(size)] = {
                name: int(value) for name, value in (pair.split("=") for pair in pairs)
            }
    return found


def _sum(count: Mapping[str, int], names: tuple[str, ...]) -> int:
    return sum(count[name] for name in names)


def _events(counted: Counted, release: str, config: str) -> Iterator[Row]:
    for (way, phase, size), count in counted.items():
        name = f"{WAYS[way]}, {bytes_text(size)}, {PHASES[phase]}"
        for event, counters in EVENTS.items():
            if found := _sum(count, counters):
                yield Row(
                    SUITE,
                    f"{name}: {event}",
                    f"Linux {release} in QEMU, {config}",
                    found / (size / PAGE),
                    "a page",
                    kind="native",
                )


def _times(counted: Counted, release: str, own: Mapping[int, Mapping[str, float]]) -> Iterator[Row]:
    for (way, phase, size), count in counted.items():
        if way not in TIMED or phase == "again":
            continue
        theirs = THEIRS.get(size, (None, None))[phase == "home"]
        name = f"{WAYS[way]}, {bytes_text(size)}, {'to the card' if phase == 'there' else 'home'}"
        config = f"events of Linux {release}, costs of {CONFIG}"
        yield Row(
            SUITE,
            f"{name}: time",
            config,
            modelled_us(count, home=phase == "home"),
            "µs",
            theirs,
            kind="modelled",
        )
        if way == "hand":
            found = own[size][phase]
            yield Row(
                SUITE, f"{name}: time in user space", f"sim:{CONFIG}", found, "µs", theirs, kind="modelled"
            )


def modelled_us(count: Mapping[str, int], *, home: bool) -> float:
    """Time of migrations by what was counted: groups and pages by the host's work, bytes by the link, register writes, and interrupts with
    who they wake. As the runtime's own time has it, pages cost the host what they cost before they cross.

    A folio that moves whole is taken to cost the host what a page does. Pages are given to the card a doorbell at a time, and it copies those while the host works on the next; only where it has nothing left
    (`dma_drains`) do they follow one another: the host's work on the first doorbell's pages, and the crossing of the last one's.
    """
    from godwit.spec import config as configs

    found = configs.load(CONFIG)
    host, link = found.host, found.host_link
    pages, drains = count["pages_home"] if home else count["pages_out"], count["dma_drains"]
    copies = pages - (FOLIO - 1) * (count["folios_home"] if home else count["folios_out"])
    group, page = (host.return_ns, host.return_page_ns) if home else (host.leave_ns, host.leave_page_ns)
    woken = host.interrupt_ns + host.wakeup_ns
    crossing = PAGE / (link.to_host_gbps if home else link.bandwidth_gbps)
    batch = count["dma_pages"] / max(count["dma_doorbells"], 1)
    # Interrupts that wake nobody take the host's time all the same.
    work = count["dma_lists"] * group + copies * page + count["dma_doorbells"] * link.register_latency_ns
    work += max(count["dma_interrupts"] - drains, 0) * host.interrupt_ns
    first = group + batch * copies / max(pages, 1) * page + link.register_latency_ns
    by_host, by_link = work + drains * batch * crossing, drains * first + count["dma_pages"] * crossing
    return (max(by_host, by_link) + (drains + count["mmu_interrupts"]) * woken) / 1e3


def _user_space(size: int) -> dict[str, float]:
    import godwit
    from bench.suites.papers_k.migrations import plain, timed

    with godwit.open(f"sim:{CONFIG}", shared=True) as card:
        values = plain(size)
        values[:] = np.frombuffer(np.random.default_rng(size).bytes(size), np.uint8)
        there = timed(card, lambda: card.migrate_to_device(values)).total
        card.launch("memcopy", src=values, dst=(target := plain(size)), bytes=size, iterations=1)
        home = timed(card, lambda: card.migrate_to_host(target)).total
    return {"there": there * 1e3, "home": home * 1e3}
