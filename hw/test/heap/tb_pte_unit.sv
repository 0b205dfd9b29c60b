// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// gw_pte_unit with plain pins for cocotb: three clients; of the bus the words by lane.
module tb_pte_unit #(
  parameter int unsigned Together = 8
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic [2:0]        cmd_valid_i,
  output logic [2:0]        cmd_ready_o,
  input  logic [2:0]        cmd_group_i,
  input  logic [2:0][52:0]  cmd_entry_i,
  input  logic [2:0][63:0]  cmd_expected_i,
  input  logic [2:0][63:0]  cmd_wanted_i,
  output logic [2:0]        rsp_valid_o,
  output logic [1:0]        rsp_result_o,
  output logic [63:0]       found_o,
  output logic              ar_valid_o,
  input  logic              ar_ready_i,
  output logic [63:0]       ar_addr_o,
  output logic [13:0]       ar_shape_o,  // {lock, len, size, burst}
  input  logic              r_valid_i,
  output logic              r_ready_o,
  input  logic [511:0]      r_data_i,
  input  logic [1:0]        r_resp_i,
  output logic              aw_valid_o,
  input  logic              aw_ready_i,
  output logic [63:0]       aw_addr_o,
  output logic [13:0]       aw_shape_o,
  output logic              w_valid_o,
  input  logic              w_ready_i,
  output logic [511:0]      w_data_o,
  output logic [63:0]       w_strb_o,
  output logic              w_last_o,
  input  logic              b_valid_i,
  output logic              b_ready_o,
  input  logic [1:0]        b_resp_i
);

  gw_axi_pkg::pt_req_t req;
  gw_axi_pkg::pt_rsp_t rsp;
  gw_pkg::pte_result_e result;

  assign rsp_result_o = result;
  assign ar_valid_o = req.ar_valid;
  assign ar_addr_o = req.ar.addr;
  assign ar_shape_o = {req.ar.lock, req.ar.len, req.ar.size, req.ar.burst};
  assign r_ready_o = req.r_ready;
  assign aw_valid_o = req.aw_valid;
  assign aw_addr_o = req.aw.addr;
  assign aw_shape_o = {req.aw.lock, req.aw.len, req.aw.size, req.aw.burst};
  assign w_valid_o = req.w_valid;
  assign w_data_o = req.w.data;
  assign w_strb_o = req.w.strb;
  assign w_last_o = req.w.last;
  assign b_ready_o = req.b_ready;
  always_comb begin
    rsp = '0;
    rsp.ar_ready = ar_ready_i;
    rsp.r_valid = r_valid_i;
    rsp.r.data = r_data_i;
    rsp.r.resp = r_resp_i;
    rsp.r.last = 1'b1;
    rsp.aw_ready = aw_ready_i;
    rsp.w_ready = w_ready_i;
    rsp.b_valid = b_valid_i;
    rsp.b.resp = b_resp_i;
  end

  gw_pte_unit #(
    .Clients (3),
    .Together(Together)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .cmd_valid_i,
    .cmd_ready_o,
    .cmd_group_i,
    .cmd_entry_i,
    .cmd_expected_i,
    .cmd_wanted_i,
    .rsp_valid_o,
    .rsp_result_o(result),
    .found_o,
    .m_req_o     (req),
    .m_rsp_i     (rsp)
  );

endmodule
