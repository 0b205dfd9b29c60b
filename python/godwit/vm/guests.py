# SPDX-License-Identifier: Apache-2.0
"""Guests with the driver in them, and programs that use it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from godwit import cards, toolchain
from godwit.vm import costs, initramfs, module, pythons, regions
from godwit.vm.kernel import Kernel
from godwit.vm.machine import Guest

DESCRIPTION = "/etc/godwit/godwit0.json"
"""Where the runtime finds out what kernels /dev/godwit0 has."""
LOAD = "insmod /godwit.ko"
"""A script's first words."""
COMPLAINTS = "WARNING|BUG:|Oops|leaked|Call Trace|suspected memory leak"
"""What Linux begins its complaints with, as a regular expression."""
_RETRIED = "VM_FAULT_OOM leaked out"
"""... which it also says of a touch that is tried again, because there was no memory for the page that comes home."""
_LEAKS = """if [ -e /sys/kernel/debug/kmemleak ]; then
    for turn in 1 2; do sleep 6; echo scan > /sys/kernel/debug/kmemleak; done
    cat /sys/kernel/debug/kmemleak
fi
"""
"""On a kernel that can tell, memory that nothing points to any more: what is younger than five seconds, or has just been found, is not
said yet."""
UNLOAD = f"rmmod godwit || code=1\n{_LEAKS}dmesg | grep -v '{_RETRIED}' | grep -E '{COMPLAINTS}' && code=1\n(exit $code)"
"""A script's last words: the module goes, and the kernel has nothing to complain of."""
SCRIPT = ".py"
"""How the names of Python's programs end."""
CARD_HEADER = "card_kernels.h"
"""What a guest's program includes to know the card."""


def card_header(description: Mapping[str, Any]) -> str:
    """A card for a C program: the slots of its kernels, and where their arguments are in the control block."""
    lines = [
        f"#define CARD_KERNELS {len(description['kernels'])}",
        f"#define CARD_MEMORY_BYTES {description['config']['card']['memory_bytes']}ull",
    ]
    for slot, found in enumerate(description["kernels"]):
        name = found["name"].upper()
        lines.append(f"#define {name}_SLOT {slot}")
        lines += [f"#define {name}_{arg['name'].upper()} {arg['offset']}" for arg in found["args"]]
    return "\n".join(lines) + "\n"


def load(config: str | Path = "default") -> str:
    """A script's first words for a card of this configuration: `LOAD`, where its heap has its regions, and what its link costs."""
    found = cards.find(cards.ensure(config).name).description()["config"]
    return f"{LOAD}{regions.parameter(found)} {costs.parameters(found)}".rstrip()


def identity(kernel: Kernel, config: str = "default") -> str:
    """What a guest with the driver is made of: one that runs can only be used by who wants the same."""
    built = module.build(kernel, toolchain.root() / "build/spec")
    return f"{built} {cards.ensure(config).library}"


def built(source: Path, config: str = "default") -> bytes:
    """A program for a guest with the card of this name: as it is, if it was built already."""
    if module.is_built(source):
        return source.read_bytes()
    return module.program(source, {CARD_HEADER: card_header(cards.find(config).description())})


def goes_alone(program: Path) -> bool:
    """Whether one file is all that a guest needs of it."""
    if program.suffix == SCRIPT:
        return False
    return not module.is_built(program) or not module.libraries(program)


def place(program: Path) -> str:
    """Where a guest has it: sources are known by their names without suffix."""
    whole = program.suffix == SCRIPT or module.is_built(program)
    return f"/{program.name if whole else program.stem}"


def _files(program: Path, config: str) -> dict[str, initramfs.Node]:
    """What a guest has for a program: itself, and what it loads."""
    at = place(program)
    if program.suffix == SCRIPT:
        return {at: initramfs.plain(program.read_bytes())}
    found = {at: initramfs.program(built(program, config))}
    if module.is_built(program):
        for library, path in module.libraries(program).items():
            found[library] = initramfs.program(path.read_bytes())
    return found


def with_driver(
    kernel: Kernel,
    script: str,
    programs: Sequence[Path] = (),
    config: str | Path = "default",
    data: Mapping[str, bytes] | None = None,
) -> tuple[Guest, str]:
    """A guest that finds /godwit.ko, what /dev/godwit0 is, its programs (sources of C and C++ by their names without suffix, programs
    that were built, Python scripts, with which Python comes) and `data` (by absolute path); and the card it is made for.
    """
    card = cards.ensure(config)
    driver = module.build(kernel, toolchain.root() / "build/spec")
    files = {
        "/godwit.ko": initramfs.plain(driver.read_bytes()),
        DESCRIPTION: initramfs.plain(json.dumps(cards.find(card.name).description()).encode()),
        **{path: initramfs.plain(content) for path, content in (data or {}).items()},
    }
    for program in programs:
        files.update(_files(program, card.name))
    if not any(program.suffix == SCRIPT for program in programs):
        return Guest(script, files, processors=2), f"sim:{card.library}"
    files.update(pythons.files())
    return Guest(script, files, memory_mib=pythons.MEMORY_MIB, processors=2), f"sim:{card.library}"


def without_card(kernel: Kernel, script: str, programs: Sequence[Path] = ()) -> Guest:
    """A guest that finds /godwit.ko and its programs (C sources), and no card."""
    driver = module.build(kernel, toolchain.root() / "build/spec")
    files = {"/godwit.ko": initramfs.plain(driver.read_bytes())}
    for program in programs:
        files.update(_files(program, "default"))
    return Guest(script, files, processors=2)


def call(program: Path, args: Sequence[str] = ()) -> str:
    """The words that run a program in the guest."""
    if program.suffix == SCRIPT:
        return f"{pythons.words(shlex.quote(place(program)))} {shlex.join(args)}"
    return shlex.join([place(program), *args])
