# SPDX-License-Identifier: Apache-2.0
"""Whether a manifest and the RTL it describes say the same: what differs would be a silent wrong result later."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from godwit.card.controls import SECOND_PORT
from godwit.card.interface import Interface, KernelError
from godwit.card.manifest import Arg, ArgKind, Manifest
from godwit.errors import nearest

if TYPE_CHECKING:
    from godwit.card.reading import Register


def agree(manifest: Manifest, ports: Interface, registers: Sequence[Register]) -> tuple[str, ...]:
    """Raises `KernelError` for a contradiction; returns what may be a mistake.

    `registers` are those of a control block as HLS makes it; without one, arguments are believed.
    """
    what = f"kernel {manifest.name}"
    if manifest.control and ports.protocol and manifest.control != ports.protocol:
        raise KernelError(
            f"{what}: the manifest says {manifest.control}, the control block is {ports.protocol}",
            hint="leave `control` out: it is read from the RTL",
        )
    for arg in manifest.args:
        _check_place(what, arg, ports)
    if not registers:
        return ()
    remarks = []
    known = {register.name.lower(): register for register in registers}
    by_offset = {register.offset: register for register in registers}
    for arg in manifest.args:
        register = known.get(arg.name.lower()) or by_offset.get(arg.offset)
        if register is None:
            raise KernelError(
                f"{what}: argument {arg.name} at {arg.offset:#04x} is not in the control block",
                found=_text(registers),
                hint="godwit kernel import writes the manifest that fits",
            )
        if register.offset != arg.offset:
            raise KernelError(
                f"{what}: argument {arg.name} is at {register.offset:#04x} in the control block",
                found=f"{arg.offset:#04x} in the manifest",
                hint=f"offset = {register.offset:#04x}",
            )
        if register.out != arg.kind.is_result:
            raise KernelError(
                f"{what}: argument {arg.name} is {'a result' if register.out else 'written by the host'} in the control block",
                found=f'kind = "{arg.kind}" in the manifest',
                hint=f'kind = "{"out_" if register.out else ""}u{32 if register.width <= 32 else 64}"',
            )
        if register.width > 32 * arg.kind.words:
            remarks.append(
                f"argument {arg.name} has {register.width} bits in the control block, {32 * arg.kind.words} in the manifest"
            )
    used = {arg.offset for arg in manifest.args}
    for register in registers:
        # The words of a wide register are arguments of their own.
        if not any(
            offset in used for offset in range(register.offset, register.offset + -(-register.width // 8), 4)
        ):
            remarks.append(
                f"register {register.name} at {register.offset:#04x} is no argument of the manifest"
            )
    return tuple(remarks)


def _check_place(what: str, arg: Arg, ports: Interface) -> None:
    second = ports.second_control is not None and arg.offset >= SECOND_PORT
    port = ports.controls[second]
    end = arg.end - SECOND_PORT if second else arg.end
    limit = min(port.addr_width, (SECOND_PORT - 1).bit_length()) if ports.second_control else port.addr_width
    if end > 1 << limit:
        raise KernelError(
            f"{what}: argument {arg.name} ends at {end:#x}, past what {port.prefix} addresses",
            found=f"{limit} address bits",
        )
    if arg.bundle is not None:
        try:
            ports.bundle(arg.bundle)
        except KeyError:
            names = [bundle.name for bundle in ports.bundles]
            raise KernelError(
                f"{what}: argument {arg.name} goes through bundle {arg.bundle}, which is none of the kernel's",
                found=f"bundles {', '.join(names) or 'none'}",
                hint=nearest(arg.bundle, names),
            ) from None
    if arg.kind is ArgKind.BUFFER and not ports.bundles:
        raise KernelError(f"{what}: argument {arg.name} is a buffer, and the kernel has no memory port")


def _text(registers: Sequence[Register]) -> str:
    return ", ".join(f"{register.name} at {register.offset:#04x}" for register in registers)
