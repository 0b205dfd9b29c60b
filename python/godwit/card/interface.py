# SPDX-License-Identifier: Apache-2.0
"""What a kernel's ports are to a card: clock, control, memory bundles, streams, interrupt.

The floor between reading and planning: `godwit.card.reading` finds the ports of a top module, :func:`interface` here groups
them into buses and refuses what no card can connect, `godwit.card.wiring` connects what is left. Nothing here reads a file
or knows about SystemVerilog.

A bus is known by its signals, not by the case they are written in: ``m_axi_gmem0_AWVALID`` (HLS) and ``m00_axi_awvalid``
(RTL kernel wizard) are both a write address channel. Directions tell a memory bundle (drives ``ARVALID`` or ``AWVALID``)
from a control port (takes it), and a stream that leaves (drives ``TVALID``) from one that arrives.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from godwit.card import controls as control_ports
from godwit.errors import InputError

Protocol = Literal["ap_ctrl_hs", "ap_ctrl_chain"]
Direction = Literal["in", "out"]


class KernelError(InputError):
    """A kernel cannot be built into a card."""


@dataclasses.dataclass(frozen=True)
class Port:
    """One port of a top module; `width` in bits."""

    name: str
    direction: Literal["in", "out", "inout"]
    width: int


@dataclasses.dataclass(frozen=True)
class Bus:
    """Signals that belong together. Keys of `signals` are the standard's names in capitals, whatever the port is called."""

    prefix: str
    """What its ports' names begin with: ``m_axi_gmem0``."""
    signals: Mapping[str, Port]

    def __contains__(self, signal: str) -> bool:
        return signal in self.signals

    def width(self, signal: str) -> int:
        """Bits of a signal; 0 when the bus does not have it."""
        return self.signals[signal].width if signal in self.signals else 0


@dataclasses.dataclass(frozen=True)
class Bundle(Bus):
    """A memory port (AXI4 master)."""

    name: str
    """As HLS calls it: ``gmem0`` of ``m_axi_gmem0_*``; otherwise the prefix."""

    @property
    def data_width(self) -> int:
        """Bits of a beat: 32, 64, ... 1024."""
        return self.width("RDATA") or self.width("WDATA")

    @property
    def addr_width(self) -> int:
        """Bits of an address: 32 to 64."""
        return max(self.width("ARADDR"), self.width("AWADDR"))

    @property
    def id_width(self) -> int:
        """Bits of an ID; 0: all of its accesses are in order."""
        return max(self.width("ARID"), self.width("AWID"))

    @property
    def reads(self) -> bool:
        """It has the channels AR and R."""
        return "ARVALID" in self

    @property
    def writes(self) -> bool:
        """It has the channels AW, W and B."""
        return "AWVALID" in self


@dataclasses.dataclass(frozen=True)
class Stream(Bus):
    """An AXI4-Stream port; its name in a configuration is `prefix`."""

    direction: Direction
    """``out``: the kernel produces."""

    @property
    def name(self) -> str:
        """As connections call it."""
        return self.prefix

    @property
    def data_width(self) -> int:
        """Bits of ``TDATA``."""
        return self.width("TDATA")

    @property
    def sideband(self) -> dict[str, int]:
        """Width of each side-band signal there is, of TKEEP, TSTRB, TUSER, TLAST, TID, TDEST."""
        return {name: self.width(name) for name in _STREAM_SIDEBAND if name in self}


@dataclasses.dataclass(frozen=True)
class Control(Bus):
    """The register port (AXI4-Lite slave)."""

    @property
    def addr_width(self) -> int:
        """Bits of a register address."""
        return self.width("AWADDR")


@dataclasses.dataclass(frozen=True)
class Interface:
    """All ports of a kernel."""

    top: str
    clock: str
    reset: str
    reset_active_low: bool
    interrupt: str | None
    """Its port; None: a launch is polled."""
    control: Control
    """The port with start and end."""
    bundles: tuple[Bundle, ...]
    """In the order of their ports in the module's header."""
    streams: tuple[Stream, ...] = ()
    second_control: Control | None = None
    """A further port with arguments: its registers are `controls.SECOND_PORT` and on."""
    unconnected: tuple[str, ...] = ()
    """Outputs that are no part of any of these: left open."""
    parameters: tuple[str, ...] = ()
    """Parameters of the top module."""
    protocol: Protocol | None = None
    """What the control block was seen to implement; None: it cannot be told from outside."""

    def bundle(self, name: str) -> Bundle:
        """The bundle of that name; KeyError names those there are."""
        for bundle in self.bundles:
            if name in (bundle.name, bundle.prefix):
                return bundle
        raise KeyError(f"no bundle {name}; there are {', '.join(bundle.name for bundle in self.bundles)}")

    @property
    def controls(self) -> list[Control]:
        """The control ports, the one with start and end first."""
        return [self.control, *([self.second_control] if self.second_control else [])]

    def first_register(self, block: str) -> int:
        """Where registers of an HLS control block begin, by the name of its module."""
        port = control_ports.of_block(block, [control.prefix for control in self.controls])
        second = self.second_control is not None and port == self.second_control.prefix
        return control_ports.SECOND_PORT if second else 0


DATA_WIDTHS = (32, 64, 128, 256, 512, 1024)
MIN_ADDR_WIDTH, MAX_ADDR_WIDTH = 32, 64
MAX_ID_WIDTH = 32

_ANY = range(1, 4096)
_ADDRESS_FIELDS: dict[str, Sequence[int]] = {
    "LEN": range(1, 9), "SIZE": (3,), "BURST": (2,), "LOCK": (1, 2), "CACHE": (4,), "PROT": (3,), "QOS": (4,), "REGION": (4,),
    "ID": range(1, MAX_ID_WIDTH + 1), "USER": _ANY,
}  # fmt: skip
_WRITE = ("AWVALID", "AWREADY", "AWADDR", "WVALID", "WREADY", "WDATA", "BVALID", "BREADY")
_READ = ("ARVALID", "ARREADY", "ARADDR", "RVALID", "RREADY", "RDATA")
# Legal widths of a memory bundle's signals; strobes and the two data widths are compared with each other.
_MEMORY_WIDTHS: dict[str, Sequence[int]] = {
    **{f"{channel}{field}": widths for channel in ("AW", "AR") for field, widths in _ADDRESS_FIELDS.items()},
    **{name: (1,) for name in (*_WRITE, *_READ) if name.endswith(("VALID", "READY"))},
    **{f"{channel}ADDR": range(MIN_ADDR_WIDTH, MAX_ADDR_WIDTH + 1) for channel in ("AW", "AR")},
    "WDATA": DATA_WIDTHS, "RDATA": DATA_WIDTHS, "WSTRB": _ANY, "WLAST": (1,), "RLAST": (1,), "BRESP": (2,), "RRESP": (2,),
    **{f"{channel}ID": range(1, MAX_ID_WIDTH + 1) for channel in "WBR"},
    **{f"{channel}USER": _ANY for channel in "WBR"},
}  # fmt: skip
_CONTROL_WIDTHS: dict[str, Sequence[int]] = {
    **{name: (1,) for name in (*_WRITE, *_READ) if name.endswith(("VALID", "READY"))},
    **{f"{channel}ADDR": range(2, MAX_ADDR_WIDTH + 1) for channel in ("AW", "AR")},
    "WDATA": (32,), "RDATA": (32,), "WSTRB": (4,), "BRESP": (2,), "RRESP": (2,), "AWPROT": (3,), "ARPROT": (3,),
}  # fmt: skip
_STREAM_SIDEBAND = ("TKEEP", "TSTRB", "TUSER", "TLAST", "TID", "TDEST")
_STREAM_WIDTHS: dict[str, Sequence[int]] = {
    "TVALID": (1,), "TREADY": (1,), "TDATA": range(1, 4097), "TLAST": (1,), "TKEEP": _ANY, "TSTRB": _ANY, "TUSER": _ANY,
    "TID": _ANY, "TDEST": _ANY,
}  # fmt: skip
_SIGNAL = re.compile(
    rf"(?P<prefix>.+)_(?P<signal>{'|'.join(sorted({*_MEMORY_WIDTHS, *_STREAM_WIDTHS}, key=len, reverse=True))})",
    re.IGNORECASE,
)

_CLOCKS = ("ap_clk", "aclk", "clk")
_RESETS = {"ap_rst_n": True, "aresetn": True, "rst_n": True, "ap_rst": False}
_INTERRUPTS = ("interrupt",)
# Ports of HLS's block-level handshake: there when no register does it.
_HANDSHAKE = ("ap_start", "ap_done", "ap_idle", "ap_ready", "ap_continue")

_PAGE = "docs/kernels.md has the ports a kernel may have"
_AXILITE_PRAGMA = "#pragma HLS INTERFACE s_axilite port=return bundle=control"


def interface(
    where: str,
    top: str,
    ports: Sequence[Port],
    *,
    parameters: Sequence[str] = (),
    protocol: str | None = None,
    start_block: str | None = None,
) -> Interface:
    """Groups the ports of a top module; `where` begins every error. Raises `KernelError` for what a card cannot connect.

    `protocol`: what the control block implements where it could be read; ``ap_ctrl_none`` is refused. `start_block`: the module of that
    control block.
    """
    names = {port.name for port in ports}
    if inout := [port.name for port in ports if port.direction == "inout"]:
        raise KernelError(
            f"{where}: port {inout[0]} is inout", hint="a card has no pins: use an input or an output"
        )
    buses, rest = _group(ports)
    clock = _one_of(where, top, names, _CLOCKS, "clock")
    reset = _one_of(where, top, names, tuple(_RESETS), "reset")
    interrupt = next((name for name in _INTERRUPTS if name in names), None)
    for name, direction in ((clock, "in"), (reset, "in"), (interrupt, "out")):
        if name is not None:
            _check_port(where, next(port for port in ports if port.name == name), direction, (1,))
    controls, bundles, streams = _roles(where, buses)
    control, *further = _controls(where, top, names, controls, protocol, start_block)
    taken = {clock, reset, interrupt}
    unknown = [port for port in rest if port.name not in taken]
    for port in unknown:
        if port.direction == "in":
            raise KernelError(
                f"{where}: input {port.name} is not part of a kernel's interface",
                found=f"{port.width} bit{'s' if port.width > 1 else ''} that nothing would drive",
                hint=f"make it an argument (#pragma HLS INTERFACE s_axilite port={port.name}), or a parameter; {_PAGE}",
            )
    if not bundles and not streams:
        raise KernelError(
            f"{where}: module {top} has neither a memory port nor a stream",
            hint=f"a pointer argument becomes one: #pragma HLS INTERFACE m_axi port=NAME offset=slave bundle=gmem; {_PAGE}",
        )
    return Interface(
        top=top,
        clock=clock,
        reset=reset,
        reset_active_low=_RESETS[reset],
        interrupt=interrupt,
        control=control,
        bundles=tuple(bundles),
        streams=tuple(streams),
        second_control=further[0] if further else None,
        unconnected=tuple(port.name for port in unknown),
        parameters=tuple(parameters),
        protocol="ap_ctrl_chain" if protocol == "ap_ctrl_chain" else "ap_ctrl_hs" if protocol else None,
    )


def _group(ports: Sequence[Port]) -> tuple[dict[str, dict[str, Port]], list[Port]]:
    """Ports by bus prefix, and those of no bus. A prefix is a bus when it has a VALID."""
    groups: dict[str, dict[str, Port]] = {}
    for port in ports:
        if match := _SIGNAL.fullmatch(port.name):
            groups.setdefault(match["prefix"], {})[match["signal"].upper()] = port
    valid = ("AWVALID", "ARVALID", "TVALID")
    buses = {prefix: signals for prefix, signals in groups.items() if any(name in signals for name in valid)}
    used = {port.name for signals in buses.values() for port in signals.values()}
    return buses, [port for port in ports if port.name not in used]


def _roles(
    where: str, buses: Mapping[str, Mapping[str, Port]]
) -> tuple[list[Control], list[Bundle], list[Stream]]:
    controls: list[Control] = []
    bundles: list[Bundle] = []
    streams: list[Stream] = []
    for prefix, signals in buses.items():
        frozen = MappingProxyType(dict(signals))
        if "TVALID" in signals:
            direction: Direction = "out" if signals["TVALID"].direction == "out" else "in"
            stream = Stream(prefix, frozen, direction)
            _check_stream(where, stream)
            streams.append(stream)
        elif next(signals[name] for name in ("ARVALID", "AWVALID") if name in signals).direction == "out":
            name = re.sub(r"^m_axi_", "", prefix, flags=re.IGNORECASE)
            bundle = Bundle(prefix, frozen, name)
            _check_bundle(where, bundle)
            bundles.append(bundle)
        else:
            controls.append(Control(prefix, frozen))
    return controls, bundles, streams


def _controls(
    where: str,
    top: str,
    names: set[str],
    controls: Sequence[Control],
    protocol: str | None,
    start_block: str | None,
) -> list[Control]:
    """The control ports, the one with start and end first."""
    if not controls:
        pins = [name for name in _HANDSHAKE if name in names]
        if pins:
            found = f"ports {', '.join(pins)}: its start and end are pins, not registers"
        else:
            found = "no start and no end (ap_ctrl_none), or another interface"
        raise KernelError(
            f"{where}: module {top} has no control port (AXI4-Lite, s_axi_control_*)",
            found=found,
            hint=f"{_AXILITE_PRAGMA} gives it one; {_PAGE}",
        )
    if protocol == "ap_ctrl_none":
        raise KernelError(
            f"{where}: module {top} has no start and no end (ap_ctrl_none): a launch could not tell when it is done",
            found=f"{controls[0].prefix} has argument registers only",
            hint=f"{_AXILITE_PRAGMA}, and no ap_ctrl_none",
        )
    prefixes = [control.prefix for control in controls]
    start = control_ports.starting(prefixes, start_block) if len(controls) == 2 else prefixes[0]
    if len(controls) > 2 or start is None:
        raise KernelError(
            f"{where}: module {top} has {len(controls)} control ports, a kernel has one, or HLS's control and control_r",
            found=", ".join(prefixes),
            hint="bundle=control in every s_axilite pragma, also of port=return and of the pointers",
        )
    for control in controls:
        _check_signals(where, control, (*_WRITE, *_READ), _CONTROL_WIDTHS, master=False)
    return sorted(controls, key=lambda control: control.prefix != start)


def _check_bundle(where: str, bundle: Bundle) -> None:
    required = (*(_READ if bundle.reads else ()), *(_WRITE if bundle.writes else ()))
    _check_signals(where, bundle, required, _MEMORY_WIDTHS, master=True)
    if bundle.reads and bundle.writes:
        _check_equal(where, bundle, "WDATA", "RDATA")
        _check_equal(where, bundle, "AWADDR", "ARADDR")
    for answer, request in (("RID", "ARID"), ("BID", "AWID")):
        if answer in bundle and request in bundle:
            _check_equal(where, bundle, answer, request)
    if "WSTRB" in bundle and bundle.width("WSTRB") * 8 != bundle.width("WDATA"):
        strobe = bundle.signals["WSTRB"]
        raise KernelError(
            f"{where}: port {strobe.name} must have one bit for each of {bundle.width('WDATA') // 8} bytes",
            found=f"{strobe.width} bits",
        )


def _check_stream(where: str, stream: Stream) -> None:
    _check_signals(where, stream, ("TVALID", "TDATA"), _STREAM_WIDTHS, master=stream.direction == "out")
    for name in ("TKEEP", "TSTRB"):
        if name in stream and stream.width(name) != -(-stream.data_width // 8):
            raise KernelError(
                f"{where}: port {stream.signals[name].name} must have one bit for each byte of TDATA",
                found=f"{stream.width(name)} bits for {stream.data_width} bits of data",
            )


# What the receiving side of a bus drives.
_ANSWERS = re.compile(r"(AW|W|AR|T)READY|[BR](VALID|RESP|ID|USER|DATA|LAST)")


def _check_signals(
    where: str, bus: Bus, required: Sequence[str], widths: Mapping[str, Sequence[int]], *, master: bool
) -> None:
    for name in required:
        if name not in bus:
            raise KernelError(
                f"{where}: {bus.prefix} has no {name}",
                found=", ".join(sorted(bus.signals)),
                hint=_PAGE,
            )
    for name, port in bus.signals.items():
        if name not in widths:
            raise KernelError(f"{where}: port {port.name} is not part of this bus", hint=_PAGE)
        driven = (_ANSWERS.fullmatch(name) is None) == master
        _check_port(where, port, "out" if driven else "in", widths[name])


def _check_port(where: str, port: Port, direction: str, widths: Sequence[int]) -> None:
    if port.direction != direction:
        raise KernelError(
            f"{where}: port {port.name} must be an {direction}put", found=f"an {port.direction}put"
        )
    if port.width not in widths:
        raise KernelError(
            f"{where}: port {port.name} must be {_widths_text(widths)} wide",
            found=f"{port.width} bit{'s' if port.width > 1 else ''}",
        )


def _check_equal(where: str, bus: Bus, left: str, right: str) -> None:
    if bus.width(left) != bus.width(right):
        raise KernelError(
            f"{where}: {left} and {right} of {bus.prefix} must have the same width",
            found=f"{bus.width(left)} and {bus.width(right)} bits",
        )


def _widths_text(widths: Sequence[int]) -> str:
    if isinstance(widths, range):
        return f"{widths.start} to {widths.stop - 1} bits"
    *most, last = map(str, widths)
    return f"{', '.join(most) + ' or ' if most else ''}{last} bit{'' if widths == (1,) else 's'}"


def _one_of(where: str, top: str, names: set[str], known: Sequence[str], what: str) -> str:
    for name in known:
        if name in names:
            return name
    raise KernelError(
        f"{where}: module {top} has no port {known[0]}",
        found=f"ports {', '.join(sorted(names)[:12])}{' ...' if len(names) > 12 else ''}"
        if names
        else "no ports",
        hint=f"its {what} is called {' or '.join(known)}; {_PAGE}",
    )
