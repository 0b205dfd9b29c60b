# SPDX-License-Identifier: Apache-2.0
"""``spec/regs`` with the counters of ``spec/events.toml``: register blocks (SystemVerilog), C headers, Rust constants and HTML.

SystemVerilog, C and HTML are PeakRDL's own. Its Rust generator is not used: its accessors are typed pointers whose I/O
cannot fail and whose arrays have a fixed length, while the runtime reaches registers through `Device::read32(offset)`,
which returns bus errors, on cards with any number of ports and contexts. `rust_constants` writes offsets and masks.
"""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from peakrdl_regblock.udps import ALL_UDPS
from systemrdl import RDLCompiler
from systemrdl.messages import MessagePrinter
from systemrdl.node import AddressableNode, AddrmapNode, FieldNode, Node, RegNode

from godwit.spec import events, events_rtl
from godwit.toolchain import root

MMU = "gw_mmu"
DMA = "gw_dma"
HEAP = "gw_heap"
FOOTER = "Generated from spec/regs by `python -m godwit.spec generate`; do not edit."
BLOCKS = {MMU: "gw_csr_regs", DMA: "gw_dma_regs", HEAP: "gw_heap_regs"}
"""The address maps, a file of their name each, and the module that has a map's registers."""


class RegisterError(ValueError):
    """The register description does not compile."""


class _Collect(MessagePrinter):
    """Keeps the compiler's messages instead of printing them: a library never prints."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit_message(self, lines: list[str]) -> None:
        self.lines += lines


def sources() -> list[Path]:
    """The register descriptions."""
    return [_path(name) for name in BLOCKS]


def _path(name: str) -> Path:
    return root() / "spec" / "regs" / f"{name}.rdl"


def _banner(name: str) -> str:
    return f"Generated from spec/regs/{name}.rdl by `python -m godwit.spec generate`; do not edit."


_KEPT: list[tempfile.TemporaryDirectory] = []


@cache
def _counters(text: str) -> Path:
    """A file with the counters' registers, until this process ends: nodes of the map refer to it."""
    _KEPT.append(tempfile.TemporaryDirectory(prefix="godwit-rdl-"))
    path = Path(_KEPT[-1].name) / "counters.rdl"
    path.write_text(text)
    return path


def elaborate(contexts: int, ports: int, name: str = MMU) -> AddrmapNode:
    """An address map, for so many contexts and ports."""
    parameters: dict[str, Any] = {"NUM_CONTEXTS": contexts, "NUM_PORTS": ports} if name == MMU else {}
    messages = _Collect()
    compiler = RDLCompiler(message_printer=messages)
    for udp in ALL_UDPS:  # the register block's generator asks for its own properties on every register
        compiler.register_udp(udp)
    try:
        compiler.compile_file(str(_counters(events_rtl.rdl(events.load()))))
        compiler.compile_file(str(_path(name)))
        return compiler.elaborate(top_def_name=name, parameters=parameters).top
    except Exception as error:
        raise RegisterError(
            "\n".join([f"{_path(name)} does not compile: {error}", *messages.lines])
        ) from error


def front_name(block: str) -> str:
    """The module that has the AXI4-Lite and the registers of the module `block`."""
    return f"{block.removesuffix('_regs')}_front"


def front(name: str) -> str:
    """That module, of an address map."""
    block = BLOCKS[name]
    return f"""\
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// {_banner(name)}
//
// {block} behind gw_csr_axil, whose contract it has. Only the low address bits are looked at, and an address that is no register is answered with
// SLVERR. write_o, wdata_o and wmask_o are for external blocks: they stand while one is asked.
module {front_name(block)} (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  gw_axi_pkg::axil_req_t axil_req_i,
  output gw_axi_pkg::axil_rsp_t axil_rsp_o,
  output logic                  write_o,
  output logic [31:0]           wdata_o,
  output logic [31:0]           wmask_o,
  input  {block}_pkg::{name}__in_t hwif_i,
  output {block}_pkg::{name}__out_t hwif_o
);

  localparam int unsigned AddrWidth = {block}_pkg::{block.upper()}_MIN_ADDR_WIDTH;

  logic req, read_ack, read_error, write_ack, write_error;
  logic [1:0] stall;
  logic [AddrWidth-1:0] addr;
  logic [31:0] read_data;

  gw_csr_axil #(
    .AddrWidth(AddrWidth)
  ) u_axil (
    .clk_i,
    .rst_ni,
    .axil_req_i,
    .axil_rsp_o,
    .req_o   (req),
    .write_o,
    .addr_o  (addr),
    .wdata_o,
    .wmask_o,
    .stall_i (stall[write_o]),
    .rd_ack_i(read_ack),
    .wr_ack_i(write_ack),
    .err_i   (write_o ? write_error : read_error),
    .rdata_i (read_data)
  );

  {block} u_regs (
    .clk                 (clk_i),
    .arst_n              (rst_ni),
    .s_cpuif_req         (req),
    .s_cpuif_req_is_wr   (write_o),
    .s_cpuif_addr        (addr),
    .s_cpuif_wr_data     (wdata_o),
    .s_cpuif_wr_biten    (wmask_o),
    .s_cpuif_req_stall_wr(stall[1]),
    .s_cpuif_req_stall_rd(stall[0]),
    .s_cpuif_rd_ack      (read_ack),
    .s_cpuif_rd_err      (read_error),
    .s_cpuif_rd_data     (read_data),
    .s_cpuif_wr_ack      (write_ack),
    .s_cpuif_wr_err      (write_error),
    .hwif_in             (hwif_i),
    .hwif_out            (hwif_o)
  );

endmodule
"""


def regblock(top: AddrmapNode, directory: Path) -> None:
    """A block's module and package, and its `front`. Addresses that are no register are answered with an error."""
    from peakrdl_regblock import RegblockExporter
    from peakrdl_regblock.cpuif.passthrough import PassthroughCpuif

    RegblockExporter().export(
        top,
        str(directory),
        cpuif_cls=PassthroughCpuif,
        module_name=BLOCKS[top.inst_name],
        package_name=f"{BLOCKS[top.inst_name]}_pkg",
        reuse_hwif_typedefs=False,
        default_reset_activelow=True,
        default_reset_async=True,
        err_if_bad_addr=True,
        retime_read_fanin=True,  # the read multiplexer in two cycles: a third smaller, and no critical path
    )
    (directory / f"{front_name(BLOCKS[top.inst_name])}.sv").write_text(front(top.inst_name))


def c_header(top: AddrmapNode, name: str) -> str:
    """The header `name` of a block; its include guard is made of that name, so that one file can include several."""
    from peakrdl_cheader.exporter import CHeaderExporter

    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / name
        CHeaderExporter().export(top, str(path), reuse_typedefs=False)
        text = path.read_text()
    return f"/* SPDX-License-Identifier: Apache-2.0 */\n/* {_banner(top.inst_name)} */\n{text}"


def html(tops: list[AddrmapNode], directory: Path) -> None:
    """The register maps as a small web site."""
    from peakrdl_html import HTMLExporter

    HTMLExporter().export(tops, str(directory), title="Godwit registers", footer=FOOTER)


@dataclasses.dataclass(frozen=True)
class Register:
    """A register; of arrays the first element, with the strides of the arrays around it (outermost first)."""

    name: str
    offset: int
    width: int
    strides: tuple[tuple[str, int], ...]
    fields: tuple[FieldNode, ...]
    doc: str


def _doc(node: Node) -> str:
    return " ".join((node.get_property("desc") or node.get_property("name") or node.inst_name).split())


def registers(top: AddrmapNode) -> Iterator[Register]:
    """All registers in address order."""

    def visit(node: Node, path: tuple[str, ...], offset: int, strides: tuple) -> Iterator[Register]:
        for child in node.children(unroll=False):
            if not isinstance(child, AddressableNode):
                continue
            name = (*path, child.inst_name)
            here = offset + child.raw_address_offset
            around = strides
            if child.is_array:
                around = (*strides, ("_".join(name), child.array_stride))
            if isinstance(child, RegNode):
                fields = tuple(child.fields())
                yield Register(
                    "_".join(name), here, child.get_property("regwidth"), around, fields, _doc(child)
                )
            else:
                yield from visit(child, name, here, around)

    yield from visit(top, (), 0, ())


def rust_constants(top: AddrmapNode) -> str:
    """`regs.rs` or another block's, for `include!`: byte offsets, array strides, field masks and shifts.

    An element of an array is at NAME + i * STRIDE; a 64-bit register is two 32-bit words, the lower first. Masks and
    shifts are those of the whole register, so a field of the upper word has a 64-bit mask.
    """
    out = ["// SPDX-License-Identifier: Apache-2.0", f"// {_banner(top.inst_name)}", ""]
    seen = set()
    for register in registers(top):
        for array, stride in register.strides:
            if array not in seen:
                seen.add(array)
                out += [
                    f"/// Bytes from one element of {array} to the next.",
                    f"pub const {array.upper()}_STRIDE: u64 = 0x{stride:x};",
                ]
        name = register.name.upper()
        out += [f"/// {register.doc}", f"pub const {name}: u64 = 0x{register.offset:x};"]
        kind = "u64" if register.width > 32 else "u32"
        if {field.inst_name for field in register.fields} == {"lo", "hi"}:
            continue  # the halves of one number, not fields
        for field in register.fields:
            prefix = f"{name}_{field.inst_name.upper()}"
            mask = ((1 << field.width) - 1) << field.low
            out += [f"/// {_doc(field)}", f"pub const {prefix}_MASK: {kind} = 0x{mask:x};"]
            out += [f"/// Lowest bit of {prefix}_MASK.", f"pub const {prefix}_SHIFT: u32 = {field.low};"]
            if not field.is_hw_writable and not field.is_sw_writable:
                value = field.get_property("reset")
                out += [
                    f"/// What {prefix} always reads.",
                    f"pub const {prefix}_VALUE: {kind} = 0x{value:x};",
                ]
    return "\n".join([*out, ""])
