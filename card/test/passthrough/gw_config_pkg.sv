// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Constants of the pass-through card, where a real card has its generated package.
package gw_config_pkg;
  localparam int unsigned NumKernels = 1;
  localparam int unsigned NumExternal = 3;
  localparam int unsigned NumPorts = NumKernels + NumExternal;
  localparam int unsigned IdWidth = 4;
  localparam int unsigned DataWidth = 512;
  localparam int unsigned DmaSlots = 0;
  localparam int unsigned HeapSlots = 0;
  localparam int unsigned CachePages = 0;
endpackage
