# SPDX-License-Identifier: Apache-2.0
"""The controller behind ``memory.model = "litedram-ddr4"``: LiteDRAM's own, generated for a card's ports.

LiteDRAM (controller, bank machines, refresh, crossbar with one native port a memory port) is generated to Verilog as it
is. Behind it stands a PHY that keeps no data: a read returns the address that the controller opened and selected, a
write is compared with it. So every access shows that the controller went to the right row, bank and column, and the
content stays where all memory models have it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from godwit.errors import SetupError
from godwit.toolchain import version

TOP = "gw_litedram"
CHANNEL_BITS = 64
"""Data bits of the DDR4 channel: 64 bytes a burst of eight."""
WORD = 32
"""Bits a port has in the packed address and data pins."""
PACKAGES = ("litedram", "litex", "migen")


def versions() -> list[str]:
    """Versions of what generates the controller."""
    return [version(name) for name in PACKAGES]


def generate(path: Path, ports: int, mhz: float) -> None:
    """Writes the Verilog of a controller with `ports` native ports at `mhz`; SetupError when LiteDRAM is missing.

    Pins, port p at bit p or in word p: cmd_valid, cmd_ready, cmd_we, cmd_addr (64-byte lines), wdata_ready, wdata,
    rdata_valid, rdata; and write_error, which stays high after a write that went elsewhere.
    """
    try:
        from litedram.core.controller import LiteDRAMController
        from litedram.core.crossbar import LiteDRAMCrossbar
        from litedram.modules import MT40A1G8
        from litedram.phy.model import get_sdram_phy_settings
        from migen import Module, Signal
        from migen.fhdl import verilog
    except ImportError as error:
        raise SetupError(
            'memory.model = "litedram-ddr4" needs LiteDRAM, which is not installed',
            found=str(error),
            hint="pip install litedram==2024.12 litex==2024.12 migen==0.10.0",
        ) from None

    clock_hz = mhz * 1e6
    device = MT40A1G8(clock_hz, "1:4", speedgrade="2400")
    settings = get_sdram_phy_settings("DDR4", CHANNEL_BITS, clock_hz)
    top = Module()
    phy = _phy(device, settings)
    controller = LiteDRAMController(settings, device.geom_settings, device.timing_settings, clock_hz)
    crossbar = LiteDRAMCrossbar(controller.interface)
    top.submodules += phy, controller, crossbar
    top.comb += controller.dfi.connect(phy.dfi)

    words = WORD * max(ports, 3)  # more than 64 bits, so that C++ sees words whatever the number of ports
    bits = {
        name: Signal(ports, name=name)
        for name in ("cmd_valid", "cmd_ready", "cmd_we", "wdata_ready", "rdata_valid")
    }
    wide = {name: Signal(words, name=name) for name in ("cmd_addr", "wdata", "rdata")}
    write_error = Signal(name="write_error")
    for number in range(ports):
        port = crossbar.get_port()
        word = slice(WORD * number, WORD * (number + 1))
        top.comb += [
            port.cmd.valid.eq(bits["cmd_valid"][number]),
            port.cmd.we.eq(bits["cmd_we"][number]),
            port.cmd.addr.eq(wide["cmd_addr"][word]),
            bits["cmd_ready"][number].eq(port.cmd.ready),
            port.wdata.valid.eq(1),
            port.wdata.data.eq(wide["wdata"][word]),
            port.wdata.we.eq(2 ** (8 * CHANNEL_BITS // 8) - 1),
            bits["wdata_ready"][number].eq(port.wdata.ready),
            port.rdata.ready.eq(1),
            bits["rdata_valid"][number].eq(port.rdata.valid),
            wide["rdata"][word].eq(port.rdata.data[:WORD]),
        ]
    top.comb += write_error.eq(phy.write_error)
    pins = {*bits.values(), *wide.values(), write_error}
    path.write_text(str(verilog.convert(top, pins, name=TOP)))


def _phy(device: Any, settings: Any) -> Any:
    """A PHY without data: latencies of `settings`, row addresses of every bank."""
    from litedram.phy.dfi import Interface
    from migen import Array, Cat, If, Module, Signal

    geometry = device.geom_settings
    phy = Module()
    phy.settings = settings
    phy.dfi = Interface(
        geometry.addressbits, geometry.bankbits, settings.nranks, settings.dfi_databits, settings.nphases
    )
    phy.write_error = Signal()
    rows = Array(Signal(geometry.rowbits) for _ in range(1 << geometry.bankbits))
    burst_bits = 3  # columns of a burst of eight
    read, write = Signal(), Signal()
    at = Signal(geometry.colbits - burst_bits + geometry.bankbits + geometry.rowbits)
    for phase in phy.dfi.phases:
        chosen = ~phase.cs_n
        phy.sync += If(chosen & ~phase.ras_n & phase.cas_n & phase.we_n, rows[phase.bank].eq(phase.address))
        column = Cat(phase.address[burst_bits : geometry.colbits], phase.bank, rows[phase.bank])
        phy.comb += If(
            chosen & phase.ras_n & ~phase.cas_n, at.eq(column), read.eq(phase.we_n), write.eq(~phase.we_n)
        )
    write, wrote_at = _later(phy, write, settings.write_latency), _later(phy, at, settings.write_latency)
    phy.sync += If(write & (phy.dfi.phases[0].wrdata[:WORD] != wrote_at), phy.write_error.eq(1))
    read, read_at = _later(phy, read, settings.read_latency), _later(phy, at, settings.read_latency)
    for phase in phy.dfi.phases:
        phy.comb += phase.rddata_valid.eq(read)
    phy.comb += phy.dfi.phases[0].rddata.eq(read_at)
    return phy


def _later(module: Any, signal: Any, cycles: int) -> Any:
    """The signal so many cycles later."""
    from migen import Signal

    for _ in range(cycles):
        delayed = Signal(len(signal))
        module.sync += delayed.eq(signal)
        signal = delayed
    return signal
