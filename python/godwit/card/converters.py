# SPDX-License-Identifier: Apache-2.0
"""What `gw_kernel_port` puts between a memory bundle and the card, in words, with the cycles it adds."""

from __future__ import annotations

import dataclasses

from godwit.card.interface import Bundle
from godwit.spec.schema import Config


@dataclasses.dataclass(frozen=True)
class Converter:
    """A block of docs/blocks/axi-adapters.md, which also has its area."""

    module: str
    what: str
    read_cycles: int
    """Added from a read's address to its first data."""
    write_cycles: int
    """Added from a write's address and data to its response."""

    def __str__(self) -> str:
        return f"{self.module}: {self.what} (reads +{self.read_cycles} cycles, writes +{self.write_cycles})"


def between(bundle: Bundle, config: Config) -> list[Converter]:
    """In the order of their way from the kernel to the card; empty: the port is wired."""
    wanted = config.axi.data_width
    found = []
    if bundle.id_width > config.axi.id_width:
        what = f"IDs of {bundle.id_width} bits on {config.axi.id_width}"
        found.append(Converter("gw_axi_id_remap", what, 1, 1))
    if bundle.data_width < wanted:
        found.append(Converter("gw_axi_upsize", f"{bundle.data_width} bits packed into {wanted}", 3, 1))
    elif bundle.data_width > wanted:
        found.append(Converter("gw_axi_downsize", f"{bundle.data_width} bits split into {wanted}", 3, 1))
    return found
