# SPDX-License-Identifier: Apache-2.0
"""The guest's files, as the archive that Linux unpacks at its start (cpio, `newc`), made without root.

Source: Linux, Documentation/driver-api/early-userspace/buffer-format.rst.
"""

from __future__ import annotations

import gzip
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath


@dataclass(frozen=True)
class Node:
    """A file of the guest: its mode with the type, its bytes, and of a device its numbers."""

    mode: int
    data: bytes = b""
    device: tuple[int, int] = (0, 0)


def program(data: bytes) -> Node:
    """A file that can be executed."""
    return Node(stat.S_IFREG | 0o755, data)


def plain(data: bytes) -> Node:
    """A file that can be read."""
    return Node(stat.S_IFREG | 0o644, data)


def link(target: str) -> Node:
    """A symbolic link."""
    return Node(stat.S_IFLNK | 0o777, target.encode())


def pack(files: Mapping[str, Node]) -> bytes:
    """A compressed archive of these files, by absolute path, and of the folders they are in.

    The same files make the same bytes.
    """
    nodes = {"/dev/console": Node(stat.S_IFCHR | 0o600, device=(5, 1)), **files}
    folders = {str(parent) for path in nodes for parent in PurePosixPath(path).parents} - {"/"}
    nodes.update({folder: Node(stat.S_IFDIR | 0o755) for folder in folders | {"/proc", "/sys", "/tmp"}})
    # A folder comes before what is in it.
    records = [_record(number, path, nodes[path]) for number, path in enumerate(sorted(nodes), 1)]
    archive = b"".join(records) + _record(0, "/TRAILER!!!", Node(0))
    return gzip.compress(archive, compresslevel=1, mtime=0)


def _record(number: int, path: str, node: Node) -> bytes:
    name = path.lstrip("/").encode() + b"\0"
    fields = (number, node.mode, 0, 0, 1, 0, len(node.data), 0, 0, *node.device, len(name), 0)
    header = b"070701" + b"".join(b"%08x" % field for field in fields)
    return _padded(header + name) + _padded(node.data)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)
