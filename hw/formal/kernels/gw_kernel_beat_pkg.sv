// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Beats as wide as a proof asks for, in the place of kernels/common's.
package gw_kernel_beat_pkg;

  localparam int unsigned BeatBytes = `FV_BEAT_BYTES;

endpackage
