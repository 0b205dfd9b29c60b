# SPDX-License-Identifier: Apache-2.0
"""``godwit card``: building simulated cards and looking at those that are built."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated

import typer

from godwit.cli.console import progress_bar, stderr, stdout

app = typer.Typer(
    help="Build simulated cards, and look at those that are built.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


@app.command(
    epilog="Examples: godwit card build --config fletcher;  godwit card build --set translator.l1_entries=4;  "
    "godwit card build --kernel my_accel.sv",
)
def build(
    named: Annotated[
        str | None,
        typer.Argument(metavar="NAME|FILE", help="The same as --config.", show_default=False),
    ] = None,
    config: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            help="Configuration: a name, or a TOML file; without one: default.",
            show_default=False,
        ),
    ] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="SECTION.FIELD=VALUE", help="Change a field of the configuration."),
    ] = None,
    kernels: Annotated[
        list[Path] | None,
        typer.Option(
            "--kernel", metavar="FILE.sv", help="A kernel of yours to build in, with FILE.toml beside it."
        ),
    ] = None,
    waves: Annotated[
        bool, typer.Option(help="Build so that waves can be written: slower, and needs lz4.h.")
    ] = False,
    force: Annotated[bool, typer.Option(help="Build even when the card is in the cache.")] = False,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            "-j",
            metavar="N",
            min=1,
            help="Compilers at a time.",
            show_default="$GODWIT_JOBS, or one a processor, four at most",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Build a card: the RTL of a configuration with its kernels, as a shared library in the cache.

    A card of the same sources and configuration is taken from the cache.
    """
    from godwit import cards

    if named and config:
        raise typer.BadParameter(f"one configuration: '{named}' or --config {config}, not both")
    start = time.perf_counter()
    with progress_bar() as progress:
        built = cards.ensure(
            config or named or "default",
            overrides or (),
            kernels or (),
            waves=waves,
            force=force,
            jobs=jobs,
            progress=progress,
        )
    seconds = time.perf_counter() - start
    for warning in built.warnings:
        stderr().print("warning:", warning, markup=False, soft_wrap=True)
    if as_json:
        print(
            json.dumps(
                {
                    "name": built.name,
                    "hash": built.hash,
                    "library": str(built.library),
                    "device": f"sim:{built.name}" if built.named else f"sim:{built.library}",
                    "seconds": seconds,
                    "warnings": built.warnings,
                }
            )
        )
    else:
        console = stdout()
        console.print(f"[bold]{built.name}[/bold]  {built.hash}  ({seconds:.1f} s)", soft_wrap=True)
        console.print(str(built.library), markup=False, soft_wrap=True)
    if note := cards.note(built, config or named or "default"):
        stderr().print(f"note: {note}", markup=False, soft_wrap=True)


@app.command("list")
def list_cards(as_json: Json = False) -> None:
    """List the configurations there are and the cards that are built."""
    from godwit import cards
    from godwit.spec import config
    from godwit.units import bytes_text

    built = cards.listing()
    current = {*cards.current().items()}
    named = {name: config.load(name).description for name in config.names()}
    if as_json:
        document = {
            "configurations": [{"name": name, "description": text} for name, text in named.items()],
            "cards": [
                {
                    "name": card.name,
                    "hash": card.hash,
                    "library": str(card.library),
                    "size_bytes": card.size_bytes,
                    "built": card.built,
                    "newest": card.newest,
                    "configuration": card.config or None,
                    "current": (card.name, card.hash) in current,
                }
                for card in built
            ],
        }
        print(json.dumps(document, indent=1))
        return
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    console = stdout()
    table = Table(box=box.ROUNDED if console.is_terminal else None, pad_edge=console.is_terminal)
    for heading in ("device", "configuration", "file", "card", "size", "built"):
        table.add_column(heading, justify="right" if heading == "size" else "left")
    for name in sorted({*named, *(card.name for card in built)}):
        builds = [card for card in built if card.name == name]
        if not builds:
            table.add_row(f"sim:{name}", named.get(name, ""), "", "[dim]not built[/dim]", "", "")
        for card in builds:
            when = time.strftime("%Y-%m-%d %H:%M", time.localtime(card.built))
            digest = card.hash if (name, card.hash) in current else f"[dim]{card.hash} (other)[/dim]"
            device, about = (f"sim:{name}", named.get(name, "yours")) if card is builds[0] else ("", "")
            of = escape(card.config) if card.newest else ""
            table.add_row(device, about, of, digest, bytes_text(card.size_bytes), when)
    console.print(table)


@app.command(epilog="Example: godwit card info default")
def info(
    name: Annotated[str, typer.Argument(metavar="NAME|HASH", help="A built card.")] = "default",
    as_json: Json = False,
) -> None:
    """Show what a built card is: its configuration, kernels and their arguments."""
    from godwit import cards
    from godwit.vm import costs, regions

    card = cards.find(name)
    description = card.description()
    if as_json:
        print(json.dumps({**description, "library": str(card.library)}, indent=1))
        return
    from rich.markup import escape

    console = stdout()
    console.print(f"[bold]sim:{card.name}[/bold]  {card.hash}", soft_wrap=True)
    console.print(str(card.library), markup=False, soft_wrap=True)
    config = description["config"]
    further = [("[memory]", memory) for memory in config.get("further_memory", [])]
    for section, fields in [*config.items(), *further]:
        if section == "further_memory":
            continue
        if isinstance(fields, dict):
            values = "  ".join(f"{field}={value}" for field, value in fields.items())
            console.print(f"[bold]{escape(f'[{section}]')}[/bold]  {escape(values)}", soft_wrap=True)
        else:
            console.print(f"{section}: {fields}", markup=False, soft_wrap=True)
    if where := regions.heap_regions(config):
        console.print(f"[bold]driver[/bold]  heap_regions={where}", soft_wrap=True)
    if cost := costs.parameters(config):
        console.print(f"[bold]driver[/bold]  {cost}", soft_wrap=True)
    for port, kernel in enumerate(description["kernels"]):
        args = ", ".join(
            f"{arg['name']}: {arg['kind']}"
            + (f" = {arg['default']}" if arg.get("default") is not None else "")
            for arg in kernel["args"]
        )
        console.print(f"[bold]kernel {port}[/bold]  {kernel['name']}({escape(args)})", soft_wrap=True)
        bus = config["axi"]["data_width"]
        for bundle in kernel["bundles"]:
            if bundle["data_width"] != bus:
                told = f"{bundle['name']}: {bundle['data_width']} bits, adapted to the {bus} of the bus"
                console.print(f"          {told}", markup=False, soft_wrap=True)


@app.command()
def prune(
    everything: Annotated[bool, typer.Option("--all", help="Remove all cards.")] = False,
    as_json: Json = False,
) -> None:
    """Remove cards that are neither of the sources as they are nor the last built under their name."""
    from godwit import cards
    from godwit.units import bytes_text

    gone = cards.prune(everything=everything)
    freed = sum(card.size_bytes for card in gone)
    if as_json:
        print(json.dumps({"removed": [f"{card.name}-{card.hash}" for card in gone], "freed_bytes": freed}))
    else:
        stdout().print(f"{len(gone)} card{'' if len(gone) == 1 else 's'} removed, {bytes_text(freed)} freed")
