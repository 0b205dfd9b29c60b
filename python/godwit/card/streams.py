# SPDX-License-Identifier: Apache-2.0
"""AXI4-Streams between kernels, and from kernels to the heap: the connections of a configuration, checked against the ports that there are."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from godwit.card.interface import KernelError, Stream
from godwit.card.kernel import Kernel
from godwit.errors import nearest
from godwit.spec.schema import Config


@dataclasses.dataclass(frozen=True)
class Link:
    """A stream from one kernel's port to another's. Slots are numbers of kernels."""

    source_slot: int
    source: Stream
    target_slot: int
    target: Stream
    depth: int

    @property
    def signals(self) -> list[str]:
        """What is carried beside the handshake, in the order of its bits from above: side-band signals, then TDATA."""
        return payload(self.source)

    @property
    def width(self) -> int:
        """Bits of a transfer."""
        return sum(self.source.width(name) for name in self.signals)


@dataclasses.dataclass(frozen=True)
class Agent:
    """A kernel that allocates by itself: its streams to and from the heap. `slot` is its number."""

    slot: int
    command: Stream
    response: Stream


HEAP_WIDTHS = {"out": 192, "in": 128}
"""Bits of TDATA of a command, and of a response: three and two words of 64 bits."""


def payload(stream: Stream) -> list[str]:
    """What a stream carries beside its handshake."""
    return [*stream.sideband, "TDATA"]


def links(kernels: Sequence[Kernel], config: Config) -> list[Link]:
    """The connections of `config`, each between two ports that agree. Raises `KernelError`.

    Every stream of every kernel is connected exactly once: one that is not would wait for ever.
    """
    made = []
    used: set[tuple[int, str]] = set()
    for number, stream in enumerate(config.stream):
        where = f"stream[{number}], from {stream.source} to {stream.target}"
        source_slot, source = _find(where, kernels, stream.source, "out")
        target_slot, target = _find(where, kernels, stream.target, "in")
        for place, name in (
            ((source_slot, source.name), stream.source),
            ((target_slot, target.name), stream.target),
        ):
            if place in used:
                raise KernelError(
                    f"{where}: {name} is connected twice",
                    hint="a stream goes from one kernel to one other: copy it in a kernel of its own",
                )
            used.add(place)
        _agree(where, source, target)
        made.append(Link(source_slot, source, target_slot, target, stream.depth))
    for agent in agents(kernels, config):
        for end in (agent.command, agent.response):
            if (agent.slot, end.name) in used:
                name = f"{kernels[agent.slot].manifest.name}.{end.name}"
                raise KernelError(
                    f"{name} is a stream of the heap by the kernel's manifest, and a [[stream]] connects it",
                    hint="take one of both away",
                )
            used.add((agent.slot, end.name))
    for slot, kernel in enumerate(kernels):
        for unused in kernel.interface.streams if kernel.interface else ():
            if (slot, unused.name) not in used:
                _unconnected(kernel, unused, kernels)
    return made


def agents(kernels: Sequence[Kernel], config: Config) -> list[Agent]:
    """Kernels whose manifest has `[heap]`. Raises `KernelError` for streams that are not what the heap takes, and without a heap."""
    found = []
    for slot, kernel in enumerate(kernels):
        named = kernel.manifest.heap
        if named is None:
            continue
        name = kernel.manifest.name
        if not config.heap.slots:
            raise KernelError(
                f"kernel {name} allocates memory by itself, and this card has no heap",
                hint="--set heap.slots=1024 --set walker.levels=4",
            )
        where = f"kernel {name}, [heap] of its manifest"
        command = _heap_stream(where, kernels, f"{name}.{named.command}", "out")
        response = _heap_stream(where, kernels, f"{name}.{named.response}", "in")
        found.append(Agent(slot, command, response))
    return found


def _heap_stream(where: str, kernels: Sequence[Kernel], name: str, direction: str) -> Stream:
    _, stream = _find(where, kernels, name, direction)
    wanted = HEAP_WIDTHS[direction]
    if stream.data_width != wanted or stream.sideband or "TREADY" not in stream:
        extra = "".join(f", {signal}" for signal in stream.sideband)
        raise KernelError(
            f"{where}: {name} is no stream of the heap",
            found=f"TDATA of {stream.data_width} bits{extra}{'' if 'TREADY' in stream else ', no TREADY'}",
            hint=f"TDATA of {wanted} bits and TREADY, nothing else: the structs of examples/kernel/godwit_heap.hpp in a plain hls::stream",
        )
    return stream


def _find(where: str, kernels: Sequence[Kernel], name: str, direction: str) -> tuple[int, Stream]:
    kernel_name, _, port = name.partition(".")
    names = [kernel.manifest.name for kernel in kernels]
    if kernel_name not in names:
        raise KernelError(
            f"{where}: there is no kernel {kernel_name} on this card",
            found=f"kernels {', '.join(names) or 'none'}",
            hint=nearest(kernel_name, names),
        )
    slot = names.index(kernel_name)
    interface = kernels[slot].interface
    streams = {stream.name: stream for stream in interface.streams} if interface else {}
    if port not in streams:
        raise KernelError(
            f"{where}: kernel {kernel_name} has no stream {port}",
            found=f"streams {', '.join(streams) or 'none'}",
            hint=nearest(port, list(streams)),
        )
    if streams[port].direction != direction:
        raise KernelError(
            f"{where}: {name} {'produces' if direction == 'in' else 'consumes'}",
            hint="`from` is who produces, `to` who consumes: turn them round",
        )
    return slot, streams[port]


def _agree(where: str, source: Stream, target: Stream) -> None:
    """Two ports carry the same; nothing is made up that one of them lacks."""
    if "TREADY" not in source and "TREADY" in target:
        raise KernelError(
            f"{where}: {source.prefix} has no TREADY, but {target.prefix} makes it wait",
            hint="give the producer TREADY: what it offers meanwhile would be lost",
        )
    for name in dict.fromkeys((*payload(source), *payload(target))):
        widths = (source.width(name), target.width(name))
        if widths[0] != widths[1]:
            texts = [f"{width} bits" if width else "none" for width in widths]
            raise KernelError(
                f"{where}: {name} differs",
                found=f"{texts[0]} at {source.prefix}, {texts[1]} at {target.prefix}",
                hint="both ends need the same TDATA and side-band signals: in HLS the same hls::stream type, ap_axis or not",
            )


def _unconnected(kernel: Kernel, stream: Stream, kernels: Sequence[Kernel]) -> None:
    name = f"{kernel.manifest.name}.{stream.name}"
    other = "in" if stream.direction == "out" else "out"
    fits = [
        f"{peer.manifest.name}.{port.name}"
        for peer in kernels
        for port in (peer.interface.streams if peer.interface else ())
        if port.direction == other and port.data_width == stream.data_width and port is not stream
    ]
    there = fits[0] if fits else "KERNEL.PORT"
    ends = (name, there) if stream.direction == "out" else (there, name)
    raise KernelError(
        f"stream {name} is not connected",
        found=f"an AXI4-Stream of {stream.data_width} bits that nothing {'takes' if stream.direction == 'out' else 'fills'}",
        hint=f'write into the configuration: [[stream]] from = "{ends[0]}" to = "{ends[1]}"',
    )
