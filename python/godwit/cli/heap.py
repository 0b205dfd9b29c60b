# SPDX-License-Identifier: Apache-2.0
"""``godwit heap``: the heap in hardware, at work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from godwit.cli.console import stdout
from godwit.cli.on_card import Work, on_card

if TYPE_CHECKING:
    from godwit.heap_report import HeapReport
    from godwit.run.heap_tour import Tour
    from godwit.run.workload import Setup


def _print(tour: Tour) -> None:
    from rich.markup import escape

    console = stdout()
    card = tour.card
    console.print(f"[bold]heap[/bold] on {escape(card['device'])} ({card['hash'][:12]})", soft_wrap=True)
    for step in tour.steps:
        console.print(f"- {step}", markup=False, soft_wrap=True)
    _print_heap("before the frees", tour.full)
    _print_heap("after them", tour.settled)
    counts = ", ".join(f"{name} {count}" for name, count in tour.counters.items())
    console.print(f"counted (simulated): {counts}", markup=False, soft_wrap=True)
    if tour.events is not None:
        _print_events(tour.events)


def _print_heap(title: str, heap: HeapReport) -> None:
    from rich.table import Table

    from godwit.units import bytes_text

    console = stdout()
    region = heap.region
    text = {name: bytes_text(region[name]) for name in ("bytes", "free", "clean", "dirty", "taken", "tables")}
    console.print(
        f"\n{title}: {text['bytes']}, free {text['free']} (clean {text['clean']}, dirty {text['dirty']}), taken {text['taken']}, "
        f"tables {text['tables']}, in hand {bytes_text(region['in_hand'])}"
        + (", being taken back" if region["reclaiming"] else "")
        + (", somebody lacks a frame" if region["lacks"] else ""),
        markup=False,
        soft_wrap=True,
    )
    for part in heap.regions if len(heap.regions) > 1 else ():
        sizes = {name: bytes_text(int(part[name])) for name in ("bytes", "free", "clean", "dirty", "used")}
        console.print(
            f"  in {part['memory']}: {sizes['bytes']}, free {sizes['free']} (clean {sizes['clean']}, dirty {sizes['dirty']}), "
            f"used {sizes['used']}" + (", strict" if part["strict"] else ""),
            markup=False,
            soft_wrap=True,
        )
    used = ", ".join(f"{each.used} of {each.count} of {bytes_text(each.slot_bytes)}" for each in heap.slots)
    console.print(f"slots: {used}", markup=False)
    groups = ", ".join(f"{count} x {bytes_text(size)}" for size, count in heap.groups.items() if count)
    console.print(
        f"free groups: {groups or 'none'}; internal fragmentation {heap.internal_percent:.1f} %",
        markup=False,
        soft_wrap=True,
    )
    if not heap.allocations:
        return
    table = Table("context", "address", "asked", "taken", "slot", box=None)
    for each in heap.allocations:
        table.add_row(
            str(each.context),
            f"{each.address:#x}",
            bytes_text(each.asked_bytes),
            bytes_text(each.taken_bytes),
            "small" if each.small else "large",
        )
    console.print(table)


def _print_events(events: list[dict]) -> None:
    from rich.table import Table

    table = Table("cycle", "event", "port", "channel", "context", "value", box=None)
    for event in events:
        table.add_row(*("" if value is None else str(value) for value in event.values()))
    console = stdout()
    console.print("\nevents (value: of a command how it ended, of frames their number)", markup=False)
    console.print(table)


@on_card(_print, without=("events", "kernel", "memory", "page_size", "waves", "axi_trace", "residency"))
def heap(
    with_events: Annotated[
        bool,
        typer.Option("--events", help="List every command, first touch, reclaim and scrub, with its cycle."),
    ] = False,
) -> Work:
    """Show the heap in hardware at work: slots, owners, sizes, frames, clean and dirty stock, fragmentation.

    Allocates, touches, grows, shrinks and frees on a card with a heap (heap.slots=1024 is added to a configuration that has none)
    and shows what the heap is like before the frees and after them. A program of yours has the same as `card.heap()`.
    """

    def work(setup: Setup) -> Tour:
        from godwit.run import heap_tour

        return heap_tour.run(setup, with_events=with_events)

    return work
