# SPDX-License-Identifier: Apache-2.0
"""What every ``godwit run`` command has in common: the options of the card, and from the work to the report."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

from godwit.cli.console import progress_bar, stdout

if TYPE_CHECKING:
    from godwit.run.workload import Setup


class Report(Protocol):
    """What a workload gives back."""

    def to_json(self) -> dict[str, Any]: ...


Work = Callable[["Setup"], Report]
"""A workload with its own options, to be run on a card."""

_CARD = "Card"
Config = Annotated[
    str,
    typer.Option(
        metavar="NAME|FILE", help="Configuration of the card: a name, or a TOML file.", rich_help_panel=_CARD
    ),
]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="SECTION.FIELD=VALUE",
        help="Change a field of the configuration, for example translator.l1_entries=4; repeatable.",
        rich_help_panel=_CARD,
    ),
]
Kernel = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.sv",
        help="A kernel of yours with the same arguments, in place of Godwit's.",
        rich_help_panel=_CARD,
    ),
]
PageSize = Annotated[
    str,
    typer.Option(
        metavar="auto|4K|64K|2M|1G|...",
        help="Pages to map buffers with; auto takes the largest that fit. Other powers of two up to 1G need --set walker.napot=any.",
        rich_help_panel=_CARD,
    ),
]
Memory = Annotated[
    str,
    typer.Option(
        metavar="device|cmt|shared|copy|in-place|auto",
        help="device: buffers of the card, alone. cmt runs once more on contiguous memory, a block and an entry of the range TLB a buffer; copy with explicit copies; "
        "shared with copies and on plain memory whose pages move, and says what moved; in-place leaves buffers in host "
        "memory, where the kernel reaches them over the link; auto is shared beside plain memory that stays, and such of which the "
        "system decides what stays.",
        rich_help_panel=_CARD,
    ),
]
_TRACE = "Watching the hardware"
Waves = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.fst",
        help="Write every signal as waves (builds a card with waves).",
        rich_help_panel=_TRACE,
    ),
]
AxiTrace = Annotated[
    Path | None, typer.Option(metavar="FILE.csv", help="Write every AXI handshake.", rich_help_panel=_TRACE)
]
Events = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.arrow|.json",
        help="Write what TLBs and walker did, cycle by cycle: Arrow IPC, or a trace for Perfetto (.json, .perfetto).",
        rich_help_panel=_TRACE,
    ),
]
Residency = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.png",
        help="With --memory shared: plot what was on the card when, and what moved why.",
        rich_help_panel=_TRACE,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the report as one JSON object.")]


def _shared(
    config: Config = "default",
    overrides: Overrides = None,
    kernel: Kernel = None,
    page_size: PageSize = "auto",
    memory: Memory = "device",
    waves: Waves = None,
    axi_trace: AxiTrace = None,
    events: Events = None,
    residency: Residency = None,
    as_json: Json = False,
) -> None:
    """The options, as the commands' signatures have them."""


def on_card(
    show: Callable[[Any], None], *, without: tuple[str, ...] = (), **defaults: Any
) -> Callable[[Callable[..., Work]], Callable[..., None]]:
    """Makes a command of a function that takes a workload's own options and returns its work.

    show: prints the report for people.
    without: shared options that the command does not have.
    defaults: of shared options, where another suits the workload.
    """
    shared = [
        option.replace(default=defaults.get(name, option.default))
        for name, option in inspect.signature(_shared, eval_str=True).parameters.items()
        if name not in without
    ]

    def decorate(command: Callable[..., Work]) -> Callable[..., None]:
        own = list(inspect.signature(command, eval_str=True).parameters.values())

        @functools.wraps(command)
        def run(**options: Any) -> None:
            from godwit.run.workload import Setup

            work = command(**{option.name: options.pop(option.name) for option in own})
            as_json = options.pop("as_json")
            overrides = tuple(options.pop("overrides") or ())
            with progress_bar() as progress:
                report = work(Setup(overrides=overrides, progress=progress, **options))
            if as_json:
                print(json.dumps(report.to_json(), indent=1))
            else:
                show(report)
                if options.get("residency"):
                    stdout().print(f"residency: {options['residency']}", markup=False, soft_wrap=True)

        # What typer makes the options of.
        run.__signature__ = inspect.Signature([*own, *shared])  # type: ignore[attr-defined]
        run.__annotations__ = {option.name: option.annotation for option in [*own, *shared]}
        return run

    return decorate
