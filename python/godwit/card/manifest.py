# SPDX-License-Identifier: Apache-2.0
"""Kernel manifests: what a kernel is called, what it is made of, and where its arguments are.

A manifest is the TOML file beside a kernel's SystemVerilog source. Argument offsets follow the rule of
Vitis HLS: the first is 0x10, a 64-bit argument takes 12 bytes and a 32-bit one 8, results like arguments.
``offset`` on an argument overrides the rule for it and for what follows, so that the register map of any HLS
output can be written down.
"""

from __future__ import annotations

import itertools
import re
import tomllib
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    field_validator,
    model_validator,
)

from godwit.card.controls import SECOND_PORT
from godwit.card.interface import Protocol

FIRST_OFFSET = 0x10
"""Offset of the first argument: the words below are the control registers of HLS."""

REGISTER_SPACE = 0x1_0000
"""Bytes of card register space that one kernel has."""

SUFFIXES = (".sv", ".v")
"""What a source is called."""

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]*$", max_length=64)]


class ManifestError(ValueError):
    """A manifest that cannot be used; the message says which file, what was found and what to do."""


class ArgKind(StrEnum):
    """What an argument is."""

    BUFFER = "buffer"
    U32 = "u32"
    U64 = "u64"
    OUT_U32 = "out_u32"
    OUT_U64 = "out_u64"

    @property
    def words(self) -> int:
        """Data words of 32 bits."""
        return 1 if self in (ArgKind.U32, ArgKind.OUT_U32) else 2

    @property
    def is_result(self) -> bool:
        """Written by the kernel and read by the host."""
        return self in (ArgKind.OUT_U32, ArgKind.OUT_U64)


class Access(StrEnum):
    """What a kernel does with a buffer."""

    READ = "r"
    WRITE = "w"
    READ_WRITE = "rw"


class Arg(BaseModel):
    """One argument or result register. ``offset`` is in bytes and always set once a manifest is loaded."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Name
    kind: ArgKind
    access: Access | None = None
    offset: Annotated[int, Field(ge=FIRST_OFFSET, lt=REGISTER_SPACE, multiple_of=4)] = FIRST_OFFSET
    bundle: Name | None = None
    """Memory bundle that a buffer is reached through: for those who read the manifest, hardware needs no telling."""
    status: bool = False
    """This result is not 0 when a run went wrong."""
    default: Annotated[int, Field(ge=0)] | None = None
    """What a launch gives when it is not told; 0 is the null pointer. None: a launch must be told."""
    of: Name | None = None
    """A launch that knows the element type of this buffer need not be told: it gives the number that the type has in `codes`."""
    codes: dict[
        Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9]*$")], Annotated[int, Field(ge=0)]
    ] = {}
    """Numbers of element types, by numpy's names: int32, float64."""
    description: str = ""

    @model_validator(mode="after")
    def _fields_fit_the_kind(self) -> Self:
        if self.bundle is not None and self.kind is not ArgKind.BUFFER:
            raise ValueError(f"argument {self.name}: `bundle` is for a buffer, and only for one")
        if self.status and not self.kind.is_result:
            raise ValueError(
                f"argument {self.name}: `status` is for a result (out_u32, out_u64), and only for one"
            )
        if bool(self.codes) != (self.of is not None) or (
            self.of and self.kind not in (ArgKind.U32, ArgKind.U64)
        ):
            raise ValueError(f"argument {self.name}: `of` and `codes` go together, and are for u32 and u64")
        if self.default is not None:
            most = 0 if self.kind is ArgKind.BUFFER else (1 << 32 * self.kind.words) - 1
            if self.kind.is_result or self.default > most:
                raise ValueError(
                    f"argument {self.name}: `default` is 0 for a buffer (the null pointer), a number of its width for u32 and "
                    "u64, and nothing for a result"
                )
        if (self.kind is ArgKind.BUFFER) != (self.access is not None):
            raise ValueError(
                f'argument {self.name}: `access` ("r", "w" or "rw") is for a buffer, and only for one'
            )
        return self

    @property
    def constant(self) -> str:
        """Name of the offset in the generated package: ``match_count`` is ``MatchCountOffset``."""
        return "".join(part[:1].upper() + part[1:] for part in self.name.split("_")) + "Offset"

    @property
    def end(self) -> int:
        """First byte after the data words."""
        return self.offset + 4 * self.kind.words


class HeapStreams(BaseModel):
    """AXI4-Streams, by the names before `_TVALID`, on which a kernel allocates and frees memory by itself."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    command: Name
    response: Name


class Manifest(BaseModel):
    """A kernel. ``sources`` are absolute paths once loaded with :func:`load`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$", max_length=48)]
    top: Name
    description: str = ""
    sources: Annotated[list[Path], Field(min_length=1)]
    include_dirs: list[Path] = []
    defines: dict[Name, str | int] = {}
    control: Protocol | None = None
    """How a launch talks to the control block; None: as the RTL shows, else ap_ctrl_hs."""
    args: list[Arg] = []
    independent: bool = False
    """Bursts that were asked for end whatever else the kernel waits for: when the address of a write leaves its data follow, what is
    read is always taken, and nothing of it is stopped half way. Others' ports have a buffer where accesses can be parked."""
    data_widths: Annotated[list[Literal[64, 128, 256, 512, 1024]], Field(min_length=1)] = [512]
    """Bits of a beat that a kernel can be built for which uses the data path of Godwit's kernels (kernels/common)."""
    heap: HeapStreams | None = None
    """The kernel calls malloc, realloc and free; None: it does not."""

    @field_validator("args")
    @classmethod
    def _place(cls, args: list[Arg]) -> list[Arg]:
        """Fills in the offsets that are not written down."""
        offset = FIRST_OFFSET
        placed = []
        for arg in args:
            if "offset" not in arg.model_fields_set:
                arg = arg.model_copy(update={"offset": offset})
            offset = arg.offset + 4 * (arg.kind.words + 1)
            if offset > REGISTER_SPACE:
                raise ValueError(
                    f"argument {arg.name} is past the {REGISTER_SPACE:#x} bytes that a kernel has"
                )
            placed.append(arg)
        return placed

    @model_validator(mode="after")
    def _names_and_offsets_are_unique(self) -> Self:
        if len(marked := [arg.name for arg in self.args if arg.status]) > 1:
            raise ValueError(f"`status` marks one result; here {' and '.join(marked)}")
        buffers = {arg.name for arg in self.args if arg.kind is ArgKind.BUFFER}
        for arg in self.args:
            if arg.of is not None and arg.of not in buffers:
                raise ValueError(f"argument {arg.name}: `of` is a buffer's name, and {arg.of} is none")
        constants = [arg.constant for arg in self.args]
        for arg in self.args:
            if constants.count(arg.constant) > 1:
                raise ValueError(f"two arguments would both be called {arg.constant}")
        ordered = sorted(self.args, key=lambda arg: arg.offset)
        for left, right in itertools.pairwise(ordered):
            if right.offset < left.end:
                both = f"{left.name} and {right.name}"
                raise ValueError(f"arguments {both} overlap at offset {right.offset:#x}")
        return self

    def arg(self, name: str) -> Arg:
        """The argument of that name; KeyError names those there are."""
        for arg in self.args:
            if arg.name == name:
                return arg
        names = ", ".join(arg.name for arg in self.args)
        raise KeyError(f"kernel {self.name} has no argument {name}; it has {names}")

    def args_package(self, package: str = "") -> str:
        """SystemVerilog of ``NAME_args_pkg``, or called `package`: offsets in bytes, and the word masks of gw_hls_control."""
        args = [arg for arg in self.args if arg.end <= SECOND_PORT]
        words = max([(arg.end - FIRST_OFFSET) // 4 for arg in args], default=1)
        masks = {False: 0, True: 0}
        for arg in args:
            first = (arg.offset - FIRST_OFFSET) // 4
            masks[arg.kind.is_result] |= ((1 << arg.kind.words) - 1) << first
        lines = [
            f"// Generated from the manifest of kernel {self.name}; edit that.",
            f"package {package or f'{self.name}_args_pkg'};",
            *(f"  localparam int unsigned {arg.constant} = 'h{arg.offset:02x};" for arg in self.args),
            "",
            f"  // 32-bit words from 'h{FIRST_OFFSET:x} on: all, the host's, the kernel's.",
            f"  localparam int unsigned NumWords = {words};",
            f"  localparam logic [{words - 1}:0] ArgWords = {words}'h{masks[False]:x};",
            f"  localparam logic [{words - 1}:0] ResultWords = {words}'h{masks[True]:x};",
            "endpackage",
        ]
        return "\n".join(lines) + "\n"


def load(path: Path | str) -> Manifest:
    """Reads the manifest at ``path``, or the one beside the source when ``path`` is a ``.sv`` or ``.v`` file.

    Raises ManifestError when the file or one of the sources is missing, or when the content is wrong.
    """
    path = Path(path)
    if path.suffix in SUFFIXES:
        if not path.is_file():
            raise ManifestError(f"kernel source {path} does not exist")
        path = path.with_suffix(".toml")
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ManifestError(
            f"{path} does not exist; a kernel needs a manifest beside its source (see docs/kernels.md)"
        ) from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ManifestError(f"{path} cannot be read as TOML: {error}") from error
    data.setdefault("sources", [_beside(path).name])
    data.setdefault("top", data.get("name", ""))
    try:
        manifest = Manifest.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "manifest"
        message = re.sub(r"^Value error, ", "", first["msg"])
        raise ManifestError(f"{path}: {where}: {message}") from error
    sources = [file for source in manifest.sources for file in _files(path, source)]
    folders = [(path.parent / folder).resolve() for folder in manifest.include_dirs]
    for folder in folders:
        if not folder.is_dir():
            raise ManifestError(
                f"{path}: include folder {folder} does not exist; paths are relative to the manifest"
            )
    return manifest.model_copy(update={"sources": list(dict.fromkeys(sources)), "include_dirs": folders})


def _beside(path: Path) -> Path:
    """The source that a manifest without `sources` describes: of its own name, .sv before .v."""
    choices = [path.with_suffix(suffix) for suffix in SUFFIXES]
    return next((choice for choice in choices if choice.is_file()), choices[0])


def _files(path: Path, source: Path) -> list[Path]:
    """A source of a manifest: a file, every source in a folder, or what a pattern finds; sorted."""
    found = path.parent / source
    if found.is_dir():
        files = sorted(item for item in found.iterdir() if item.suffix in SUFFIXES)
        if not files:
            raise ManifestError(f"{path}: folder {found.resolve()} has no source ({' or '.join(SUFFIXES)})")
    elif any(letter in str(source) for letter in "*?["):
        files = sorted(item for item in path.parent.glob(str(source)) if item.is_file())
        if not files:
            raise ManifestError(f"{path}: no source is called {source}; paths are relative to the manifest")
    elif found.is_file():
        files = [found]
    else:
        raise ManifestError(
            f"{path}: source {found.resolve()} does not exist; paths are relative to the manifest"
        )
    return [file.resolve() for file in files]
