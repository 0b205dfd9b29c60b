# SPDX-License-Identifier: Apache-2.0
"""A manifest made from what HLS says about a kernel (`godwit.card.hls`)."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from godwit.card import reading
from godwit.card.hls import HlsArg, HlsKernel
from godwit.card.interface import Interface, KernelError
from godwit.errors import nearest

_ACCESS = ("r", "w", "rw")


@dataclasses.dataclass(frozen=True)
class Imported:
    """A manifest's text, and what its reader has to look at."""

    name: str
    text: str
    notes: tuple[str, ...]


def sources(kernel: HlsKernel, given: Collection[Path] = ()) -> list[Path]:
    """Verilog of the kernel: as given, as its component.xml lists it, or of the folder that HLS puts it into. What is given without the top
    module, such as a vendor's library, comes on top of what is found.

    Raises `KernelError` when there is none.
    """
    more = [path.resolve() for path in given]
    if any(path.stem.lower() == kernel.name.lower() or _top(path, kernel.name) for path in more):
        return more
    try:
        return [*_found(kernel), *more]
    except KernelError:
        if more:
            return more
        raise


def _found(kernel: HlsKernel) -> list[Path]:
    """What nobody gave."""
    listed = [path.resolve() for path in kernel.sources if path.is_file()]
    if listed:
        folders = {path.parent for path in listed}
        # All of one folder: the folder is shorter, and has what HLS forgot to list; but no test bench must come with it.
        whole = len(folders) == 1 and folders.isdisjoint(path.resolve().parent for path in kernel.benches)
        return sorted(folders) if whole else listed
    for parent in list(kernel.origin.resolve().parents)[:6]:
        for below in ("hdl/verilog", "syn/verilog", "impl/verilog", "hdl", "src", "."):
            if _top(parent / below, kernel.name):
                return [parent / below]
    raise KernelError(
        f"no Verilog of kernel {kernel.name} near {kernel.origin}",
        found=f"no {kernel.name}.v in hdl/verilog, syn/verilog or beside it",
        hint="--source FOLDER (VHDL is not read: HLS writes both, take the Verilog)",
    )


def top(kernel: HlsKernel, files: Collection[Path]) -> str:
    """Name of the top module: what the kernel is called, in the letters that its file has."""
    for path in files:
        if path.is_dir() and (found := _top(path, kernel.name)):
            return found
        if path.stem.lower() == kernel.name.lower():
            return path.stem
    return kernel.name


def read(kernel: HlsKernel, files: Collection[Path]) -> Interface:
    """Ports of the kernel, for what its description does not say. Raises `KernelError`."""
    paths = [
        item
        for path in files
        for item in (sorted(path.iterdir()) if path.is_dir() else [path])
        if item.suffix in (".v", ".sv")
    ]
    what = f"kernel {kernel.name}"
    read_ = reading.read(
        what, top(kernel, files), reading.Sources(paths, sorted({path.parent for path in paths}))
    )
    return reading.interface_of(what, read_)


def _top(folder: Path, name: str) -> str:
    if not folder.is_dir():
        return ""
    files = (path for path in folder.iterdir() if path.suffix in (".v", ".sv"))
    return next((path.stem for path in files if path.stem.lower() == name.lower()), "")


def manifest(
    kernel: HlsKernel,
    beside: Path,
    *,
    given: Collection[Path] = (),
    ports: Interface,
    buffers: Mapping[str, str] | None = None,
    scalars: Collection[str] = (),
) -> Imported:
    """The manifest of a kernel, for a file in the folder `beside`.

    `buffers` says what is a pointer, with its access (``r``, ``w``, ``rw``), `scalars` what is none; the rest is as HLS says, or
    guessed: 64 bits are a pointer where the kernel has a memory port. `ports`: those of its top module.
    """
    buffers = dict(buffers or {})
    names = [arg.name for arg in kernel.args]
    for name in (*buffers, *scalars):
        if name not in names:
            raise KernelError(
                f"kernel {kernel.name} has no argument {name}",
                found=f"arguments {', '.join(names) or 'none'}",
                hint=nearest(name, names),
            )
    for name, access in buffers.items():
        if access not in _ACCESS:
            raise KernelError(f"argument {name}: access must be r, w or rw", found=access)
    if kernel.protocol in ("ap_ctrl_none", "user_managed"):
        raise KernelError(
            f"kernel {kernel.name} is of {kernel.protocol}: a launch could not tell when it is done",
            hint="#pragma HLS INTERFACE s_axilite port=return bundle=control, and no ap_ctrl_none",
        )
    files = sources(kernel, given)
    module = top(kernel, files)
    # A manifest's names begin with a small letter.
    name = re.sub(r"^[^a-z]+", "", re.sub(r"\W", "_", kernel.name.lower())) or "kernel"
    notes = list(kernel.skipped)
    lines = [f"# Made by `godwit kernel import` from {kernel.origin.name}.", f"name = {_text(name)}"]
    if module != name:
        lines.append(f"top = {_text(module)}")
    lines.append(f"sources = {_list(os.path.relpath(path, beside.resolve()) for path in files)}")
    if kernel.protocol:
        lines.append(f"control = {_text(kernel.protocol)}")
    bundles = [bundle.name for bundle in ports.bundles]
    for arg in kernel.args:
        lines += [
            "",
            *_argument(arg, buffers.get(arg.name), arg.name in scalars, bundles, notes),
        ]
    return Imported(name, "\n".join(lines) + "\n", tuple(notes))


def _argument(
    arg: HlsArg, access: str | None, scalar: bool, bundles: list[str], notes: list[str]
) -> list[str]:
    pointer = bool(access) or (not scalar and arg.direction == "in" and _is_pointer(arg, bool(bundles)))
    place = f"offset = {arg.offset:#04x}"
    if pointer:
        lines = [
            "[[args]]",
            f"name = {_text(arg.name)}",
            'kind = "buffer"',
            f"access = {_text(access or 'rw')}",
            place,
        ]
        bundle = arg.bundle or (bundles[0] if len(bundles) == 1 else "")
        if bundle:
            lines.append(f"bundle = {_text(bundle)}")
        if arg.pointer is None and access is None:
            lines[2] += "  # a guess: 64 bits"
            notes.append(
                f"{arg.name}: taken for a pointer because it has 64 bits; a number is --scalar {arg.name}"
            )
        if access is None:
            notes.append(f"{arg.name}: access is not known, so rw; --buffer {arg.name}=r or =w says it")
        return lines
    kind = f"{'out_' if arg.direction == 'out' else ''}u{'32' if arg.width <= 32 else '64'}"
    if arg.width <= 64:
        return ["[[args]]", f"name = {_text(arg.name)}", f'kind = "{kind}"', place]
    notes.append(f"{arg.name}: {arg.width} bits are passed as words {arg.name}_0, {arg.name}_1, ...")
    lines = []
    for index in range(-(-arg.width // 32)):
        prefix = "out_" if arg.direction == "out" else ""
        lines += [
            *(["", "[[args]]"] if index else ["[[args]]"]),
            f"name = {_text(f'{arg.name}_{index}')}",
            f'kind = "{prefix}u32"',
            f"offset = {arg.offset + 4 * index:#04x}",
        ]
    return lines


def _is_pointer(arg: HlsArg, memory: bool) -> bool:
    return arg.pointer if arg.pointer is not None else memory and arg.width == 64


def _text(value: str) -> str:
    return json.dumps(value)


def _list(values: Iterable[str]) -> str:
    return json.dumps(list(values))
