// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Parameters of a kernel's top module, named as Vitis HLS does. Included between `#(` and `)`.
/// Address bits of the control port.
parameter int unsigned C_S_AXI_CONTROL_ADDR_WIDTH = 12,
/// Data bits of the control port: 32.
parameter int unsigned C_S_AXI_CONTROL_DATA_WIDTH = 32,
/// ID bits of the memory port, 1 to 6; more IDs keep one translation miss from delaying other bursts.
parameter int unsigned C_M_AXI_GMEM_ID_WIDTH = 4,
/// Address bits of the memory port: 64.
parameter int unsigned C_M_AXI_GMEM_ADDR_WIDTH = 64,
/// Data bits of the memory port: a beat of gw_kernel_pkg.
parameter int unsigned C_M_AXI_GMEM_DATA_WIDTH = 8 * gw_kernel_pkg::BeatBytes
