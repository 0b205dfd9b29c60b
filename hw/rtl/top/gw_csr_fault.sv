// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Chooses the fault that the record shows and counts those that find the record occupied.
//
// Contract
// - While `occupied_i` is low, one of the faults of a cycle is handed to the record in that cycle: the lowest port's, of
//   one port AR before AW. All others are added to `lost_o`, which stays at its maximum and is set to zero by `clear_i`.
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

  localparam int unsigned CountWidth = $clog2(2 * NumPorts + 1);

  logic [CountWidth-1:0] count, lost;

  always_comb begin
    count = '0;
    fault_o = '0;
    port_o = '0;
    for (int unsigned p = NumPorts; p > 0; p--) begin
      for (int unsigned c = 2; c > 0; c--) begin
        if (valid_i[p-1][c-1]) begin
          fault_o = fault_i[p-1][c-1];
          port_o = (gw_pkg::SrcWidth - 1)'(p - 1);
          count += CountWidth'(1);
        end
      end
    end
  end

  assign capture_o = !occupied_i && count != '0;
  assign lost = count - CountWidth'(capture_o);

  logic [31:0] lost_q;
  logic [32:0] sum;
  assign sum = 33'(lost_q) + 33'(lost);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      lost_q <= '0;
    end else if (clear_i) begin
      lost_q <= '0;
    end else begin
      lost_q <= sum[32] ? '1 : sum[31:0];
    end
  end

  assign lost_o = lost_q;

endmodule
