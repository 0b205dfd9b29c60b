# SPDX-License-Identifier: Apache-2.0
"""What would be built of a kernel, and what is wrong with it, before anything is built."""

from __future__ import annotations

import dataclasses
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from godwit import toolchain
from godwit.card import plan as plans
from godwit.card import wiring
from godwit.card.controls import SECOND_PORT
from godwit.card.converters import between
from godwit.card.interface import KernelError
from godwit.card.isolation import isolate
from godwit.card.kernel import Kernel, beats_of, library_dirs, packages, probed, sources, user_files
from godwit.card.manifest import SUFFIXES, ArgKind, Manifest, load
from godwit.card.messages import warnings_of
from godwit.card.process import error_lines
from godwit.spec.schema import Config


@dataclasses.dataclass(frozen=True)
class Report:
    """A kernel that can be built."""

    kernel: Kernel
    manifest: Path | None
    """None: there is none, the RTL alone was read."""
    config: Config
    warnings: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """The same for programs; widths in bits, offsets in bytes."""
        ports = self.kernel.interface
        assert ports is not None
        said = self.kernel.manifest
        return {
            "kernel": said.name,
            "top": said.top,
            "manifest": str(self.manifest) if self.manifest else None,
            "files": [str(path) for path in user_files(self.kernel)],
            "clock": ports.clock,
            "reset": ports.reset,
            "interrupt": ports.interrupt,
            "control": {"port": ports.control.prefix, "addr_width": ports.control.addr_width, "protocol": self.kernel.protocol},
            "further_controls": [
                {"port": port.prefix, "addr_width": port.addr_width, "offset": SECOND_PORT} for port in ports.controls[1:]
            ],
            "bundles": [
                {
                    "name": bundle.name,
                    "data_width": bundle.data_width,
                    "addr_width": bundle.addr_width,
                    "id_width": bundle.id_width,
                    "reads": bundle.reads,
                    "writes": bundle.writes,
                    "converters": [dataclasses.asdict(converter) for converter in between(bundle, self.config)],
                }
                for bundle in ports.bundles
            ],
            "streams": [
                {"name": stream.name, "direction": stream.direction, "data_width": stream.data_width, **stream.sideband}
                for stream in ports.streams
            ],
            "open_outputs": list(ports.unconnected),
            "args": [arg.model_dump(mode="json") for arg in said.args],
            "data_files": {data.name: str(data.path) for data in self.kernel.data},
            "warnings": list(self.warnings),
        }  # fmt: skip


def check(
    path: Path | str,
    config: Config,
    *,
    top: str = "",
    include_dirs: Sequence[Path] = (),
    defines: Sequence[str] = (),
) -> Report:
    """Reads the kernel of a manifest, of the source beside one, or of RTL alone, as `config` would have it.

    For RTL alone (a file, or a folder with `top`): further modules are found beside it, and there are no arguments.
    Raises `ManifestError` or `KernelError` with what is wrong.
    """
    path = Path(path)
    beside = path if path.suffix == ".toml" else path.with_suffix(".toml")
    manifest = beside if beside.is_file() and not top else None
    if manifest:
        kernel = Kernel(load(manifest), own=False)
    else:
        kernel = Kernel(_alone(path, top, include_dirs, defines), own=False)
    kernel = probed(kernel, config.axi.id_width)
    kernel = probed(kernel.on_beats_of(beats_of([kernel], config.axi.data_width)), config.axi.id_width)
    wiring.check(kernel)
    remarks = list(kernel.remarks)
    assert kernel.interface is not None
    remarks += [
        f"memory port {bundle.name} has {bundle.addr_width} address bits: its buffers have to lie below 2^{bundle.addr_width} "
        "(config_interface -m_axi_addr64 of HLS makes it 64)"
        for bundle in kernel.interface.bundles
        if bundle.addr_width < 64
    ]
    if manifest is None:
        remarks += ["arguments are not known without a manifest (godwit kernel import makes one)"]
    elif kernel.interface.bundles and not any(
        arg.kind in (ArgKind.BUFFER, ArgKind.U64) for arg in kernel.manifest.args
    ):
        names = ", ".join(bundle.name for bundle in kernel.interface.bundles)
        remarks += [
            f"no argument is a pointer, so memory port {names} takes addresses that are fixed in the RTL "
            "(m_axi offset=off of HLS; offset=slave makes an argument of each)"
        ]
    return Report(kernel, manifest, config, (*remarks, *_lint(kernel)))


def _alone(path: Path, top: str, include_dirs: Sequence[Path], defines: Sequence[str]) -> Manifest:
    if not path.exists():
        raise KernelError(f"{path} does not exist")
    if path.is_dir():
        files = sorted(item for item in path.iterdir() if item.suffix in SUFFIXES)
        if not top:
            raise KernelError(
                f"{path} is a folder", hint="--top MODULE, or name a manifest or the file of the top module"
            )
    elif path.suffix in SUFFIXES:
        files = sorted({path, *(item for item in path.parent.iterdir() if item.suffix in SUFFIXES)})
    else:
        raise KernelError(f"{path} is neither a manifest (.toml) nor RTL ({', '.join(SUFFIXES)})")
    name = top or path.stem
    pairs = (text.partition("=") for text in defines)
    return Manifest(
        name="".join(letter if letter.isalnum() else "_" for letter in name.lower()).lstrip("_0123456789"),
        top=name,
        sources=[item.resolve() for item in files],
        include_dirs=[item.resolve() for item in include_dirs],
        defines={key: value for key, _, value in pairs},
    )


def _lint(kernel: Kernel) -> list[str]:
    """Verilator's warnings about the kernel, without those of taste. Raises `KernelError` when it does not take it."""
    name = kernel.manifest.name
    with tempfile.TemporaryDirectory() as directory:
        package = Path(directory) / f"{name}_args_pkg.sv"
        package.write_text(kernel.manifest.args_package())
        unit = isolate({name: (kernel.top, sources(kernel))}, ())[0]
        file = Path(directory) / f"{name}.sv"
        file.write_text(unit.text)
        command = [
            str(toolchain.verilator()),
            "--lint-only",
            *plans.LINT_OPTIONS,
            "--quiet",
            "--top-module",
            unit.top,
        ]
        for folder in library_dirs([kernel]):
            command += ["-y", str(folder)]
        waivers = toolchain.root() / "hw" / "rtl" / "lint.vlt"
        before = packages(kernel.beat_bits, Path(directory))
        command += [str(path) for path in (waivers, *before, package, file)]
        done = subprocess.run(command, env=toolchain.env(), capture_output=True, text=True, check=False)
    said = done.stderr + done.stdout
    if done.returncode != 0:
        raise KernelError(f"kernel {name} does not compile", found=error_lines(said))
    return warnings_of(said, user_files(kernel))
