# SPDX-License-Identifier: Apache-2.0
"""Kernel slots of a card: what ports a kernel has, and the generated wiring that connects all of them."""

from __future__ import annotations

import dataclasses
import json
import subprocess
from pathlib import Path
from typing import Any

from godwit import toolchain
from godwit.card.manifest import Manifest
from godwit.errors import InputError
from godwit.spec.schema import Config

# Ports of the HLS interface with their widths (None: any). Directions are the kernel's.
_CONTROL_INPUTS = {
    "AWVALID": 1, "AWADDR": None, "WVALID": 1, "WDATA": 32, "WSTRB": 4, "BREADY": 1, "ARVALID": 1, "ARADDR": None, "RREADY": 1,
}  # fmt: skip
_CONTROL_OUTPUTS = {
    "AWREADY": 1,
    "WREADY": 1,
    "BVALID": 1,
    "BRESP": 2,
    "ARREADY": 1,
    "RVALID": 1,
    "RDATA": 32,
    "RRESP": 2,
}
_MEMORY_INPUTS = {
    "AWREADY": 1, "WREADY": 1, "BVALID": 1, "BRESP": 2, "ARREADY": 1, "RVALID": 1, "RDATA": 512, "RLAST": 1, "RRESP": 2,
}  # fmt: skip
_MEMORY_OUTPUTS = {
    "AWVALID": 1, "AWADDR": 64, "AWLEN": 8, "WVALID": 1, "WDATA": 512, "WSTRB": 64, "WLAST": 1, "BREADY": 1,
    "ARVALID": 1, "ARADDR": 64, "ARLEN": 8, "RREADY": 1,
}  # fmt: skip
# Ports a kernel may have or leave out.
_OPTIONAL_INPUTS = ("BID", "RID", "BUSER", "RUSER")
_OPTIONAL_OUTPUTS = tuple(
    f"{channel}{field}"
    for channel in ("AW", "AR")
    for field in ("ID", "SIZE", "BURST", "CACHE", "PROT", "QOS", "REGION")
)
# Outputs that go nowhere: the card has no exclusive accesses and no user signals.
_OPEN_OUTPUTS = ("AWLOCK", "ARLOCK", "AWUSER", "ARUSER", "WUSER", "WID")

ID_PARAMETER = "C_M_AXI_GMEM_ID_WIDTH"


class KernelError(InputError):
    """A kernel cannot be built into a card."""


@dataclasses.dataclass(frozen=True)
class Kernel:
    """A kernel in a slot. `own`: one of Godwit's, which takes the card's ID width as a parameter."""

    manifest: Manifest
    own: bool
    ports: dict[str, int] = dataclasses.field(default_factory=dict)
    """Width of every port of the top module, in bits."""
    parameters: tuple[str, ...] = ()

    @property
    def top(self) -> str:
        """Name of the top module."""
        return self.manifest.top


def library_dirs(kernels: list[Kernel]) -> list[Path]:
    """Where modules that a kernel uses without naming them in its manifest are found."""
    hardware = toolchain.root() / "hw" / "rtl" / "common"
    own = {kernel.manifest.sources[0].parent for kernel in kernels if kernel.own}
    return [toolchain.root() / "kernels" / "common", hardware, *sorted(own)]


def shared_packages() -> list[Path]:
    """Packages read before every kernel."""
    root = toolchain.root()
    hardware = [root / "hw" / "rtl" / "common" / name for name in ("gw_axi_pkg.sv", "gw_pkg.sv")]
    return [*hardware, *sorted((root / "kernels" / "common").glob("*_pkg.sv"))]


def probe(kernel: Kernel, id_width: int, work: Path) -> Kernel:
    """The kernel with its ports, as Verilator sees them. KernelError when it does not compile; the message has the place."""
    manifest = kernel.manifest
    package = work / f"{manifest.name}_args_pkg.sv"
    package.write_text(manifest.args_package())
    tree = work / f"{manifest.name}.tree.json"
    command = [
        str(toolchain.verilator()),
        "--json-only",
        "--top-module",
        kernel.top,
        "--no-timing",
        "-Wno-fatal",
        "-Mdir",
        str(work),
    ]
    command += [
        "--json-only-output",
        str(tree),
        "--json-only-meta-output",
        str(work / f"{manifest.name}.meta.json"),
        "--quiet",
    ]
    if kernel.own:
        command.append(f"-G{ID_PARAMETER}={id_width}")
    for directory in library_dirs([kernel]):
        command += ["-y", str(directory)]
    files = [toolchain.root() / "hw" / "rtl" / "lint.vlt", *shared_packages(), package, *manifest.sources]
    done = subprocess.run(
        [*command, *map(str, files)], env=toolchain.env(), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise KernelError(
            f"kernel {manifest.name} does not compile", found=error_lines(done.stderr + done.stdout)
        )
    ports, parameters = _ports(json.loads(tree.read_text()), kernel.top)
    found = dataclasses.replace(kernel, ports=ports, parameters=parameters)
    _check(found, id_width)
    return found


def error_lines(text: str) -> str:
    """Verilator's errors without its advice and banners."""
    lines = []
    for line in text.splitlines():
        if line.startswith("%Error") and "Exiting due to" not in line and "See the manual" not in line:
            lines.append(line.removeprefix("%Error: ").removeprefix("%"))
        elif lines and not line.startswith(("%", "-", "make")) and "..." not in line:
            lines.append(line)
    return "\n".join(lines) or text.strip()


def _nodes(tree: Any) -> Any:
    """All objects of Verilator's JSON tree."""
    stack = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            yield node
            stack.extend(node.values())
        elif isinstance(node, list):
            stack.extend(node)


def _ports(tree: dict[str, Any], top: str) -> tuple[dict[str, int], tuple[str, ...]]:
    types = {node["addr"]: node for node in _nodes(tree) if node.get("type") == "BASICDTYPE"}
    module = next(
        node for node in _nodes(tree) if node.get("type") == "MODULE" and node.get("origName") == top
    )
    ports, parameters = {}, []
    for node in module["stmtsp"]:
        if node.get("varType") == "GPARAM":
            parameters.append(node["name"])
        elif node.get("varType") == "PORT" and node.get("direction") in ("INPUT", "OUTPUT"):
            high, _, low = types.get(node["dtypep"], {}).get("range", "0:0").partition(":")
            ports[node["name"]] = abs(int(high) - int(low)) + 1
    return ports, tuple(parameters)


def _check(kernel: Kernel, id_width: int) -> None:
    where = f"kernel {kernel.manifest.name} ({kernel.manifest.sources[-1]})"
    required = {"ap_clk": 1, "ap_rst_n": 1, "interrupt": 1}
    required |= {
        f"s_axi_control_{name}": width for name, width in (_CONTROL_INPUTS | _CONTROL_OUTPUTS).items()
    }
    required |= {f"m_axi_gmem_{name}": width for name, width in (_MEMORY_INPUTS | _MEMORY_OUTPUTS).items()}
    for name, width in required.items():
        if name not in kernel.ports:
            raise KernelError(
                f"{where}: module {kernel.top} has no port {name}",
                hint="a kernel has one control port s_axi_control and one memory port m_axi_gmem (docs/kernels.md)",
            )
        if width is not None and kernel.ports[name] != width:
            raise KernelError(
                f"{where}: port {name} must be {width} bits wide", found=f"{kernel.ports[name]} bits"
            )
    optional = {f"m_axi_gmem_{name}" for name in (*_OPTIONAL_INPUTS, *_OPTIONAL_OUTPUTS, *_OPEN_OUTPUTS)}
    if unknown := set(kernel.ports) - set(required) - optional:
        raise KernelError(
            f"{where}: port {min(unknown)} is not part of a kernel's interface", hint="see docs/kernels.md"
        )
    for name in ("AWID", "ARID"):
        if kernel.ports.get(f"m_axi_gmem_{name}", 0) > id_width:
            raise KernelError(
                f"{where}: m_axi_gmem_{name} is wider than the card's IDs",
                found=f"{kernel.ports[f'm_axi_gmem_{name}']} bits against axi.id_width = {id_width}",
                hint="--set axi.id_width=WIDTH (at most 6)",
            )


def _instance(index: int, kernel: Kernel, id_width: int) -> list[str]:
    name, ports = kernel.manifest.name, kernel.ports
    outputs = [port for port in (*_MEMORY_OUTPUTS, *_OPTIONAL_OUTPUTS) if f"m_axi_gmem_{port}" in ports]
    out = [f"  // Slot {index}: {name}.", f"  begin : gen_{name}"]
    for port in outputs:
        out.append(f"    logic [{ports[f'm_axi_gmem_{port}'] - 1}:0] {port.lower()};")
    request = f"axil_req_i[{index}]"
    busy = " || ".join(
        f"{request}.{field}" for field in ("aw_valid", "w_valid", "b_ready", "ar_valid", "r_ready")
    )
    out += [
        "    logic clk, written_q;",
        "    always_ff @(posedge clk_i or negedge rst_ni) begin",
        "      if (!rst_ni) written_q <= 1'b0;",
        f"      else if ({request}.aw_valid) written_q <= 1'b1;",
        "    end",
        "    gw_clock_gate u_clock_gate (",
        f"      .clk_i, .en_i(!rst_ni || written_q || {busy}), .clk_o(clk)",
        "    );",
    ]
    parameters = (
        f" #(.{ID_PARAMETER}({id_width}))" if kernel.own and ID_PARAMETER in kernel.parameters else ""
    )
    out.append(f"    {kernel.top}{parameters} u_{name} (")
    answer = f"axil_rsp_o[{index}]"
    pins = {"ap_clk": "clk", "ap_rst_n": "rst_ni", "interrupt": f"irq_o[{index}]"}
    for port in _CONTROL_INPUTS:
        width = ports[f"s_axi_control_{port}"]
        part = f"[{width - 1}:0]" if port.endswith("ADDR") else ""
        pins[f"s_axi_control_{port}"] = f"{request}.{_field(port)}{part}"
    for port in _CONTROL_OUTPUTS:
        pins[f"s_axi_control_{port}"] = f"{answer}.{_field(port)}"
    for port in outputs:
        pins[f"m_axi_gmem_{port}"] = port.lower()
    pins |= {f"m_axi_gmem_{port}": "" for port in _OPEN_OUTPUTS if f"m_axi_gmem_{port}" in ports}
    for port in (*_MEMORY_INPUTS, *_OPTIONAL_INPUTS):
        if f"m_axi_gmem_{port}" in ports:
            pins[f"m_axi_gmem_{port}"] = _slave_field(f"m_rsp_i[{index}]", port, ports[f"m_axi_gmem_{port}"])
    out.append(",\n".join(f"      .{port}({signal})" for port, signal in pins.items()))
    out.append("    );")

    def value(port: str, default: str = "'0") -> str:
        return port.lower() if port in outputs else default

    for channel in ("AW", "AR"):
        target = f"m_req_o[{index}].{channel.lower()}"
        identity = f"{id_width}'({channel.lower()}id)" if f"{channel}ID" in outputs else "'0"
        fields = {"id": identity, "addr": value(f"{channel}ADDR"), "len": value(f"{channel}LEN")}
        fields |= {
            "size": value(f"{channel}SIZE", "3'd6"),
            "burst": value(f"{channel}BURST", "2'b01"),
            "lock": "'0",
        }
        fields |= {part: value(f"{channel}{part.upper()}") for part in ("cache", "prot", "qos", "region")}
        out.append(
            f"    assign {target} = '{{" + ", ".join(f"{key}: {text}" for key, text in fields.items()) + "};"
        )
        out.append(f"    assign {target}_valid = {channel.lower()}valid;")
    out.append(f"    assign m_req_o[{index}].w = '{{data: wdata, strb: wstrb, last: wlast}};")
    out.append(f"    assign m_req_o[{index}].w_valid = wvalid;")
    out.append(f"    assign m_req_o[{index}].b_ready = bready;")
    out.append(f"    assign m_req_o[{index}].r_ready = rready;")
    return [*out, "  end", ""]


def _field(port: str) -> str:
    """AWVALID -> aw_valid, RDATA -> r_data."""
    length = 2 if port[0] == "A" else 1
    return f"{port[:length].lower()}_{port[length:].lower()}"


def _slave_field(response: str, port: str, width: int) -> str:
    channel, field = port[0].lower(), port[1:].lower()
    if port.endswith(("READY", "VALID")):
        return f"{response}.{_field(port)}"
    if port.endswith("USER"):
        return "'0"
    return f"{response}.{channel}.{field}" + (f"[{width - 1}:0]" if field == "id" else "")


def wiring(kernels: list[Kernel], config: Config) -> str:
    """`gw_kernels`: one instance a kernel, kernel k on element k of every port.

    A kernel's clock runs in reset, during register accesses, and always once something was written to it: one that is
    never started costs the simulation nothing.
    """
    count = len(kernels)
    lines = [
        "// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1",
        "// Generated by the card builder: the kernels of this card in their slots.",
        "module gw_kernels #(",
        "  parameter type req_t = gw_axi_pkg::axi_req_t,",
        "  parameter type rsp_t = gw_axi_pkg::axi_rsp_t",
        ") (",
        "  input  logic                              clk_i,",
        "  input  logic                              rst_ni,",
        f"  input  gw_axi_pkg::axil_req_t [{count - 1}:0] axil_req_i,",
        f"  output gw_axi_pkg::axil_rsp_t [{count - 1}:0] axil_rsp_o,",
        f"  output req_t                              m_req_o [{count}],",
        f"  input  rsp_t                              m_rsp_i [{count}],",
        f"  output logic [{count - 1}:0]              irq_o",
        ");",
        "",
    ]
    for index, kernel in enumerate(kernels):
        lines += _instance(index, kernel, config.axi.id_width)
    return "\n".join([*lines, "endmodule", ""])
