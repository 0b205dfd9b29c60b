# SPDX-License-Identifier: Apache-2.0
"""Names every file that a simulation reads from here on, a line each, in the file $GODWIT_READS.

The runner has cocotb import this before a bench. `?` is a line when a program is started, for what that reads nobody sees.
"""

import os
import sys
import warnings
from pathlib import Path

_WRITES = frozenset("wax+")
_STARTS = frozenset(("subprocess.Popen", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.fork"))
_log = Path(os.environ["GODWIT_READS"]).open("a", buffering=1, encoding="utf-8")  # noqa: SIM115 - as long as the simulation
# No bench uses cards, and which build of the module that opens them is here says nothing.
sys.modules["godwit._native"] = None  # type: ignore[assignment]
# Here is none, on purpose.
warnings.filterwarnings("ignore", message=f"No tests were discovered in module: {__name__}")


def _note(name: object) -> None:
    if not isinstance(name, str | bytes | os.PathLike):
        return
    path = Path(os.fsdecode(name)).absolute()
    # Of a module that Python, or pytest, has compiled before: what it was compiled from.
    if path.suffix == ".pyc" and path.parent.name == "__pycache__":
        path = path.parent.parent / f"{path.name.partition('.')[0]}.py"
    _log.write(f"{path}\n")


def _hook(event: str, args: tuple) -> None:
    if event == "open" and not (isinstance(args[1], str) and _WRITES & set(args[1])):
        _note(args[0])
    elif event == "import" and args[1]:
        _note(args[1])
    elif event == "ctypes.dlopen" and args[0] and os.sep in os.fsdecode(args[0]):
        _note(args[0])
    elif event in _STARTS:
        _log.write("?\n")


# Itself, and what is loaded already and lies beside benches.
for _module in list(sys.modules.values()):
    if getattr(_module, "__file__", None):
        _note(Path(_module.__file__))
sys.addaudithook(_hook)
