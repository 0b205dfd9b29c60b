# SPDX-License-Identifier: Apache-2.0
"""Files that describe a kernel as HLS exports it: a driver's header, component.xml, kernel.xml, a control block."""

from __future__ import annotations

# (name, offset, bits, the kernel writes it), in the words of a header; `b` is 64 bits wide.
ARGS = [("b", 0x10, 64, False), ("n", 0x1C, 32, False), ("flags", 0x24, 3, False), ("sum", 0x2C, 64, True)]


def driver_header(name: str = "vadd", *, chain: bool = True, control: bool = True, args=ARGS) -> str:
    """A driver's header in HLS's words."""
    lines = ["// Vitis HLS", "// control"]
    if control:
        lines += ["// 0x00 : Control signals", "//        bit 0  - ap_start (Read/Write/COH)"]
        lines += ["//        bit 4  - ap_continue (Read/Write/SC)"] if chain else []
    for arg, offset, width, out in args:
        access = "Read" if out else "Read/Write"
        for word in range(-(-width // 32)):
            low, high = 32 * word, min(width, 32 * word + 32) - 1
            bits = f"{high - low}~0" if high > low else "0"
            lines += [
                f"// {offset + 4 * word:#04x} : Data signal of {arg}",
                f"//        bit {bits} - {arg}[{high}:{low}] ({access})",
            ]
        if out:
            after = offset + 4 * -(-width // 32)
            lines += [
                f"// {after:#04x} : Control signal of {arg}",
                f"//        bit 0  - {arg}_ap_vld (Read/COR)",
            ]
    if control:
        lines.append(f"#define X{name.upper()}_CONTROL_ADDR_AP_CTRL 0x00")
    return "\n".join(lines) + "\n"


def component(
    name: str = "vadd", *, chain: bool = False, space: str = "spirit", files=("hdl/verilog/vadd.v",)
) -> str:
    """A component.xml with the registers of ARGS."""
    registers = [
        ("CTRL", 0, "Control signals", "read-write", ["AP_START", *(["AP_CONTINUE"] if chain else [])])
    ]
    for arg, offset, width, out in ARGS:
        words = -(-width // 32)
        for word in range(words):
            label = f"{arg}_{word + 1}" if words > 1 else arg
            access = "read-only" if out else "write-only"
            registers.append((label, offset + 4 * word, f"Data signal of {arg}", access, [label]))
        if out:
            registers.append(
                (f"{arg}_ctrl", offset + 8, f"Control signal of {arg}", "read-only", [f"{arg}_ap_vld"])
            )
    text = f'<{space}:component xmlns:{space}="urn:{space}"><{space}:name>{name}</{space}:name>'
    text += f"<{space}:memoryMaps><{space}:memoryMap><{space}:name>s_axi_control</{space}:name><{space}:addressBlock>"
    for label, offset, about, access, fields in registers:
        text += f"<{space}:register><{space}:name>{label}</{space}:name><{space}:description>{about}</{space}:description>"
        text += f"<{space}:addressOffset>{offset}</{space}:addressOffset><{space}:access>{access}</{space}:access>"
        for field in fields:
            text += f"<{space}:field><{space}:name>{field}</{space}:name><{space}:bitWidth>32</{space}:bitWidth></{space}:field>"
        text += f"</{space}:register>"
    text += (
        f"</{space}:addressBlock></{space}:memoryMap></{space}:memoryMaps><{space}:fileSets><{space}:fileSet>"
    )
    text += f"<{space}:name>xilinx_verilogsynthesis_view_fileset</{space}:name>"
    for file in files:
        text += f"<{space}:file><{space}:name>{file}</{space}:name></{space}:file>"
    return text + f"</{space}:fileSet></{space}:fileSets></{space}:component>"


KERNEL_XML = """<?xml version="1.0" encoding="UTF-8"?>
<root versionMajor="1" versionMinor="6">
  <kernel name="vadd" language="ip_c" hwControlProtocol="ap_ctrl_chain" interrupt="true">
    <ports><port name="m_axi_gmem1" mode="master" dataWidth="512" portType="addressable"/></ports>
    <args>
      <arg name="b" addressQualifier="1" id="0" port="m_axi_gmem1" size="0x8" offset="0x10" type="int*"/>
      <arg name="n" addressQualifier="0" id="1" port="s_axi_control" size="0x4" offset="0x1c" type="int"/>
      <arg name="flags" addressQualifier="0" id="2" port="s_axi_control" size="0x4" offset="0x24" type="char"/>
      <arg name="out" addressQualifier="4" id="3" port="out" size="0x4" offset="0x0" type="stream"/>
    </args>
  </kernel>
</root>
"""


def control_block(name: str = "vadd", *, chain: bool = True, args=ARGS) -> str:
    """A control block with HLS's constants and ports, and the instance that belongs into the top module."""
    ports = ["output wire ap_start", *(["output wire ap_continue"] if chain else [])]
    constants = []
    for arg, offset, width, out in args:
        ports.append(f"{'input' if out else 'output'} wire [{width - 1}:0] {arg}")
        constants += [
            f"ADDR_{arg.upper()}_DATA_{word} = 6'h{offset + 4 * word:02x}" for word in range(-(-width // 32))
        ]
    constants = ["ADDR_AP_CTRL = 6'h00", *constants]
    return f"module {name}_control_s_axi ({', '.join(ports)});\n  localparam {', '.join(constants)};\nendmodule\n"
