# SPDX-License-Identifier: Apache-2.0
"""``godwit kernel``: what would be built of a kernel, and a manifest from what HLS says about it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from godwit.card.controls import SECOND_PORT
from godwit.cli.console import stderr, stdout

if TYPE_CHECKING:
    from rich.console import Console

    from godwit.card.check import Report

app = typer.Typer(
    help="Look at kernels of yours before they are built, and make their manifests from HLS's output.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


@app.command(
    epilog="Examples: godwit kernel check scale_add.toml;  godwit kernel check solution1/syn/verilog/vadd.v",
)
def check(
    path: Annotated[
        Path, typer.Argument(metavar="FILE", help="A manifest, or RTL; further modules are found beside it.")
    ],
    config: Annotated[
        str, typer.Option(metavar="NAME|FILE", help="Configuration it would be built into.")
    ] = "default",
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="SECTION.FIELD=VALUE", help="Change a field of the configuration."),
    ] = None,
    top: Annotated[str, typer.Option(metavar="MODULE", help="Top module, when there is no manifest.")] = "",
    include_dirs: Annotated[
        list[Path] | None,
        typer.Option("--include", "-I", metavar="FOLDER", help="Include folder, when there is no manifest."),
    ] = None,
    defines: Annotated[
        list[str] | None,
        typer.Option("--define", "-D", metavar="NAME=VALUE", help="Macro, when there is no manifest."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Say what would be built of a kernel, and what is wrong with it. Nothing is built.

    Exit code 0: it can be built; 1: it cannot, and the error says why.
    """
    from godwit import cards
    from godwit.card import check as checks
    from godwit.errors import GodwitError
    from godwit.spec import config as configs

    # The configuration may be one that is whole only with this kernel.
    resolved = configs.load(config, overrides or (), ["checked"])
    try:
        with cards.usable(path):
            report = checks.check(
                path, resolved, top=top, include_dirs=include_dirs or (), defines=defines or ()
            )
    except GodwitError as error:
        if not as_json:
            raise
        found = {
            "error": str(error),
            "found": getattr(error, "found", ""),
            "hint": getattr(error, "hint", ""),
        }
        print(json.dumps({"ok": False, **found}, indent=1))
        raise typer.Exit(1) from error
    if as_json:
        print(json.dumps({"ok": True, **report.as_json()}, indent=1))
    else:
        _print(report, stdout())


def _print(report: Report, console: Console) -> None:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    from godwit.card.converters import between

    kernel, said = report.kernel, report.kernel.manifest
    ports = kernel.interface
    assert ports is not None
    named = f" (module {said.top})" if said.top != said.name else ""
    console.print(f"[bold]{said.name}[/bold]{named}  {escape(said.description)}", soft_wrap=True)

    def table(*headings: str) -> Table:
        made = Table(box=box.ROUNDED if console.is_terminal else None, pad_edge=console.is_terminal)
        for heading in headings:
            made.add_column(heading)
        return made

    started = "interrupt" if ports.interrupt else "polled: it has no interrupt port"
    from_rtl = (
        "read from its control block"
        if ports.protocol
        else "as its manifest says"
        if said.control
        else "assumed"
    )
    console.print(
        f"control  {ports.control.prefix}, {ports.control.addr_width} address bits, {kernel.protocol} ({from_rtl}), {started}",
        soft_wrap=True,
    )
    for port in ports.controls[1:]:
        console.print(
            f"         {port.prefix}, {port.addr_width} address bits, its registers are at {SECOND_PORT:#x} and on",
            soft_wrap=True,
        )
    if ports.bundles:
        rows = table("memory port", "data", "address", "ID", "channels", "what is put between")
        for bundle in ports.bundles:
            channels = " and ".join(
                name for name, there in (("reads", bundle.reads), ("writes", bundle.writes)) if there
            )
            rows.add_row(
                escape(bundle.name),
                str(bundle.data_width),
                str(bundle.addr_width),
                str(bundle.id_width or "none"),
                channels,
                "; ".join(map(str, between(bundle, report.config))) or "nothing",
            )
        console.print(rows)
    if ports.streams:
        rows = table("stream", "direction", "data", "side band")
        for stream in ports.streams:
            side = ", ".join(f"{name} {width}" for name, width in stream.sideband.items())
            rows.add_row(escape(stream.name), stream.direction, str(stream.data_width), side or "none")
        console.print(rows)
    if said.args:
        rows = table("argument", "kind", "offset", "through")
        for arg in said.args:
            kind = f"{arg.kind} {arg.access}" if arg.access else str(arg.kind)
            if arg.default is not None:
                kind += f" = {arg.default}"
            rows.add_row(escape(arg.name), kind, f"{arg.offset:#04x}", escape(arg.bundle or ""))
        console.print(rows)
    for data in kernel.data:
        console.print(f"reads    {data.name}: {data.path}", markup=False, soft_wrap=True)
    if ports.unconnected:
        console.print(f"open     {', '.join(ports.unconnected)}", markup=False, soft_wrap=True)
    for warning in report.warnings:
        console.print("[yellow]warning[/yellow]", escape(warning), soft_wrap=True)
    if report.manifest:
        console.print(
            "it can be built: [bold]godwit card build --kernel", escape(str(report.manifest)), soft_wrap=True
        )
    else:
        console.print("it can be built, once it has a manifest", soft_wrap=True)


@app.command(
    "import",
    epilog="Examples: godwit kernel import solution1/impl/ip;  godwit kernel import xvadd_hw.h --buffer out=w",
)
def import_(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="FILE|FOLDER",
            help="component.xml, kernel.xml, xNAME_hw.h or top module of HLS, or a folder with them.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE.toml", help="Default: NAME.toml in this folder."),
    ] = None,
    source: Annotated[
        list[Path] | None,
        typer.Option(
            "--source",
            metavar="FILE|FOLDER",
            help="Verilog that is not found by itself: all of the kernel's, or what comes on top.",
        ),
    ] = None,
    buffers: Annotated[
        list[str] | None,
        typer.Option("--buffer", metavar="NAME=r|w|rw", help="An argument that is a pointer."),
    ] = None,
    scalars: Annotated[
        list[str] | None,
        typer.Option("--scalar", metavar="NAME", help="A 64-bit argument that is no pointer."),
    ] = None,
    force: Annotated[bool, typer.Option(help="Overwrite a manifest.")] = False,
    as_json: Json = False,
) -> None:
    """Make a kernel's manifest from what HLS wrote about it, and check it."""
    from godwit import cards
    from godwit.card import check as checks
    from godwit.card import hls, importing
    from godwit.card.interface import KernelError
    from godwit.spec import config as configs

    described = hls.find(path, source or ())
    files = importing.sources(described, source or ())
    pairs = dict(text.partition("=")[::2] for text in buffers or ())
    wanted = {name: access or "rw" for name, access in pairs.items()}
    target = output or Path(f"{described.name.lower()}.toml")
    if target.exists() and not force:
        raise KernelError(f"{target} exists", hint="--force overwrites it, -o FILE.toml writes another")
    made = importing.manifest(
        described,
        target.parent,
        given=files,
        ports=importing.read(described, files),
        buffers=wanted,
        scalars=scalars or (),
    )
    before = target.read_bytes() if target.exists() else None
    target.write_text(made.text)
    try:
        with cards.usable(target):
            report = checks.check(target, configs.load("default"))
    except BaseException:
        # A manifest that cannot be used is not left behind.
        target.unlink() if before is None else target.write_bytes(before)
        raise
    if as_json:
        print(json.dumps({"manifest": str(target), "notes": list(made.notes), **report.as_json()}, indent=1))
        return
    stderr().print(f"{target} written", markup=False, soft_wrap=True)
    for note in made.notes:
        stderr().print("note:", note, markup=False, soft_wrap=True)
    _print(report, stdout())
