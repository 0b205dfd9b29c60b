// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Chooses the fault that the record shows and counts those that find the record occupied.
//
// Contract
// - Of the faults of a cycle the lowest port's comes first, of one port AR's before AW's. In the next cycle it is handed to the
//   record, if `occupied_i` is low then. All others are added to `lost_o`, which stays at its maximum and is set to zero by
//   `clear_i`.
module gw_csr_fault #(
  /// Accelerator ports.
  parameter int unsigned NumPorts = 1
) (
  input  logic                               clk_i,
  input  logic                               rst_ni,
  /// Per port: [0] AR, [1] AW.
  input  logic [NumPorts-1:0][1:0]           valid_i,
  input  gw_pkg::fault_t [NumPorts-1:0][1:0] fault_i,
  /// The record holds a fault.
  input  logic                               occupied_i,
  input  logic                               clear_i,
  output logic                               capture_o,
  output gw_pkg::fault_t                     fault_o,
  output logic [gw_pkg::SrcWidth-2:0]        port_o,
  output logic [31:0]                        lost_o
);

  localparam int unsigned NumChannels = 2 * NumPorts;
  localparam int unsigned CountWidth = $clog2(NumChannels + 1);

  // First cycle: how many, and the first of them, one bit a channel; each port keeps its fault if it is the one, and zero if not.
  logic [NumChannels-1:0]        valid, first;
  logic [CountWidth-1:0]         count, count_q;
  gw_pkg::fault_t [NumPorts-1:0] of_port_q;
  logic [NumPorts-1:0]           is_port_q;
  logic                          any_q;
  assign valid = valid_i;
  always_comb begin
    count = '0;
    first = '0;
    for (int unsigned i = 0; i < NumChannels; i++) begin
      count += CountWidth'(valid[i]);
      first[i] = valid[i] && first == '0;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) {any_q, count_q} <= '0;
    else {any_q, count_q} <= {valid != '0, count};
  end
  always_ff @(posedge clk_i) begin
    for (int unsigned p = 0; p < NumPorts; p++) begin
      is_port_q[p] <= first[2*p+:2] != '0;
      of_port_q[p] <= (fault_i[p][0] & {$bits(gw_pkg::fault_t) {first[2*p]}}) |
                      (fault_i[p][1] & {$bits(gw_pkg::fault_t) {first[2*p+1]}});
    end
  end

  // Second cycle: to the record, or lost.
  logic [31:0] lost_q;
  logic [32:0] sum;
  always_comb begin
    fault_o = '0;
    port_o = '0;
    for (int unsigned p = 0; p < NumPorts; p++) begin
      fault_o |= of_port_q[p];
      port_o |= (gw_pkg::SrcWidth - 1)'(p) & {(gw_pkg::SrcWidth - 1) {is_port_q[p]}};
    end
  end
  assign capture_o = any_q && !occupied_i;
  assign sum = 33'(lost_q) + 33'(count_q - CountWidth'(capture_o));

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      lost_q <= '0;
    end else if (clear_i) begin
      lost_q <= '0;
    end else begin
      lost_q <= sum[31:0] | {32{sum[32]}};
    end
  end

  assign lost_o = lost_q;

endmodule
