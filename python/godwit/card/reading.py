# SPDX-License-Identifier: Apache-2.0
"""A kernel's SystemVerilog, elaborated: the ports of its top module, what it is made of, the files it reads.

The floor that knows the language, and the only one: slang (PyPI's `pyslang`) is a complete front end, so typedefs, packed
arrays, parameters and ``input wire`` are widths and directions here without any rule of our own. Nothing is built, and
nothing is judged but whether it compiles: what a card can do with the ports is `godwit.card.interface`'s business.
"""

from __future__ import annotations

import dataclasses
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pyslang
from pyslang import ast, driver

from godwit.card.interface import Interface, KernelError, Port, interface

NOT_FOR = ("synthesis", "synopsys", "pragma")
"""First words of the comments ``// synthesis translate_off`` and ``translate_on``."""

# What Verilator accepts is accepted: generated Verilog uses names before their declaration, for example, and macros go from
# one file to the next.
_LENIENT = (
    *("--compat", "all", "--libext", "sv", "--libext", "v", "--single-unit", "--timescale", "1ns/1ps"),
    # What is not for synthesis is not in the kernel: HLS puts monitors there that only its own simulator takes.
    *(word for tool in NOT_FOR for word in ("--translate-off-format", f"{tool},translate_off,translate_on")),
)
_DIRECTIONS: dict[Any, Literal["in", "out", "inout"]] = {
    ast.ArgumentDirection.In: "in",
    ast.ArgumentDirection.Out: "out",
    ast.ArgumentDirection.InOut: "inout",
    ast.ArgumentDirection.Ref: "inout",
}
MEMORY_TASKS = ("$readmemh", "$readmemb")
"""System tasks that read a file when the model starts."""


@dataclasses.dataclass(frozen=True)
class Sources:
    """What is compiled together: files in order, where includes and further modules are found, macros."""

    files: Sequence[Path]
    include_dirs: Sequence[Path] = ()
    library_dirs: Sequence[Path] = ()
    defines: Mapping[str, str] = dataclasses.field(default_factory=dict)
    parameters: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Values for parameters of the top module."""

    def arguments(self) -> list[str]:
        """As Verilator and slang both take them."""
        found = [f"+incdir+{path}" for path in self.include_dirs]
        for path in self.library_dirs:
            found += ["-y", str(path)]
        found += [
            f"+define+{name}={value}" if value else f"+define+{name}" for name, value in self.defines.items()
        ]
        return [
            *found,
            *(f"-G{name}={value}" for name, value in self.parameters.items()),
            *map(str, self.files),
        ]


@dataclasses.dataclass(frozen=True)
class Place:
    """A line of a source file."""

    file: Path
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclasses.dataclass(frozen=True)
class DataFile:
    """A file that ``$readmemh`` or ``$readmemb`` reads when the model starts: its name in the source, and where that is."""

    name: str
    place: Place


@dataclasses.dataclass(frozen=True)
class Register:
    """An argument as HLS's control block has it: its name there, the offset of its first word, and who writes it."""

    name: str
    offset: int
    width: int
    out: bool
    """The kernel writes it."""
    block: str = ""
    """The module of its control block."""


@dataclasses.dataclass(frozen=True)
class Reading:
    """A top module with all that is below it."""

    top: str
    ports: tuple[Port, ...]
    parameters: tuple[str, ...]
    protocol: str | None
    """``ap_ctrl_hs``, ``ap_ctrl_chain`` or ``ap_ctrl_none`` where a control block as HLS makes it is inside."""
    start_block: str | None
    """The module of such a block that has start and end."""
    registers: tuple[Register, ...]
    """Arguments of such blocks, by offset; none without one."""
    modules: Mapping[str, Place]
    """Every module and package that is part of it."""
    data_files: tuple[DataFile, ...]
    files: tuple[Path, ...]
    """Every file that was read, included ones too."""


def read(what: str, top: str, sources: Sources) -> Reading:
    """Elaborates `top`. Raises `KernelError`, beginning with `what`, with all errors and their places."""
    front_end = driver.Driver()
    front_end.addStandardArgs()
    command = ["slang", *_LENIENT, "--top", top, *sources.arguments()]
    if not front_end.parseCommandLine(shlex.join(command)) or not front_end.processOptions():
        raise KernelError(f"{what} cannot be read", found=" ".join(map(str, sources.files)))
    front_end.parseAllSources()
    compilation = front_end.createCompilation()
    instances = {instance.name: instance for instance in compilation.getRoot().topInstances}
    if top not in instances:
        known = sorted(symbol.name for symbol in compilation.getDefinitions())
        if top in known or not known:
            _raise_errors(what, compilation, front_end)
        raise KernelError(
            f"{what}: there is no module {top}",
            found=f"modules {', '.join(known[:12])}{' ...' if len(known) > 12 else ''}"
            if known
            else "no module at all",
            hint="`top` in the manifest names the top module",
        )
    _raise_errors(what, compilation, front_end)
    body = instances[top].body
    below = list(_instances(instances[top]))
    manager = front_end.sourceManager
    modules = {instance.definition.name: _place(manager, instance.definition.location) for instance in below}
    for package in compilation.getPackages():
        if package.name != "std":
            modules[package.name] = _place(manager, package.location)
    return Reading(
        top=top,
        ports=tuple(_port(what, port) for port in body.portList),
        parameters=tuple(parameter.name for parameter in body.parameters if not parameter.isLocalParam),
        protocol=_protocol(below),
        start_block=_start_block(below),
        registers=tuple(sorted(_registers(below), key=lambda register: register.offset)),
        modules=modules,
        data_files=tuple(dict.fromkeys(_data_files(what, instances[top], manager))),
        files=tuple(
            dict.fromkeys(filter(Path.is_file, map(Path, map(manager.getFullPath, manager.getAllBuffers()))))
        ),
    )


def interface_of(where: str, read: Reading) -> Interface:
    """Its ports as buses; `where` begins every error. Raises `KernelError`."""
    return interface(
        where,
        read.top,
        read.ports,
        parameters=read.parameters,
        protocol=read.protocol,
        start_block=read.start_block,
    )


def placed(registers: Sequence[Register], ports: Interface) -> tuple[Register, ...]:
    """Registers where the card has them: those of a second control port behind the first one's."""
    moved = [
        dataclasses.replace(register, offset=register.offset + ports.first_register(register.block))
        for register in registers
    ]
    return tuple(sorted(moved, key=lambda register: register.offset))


def _place(manager: pyslang.SourceManager, location: pyslang.SourceLocation) -> Place:
    location = manager.getFullyOriginalLoc(location)
    return Place(Path(manager.getFullPath(location.buffer)), manager.getLineNumber(location))


def _raise_errors(what: str, compilation: ast.Compilation, front_end: driver.Driver) -> None:
    # Two of one name: `godwit.card.isolation` says whether they differ.
    ignored = pyslang.Diags.DuplicateDefinition
    errors = [found for found in compilation.getAllDiagnostics() if found.isError() and found.code != ignored]
    if errors:
        lines = [
            f"{_place(front_end.sourceManager, error.location)}: {front_end.diagEngine.formatMessage(error)}"
            for error in errors[:20]
        ]
        if len(errors) > len(lines):
            lines.append(f"... and {len(errors) - len(lines)} more errors")
        raise KernelError(f"{what} does not compile", found="\n".join(lines), hint=_advice(lines))


def _advice(errors: Sequence[str]) -> str:
    """What to do about modules that no source has."""
    names = [name for line in errors for name in re.findall(r"unknown module '(\w+)'", line)]
    if any(re.search(r"_ap_f\w+_dsp_\d+$|_ip$", name) for name in names):
        return (
            f"{names[0]} is a floating-point core of Vivado that exists as Tcl only: use integers or fixed point, or add "
            "Verilog of your own with this module to `sources`"
        )
    if any(name.startswith("xpm_") for name in names):
        return (
            f"{names[0]} is of Vivado's library: add xpm_*.sv of an installation (data/ip/xpm) to `sources`"
        )
    if names:
        return "add the file or folder that has it to `sources`"
    return ""


def _port(what: str, port: Any) -> Port:
    direction = _DIRECTIONS.get(getattr(port, "direction", None))
    if direction is None:
        raise KernelError(
            f"{what}: port {port.name} is an interface",
            hint="a top module has plain ports: AXI signals one by one",
        )
    if not port.type.isIntegral:
        raise KernelError(
            f"{what}: port {port.name} is {'an unpacked array' if port.type.isUnpackedArray else f'of type {port.type}'}",
            hint="ports are packed: logic [N-1:0][31:0] a, not logic [31:0] a [N]",
        )
    return Port(port.name, direction, int(port.type.bitWidth))


def _instances(instance: ast.InstanceSymbol) -> Iterator[ast.InstanceSymbol]:
    """The instance and all below it, one for each definition and its parameters is enough but all are cheap."""
    found: list[ast.InstanceSymbol] = []

    def visit(node: object) -> None:
        if (
            isinstance(node, ast.InstanceSymbol)
            and node.definition.definitionKind == ast.DefinitionKind.Module
        ):
            found.append(node)

    instance.visit(visit)
    return iter(found)


def _control_blocks(below: Sequence[ast.InstanceSymbol]) -> list[ast.InstanceSymbol]:
    """HLS calls its control block ``KERNEL_BUNDLE_s_axi`` and has a constant ``ADDR_...`` for every register in it."""
    return [instance for instance in below if instance.definition.name.endswith("_s_axi")]


def _protocol(below: Sequence[ast.InstanceSymbol]) -> str | None:
    """The block hands ap_start to the rest, and waits for ap_continue in a chain."""
    blocks = _control_blocks(below)
    ports = {port.name for instance in blocks for port in instance.body.portList}
    if not blocks:
        return None
    if "ap_start" not in ports:
        return "ap_ctrl_none"
    return "ap_ctrl_chain" if "ap_continue" in ports else "ap_ctrl_hs"


def _start_block(below: Sequence[ast.InstanceSymbol]) -> str | None:
    names = {
        instance.definition.name
        for instance in _control_blocks(below)
        if any(port.name == "ap_start" for port in instance.body.portList)
    }
    return names.pop() if len(names) == 1 else None


def _registers(below: Sequence[ast.InstanceSymbol]) -> Iterator[Register]:
    for instance in _control_blocks(below):
        ports = {port.name.lower(): port for port in instance.body.portList}
        for parameter in instance.body.parameters:
            match = re.fullmatch(r"ADDR_(?:(\w+)_DATA|(AP_RETURN))_0", parameter.name)
            if match and (port := ports.get((match[1] or match[2]).lower())):
                out = port.direction == ast.ArgumentDirection.In
                offset = int(parameter.value.convertToInt().value)
                yield Register(port.name, offset, int(port.type.bitWidth), out, instance.definition.name)


def _data_files(what: str, top: ast.InstanceSymbol, manager: pyslang.SourceManager) -> Iterator[DataFile]:
    found: list[DataFile] = []
    scope: Any = top.body  # a Scope as well, which its types do not say

    def visit(node: object) -> None:
        if not isinstance(node, ast.CallExpression) or node.subroutineName not in MEMORY_TASKS:
            return
        place = _place(manager, node.sourceRange.start)
        value = node.arguments[0].eval(ast.EvalContext(ast.ASTContext(scope, ast.LookupLocation.max)))
        name = value.convertToStr().value if value else None
        if not isinstance(name, str):
            raise KernelError(
                f"{what}: {place}: {node.subroutineName} reads a file whose name is not constant"
            )
        found.append(DataFile(name, place))

    top.visit(visit)
    return iter(found)
