# SPDX-License-Identifier: Apache-2.0
"""``godwit vm``: a Linux guest with the driver, and the simulated card as its PCIe device."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from godwit.cli.console import stderr, stdout

if TYPE_CHECKING:
    from godwit.vm.resident import State

app = typer.Typer(
    help="Boot a Linux guest with the driver and the simulated card in it: no root, no KVM, no board.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

KINDS = "stock|6.1|backports|hmm|debug"
_KERNEL = typer.Option(
    "--kernel",
    metavar=KINDS,
    help="Debian 12's own kernel (6.12 or 6.1), the newest of Debian's backports, or one built with device-private memory "
    "(about 20 minutes of one processor, once), `debug` with Linux's own checks in it: of memory, locks, DMA and leaks.",
)
KernelOption = Annotated[str, _KERNEL]
KernelOrAny = Annotated[str | None, _KERNEL]
"""That of the guest that runs, otherwise Debian's own."""


def _say(what: str) -> None:
    stderr().print(what, markup=False)


@app.command(epilog="Example: godwit vm run driver/demo/array_sum.c 100000")
def run(
    program: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A program: a source of one file in C or C++, a Python script (FILE.py), or one that was built here, in Rust or anything.",
            exists=True,
            dir_okay=False,
        ),
    ],
    args: Annotated[list[str] | None, typer.Argument(help="Its arguments.")] = None,
    config: Annotated[
        str, typer.Option(metavar="NAME|FILE", help="The card's configuration, built when it is missing.")
    ] = "default",
    kernel: KernelOrAny = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Run a program in the guest that uses /dev/godwit0; ends as the program does.

    In the guest of `godwit vm start`, if one with this kernel, driver and card runs, otherwise, and always for Python and what loads
    libraries, in one of its own.
    """
    from godwit import cards
    from godwit.vm import guests, machine, resident
    from godwit.vm import kernel as kernels

    there = resident.find()
    kind = kernel or (there.kind if there and there.runs() else "stock")
    booted = kernels.ensure(kind, _say)
    say = _say if as_json else print
    if there and guests.goes_alone(program) and _usable(there, kind, guests.identity(booted, config)):
        with resident.alone():
            ended = resident.run(there, guests.built(program, cards.ensure(config).name), args or [], say)
    else:
        script = f"{guests.load(config)} && {guests.call(program, args or ())}"
        guest, card = guests.with_driver(booted, script, [program], config)
        ended = machine.run(booted, guest, card, say=say)
    if as_json:
        served = {"release": booted.release, "code": ended.code, "lines": ended.lines, "card": ended.served}
        print(json.dumps({**served, "seconds": round(ended.seconds, 3)}, indent=1))
    elif not ended.served:
        stdout().print(f"in the guest that runs; Linux {booted.release}, {ended.seconds:.1f} s")
    else:
        done = ended.served
        stdout().print(
            f"the card ran {done['cycles']:,} cycles, {done['register_accesses']:,} register accesses, "
            f"{done['interrupts']:,} interrupts; Linux {booted.release}, {ended.seconds:.1f} s"
        )
    raise typer.Exit(ended.code)


def _usable(there: State, kind: str, identity: str) -> bool:
    if not there.runs():
        _say(
            "the guest that was started has died: `godwit vm stop` cleans up; this program gets one of its own"
        )
        return False
    if (there.kind, there.driver) != (kind, identity):
        _say("the guest that runs has another kernel, driver or card: this program gets one of its own")
        return False
    return True


@app.command(epilog="Example: godwit vm demo --input build/data/flights.parquet --column dep_delay")
def demo(
    table: Annotated[
        Path, typer.Option("--input", metavar="FILE", help="A Parquet table.", exists=True, dir_okay=False)
    ],
    column: Annotated[str, typer.Option(help="A column of it, float64.")] = "dep_delay",
    kernel: KernelOption = "stock",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Split a column in the guest by an ordinary program with plain pointers, and say what its memory did.

    The program is examples/c/plain_pointers.c: rows greater than 15, and their sum. On a kernel with device-private memory
    (`backports`) the column's pages move to the card first.
    """
    from godwit import cards, report
    from godwit.vm import demo as demonstration
    from godwit.vm import kernel as kernels

    values = demonstration.column(table, column)
    booted = kernels.ensure(kernel, _say)
    shown = demonstration.run(booted, values, say=_say if as_json else print)
    found = shown.figures(cards.find(cards.ensure("default").name).description()["config"])
    if as_json:
        print(json.dumps({**asdict(shown), "figures": report.figures_json(found)}, indent=1))
    else:
        console = stdout()
        console.print(f"split and array_sum on {demonstration.DEVICE}, Linux {shown.release}")
        console.print(report.figures_table("", found, boxed=console.is_terminal))
    raise typer.Exit(shown.code)


@app.command(epilog="Example: godwit vm fuzz --calls 1000000 --kernel backports")
def fuzz(
    calls: Annotated[int, typer.Option(metavar="N", help="How many calls.", min=1)] = 100_000,
    seed: Annotated[int | None, typer.Option(help="The seed of a run, to have it again.", min=0)] = None,
    kernel: KernelOption = "stock",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Make calls of the driver that a malicious program would make, and say whether it and Linux withstood.

    Structures that are right but for some fields, at addresses that are no memory, by two threads, while others take the memory
    away, forbid it, and close and open the file. Ends with 1 when a call did harm.
    """
    from godwit.vm import fuzz as fuzzing
    from godwit.vm import kernel as kernels

    booted = kernels.ensure(kernel, _say)
    done = fuzzing.run(booted, calls, seed, say=_say if as_json else print)
    if as_json:
        print(json.dumps(asdict(done), indent=1))
    else:
        for problem in done.problems:
            stdout().print(problem, markup=False, soft_wrap=True)
        stdout().print(
            f"{done.calls:,} calls with seed {done.seed}, {done.served['register_accesses']:,} register accesses of the card, "
            f"{done.calls / done.seconds:,.0f} calls a second with the guest's start; Linux {done.release}: "
            f"{'no harm' if done.code == 0 else 'harm'}",
            soft_wrap=True,
        )
    raise typer.Exit(done.code)


@app.command()
def start(kernel: KernelOption = "stock") -> None:
    """Boot a guest that stays, with the driver loaded: `vm run` uses it, until `vm stop`."""
    from godwit.vm import guests, resident
    from godwit.vm import kernel as kernels

    booted = kernels.ensure(kernel, _say)
    guest, card = guests.with_driver(booted, f"{guests.LOAD} || exit 1\n{resident.ORDERS}")
    with resident.alone():
        resident.start(booted, kernel, guest, card, guests.identity(booted))
    stdout().print(
        f"a guest with Linux {booted.release} runs: `godwit vm run FILE.c` uses it, `godwit vm stop` ends it"
    )


@app.command()
def stop() -> None:
    """End the guest of `vm start`, and remove what it left."""
    from godwit.vm import resident

    served = resident.stop()
    if served:
        stdout().print(f"the guest has ended; the card ran {served['cycles']:,} cycles for it")
    else:
        stdout().print("the guest had died, or did not end by itself: it is gone now")


@app.command()
def shell(kernel: KernelOption = "stock") -> None:
    """A shell in the guest, with the driver loaded; `exit` ends the guest."""
    from godwit.vm import guests, machine
    from godwit.vm import kernel as kernels

    booted = kernels.ensure(kernel, _say)
    guest, card = guests.with_driver(booted, f"{guests.LOAD}\nsetsid cttyhack sh")
    raise typer.Exit(machine.interact(booted, guest, card))


@app.command(epilog="Example: sudo godwit vm dkms /usr/src && sudo dkms install godwit/0.1.0")
def dkms(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where the package's folder is made.")],
) -> None:
    """Make a DKMS package of the driver: it builds godwit.ko for every kernel of a machine."""
    from godwit import toolchain
    from godwit.vm import dkms as packages

    made = packages.package(folder, toolchain.root() / "build/spec")
    stdout().print(str(made), markup=False, soft_wrap=True)


@app.command("kernel")
def get_kernel(kind: Annotated[str, typer.Argument(metavar=KINDS)] = "stock") -> None:
    """Fetch or build a kernel now, so that no guest has to wait for it."""
    from godwit.vm import kernel as kernels

    ready = kernels.ensure(kind, _say)
    stdout().print(f"Linux {ready.release}: {ready.image}", markup=False, soft_wrap=True)
