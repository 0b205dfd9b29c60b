# SPDX-License-Identifier: Apache-2.0
"""What HLS says about a kernel it made: its arguments with their registers, its control protocol, its sources.

Three formats carry it, and :func:`find` takes what is there:

- ``component.xml`` (IP-XACT, in ``impl/ip``): registers and the list of Verilog sources. Vivado HLS 2015 and later. That of an RTL
  kernel, which Vivado's IP packager writes, knows pointers and their memory ports too.
- ``xNAME_hw.h`` (the C driver's header, in ``drivers``): registers with their widths and directions. All versions.
- ``kernel.xml`` (Vitis and SDAccel kernels, and RTL kernels of other tools): which arguments are pointers, and which memory
  port each goes through.
- the Verilog itself: HLS's control block has a constant for every register.

HLS's own among the first two do not know a pointer from a 64-bit number, so that is a guess there, and said to be one.
"""

from __future__ import annotations

import dataclasses
import re
import xml.etree.ElementTree as ElementTree
import zipfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from godwit.card import reading
from godwit.card.controls import SECOND_PORT
from godwit.card.interface import KernelError

_SOURCE_SUFFIXES = (".v", ".sv")
_SYNTHESIS = ("xilinx_verilogsynthesis_view_fileset", "xilinx_anylanguagesynthesis_view_fileset")
"""The view to build from: HLS has one a language, Vivado's packager one for all."""
_BENCHES = ("xilinx_testbench_view_fileset",)
_WHAT = "a component.xml, kernel.xml or xNAME_hw.h, their folder, or the Verilog of the top module"


@dataclasses.dataclass(frozen=True)
class HlsArg:
    """One argument. `direction` is the kernel's: ``in`` the host writes, ``out`` the host reads."""

    name: str
    offset: int
    width: int
    direction: str
    pointer: bool | None = None
    """None: the format does not say."""
    bundle: str = ""
    type: str = ""


@dataclasses.dataclass(frozen=True)
class HlsKernel:
    """A kernel as HLS describes it."""

    name: str
    origin: Path
    args: tuple[HlsArg, ...]
    protocol: str = ""
    """``ap_ctrl_hs``, ``ap_ctrl_chain``, ``ap_ctrl_none``; empty: not said."""
    sources: tuple[Path, ...] = ()
    benches: tuple[Path, ...] = ()
    """Test benches that are packed with it."""
    skipped: tuple[str, ...] = ()
    """Arguments that cannot be passed, with the reason."""


def find(path: Path, more: Collection[Path] = ()) -> HlsKernel:
    """What HLS says at `path`: one of its files, or a folder with them; `more` is Verilog that is not beside it, files and folders.

    Raises `KernelError`.
    """
    if path.is_dir():
        return _in_folder(path)
    if zipfile.is_zipfile(path):
        raise KernelError(
            f"{path} is packed", hint=f"unzip {path} -d {path.stem}; godwit kernel import {path.stem}"
        )
    if not path.is_file():
        raise KernelError(f"{path} does not exist", hint=_WHAT)
    if path.suffix == ".xml":
        return _xml(path)
    if path.name.endswith("_hw.h"):
        return header(path)
    if path.suffix in _SOURCE_SUFFIXES:
        return _rtl(path, more)
    raise KernelError(
        f"{path} is not a description that HLS writes",
        hint=_WHAT,
    )


def _rtl(path: Path, more: Collection[Path]) -> HlsKernel:
    """The top module's file, with all modules beside it: HLS's control block has every register as a constant."""
    places = [path.parent, *more]
    items = [item for place in places for item in (sorted(place.iterdir()) if place.is_dir() else [place])]
    files = list(dict.fromkeys(item for item in items if item.suffix in _SOURCE_SUFFIXES))
    read = reading.read(f"kernel {path.stem}", path.stem, reading.Sources(files, [path.parent]))
    if read.protocol is None:
        raise KernelError(
            f"the control block of {path.stem} is not one of HLS's: its registers cannot be read",
            hint="write the manifest by hand: docs/kernels.md",
        )
    args = [
        HlsArg(register.name, register.offset, register.width, "out" if register.out else "in")
        for register in reading.placed(read.registers, reading.interface_of(f"kernel {path.stem}", read))
    ]
    return HlsKernel(path.stem, path, tuple(args), read.protocol)


def _in_folder(folder: Path) -> HlsKernel:
    """The richest description below a folder, completed by the others of the same kernel."""
    found = {
        "component.xml": sorted(folder.rglob("component.xml"), key=_depth),
        "kernel.xml": sorted(folder.rglob("kernel.xml"), key=_depth),
        "hw.h": sorted(folder.rglob("x*_hw.h"), key=_depth),
    }
    if not any(found.values()):
        raise KernelError(
            f"no component.xml, kernel.xml or xNAME_hw.h in {folder}",
            hint="export the kernel from HLS (export_design), or name its Verilog: godwit kernel import TOP.v",
        )
    kernel: HlsKernel | None = None
    if found["component.xml"]:
        kernel = _xml(found["component.xml"][0])
    if found["hw.h"]:
        from_header = header(_same(found["hw.h"], kernel))
        kernel = from_header if kernel is None or not kernel.args else _join(kernel, from_header)
    if found["kernel.xml"]:
        from_kernel = _xml(found["kernel.xml"][0])
        kernel = from_kernel if kernel is None else _join(from_kernel, kernel)
    assert kernel is not None
    return kernel


def _depth(path: Path) -> tuple[int, str]:
    return len(path.parts), str(path)


def _same(paths: Sequence[Path], kernel: HlsKernel | None) -> Path:
    wanted = f"x{kernel.name.lower()}_hw.h" if kernel else ""
    return next((path for path in paths if path.name.lower() == wanted), paths[0])


def _join(first: HlsKernel, second: HlsKernel) -> HlsKernel:
    """`first`, with what only `second` knows."""
    others = {arg.name: arg for arg in second.args}
    args = []
    for arg in first.args:
        other = others.get(arg.name, arg)
        args.append(
            dataclasses.replace(
                arg,
                pointer=other.pointer if arg.pointer is None else arg.pointer,
                bundle=arg.bundle or other.bundle,
                type=arg.type or other.type,
                # Only kernel.xml leaves the direction out, where everything is written.
                direction=other.direction,
                width=other.width,
            )
        )
    # kernel.xml has no results.
    args += [
        arg for arg in second.args if arg.direction == "out" and arg.name not in {item.name for item in args}
    ]
    return dataclasses.replace(
        first,
        name=second.name or first.name,
        args=tuple(sorted(args, key=lambda arg: arg.offset)),
        protocol=first.protocol or second.protocol,
        sources=first.sources or second.sources,
        benches=first.benches or second.benches,
        skipped=tuple(dict.fromkeys((*first.skipped, *second.skipped))),
    )


def _xml(path: Path) -> HlsKernel:
    try:
        root = ElementTree.parse(path).getroot()
    except (ElementTree.ParseError, OSError) as error:
        raise KernelError(f"{path} cannot be read as XML", found=str(error)) from error
    # IP-XACT's name space differs between versions, the names in it do not.
    for node in root.iter():
        node.tag = node.tag.rpartition("}")[2]
        node.attrib = {key.rpartition("}")[2]: value for key, value in node.attrib.items()}
    if root.tag == "component":
        return _component(path, root)
    kernel = root if root.tag == "kernel" else root.find("kernel")
    if kernel is None:
        raise KernelError(
            f"{path} is neither a kernel.xml nor a component.xml", found=f"its first element is <{root.tag}>"
        )
    return _kernel(path, kernel)


def _component(path: Path, root: ElementTree.Element) -> HlsKernel:
    name = root.findtext("model/views/view/modelName") or root.findtext("name") or path.parent.name
    registers: list[Any] = []
    packaged: list[Any] = []
    maps = [block for block in root.iter("addressBlock") if block.find("register") is not None]
    starting = [any(item.findtext("name") == "CTRL" for item in block.iter("register")) for block in maps]
    _check_ports(
        f"kernel {name} ({path})",
        starting,
        (item.findtext("name") or "?" for item in root.iter("memoryMap")),
    )
    for block, starts in zip(maps, starting, strict=True):
        at = SECOND_PORT if len(maps) == 2 and not starts else 0
        _registers_of(block, at, registers, packaged)
    control = next((item for item in root.iter("register") if item.findtext("name") == "CTRL"), None)
    protocol = "ap_ctrl_none"
    if control is not None:
        fields = {(field.findtext("name") or "").upper() for field in control.findall("field")}
        protocol = "ap_ctrl_chain" if "AP_CONTINUE" in fields else "ap_ctrl_hs"
    skipped = [
        f"{block.findtext('name')}: an array in the control port"
        for block in root.iter("addressBlock")
        if (block.findtext("usage") or "") == "memory"
    ]
    args = (*_arguments(registers), *packaged)
    sources, benches = (tuple(_view(path, root, views)) for views in (_SYNTHESIS, _BENCHES))
    return HlsKernel(name, path, args, protocol, sources, benches, tuple(skipped))


def _check_ports(where: str, starting: Sequence[bool], names: Iterable[str]) -> None:
    """`starting`: of each control port, whether it has start and end."""
    if len(starting) > 2 or (len(starting) == 2 and sum(starting) != 1):
        raise KernelError(
            f"{where} has its arguments at {len(starting)} control ports, a kernel has one, or HLS's control and control_r",
            found=", ".join(names),
            hint="bundle=control in every s_axilite pragma, also of port=return and of the pointers",
        )


def _registers_of(
    block: ElementTree.Element, at: int, registers: list[tuple[str, int, int, bool]], packaged: list[HlsArg]
) -> None:
    """Adds the arguments of one control port, whose registers begin at `at`."""
    for register in block.iter("register"):
        text = register.findtext("description") or ""
        match = re.fullmatch(r"(Data|Control) signal of (\w+)", text.strip())
        if match and match[1] == "Data":
            bits = sum(int(field.findtext("bitWidth") or 0) for field in register.findall("field"))
            out = register.findtext("access") == "read-only"
            offset = at + int(register.findtext("addressOffset") or "0", 0)
            registers.append((match[2], offset, bits or 32, out))
        elif not text and (register.findtext("name") or "") not in _BLOCK_REGISTERS:
            packaged.append(_packaged(register, at))


_BLOCK_REGISTERS = ("CTRL", "GIER", "IP_IER", "IP_ISR")
"""Registers of a control block that are no arguments, by their names in a component.xml."""


def _packaged(register: ElementTree.Element, at: int) -> HlsArg:
    """An argument as Vivado's IP packager has it for RTL kernels: one register of all its bits, a pointer's with its port."""
    parameters = register.iter("parameter")
    bus = next(
        (item.findtext("value") or "" for item in parameters if item.findtext("name") == "ASSOCIATED_BUSIF"),
        "",
    )
    return HlsArg(
        register.findtext("name") or "",
        at + int(register.findtext("addressOffset") or "0", 0),
        int(register.findtext("size") or "32", 0),
        "out" if register.findtext("access") == "read-only" else "in",
        pointer=bool(bus),
        bundle=re.sub("^m_axi_", "", bus, flags=re.IGNORECASE),
    )


def _view(path: Path, root: ElementTree.Element, names: Collection[str]) -> Iterator[Path]:
    """Verilog of the first view that there is. What the IP's own folder does not have is left to the manifest's reader to miss."""
    views = {files.findtext("name"): files for files in root.iter("fileSet")}
    found = next((views[name] for name in names if name in views), None)
    for file in [] if found is None else found.findall("file"):
        name = path.parent / (file.findtext("name") or "")
        if name.suffix in _SOURCE_SUFFIXES:
            yield name


def _kernel(path: Path, kernel: ElementTree.Element) -> HlsKernel:
    args = []
    skipped = []
    for arg in kernel.iter("arg"):
        name = arg.get("name") or ""
        qualifier = arg.get("addressQualifier", "0")
        if qualifier == "4":
            continue  # a stream: no register
        if qualifier not in ("0", "1"):
            skipped.append(f"{name}: addressQualifier {qualifier}")
            continue
        port = arg.get("port", "")
        size = int(arg.get("size", "0x4"), 0)
        args.append(
            HlsArg(
                name,
                int(arg.get("offset", "0"), 0),
                8 * size,
                "in",
                pointer=qualifier == "1",
                bundle=re.sub("^m_axi_", "", port, flags=re.IGNORECASE) if qualifier == "1" else "",
                type=arg.get("type", ""),
            )
        )
    return HlsKernel(
        kernel.get("name") or path.parent.name,
        path,
        tuple(args),
        kernel.get("hwControlProtocol", ""),
        skipped=tuple(skipped),
    )


def header(path: Path) -> HlsKernel:
    """An ``xNAME_hw.h``: comments say what the host may do with a register, so they are read, not the macros."""
    text = path.read_text(encoding="utf-8", errors="replace")
    defined = re.findall(r"^#define\s+\w+_ADDR_AP_CTRL\b", text, re.MULTILINE)
    if "Control signals" not in text and "Data signal of" not in text:
        raise KernelError(f"{path} is not a header of an HLS driver", found=text[:60].strip())
    blocks = re.split(r"^// (?=\w+\s*$)", text, flags=re.MULTILINE)
    with_args = [block for block in blocks if "Data signal of" in block or "Control signals" in block]
    starting = ["Control signals" in block for block in with_args]
    _check_ports(f"{path}: the kernel", starting, (block.split()[0] for block in with_args))
    registers = []
    for block, starts in zip(with_args, starting, strict=True):
        at = SECOND_PORT if len(with_args) == 2 and not starts else 0
        for match in re.finditer(
            r"^// (0x[0-9a-fA-F]+) : Data signal of (\w+)\s*\n//\s+bit\s+(\d+)(?:~(\d+))?\s+-\s+\S+\s+\(([^)]*)\)",
            block,
            re.MULTILINE,
        ):
            bits = int(match[3]) - int(match[4] or match[3]) + 1
            registers.append((match[2], at + int(match[1], 16), bits, match[5].strip() == "Read"))
    skipped = re.findall(r"Memory '(\w+)'", text)
    protocol = "ap_ctrl_none"
    if defined:
        protocol = "ap_ctrl_chain" if "ap_continue" in text else "ap_ctrl_hs"
    name = re.sub("^x|_hw$", "", path.stem)
    return HlsKernel(
        name,
        path,
        _arguments(registers),
        protocol,
        skipped=tuple(f"{array}: an array in the control port" for array in skipped),
    )


def _arguments(registers: Sequence[tuple[str, int, int, bool]]) -> tuple[HlsArg, ...]:
    """Arguments of their registers of 32 bits: (name, offset, bits, the host only reads it)."""
    args: dict[str, HlsArg] = {}
    for name, offset, bits, out in sorted(registers, key=lambda item: item[1]):
        if name in args:
            args[name] = dataclasses.replace(args[name], width=args[name].width + bits)
        else:
            args[name] = HlsArg(name, offset, bits, "out" if out else "in")
    return tuple(args.values())
