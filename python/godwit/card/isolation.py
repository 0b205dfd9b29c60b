# SPDX-License-Identifier: Apache-2.0
"""The user's kernels made independent of each other, and of Godwit, before they are compiled into one card.

Verilog has one name space for modules and one for macros, and two kernels know nothing of each other: HLS calls a module of
each kernel ``..._control_s_axi`` or ``..._gmem_m_axi``, with different contents. So each kernel becomes one file:

- preprocessed by Verilator with its own macros and include folders, so that none of them reaches another kernel;
- a module, interface or package whose name stands for something else elsewhere in the card is renamed to
  ``KERNEL__NAME``, wherever the kernel uses it; what is the same in two kernels, with all that is below it, is kept once;
- a file that ``$readmemh`` or ``$readmemb`` names is looked up beside the card's library, where the build puts it.

Renaming works on slang's syntax tree, so strings, comments, ports and hierarchical names that look alike stay as they are.
Places in messages are those of the user's files: the preprocessor leaves ``line`` marks.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
import subprocess
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pyslang import parsing, syntax

from godwit import toolchain
from godwit.card.interface import KernelError
from godwit.card.process import error_lines
from godwit.card.reading import MEMORY_TASKS, NOT_FOR, Sources

_DESIGN_UNITS = (
    syntax.SyntaxKind.ModuleDeclaration,
    syntax.SyntaxKind.InterfaceDeclaration,
    syntax.SyntaxKind.ProgramDeclaration,
    syntax.SyntaxKind.PackageDeclaration,
)


@dataclasses.dataclass(frozen=True)
class Unit:
    """A kernel as one file. `top`: what its top module is called there."""

    name: str
    top: str
    text: str


@dataclasses.dataclass(frozen=True)
class _Definition:
    """A module, interface or package: where its text is, and what names of other definitions it uses."""

    begin: int
    end: int
    text: str
    uses: frozenset[str]


@dataclasses.dataclass(frozen=True)
class _Edit:
    begin: int
    end: int
    text: str


class _Parsed:
    """A preprocessed kernel and every place in it that may have to change."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.data = text.encode()
        self.names: list[tuple[str, int, int]] = []
        """Tokens that name a definition: the name, and where it stands (bytes)."""
        self.file_names: list[tuple[int, int]] = []
        """First arguments of `MEMORY_TASKS`."""
        self.definitions: dict[str, _Definition] = {}
        self.repeated: list[tuple[int, int]] = []
        """Definitions that are there once more, the same."""
        tree = syntax.SyntaxTree.fromText(text)
        tree.root.visit(self._visit)
        for node in self._units(tree.root):
            self._define(node)

    def _visit(self, node: object) -> None:
        if isinstance(node, parsing.Token):
            return
        match node:
            case syntax.ModuleDeclarationSyntax():
                self._token(node.header.name)
                if node.blockName is not None:
                    self._token(node.blockName.name)
            case syntax.HierarchyInstantiationSyntax():
                self._token(node.type)
            case syntax.PackageImportItemSyntax():
                self._token(node.package)
            case syntax.ScopedNameSyntax():
                if node.separator.rawText == "::" and isinstance(node.left, syntax.IdentifierNameSyntax):
                    self._token(node.left.identifier)
            case syntax.InterfacePortHeaderSyntax():
                self._token(node.nameOrKeyword)
            case syntax.InvocationExpressionSyntax():
                if str(node.left).strip() in MEMORY_TASKS and node.arguments is not None:
                    where = node.arguments.parameters[0].sourceRange
                    self.file_names.append((where.start.offset, where.end.offset))

    def _token(self, token: parsing.Token) -> None:
        begin = token.location.offset
        raw = token.rawText
        self.names.append((token.valueText, begin, begin + len(raw.encode())))

    @staticmethod
    def _units(root: syntax.SyntaxNode) -> Iterator[Any]:
        if root.kind in _DESIGN_UNITS:
            yield root
        else:
            yield from (node for node in getattr(root, "members", ()) if node.kind in _DESIGN_UNITS)

    def _define(self, node: syntax.ModuleDeclarationSyntax) -> None:
        name = node.header.name.valueText
        begin, end = node.sourceRange.start.offset, node.sourceRange.end.offset
        raw = self.data[begin:end].decode()
        # What the preprocessor adds, and how the text is laid out, does not tell two definitions apart.
        text = " ".join(re.sub(r'`line \d+ "[^"]*" \d', "", raw).split())
        if any(begin <= first and last <= end for first, last in self.file_names):
            # Its data file is this kernel's own, whatever it is called.
            text = f"{self.name} {text}"
        uses = frozenset(used for used, first, last in self.names if begin <= first and last <= end)
        known = self.definitions.get(name)
        if known is not None and known.text != text:
            raise KernelError(
                f"kernel {self.name}: module {name} is there twice, with different contents",
                found=f"a second one of {len(text)} characters beside one of {len(known.text)}",
                hint="leave one of them out of `sources`",
            )
        if known is None:
            self.definitions[name] = _Definition(begin, end, text, uses)
        else:
            self.repeated.append((begin, end))

    def identity(self, name: str) -> str:
        """Hash of a definition and of all definitions of this kernel below it."""
        below: set[str] = set()
        todo = [name]
        while todo:
            current = todo.pop()
            if current in self.definitions and current not in below:
                below.add(current)
                todo.extend(self.definitions[current].uses)
        digest = hashlib.sha256()
        for found in sorted(below):
            digest.update(f"{found}\0{self.definitions[found].text}\0".encode())
        return digest.hexdigest()


def isolate(kernels: Mapping[str, tuple[str, Sources]], taken: Collection[str]) -> list[Unit]:
    """One unit for each kernel, given as name: (top module, sources); `taken` are names the card has a use for itself.

    Raises `KernelError`, with Verilator's words, when a kernel cannot be preprocessed.
    """
    owner = dict.fromkeys(taken, "")
    units = []
    for name, (top, sources) in kernels.items():
        parsed = _Parsed(name, preprocess(name, sources))
        renamed: dict[str, str] = {}
        edits = [_Edit(begin, end, "") for begin, end in parsed.repeated]
        for found, definition in parsed.definitions.items():
            identity = parsed.identity(found)
            if found not in owner:
                owner[found] = identity
            elif owner[found] == identity:
                edits.append(_Edit(definition.begin, definition.end, ""))
            else:
                renamed[found] = f"{name}__{found}"
        edits += [_Edit(begin, end, renamed[found]) for found, begin, end in parsed.names if found in renamed]
        package = f"{name}_data_pkg"
        edits += [
            _Edit(begin, end, f"{package}::path({parsed.data[begin:end].decode()})")
            for begin, end in parsed.file_names
        ]
        head = _data_package(name, package) if parsed.file_names else ""
        text = f"`resetall\n{head}{_apply(parsed.data, edits)}\n`resetall\n"
        units.append(Unit(name, renamed.get(top, top), text))
    return units


def preprocess(name: str, sources: Sources) -> str:
    """The files of a kernel as one text without macros, includes and what is not for synthesis."""
    with tempfile.TemporaryDirectory() as directory:
        overlay = Path(directory)
        plain = dataclasses.replace(
            sources,
            files=[_for_synthesis(path, overlay / str(number)) for number, path in enumerate(sources.files)],
            include_dirs=(overlay, *sources.include_dirs),
            library_dirs=(),
            parameters={},
        )
        for folder in dict.fromkeys(sources.include_dirs):
            for path in (*folder.glob("*.vh"), *folder.glob("*.svh")):
                _for_synthesis(path, overlay)
        done = subprocess.run(
            [str(toolchain.verilator()), "-E", "--no-timing", "--quiet", *plain.arguments()],
            env=toolchain.env(),
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode != 0:
        raise KernelError(f"kernel {name} does not compile", found=error_lines(done.stderr + done.stdout))
    return done.stdout


def _for_synthesis(path: Path, overlay: Path) -> Path:
    """The file, or what synthesis sees of it as one of that name in `overlay`. Lines keep their numbers."""
    text = path.read_bytes().decode(errors="surrogateescape")
    if "translate_off" not in text:
        return path
    begin, end = (rf"(?://|/\*)\s*(?:{'|'.join(NOT_FOR)})\s+translate_{which}\b" for which in ("off", "on"))
    kept = re.sub(
        rf"{begin}.*?(?:{end}[^\n]*|\Z)", lambda found: "\n" * found[0].count("\n"), text, flags=re.DOTALL
    )
    overlay.mkdir(exist_ok=True)
    reduced = overlay / path.name
    reduced.write_bytes(f'`line 1 "{path}" 0\n{kept}'.encode(errors="surrogateescape"))
    return reduced


def _data_package(kernel: str, package: str) -> str:
    return f"""package {package};
  import "DPI-C" function string gw_kernel_data(input string kernel, input string name);
  function automatic string path(input string name);
    return gw_kernel_data("{kernel}", name);
  endfunction
endpackage
"""


def _apply(data: bytes, edits: Sequence[_Edit]) -> str:
    """The text with its edits; what is inside another edit goes with that. Lines keep their numbers."""
    out = []
    at = 0
    for edit in sorted(edits, key=lambda edit: (edit.begin, -edit.end)):
        if edit.begin < at:
            continue
        lines = data[edit.begin : edit.end].count(b"\n") if not edit.text else 0
        out += [data[at : edit.begin].decode(), edit.text, "\n" * lines]
        at = edit.end
    return "".join([*out, data[at:].decode()])
