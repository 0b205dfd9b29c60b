# SPDX-License-Identifier: Apache-2.0
"""What stands around gw_board on a board: clock, DDR3 and a serial line, all of it LiteX's.

The host sits at the serial line (LiteX's UARTBone: `litex_server --uart`) and sees one address space: LiteX's own registers, the
card's, and memory. There is no processor: the host initialises the memory, too, with the steps that are written to sdram_init.py.
"""

from __future__ import annotations

import contextlib
import io
import logging
from dataclasses import dataclass
from pathlib import Path

from godwit.errors import InputError, SetupError
from godwit.spec import layout
from godwit.spec.schema import Config
from godwit.units import bytes_text

BOARD = "OrangeCrab r0.2, LFE5U-85F-8MG285C, 16 bits of DDR3 (MT41K64M16)"
PACKAGES = ("litex", "litex-boards", "litedram", "migen")
DATA_WIDTH = 128
"""A burst of eight of its memory."""
MEMORY_BYTES = 128 << 20
BAUD = 1_000_000
WINDOW = 0x4000_0000
"""Where the host finds device memory; on the card it begins at 0."""
REGISTERS = 0x8000_0000
"""Where it finds the card's registers."""
TOP = "gw_orangecrab"


@dataclass(frozen=True)
class Written:
    """What LiteX wrote."""

    verilog: Path
    constraints: Path
    csr: Path
    """Addresses of its registers, as `litex_server` reads them."""
    init: Path
    """How the memory is initialised, as Python."""


def register_bytes(config: Config) -> int:
    """Bytes of the card's register space: a power of two."""
    (space,) = (group for group in layout.load() if group.name == "register_space")
    value = {constant.name: constant.value for constant in space.constants}
    need = value["kernel_base"] + len(config.card.kernels) * value["kernel_stride"]
    return 1 << (need - 1).bit_length()


def mem_id_width(config: Config) -> int:
    """Bits of gw_board's memory IDs: the walker's seven and the number of a master, which are the ports, the command queue, the walker and
    the host.
    """
    return 7 + (config.ports + 2).bit_length()


def check(config: Config) -> None:
    """Raises InputError with all of a configuration that this board does not have."""
    amounts = (
        ("axi.data_width", config.axi.data_width, DATA_WIDTH, str, config.axi.data_width == DATA_WIDTH),
        (
            "card.memory_bytes",
            config.card.memory_bytes,
            MEMORY_BYTES,
            bytes_text,
            config.card.memory_bytes <= MEMORY_BYTES,
        ),
        ("dma.slots", config.dma.slots, 0, str, not config.dma.slots),
        ("heap.slots", config.heap.slots, 0, str, not config.heap.slots),
        ("page_cache.pages", config.page_cache.pages, 0, str, not config.page_cache.pages),
        ("further_memory", len(config.further_memory), 0, str, not config.further_memory),
    )
    other = [(name, text(value), text(has)) for name, value, has, text, fits in amounts if not fits]
    if other:
        raise InputError(
            f"configuration '{config.name}' does not fit {BOARD}",
            found=", ".join(f"{name} = {value}" for name, value, _ in other),
            hint="; ".join(f"{name} = {has}" for name, _, has in other) + ", or start from `ecp5`",
        )


def write(out: Path, config: Config) -> Written:
    """Writes the Verilog around gw_board, its pins and its registers; InputError when the card does not fit, SetupError without LiteX."""
    check(config)
    try:
        from litedram.core import LiteDRAMCore  # noqa: F401
        from litex_boards.platforms import gsd_orangecrab  # noqa: F401
    except ImportError as error:
        raise SetupError(
            "`make board` needs LiteX's boards, which are not installed",
            found=str(error),
            hint="pip install litex-boards==2023.12",
        ) from None
    logging.disable(logging.INFO)
    try:
        # LiteX prints tables of what it does.
        with contextlib.redirect_stdout(io.StringIO()):
            return _write(out, config)
    finally:
        logging.disable(logging.NOTSET)


def _write(out: Path, config: Config) -> Written:
    from litedram.init import get_sdram_phy_py_header
    from litex.soc.integration.builder import Builder

    soc = _soc(config)
    builder = Builder(
        soc, output_dir=str(out), csr_csv=str(out / "csr.csv"), compile_software=False, compile_gateware=False
    )
    builder.build(run=False, build_name=TOP)
    init = out / "sdram_init.py"
    init.write_text(
        get_sdram_phy_py_header(soc.sdram.controller.settings.phy, soc.sdram.controller.settings.timing),
        encoding="utf-8",
    )
    gateware = out / "gateware"
    return Written(gateware / f"{TOP}.v", gateware / f"{TOP}.lpf", out / "csr.csv", init)


def _soc(config: Config):
    from litedram.frontend.axi import LiteDRAMAXI2Native, LiteDRAMAXIPort
    from litedram.modules import MT41K64M16
    from litedram.phy import ECP5DDRPHY
    from litex.soc.integration.soc import SoCRegion
    from litex.soc.integration.soc_core import SoCMini
    from litex.soc.interconnect import axi
    from litex_boards.platforms import gsd_orangecrab
    from litex_boards.targets.gsd_orangecrab import _CRGSDRAM
    from migen import ClockSignal, Instance, ResetSignal

    clock_hz = round(config.card.clock_mhz * 1e6)
    platform = gsd_orangecrab.Platform(revision="0.2", device="85F", toolchain="trellis")
    platform.add_extension(gsd_orangecrab.feather_serial)

    soc = SoCMini(platform, clock_hz, ident="", ident_version=False)
    try:
        soc.crg = _CRGSDRAM(platform, clock_hz)
    except (AssertionError, ValueError):
        raise InputError(
            "the board's PLL has no such clock, or none twice as fast for the memory",
            found=f"card.clock_mhz = {config.card.clock_mhz:g}",
            hint="card.clock_mhz = 50, as in `ecp5`",
        ) from None
    soc.add_uartbone(baudrate=BAUD)

    # As litex_boards.targets.gsd_orangecrab connects it.
    pads = platform.request("ddram")
    soc.ddrphy = ECP5DDRPHY(
        pads=pads, sys_clk_freq=clock_hz, dm_remapping={0: 1, 1: 0}, cmd_delay=0 if clock_hz > 64e6 else 100
    )
    soc.ddrphy.settings.rtt_nom = "disabled"
    soc.comb += [
        pads.vccio.eq(0b111111),
        pads.gnd.eq(0),
        soc.crg.stop.eq(soc.ddrphy.init.stop),
        soc.crg.reset.eq(soc.ddrphy.init.reset),
    ]
    soc.add_sdram("sdram", phy=soc.ddrphy, module=MT41K64M16(clock_hz, "1:2"), with_soc_interconnect=False)

    port = soc.sdram.crossbar.get_port()
    assert port.data_width == DATA_WIDTH
    memory = LiteDRAMAXIPort(data_width=port.data_width, address_width=32, id_width=mem_id_width(config))
    soc.submodules += LiteDRAMAXI2Native(memory, port)

    pins = {"i_clk_i": ClockSignal("sys"), "i_rst_ni": ~ResetSignal("sys")}
    for name, origin, size in (
        ("reg", REGISTERS, register_bytes(config)),
        ("win", WINDOW, config.card.memory_bytes),
    ):
        bus = axi.AXILiteInterface(data_width=32, address_width=32)
        soc.bus.add_slave(f"godwit_{name}", bus, SoCRegion(origin=origin, size=size, cached=False))
        pins |= _lite_pins(name, bus, size)
    pins |= _memory_pins(memory)
    soc.specials += Instance("gw_board", **pins)
    return soc


def _lite_pins(name: str, bus, size: int) -> dict:
    """AXI4-Lite slave `name` of gw_board; addresses from the beginning of its region."""
    pins = {
        f"i_{name}_w_data_i": bus.w.data,
        f"i_{name}_w_strb_i": bus.w.strb,
        f"o_{name}_b_resp_o": bus.b.resp,
        f"o_{name}_r_data_o": bus.r.data,
        f"o_{name}_r_resp_o": bus.r.resp,
    }
    for channel in ("aw", "ar"):
        pins[f"i_{name}_{channel}_addr_i"] = getattr(bus, channel).addr & (size - 1)
    for channel in ("aw", "w", "ar"):
        pins[f"i_{name}_{channel}_valid_i"] = getattr(bus, channel).valid
        pins[f"o_{name}_{channel}_ready_o"] = getattr(bus, channel).ready
    for channel in ("b", "r"):
        pins[f"o_{name}_{channel}_valid_o"] = getattr(bus, channel).valid
        pins[f"i_{name}_{channel}_ready_i"] = getattr(bus, channel).ready
    return pins


def _memory_pins(bus) -> dict:
    """The memory port of gw_board."""
    pins = {
        "o_mem_w_data_o": bus.w.data,
        "o_mem_w_strb_o": bus.w.strb,
        "o_mem_w_last_o": bus.w.last,
        "i_mem_b_id_i": bus.b.id,
        "i_mem_b_resp_i": bus.b.resp,
        "i_mem_r_id_i": bus.r.id,
        "i_mem_r_data_i": bus.r.data,
        "i_mem_r_resp_i": bus.r.resp,
        "i_mem_r_last_i": bus.r.last,
    }
    for channel in ("aw", "ar"):
        for field in ("id", "addr", "len", "size", "burst"):
            pins[f"o_mem_{channel}_{field}_o"] = getattr(getattr(bus, channel), field)
    for channel in ("aw", "w", "ar"):
        pins[f"o_mem_{channel}_valid_o"] = getattr(bus, channel).valid
        pins[f"i_mem_{channel}_ready_i"] = getattr(bus, channel).ready
    for channel in ("b", "r"):
        pins[f"i_mem_{channel}_valid_i"] = getattr(bus, channel).valid
        pins[f"o_mem_{channel}_ready_o"] = getattr(bus, channel).ready
    return pins
