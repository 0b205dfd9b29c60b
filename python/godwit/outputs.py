# SPDX-License-Identifier: Apache-2.0
"""Writes several files so that either all of them appear or nothing changes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from godwit.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa


class OutputSet:
    """Files that are written beside their targets and renamed together.

    As a context manager: entering checks that the directory can be written, and makes it when it is missing;
    leaving without `commit` removes everything that was written, the directory included when it was made
    here. Existing files of the same names stay as they are until `commit`.
    """

    def __init__(self, directory: Path, *, option: str = "--output-dir") -> None:
        self.directory = directory
        self._hint = f"give a place you may write to with {option}"
        self._made: list[Path] = []
        self._staging: Path | None = None
        self._names: list[str] = []

    def __enter__(self) -> OutputSet:
        try:
            missing = [path for path in (self.directory, *self.directory.parents) if not path.exists()]
            for path in reversed(missing):
                path.mkdir()
                self._made.insert(0, path)
            self._staging = Path(tempfile.mkdtemp(prefix=".godwit-", dir=self.directory))
        except OSError as error:
            self._discard()
            raise self._unwritable(error) from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._discard()

    def write(self, name: str, table: pa.Table) -> Path:
        """Writes `table` as Parquet; see `place`."""
        import pyarrow.parquet as pq

        return self.place(name, lambda path: pq.write_table(table, path))

    def place(self, name: str, write: Callable[[Path], object]) -> Path:
        """Has ``write(path)`` write a file to a temporary place; returns the path it will have after `commit`."""
        assert self._staging is not None, "writing needs the context manager"
        try:
            write(self._staging / name)
        except OSError as error:
            raise self._unwritable(error) from None
        self._names.append(name)
        return self.directory / name

    def commit(self) -> None:
        """Moves every file to its place; when one cannot be moved, all targets are as they were before."""
        assert self._staging is not None, "commit needs the context manager"
        for name in self._names:
            if (self.directory / name).is_dir():
                raise InputError(
                    f"cannot write '{self.directory / name}'",
                    found="a directory of that name",
                    hint=self._hint,
                )
        replaced: list[str] = []
        try:
            for name in self._names:
                replaced.append(name)
                target = self.directory / name
                if target.exists():
                    _keep(target, self._staging / f"{name}.before")
                (self._staging / name).replace(target)
        except BaseException as error:
            self._restore(replaced)
            if isinstance(error, OSError):
                raise self._unwritable(error) from None
            raise
        self._made.clear()

    def _restore(self, names: list[str]) -> None:
        assert self._staging is not None
        for name in names:
            before, new = self._staging / f"{name}.before", self._staging / name
            if before.exists():
                before.replace(self.directory / name)
            elif not new.exists():  # moved, and there was nothing before
                (self.directory / name).unlink()

    def _unwritable(self, error: OSError) -> InputError:
        return InputError(
            f"cannot write to the output directory '{self.directory}'",
            found=error.strerror or str(error),
            hint=self._hint,
        )

    def _discard(self) -> None:
        if self._staging is not None:
            for path in self._staging.iterdir():
                path.unlink()
            self._staging.rmdir()
            self._staging = None
        for path in self._made:
            path.rmdir()
        self._made.clear()


def check_png(path: Path) -> None:
    """Raises InputError for a path that no picture can be written to: before anything is run for it."""
    found = None
    if path.suffix != ".png":
        found = "it is no .png"
    elif path.is_dir():
        found = "a directory of that name"
    elif not path.resolve().parent.is_dir():
        found = "there is no such directory"
    else:
        try:
            # Permissions do not say it all: a file system may be read-only, or have no files of ours.
            with tempfile.TemporaryFile(dir=path.resolve().parent):
                pass
        except OSError as error:
            found = error.strerror or str(error)
    if found is not None:
        hint = "a file ending in .png, in a directory that is there and that you may write to"
        raise InputError(f"cannot write '{path}'", found=found, hint=hint)


@contextmanager
def placed(target: Path) -> Iterator[Path]:
    """Where to write what is to be `target`, and files beside it: they take their places at the end, and nothing stays of what failed."""
    if target.exists() and not target.is_file():
        # A device or a pipe is written as it is.
        yield target
        return
    target = target.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".godwit-", dir=target.parent) as staging:
        yield Path(staging) / target.name
        for path in Path(staging).iterdir():
            path.replace(target.parent / path.name)


def _keep(target: Path, copy: Path) -> None:
    """Keeps what `target` is now as `copy`; `target` itself stays where the file system has hard links."""
    try:
        os.link(target, copy)
    except OSError:
        target.replace(copy)
