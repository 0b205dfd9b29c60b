# SPDX-License-Identifier: Apache-2.0
"""What a card is made from: its configuration and kernels, every file and option that has a say, and their hash."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from godwit import toolchain
from godwit.card import litedram, wiring
from godwit.card.kernel import BEAT_BITS, Kernel, beats_of, library_dirs, own_kernel, probed, user_kernel
from godwit.card.process import BuildError
from godwit.card.slots import buffered_ports, extra_ports, slots
from godwit.card.streams import links
from godwit.spec import config as configs
from godwit.spec import layout, registers
from godwit.spec.schema import Config
from godwit.spec.sections.units import DMA_PORTS

ABI = 4
"""GW_CARD_ABI of card/sim/gw_card.h."""

LIBRARY = "libgw_card.so"

WARNINGS = "warnings.txt"
"""Beside the library: what the user's kernels were warned about, a line each."""

LINT_OPTIONS = ("--no-timing", "-Wno-fatal", "-Werror-USERFATAL")
"""No warning stops a build, but a parameter outside its legal range does."""

PREFIX = "Vgw_card_top"
VERILATOR_OPTIONS = (
    *("--prefix", PREFIX),
    *("-O3", "--x-assign", "fast", "--x-initial", "fast"),
    # The speed of a model this wide is the size of its code: what is executed once a cycle does not fit the instruction
    # cache. Loops and 512-bit operations kept as loops halve it, and the compile time with it.
    *("--unroll-count", "4", "--expand-limit", "4"),
    *LINT_OPTIONS,
    "--quiet",
)
CXX_OPTIONS = ("-fPIC", "-fvisibility=hidden", toolchain.CXX_STANDARD)
# What runs every cycle and the simulation around it, what runs once, Verilator's own part.
LEVELS = {"fast": "-O3", "slow": "-O0", "runtime": "-O2"}
PROFILE_GENERATE = ("-fprofile-generate", "-fprofile-update=single")
# What the training did not reach is compiled as without a profile.
PROFILE_USE = ("-fprofile-use", "-fprofile-partial-training", "-Wno-missing-profile")
TRAINING_KERNELS = ("memcopy", "array_sum", "traffic")
"""What a profile is made with; one of them is enough."""


@dataclasses.dataclass(frozen=True)
class Plan:
    """What is to be built: the resolved configuration, its kernels, and the hash of all that goes in."""

    config: Config
    kernels: tuple[Kernel, ...]
    waves: bool
    as_named: bool = True
    """It is the configuration as its file has it, so that ``sim:NAME`` may mean this card."""
    source: Path = Path()
    """The configuration's file."""
    settings: dict[str, dict[str, Any]] = dataclasses.field(default_factory=dict)
    """What was asked for that the card is opened with and not built for: fields of sections."""

    @property
    def beat_bits(self) -> int:
        """Bits of a beat of the data path that kernels of Godwit's share."""
        return self.kernels[0].beat_bits if self.kernels else BEAT_BITS

    @functools.cached_property
    def hash(self) -> str:
        """16 hexadecimal digits over sources, configuration, options and tool versions, as they were at first."""
        return self.hash_now()

    def hash_now(self) -> str:
        """The same from the sources as they are."""
        digest = hashlib.sha256()
        for text in (self.config.resolved(), str(self.waves), *_tools(self)):
            digest.update(text.encode() + b"\0")
        for kernel in self.kernels:
            # Sources are inputs below, wherever they are; all else that a manifest says counts as well.
            said = kernel.manifest.model_dump(mode="json", exclude={"sources", "include_dirs"})
            digest.update(f"{json.dumps(said, sort_keys=True)}{kernel.protocol}".encode() + b"\0")
        # Content, not places: a checkout and a package of the same sources make the same card.
        for name, content in sorted((path.name, path.read_bytes()) for path in _inputs(self)):
            digest.update(name.encode() + b"\0" + content + b"\0")
        return digest.hexdigest()[:16]


def plan(
    config: str | Path = "default",
    overrides: Sequence[str] = (),
    kernels: Sequence[str | Path] = (),
    *,
    waves: bool = False,
) -> Plan:
    """Resolves a configuration and finds its kernels; `kernels` are sources or manifests of the user's own.

    Raises `ConfigError`, `ManifestError` or `BuildError`.
    """
    users = [user_kernel(path) for path in kernels]
    added = [kernel.manifest.name for kernel in users]
    fixed, settings = configs.split(config, overrides, added)
    checked = configs.load(config, fixed, added)
    for kernel in users:
        wiring.check(kernel)
    names = checked.card.kernels
    everyone = [*map(own_kernel, names[: len(names) - len(users)]), *users]
    beats = beats_of(everyone, checked.axi.data_width)
    # Streams are checked before anything is built, so whose they are must have been read.
    placed = [
        probed(k, checked.axi.id_width) if k.manifest.heap or not k.own else k
        for k in (kernel.on_beats_of(beats) for kernel in everyone)
    ]
    if checked.card.profile_guided and not set(names) & set(TRAINING_KERNELS):
        raise BuildError(
            "card.profile_guided: no kernel to make a profile with",
            found=f"kernels {', '.join(names) or 'none'}",
            hint=f"one of {', '.join(TRAINING_KERNELS)} is needed",
        )
    extra = extra_ports(placed)
    if checked.ports - checked.card.extra_ports + extra > checked.most_ports:
        raise BuildError(
            f"a card has at most {checked.most_ports} memory ports",
            found=f"{len(names)} kernels with {len(names) + extra} bundles, {checked.card.external_ports} external ports",
            hint="give several arguments of a kernel one bundle (#pragma HLS INTERFACE m_axi bundle=gmem)",
        )
    update: dict[str, Any] = {"card": checked.card.model_copy(update={"extra_ports": extra})}
    if checked.translator.buffered_ports == "auto":
        # A write whose data waits for a read that is parked is waited for by a fence, and that by the host, who has to answer.
        stuck = checked.page_requests.places or checked.heap.slots
        buffered = buffered_ports(placed, checked.card.external_ports) if stuck else []
        update["translator"] = checked.translator.model_copy(update={"buffered_ports": buffered})
    checked = checked.model_copy(update=update)
    links(placed, checked)
    return Plan(
        checked,
        tuple(placed),
        waves,
        as_named=not (fixed or kernels or waves),
        source=configs.path(config),
        settings=settings,
    )


def rtl_dirs() -> list[Path]:
    hardware = toolchain.root() / "hw" / "rtl"
    return [
        *sorted(path for path in hardware.iterdir() if path.is_dir()),
        toolchain.root() / "card",
        toolchain.root() / "card" / "sim",
    ]


def simulation_sources() -> list[Path]:
    return sorted((toolchain.root() / "card" / "sim").glob("*.cpp"))


_OF_A_CARD = ("gw_card_description.h", "gw_card_config.h", f"{PREFIX}.h")
"""Headers that are made with a card, from the one that is another most often."""


def by_what_they_read(sources: Sequence[Path]) -> tuple[list[Path], list[Path], list[Path]]:
    """The simulation's sources that read a card's description, those that read its model or its numbers, and those that read neither.

    Compiled apart, the last are compiled once for all cards, and the others less often than their card is made anew (ccache).
    """
    groups: tuple[list[Path], list[Path], list[Path]] = ([], [], [])
    for path in sources:
        read = _headers(path)
        groups[0 if _OF_A_CARD[0] in read else 1 if read.intersection(_OF_A_CARD) else 2].append(path)
    return groups


def _headers(source: Path) -> set[str]:
    """Names in quotes that a file includes, itself or by one of the simulation's headers."""
    found: set[str] = set()
    waiting = [source]
    while waiting:
        named = set(
            re.findall(r'^#include "([^"]+)"', waiting.pop().read_text(encoding="utf-8"), re.MULTILINE)
        )
        waiting += [path for name in named - found if (path := source.parent / name).is_file()]
        found |= named
    return found


def _inputs(todo: Plan) -> set[Path]:
    """Every file that has a say in the library."""
    root = toolchain.root()
    files = {
        root / "hw" / "rtl" / "lint.vlt",
        root / "spec" / "layout.toml",
        root / "spec" / "events.toml",
        *registers.sources(),
    }
    for directory in (*rtl_dirs(), *library_dirs(list(todo.kernels))):
        files |= {
            path
            for path in directory.iterdir()
            if path.suffix in (".sv", ".svh", ".vlt", ".cpp", ".h", ".hpp")
        }
    for package in ("spec", "card"):
        files |= set((toolchain.PACKAGE / package).glob("*.py"))
    for kernel in todo.kernels:
        files |= {*kernel.manifest.sources, *kernel.files, *(data.path for data in kernel.data)}
    return files


def _tools(todo: Plan) -> list[str]:
    versions = [
        toolchain.version(name) for name in ("verilator", "pyslang", "peakrdl-regblock", "nlohmann-json")
    ]
    if todo.config.memory.model == "litedram-ddr4":
        versions += litedram.versions()
    return [
        *versions,
        toolchain.cxx_version(),
        *VERILATOR_OPTIONS,
        *CXX_OPTIONS,
        *(f"{level} {option}" for level, option in LEVELS.items()),
        *PROFILE_GENERATE,
        *PROFILE_USE,
    ]


def describe(todo: Plan) -> dict:
    """What gw_card_describe() and ``card.json`` say."""
    kernels = []
    for slot in slots(todo.kernels, todo.config.card.external_ports):
        kernel = slot.kernel
        args = [arg.model_dump(mode="json") for arg in kernel.manifest.args]
        kernels.append(
            {
                "name": kernel.manifest.name,
                "port": slot.number,
                "ports": slot.ports,
                "bundles": [dataclasses.asdict(bundle) for bundle in slot.bundles],
                "description": kernel.manifest.description,
                "control": kernel.protocol,
                "interrupt": kernel.interface is None or kernel.interface.interrupt is not None,
                "allocates": kernel.manifest.heap is not None,
                "args": args,
            }
        )
    return {
        "abi": ABI,
        "name": todo.config.name,
        "hash": todo.hash,
        "config": todo.config.model_dump(mode="json"),
        "kernels": kernels,
        "spec_hash": layout.spec_hash(),
        "waves": todo.waves,
    }


def data_files(todo: Plan) -> dict[tuple[str, str], tuple[Path, Path]]:
    """(kernel, name in its source): where the file is in the card's folder, and where it is now."""
    return {
        (kernel.manifest.name, data.name): (
            Path("data") / kernel.manifest.name / f"{index}_{data.path.name}",
            data.path,
        )
        for kernel in todo.kernels
        for index, data in enumerate(kernel.data)
    }


def cpp_headers(todo: Plan) -> dict[str, str]:
    """Headers that card/sim is compiled with, by name. What is another for every card is in one of its own, that few files read: the
    rest compiles to what cards with the same ports have already.
    """
    return {"gw_card_config.h": _config_header(todo), "gw_card_description.h": _description_header(todo)}


def _config_header(todo: Plan) -> str:
    card = todo.config.card
    names = ", ".join(json.dumps(name) for name in card.kernels) or '""'
    constants = {"kNumKernels": len(card.kernels), "kNumExt": card.external_ports}
    constants |= {"kNumExtra": card.extra_ports, "kNumMem": todo.config.memory_ports}
    constants["kNumDma"] = DMA_PORTS if todo.config.dma.slots else 0
    constants["kNumHeap"] = int(todo.config.heap.slots > 0)
    constants["kNumCache"] = int(todo.config.page_cache.pages > 0)
    constants |= {"kIdWidth": todo.config.axi.id_width, "kDataWidth": todo.config.axi.data_width}
    extra = "".join(
        f"    {{{slot.number}, {json.dumps(f'{slot.kernel.manifest.name}.{bundle.name}')}}},\n"
        for slot in slots(todo.kernels, card.external_ports)
        for bundle in slot.bundles[1:]
    )
    return _header(
        "what this card's ports are",
        *(f"inline constexpr unsigned {name} = {value};" for name, value in constants.items()),
        f"inline constexpr const char* kKernelNames[] = {{{names}}};",
        "struct ExtraPort {",
        "    unsigned kernel;",
        "    const char* name;",
        "};",
        "/// Further bundles of kernels, on the last ports.",
        f'inline constexpr ExtraPort kExtraPorts[] = {{\n{extra}    {{0, ""}},\n}};',
    )


def _description_header(todo: Plan) -> str:
    text = json.dumps(describe(todo), sort_keys=True)
    # Adjacent literals: compilers limit the length of one.
    pieces = "\n    ".join(f'R"json({text[at : at + 8000]})json"' for at in range(0, len(text), 8000))
    data = "".join(
        f"    {{{json.dumps(kernel)}, {json.dumps(name)}, {json.dumps(str(path))}}},\n"
        for (kernel, name), (path, _) in data_files(todo).items()
    )
    return _header(
        "what this card says of itself",
        "struct DataFile {",
        "    const char *kernel, *name, *path;",
        "};",
        "/// What kernels read when the model starts; paths from the library's folder.",
        f'inline constexpr DataFile kDataFiles[] = {{\n{data}    {{"", "", ""}},\n}};',
        f"inline constexpr const char* kDescribe =\n    {pieces};",
    )


def _header(what: str, *lines: str) -> str:
    return "\n".join([
        "// SPDX-License-Identifier: Apache-2.0",
        f"// Generated by the card builder: {what}.",
        "#pragma once",
        "",
        "namespace gw_card_config {",
        *lines,
        "}  // namespace gw_card_config",
        "",
    ])  # fmt: skip
