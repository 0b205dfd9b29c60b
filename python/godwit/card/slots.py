# SPDX-License-Identifier: Apache-2.0
"""Which port of the card each memory bundle of a kernel is.

Kernel k has slot k: its registers, its interrupt, and port k, which is its first bundle. External masters follow, then the
further bundles of all kernels, in the order of the slots. So a kernel with one bundle is where it always was, and a kernel
without any has a port that nothing is ever asked of.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from godwit.card.kernel import Kernel

OWN_BUNDLE = "gmem"
"""The only bundle that a kernel of Godwit's has: it is read when the card is built."""


@dataclasses.dataclass(frozen=True)
class BundlePort:
    """A memory bundle and where it is."""

    name: str
    port: int
    data_width: int


@dataclasses.dataclass(frozen=True)
class Slot:
    """A kernel's place in the card."""

    kernel: Kernel
    number: int
    bundles: tuple[BundlePort, ...]

    @property
    def ports(self) -> list[int]:
        """All ports of the card that are this kernel's, its slot's first."""
        return [self.number, *(bundle.port for bundle in self.bundles[1:])]


def _bundles(kernel: Kernel) -> list[tuple[str, int]]:
    if kernel.interface is None:
        return [(OWN_BUNDLE, kernel.beat_bits)]
    return [(bundle.name, bundle.data_width) for bundle in kernel.interface.bundles]


def extra_ports(kernels: Sequence[Kernel]) -> int:
    """Bundles beyond each kernel's first."""
    return sum(max(len(_bundles(kernel)) - 1, 0) for kernel in kernels)


def slots(kernels: Sequence[Kernel], external_ports: int) -> list[Slot]:
    """Every kernel's place on a card with so many external masters."""
    free = len(kernels) + external_ports
    placed = []
    for number, kernel in enumerate(kernels):
        bundles = []
        for index, (name, width) in enumerate(_bundles(kernel)):
            bundles.append(BundlePort(name, number if index == 0 else free, width))
            free += index > 0
        placed.append(Slot(kernel, number, tuple(bundles)))
    return placed


def buffered_ports(kernels: Sequence[Kernel], external_ports: int) -> list[int]:
    """Ports of kernels whose bursts may wait for something else of theirs."""
    needed = [slot for slot in slots(kernels, external_ports) if not slot.kernel.manifest.independent]
    return sorted(port for slot in needed for port in slot.ports)
