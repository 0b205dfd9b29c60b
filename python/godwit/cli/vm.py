# SPDX-License-Identifier: Apache-2.0
"""``godwit vm``: a Linux guest with the driver, and the simulated card as its PCIe device."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Annotated

import typer

from godwit.cli.console import stderr, stdout

app = typer.Typer(
    help="Boot a Linux guest with the driver and the simulated card in it: no root, no KVM, no board.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

KernelOption = Annotated[
    str,
    typer.Option(
        "--kernel",
        metavar="stock|hmm",
        help="Debian's own kernel, or one built with device-private memory (about 20 minutes of one processor, once).",
    ),
]
LOAD = "insmod /godwit.ko"


def _say(what: str) -> None:
    stderr().print(what, markup=False)


@app.command(epilog="Example: godwit vm run driver/demo/array_sum.c 100000")
def run(
    program: Annotated[Path, typer.Argument(metavar="FILE.c", help="A C program of one file.", exists=True)],
    args: Annotated[list[str] | None, typer.Argument(help="Its arguments.")] = None,
    kernel: KernelOption = "stock",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Run a program in the guest that uses /dev/godwit0; ends as the program does."""
    from godwit.vm import guests, machine
    from godwit.vm import kernel as kernels

    booted = kernels.ensure(kernel, _say)
    words = shlex.join([f"/{program.stem}", *(args or ())])
    guest, card = guests.with_driver(booted, f"{LOAD} && {words}", [program])
    ended = machine.run(booted, guest, card, say=_say if as_json else print)
    if as_json:
        served = {"release": booted.release, "code": ended.code, "lines": ended.lines, "card": ended.served}
        print(json.dumps({**served, "seconds": round(ended.seconds, 3)}, indent=1))
    else:
        done = ended.served
        stdout().print(
            f"the card ran {done['cycles']:,} cycles, {done['register_accesses']:,} register accesses, "
            f"{done['interrupts']:,} interrupts; Linux {booted.release}, {ended.seconds:.1f} s"
        )
    raise typer.Exit(ended.code)


@app.command()
def shell(kernel: KernelOption = "stock") -> None:
    """A shell in the guest, with the driver loaded; `exit` ends the guest."""
    from godwit.vm import guests, machine
    from godwit.vm import kernel as kernels

    booted = kernels.ensure(kernel, _say)
    guest, card = guests.with_driver(booted, f"{LOAD}\nsetsid cttyhack sh")
    raise typer.Exit(machine.interact(booted, guest, card))


@app.command("kernel")
def get_kernel(kind: Annotated[str, typer.Argument(metavar="stock|hmm")] = "stock") -> None:
    """Fetch or build a kernel now, so that no guest has to wait for it."""
    from godwit.vm import kernel as kernels

    ready = kernels.ensure(kind, _say)
    stdout().print(f"Linux {ready.release}: {ready.image}", markup=False, soft_wrap=True)
