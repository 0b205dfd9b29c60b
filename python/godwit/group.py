# SPDX-License-Identifier: Apache-2.0
"""Child processes that end with this one, whatever ends it."""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path
from typing import Self


class Group:
    """A process group that ends with this object: children join it with ``process_group=group.pid``.

    A guard leads it: a shell that waits for the end of a pipe which only this process holds, then removes their `folder`, if they
    have one, and kills the group and so itself. The pipe ends on `close`, and also when this process is killed in a way that it cannot see.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._guard = subprocess.Popen(
            ["/bin/sh", "-c", 'read _; [ -z "$0" ] || rm -rf -- "$0"; kill -KILL 0', folder or ""],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )

    @property
    def pid(self) -> int:
        return self._guard.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends whatever still runs in it."""
        assert self._guard.stdin is not None
        with contextlib.suppress(OSError):
            self._guard.stdin.close()
        self._guard.wait()
