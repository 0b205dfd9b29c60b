# SPDX-License-Identifier: Apache-2.0
"""``godwit cmt``: contiguous memory."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from godwit.cli.bench import bench as run_bench
from godwit.cli.console import stdout
from godwit.errors import InputError
from godwit.units import bytes_text, parse_size

if TYPE_CHECKING:
    from godwit.cmt import Area, Event, Piece, Simulation

app = typer.Typer(help="Contiguous memory from scattered areas.", no_args_is_help=True)

UNSERVED = 3
"""Exit code of a trace with requests that failed; what cannot be replayed at all is 1, as every error."""

NODE_MAX = (1 << 32) - 2

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


@app.command("bench")
def bench(
    quick: Annotated[bool, typer.Option("--quick", help="A few cells, once.")] = False,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE.png", help="Where the plot goes.", show_default="build/bench/papers.png"),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure it beside glibc, jemalloc, mimalloc and tcmalloc: the same as `godwit bench papers --paper C`."""
    run_bench("papers", paper="C", quick=quick, plot=plot, as_json=as_json)


@app.command("dump")
def dump(
    config: Annotated[
        str | None,
        typer.Option(metavar="KEY=VALUE ...", help="Configuration of the pool.", show_default="$GODWIT_CMT"),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Open a pool as configured and print what memory it has: areas joined, holes, bookkeeping.

    Example: godwit cmt dump --config "area=0x80000000:16MiB area=0x90000000:16MiB"
    """
    from godwit import cmt

    cmt.init(config)
    stats, pieces = cmt.stats(), cmt.dump()
    if as_json:
        print(json.dumps({"stats": stats, "pieces": [asdict(piece) for piece in pieces]}, indent=1))
        return
    console = stdout()
    _print_pieces(console, pieces)
    console.print(
        f"{bytes_text(stats['free'])} free of {bytes_text(stats['total'])}, largest piece "
        f"{bytes_text(stats['largest_free'])}, bookkeeping {bytes_text(stats['metadata_bytes'])}"
    )


@app.command("simulate")
def simulate(
    areas: Annotated[
        Path, typer.Option(metavar="FILE.json", help='Array of {"base", "bytes"[, "node"]}.', exists=True)
    ],
    trace: Annotated[
        Path,
        typer.Option(
            metavar="FILE.json",
            help='Array of {"id", "alloc"[, "align", "min", "max", "node", "strict"]} and {"free": ID}.',
            exists=True,
        ),
    ],
    granule: Annotated[str, typer.Option(metavar="BYTES", help="Smallest unit.")] = "4KiB",
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="Draw the map of memory at the end.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Replay an allocation trace on areas: what is served, what is not and why, and the map of memory.

    Sizes and addresses are numbers, or text such as "16MiB" or "0x8000_0000". Nothing is allocated. Exit code 3 when
    a request failed, 1 when the input cannot be used. Example: godwit cmt simulate --areas areas.json --trace trace.json --picture map.png
    """
    from godwit import cmt

    if picture is not None and picture.suffix.lower() != ".png":
        raise InputError(
            f"--picture '{picture}' is not a PNG", hint=f"--picture {picture.with_suffix('.png')}"
        )
    area_list = [_area(item, f"'{areas}', area {number}") for number, item in enumerate(_read(areas))]
    events = [_event(item, f"'{trace}', event {number}") for number, item in enumerate(_read(trace))]
    found = cmt.simulate(area_list, events, _number(granule, "--granule"))
    if picture is not None:
        from godwit.cmt_picture import draw

        draw(area_list, found, picture)
    if as_json:
        print(json.dumps(asdict(found), indent=1))
    else:
        _report(found, area_list, picture)
    if found.failures:
        raise typer.Exit(UNSERVED)


def _report(found: Simulation, areas: list[Area], picture: Path | None) -> None:
    from godwit.cmt_picture import text_map

    console = stdout()
    console.print(
        f"{found.served} served, {len(found.failures)} failed; {bytes_text(found.free)} free of "
        f"{bytes_text(found.total)}, largest piece {bytes_text(found.largest)}, peak {bytes_text(found.peak)}"
    )
    for line in text_map(areas, found.pieces):
        console.print(line, markup=False, soft_wrap=True)
    for failure in found.failures:
        words = f"event {failure.event}: {bytes_text(failure.nbytes)}: {failure.reason}"
        console.print(words, markup=False, soft_wrap=True)
    if picture is not None:
        console.print(f"picture: {picture}", markup=False, soft_wrap=True)


def _print_pieces(console: Any, pieces: list[Piece]) -> None:
    end = None
    for piece in pieces:
        if end is not None and piece.address != end:
            console.print(f"{end:#018x}  {bytes_text(piece.address - end):>10}  hole")
        console.print(f"{piece.address:#018x}  {bytes_text(piece.nbytes):>10}  {piece.kind}")
        end = piece.address + piece.nbytes


def _read(path: Path) -> list[dict[str, Any]]:
    try:
        items = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"cannot read '{path}'", found=str(error), hint="a JSON array: godwit cmt simulate --help"
        ) from None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise InputError(f"'{path}' is not an array of objects")
    return items


def _number(value: Any, where: str, highest: int = (1 << 64) - 1) -> int:
    number = value
    if isinstance(value, str):
        try:
            number = int(value, 16) if value.startswith("0x") else parse_size(value)
        except (ValueError, InputError):
            number = None
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number <= highest:
        raise InputError(
            f"{where}: expected a whole number from 0 to {highest:#x}",
            found=json.dumps(value),
            hint='4096, "16MiB" or "0x8000_0000"',
        )
    return number


def _keys(item: dict[str, Any], where: str, needed: set[str], possible: set[str]) -> None:
    """A key that is missing or unknown is more often a slip than meant."""
    wrong = sorted(needed - set(item)) or sorted(set(item) - needed - possible)
    if wrong:
        said = "is missing" if wrong[0] not in item else "is not known"
        known = ", ".join([*sorted(needed), *(f"[{name}]" for name in sorted(possible))])
        raise InputError(f"{where}: '{wrong[0]}' {said}", found=json.dumps(item), hint=f"keys are {known}")


def _area(item: dict[str, Any], where: str) -> Area:
    from godwit.cmt import Area

    _keys(item, where, {"base", "bytes"}, {"node"})
    return Area(
        _number(item["base"], f"{where}, base"),
        _number(item["bytes"], f"{where}, bytes"),
        _number(item.get("node", 0), f"{where}, node", NODE_MAX),
    )


def _event(item: dict[str, Any], where: str) -> Event:
    from godwit.cmt import Event

    if "free" in item:
        _keys(item, where, {"free"}, set())
        return Event(_number(item["free"], f"{where}, free"), None)
    _keys(item, where, {"id", "alloc"}, {"align", "min", "max", "node", "strict"})
    node = item.get("node")
    strict = item.get("strict", False)
    if not isinstance(strict, bool) or (strict and node is None):
        raise InputError(
            f"{where}, strict: expected true or false, and a node with true", found=json.dumps(item)
        )
    return Event(
        _number(item["id"], f"{where}, id"),
        _number(item["alloc"], f"{where}, alloc"),
        _number(item.get("align", 0), f"{where}, align"),
        _number(item.get("min", 0), f"{where}, min"),
        _number(item.get("max", 0), f"{where}, max"),
        None if node is None else _number(node, f"{where}, node", NODE_MAX),
        strict,
    )
