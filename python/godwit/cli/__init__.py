# SPDX-License-Identifier: Apache-2.0
"""The command ``godwit``.

Exit codes: 0 done, 1 an error or a failed check, 2 wrong use, 3 requests of a replayed trace failed (``cmt simulate``),
130 cancelled (Ctrl-C, SIGTERM, or a closed terminal). With ``--json`` standard output holds one JSON document and nothing
else; messages and progress go to standard error. ``GODWIT_DEBUG=1`` adds the traceback to an error.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point of the command."""
    if sys.argv[1:] in (["--version"], ["-V"]):  # without loading anything else
        import godwit

        print(f"godwit {godwit.__version__}")
        return
    from godwit.cli.app import run

    sys.exit(run(sys.argv[1:]))
