# SPDX-License-Identifier: Apache-2.0
"""The command tree, and how its errors end."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from typing import Annotated

import typer

import godwit
from godwit.cli import bench, card, cmt, compare, data, doctor, heap, kernel, vm
from godwit.cli import run as run_commands
from godwit.cli.console import print_error
from godwit.errors import GodwitError, InputError

CANCELLED = 130
"""Exit code after Ctrl-C; Typer makes it of a KeyboardInterrupt."""

app = typer.Typer(
    name="godwit",
    help="Shared virtual memory for accelerators: run real work on a simulated card, "
    "and see what translation costs.",
    epilog="Start with `godwit doctor`, then `godwit data flights --output flights.parquet` "
    "and `godwit run split --help`.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(run_commands.app, name="run")
app.command("bench")(bench.bench)
app.command("compare")(compare.compare)
app.add_typer(card.app, name="card")
app.add_typer(kernel.app, name="kernel")
app.add_typer(cmt.app, name="cmt")
app.add_typer(vm.app, name="vm")
app.add_typer(data.app, name="data")
app.command("heap", epilog="Example: godwit heap --config tiny --set walker.levels=4 --events")(heap.heap)
app.command("doctor")(doctor.doctor)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"godwit {godwit.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", "-V", callback=_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    pass


ENDS = (signal.SIGTERM, signal.SIGHUP)
"""Asked to end, and the terminal was closed."""


def _end_like_ctrl_c(*_: object) -> None:
    # The clean-up is not interrupted by the next one.
    for number in ENDS:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def run(args: list[str]) -> int:
    """Runs the command line `args`; returns the exit code."""
    for number in ENDS:
        # nohup's wish is respected.
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _end_like_ctrl_c)
    try:
        result = typer.main.get_command(app).main(args, prog_name="godwit", standalone_mode=False)
        code = result if isinstance(result, int) else 0
        return _cancelled() if code == CANCELLED else code
    except GodwitError as error:
        print_error(error)
    except typer.TyperException as error:
        return _wrong_use(error)
    except (KeyboardInterrupt, typer.Abort):
        return _cancelled()
    except BrokenPipeError:
        # The reader (`| head`) has gone. Python would complain once more when it closes standard output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except Exception as error:
        if _interrupted(error):
            return _cancelled()
        print_error(
            error, hint="this is a bug in Godwit: run again with GODWIT_DEBUG=1 and report what it prints"
        )
    return 1


def _wrong_use(error: typer.TyperException) -> int:
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        return error.exit_code  # the help has been printed
    path = context.command_path if context else "godwit"
    # With the name of what is wrong, which it itself does not say.
    said = InputError(error.format_message()).with_traceback(error.__traceback__)
    print_error(said, hint=f"{path} --help")
    return error.exit_code


def _interrupted(error: BaseException) -> bool:
    """Whether it came while the clean-up after Ctrl-C was under way: an interrupt between the end of a `with lock` and the line behind
    it has Python release the lock twice, and complain of that instead.
    """
    context = error.__context__
    return context is not None and (isinstance(context, KeyboardInterrupt) or _interrupted(context))


def _cancelled() -> int:
    with suppress(OSError):  # the terminal may be gone
        print("cancelled", file=sys.stderr)
    return CANCELLED
