# SPDX-License-Identifier: Apache-2.0
"""A kernel as a card takes it: its manifest, its sources, and its ports once they were read.

A kernel of Godwit's is known by name and read when a card is built, for it takes the card's ID width as a parameter. A
kernel of the user's is read as soon as it is named: everything that is wrong with it is said before anything is built.
"""

from __future__ import annotations

import dataclasses
import functools
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from godwit import toolchain
from godwit.card import manifest as manifests
from godwit.card.agreement import agree
from godwit.card.interface import Interface, KernelError, Protocol
from godwit.card.manifest import Manifest
from godwit.card.process import BuildError
from godwit.errors import nearest

if TYPE_CHECKING:
    from godwit.card.reading import DataFile, Sources

ID_PARAMETER = "C_M_AXI_GMEM_ID_WIDTH"
"""Parameter of Godwit's own kernels that takes the card's ID width."""
PATH_PACKAGE = "gw_kernel_pkg"
"""Types of the data path that Godwit's kernels are made of, and a user's can be (`data_path`)."""
BEAT_PACKAGE = "gw_kernel_beat_pkg"
"""How wide a beat is there; a card can have another package in its place."""
BEAT_BITS = 512
"""What the one in `data_path` says."""


@dataclasses.dataclass(frozen=True)
class Data:
    """A file that a kernel reads when its model starts: its name in the source, and where it is."""

    name: str
    path: Path


@dataclasses.dataclass(frozen=True)
class Kernel:
    """A kernel in a slot. `own`: one of Godwit's."""

    manifest: Manifest
    own: bool
    interface: Interface | None = None
    """Its ports, once they were read."""
    files: tuple[Path, ...] = ()
    """Sources and what they include, once they were read."""
    data: tuple[Data, ...] = ()
    """What it reads with ``$readmemh`` and ``$readmemb``."""
    remarks: tuple[str, ...] = ()
    """What is legal and may still be a mistake."""
    module: str = ""
    """What its top module is called in the card, when that is not what it is called in its source."""
    copy_of: str = ""
    """The kernel of Godwit's that it is a further copy of, with the same sources."""
    beat_bits: int = BEAT_BITS
    """Bits of a beat of the data path on its card."""

    @property
    def top(self) -> str:
        """Name of the top module."""
        return self.module or self.manifest.top

    @property
    def package(self) -> str:
        """Name of the package with its arguments' offsets."""
        return f"{self.copy_of or self.manifest.name}_args_pkg"

    @property
    def protocol(self) -> Protocol:
        """How it is started: as the manifest says, else as its control block shows, else ap_ctrl_hs."""
        seen = self.interface.protocol if self.interface else None
        return self.manifest.control or seen or "ap_ctrl_hs"

    @property
    def takes_id_width(self) -> bool:
        """The card's ID width is given to it as `ID_PARAMETER`."""
        return self.own and self.interface is not None and ID_PARAMETER in self.interface.parameters

    @property
    def on_data_path(self) -> bool:
        """It is made of parts of `data_path` that know how wide a beat is there."""
        read = (path for path in self.files if path not in shared_packages())
        return self.own or any(PATH_PACKAGE in path.read_text(errors="replace") for path in read)

    def on_beats_of(self, bits: int) -> Kernel:
        """The kernel on a card with such beats, to be read again if that changes its ports."""
        same = bits == self.beat_bits or not self.on_data_path
        return dataclasses.replace(self, beat_bits=bits, interface=self.interface if same else None)

    @property
    def ports(self) -> dict[str, int]:
        """Width of every port of its buses, in bits."""
        assert self.interface is not None, "a kernel is read before it is wired"
        buses = (*self.interface.controls, *self.interface.bundles, *self.interface.streams)
        return {port.name: port.width for bus in buses for port in bus.signals.values()}


def own_kernel(name: str) -> Kernel:
    """The kernel of Godwit's that is called so; ``NAME_2`` is a copy of ``NAME``. BuildError names those there are."""
    directory = toolchain.root() / "kernels"
    path = directory / name / f"{name}.toml"
    if not path.is_file():
        if copy := re.fullmatch(r"(\w+)_[1-9]\d*", name):
            original = own_kernel(copy[1]).manifest
            return Kernel(original.model_copy(update={"name": name}), own=True, copy_of=original.name)
        known = sorted(
            item.parent.name for item in directory.glob("*/*.toml") if item.stem == item.parent.name
        )
        raise BuildError(
            f"card.kernels: there is no kernel '{name}'",
            found=f"known are {', '.join(known)}",
            hint=nearest(name, known),
        )
    return Kernel(manifests.load(path), own=True)


def beats_of(kernels: Sequence[Kernel], bus_bits: int) -> int:
    """Bits of a beat of the data path, which has one width on a card: the bus's, if every kernel made of it can be so wide."""
    widths = [kernel.manifest.data_widths for kernel in kernels if kernel.on_data_path]
    return bus_bits if widths and all(bus_bits in each for each in widths) else BEAT_BITS


def user_kernel(path: Path | str) -> Kernel:
    """The user's kernel of a manifest or of the source beside it, with its ports.

    Raises `ManifestError`, or `KernelError` when it does not compile or has ports that no card can connect.
    """
    return probed(Kernel(manifests.load(path), own=False), id_width=0)


def probed(kernel: Kernel, id_width: int) -> Kernel:
    """The kernel with its ports; `id_width` is the card's, for kernels that take it."""
    if kernel.interface is not None:
        return kernel
    from godwit.card import reading  # slang is loaded when there is something to read

    manifest = kernel.manifest
    what = f"kernel {manifest.name}"
    with tempfile.TemporaryDirectory() as directory:
        package = Path(directory) / f"{kernel.package}.sv"
        package.write_text(manifest.args_package(kernel.package))
        made = {package.name, f"{BEAT_PACKAGE}.sv"}
        before = (*packages(kernel.beat_bits, Path(directory)), package)
        read = reading.read(what, kernel.top, sources(kernel, id_width, before))
    found = reading.interface_of(f"{what} ({read.modules[read.top].file})", read)
    remarks = () if kernel.own else agree(manifest, found, reading.placed(read.registers, found))
    files = tuple(path for path in read.files if path.name not in made)
    data = tuple(dict.fromkeys(_find(manifest, item) for item in read.data_files))
    return dataclasses.replace(kernel, interface=found, files=files, data=data, remarks=remarks)


def sources(kernel: Kernel, id_width: int = 0, before: tuple[Path, ...] = ()) -> Sources:
    """What is compiled for a kernel alone, after the files `before`."""
    from godwit.card.reading import Sources

    manifest = kernel.manifest
    directories = library_dirs([kernel])
    folders = dict.fromkeys(source.parent for source in manifest.sources)
    return Sources(
        files=(*before, *manifest.sources),
        include_dirs=(*manifest.include_dirs, *folders, *directories),
        library_dirs=directories,
        defines={name: str(value) for name, value in manifest.defines.items()},
        parameters={ID_PARAMETER: str(id_width)} if kernel.own else {},
    )


def _find(manifest: Manifest, item: DataFile) -> Data:
    """A data file is beside the source that names it, beside another source or the manifest, or in an include folder."""
    folders = dict.fromkeys([
        item.place.file.parent, *(source.parent for source in manifest.sources), *manifest.include_dirs,
    ])  # fmt: skip
    for folder in folders:
        if (folder / item.name).is_file():
            return Data(item.name, (folder / item.name).resolve())
    raise KernelError(
        f"kernel {manifest.name}: {item.name} does not exist, which {item.place} reads",
        found=f"no such file in {', '.join(map(str, folders))}",
        hint="put it beside the source, or name its folder in include_dirs",
    )


def library_dirs(kernels: list[Kernel]) -> list[Path]:
    """Where modules that a kernel uses without naming them in its manifest are found."""
    hardware = toolchain.root() / "hw" / "rtl" / "common"
    own = {kernel.manifest.sources[0].parent for kernel in kernels if kernel.own}
    return [data_path(), hardware, *sorted(own)]


def data_path() -> Path:
    """Where the modules are that Godwit's kernels share."""
    return toolchain.root() / "kernels" / "common"


@functools.cache
def shared_packages() -> tuple[Path, ...]:
    """Packages read before every kernel, for beats of `BEAT_BITS`."""
    hardware = toolchain.root() / "hw" / "rtl" / "common"
    return (hardware / "gw_axi_pkg.sv", hardware / "gw_pkg.sv", *sorted(data_path().glob("*_pkg.sv")))


def packages(beat_bits: int, into: Path) -> list[Path]:
    """`shared_packages` for beats of such a width; what has to be made for it is written to `into`."""
    if beat_bits == BEAT_BITS:
        return list(shared_packages())
    made = into / f"{BEAT_PACKAGE}.sv"
    made.write_text(
        f"// Generated: the bus of this card has {beat_bits} bits.\n"
        f"package {BEAT_PACKAGE};\n  localparam int unsigned BeatBytes = {beat_bits // 8};\nendpackage\n"
    )
    return [made if path.name == made.name else path for path in shared_packages()]


def user_files(kernel: Kernel) -> list[Path]:
    """Files of the kernel that are the user's: sources and what they include."""
    folders = {path.parent for path in shared_packages()}
    return [path for path in kernel.files if path.parent not in folders]
