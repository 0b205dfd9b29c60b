// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// How wide a beat of the kernels' data path is. A card whose kernels can all be as wide as its bus is built with a package of this
// name that says so, in this one's place.
package gw_kernel_beat_pkg;

  localparam int unsigned BeatBytes = 64;  // 8, 16, 32, 64 or 128

endpackage
