// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// gw_fault with plain pins for cocotb.
module tb_fault #(
  parameter int unsigned Pages = 8,
  parameter int unsigned Banks = 2
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         req_valid_i,
  output logic         req_ready_o,
  input  logic [7:0]   req_ctx_i,
  input  logic [2:0]   req_generation_i,
  input  logic [44:0]  req_vpn_i,
  input  logic         req_write_i,
  output logic         ans_valid_o,
  input  logic         ans_ready_i,
  output logic         ans_parked_o,
  output logic [6:0]   ans_park_o,
  output logic         wake_valid_o,
  output logic         wake_ok_o,
  output logic [6:0]   wake_park_o,
  input  logic         wake_ready_i,
  input  logic         end_valid_i,
  input  logic [7:0]   end_ctx_i,
  output logic         busy_o,
  input  logic         rsp_valid_i,
  output logic         rsp_ready_o,
  input  logic [6:0]   rsp_place_i,
  input  logic [2:0]   rsp_generation_i,
  input  logic [3:0]   rsp_code_i,
  input  logic [31:0]  unsent_cycles_i,
  input  logic [31:0]  sent_cycles_i,
  input  logic [7:0]   irq_count_i,
  input  logic [31:0]  irq_cycles_i,
  input  logic         enable_i,
  input  logic         stopped_i,
  input  logic [43:0]  base_i,
  input  logic [4:0]   log2_size_less1_i,
  input  logic [31:0]  head_i,
  output logic [31:0]  tail_o,
  output logic         on_o,
  output logic         memory_fault_o,
  output logic         irq_o,
  output logic         stale_o,
  output logic         timeout_o,
  output logic         record_o,
  output logic [7:0]   record_ctx_o,
  output logic         aw_valid_o,
  input  logic         aw_ready_i,
  output logic [63:0]  aw_addr_o,
  output logic [13:0]  aw_shape_o,  // {lock, len, size, burst}
  output logic         w_valid_o,
  input  logic         w_ready_i,
  output logic [511:0] w_data_o,
  output logic [63:0]  w_strb_o,
  output logic         w_last_o,
  input  logic         b_valid_i,
  output logic         b_ready_o,
  input  logic [1:0]   b_resp_i
);

  gw_pkg::wake_t wake;
  gw_axi_pkg::pt_req_t req;
  gw_axi_pkg::pt_rsp_t rsp;
  assign {wake_valid_o, wake_ok_o, wake_park_o} = {wake.valid, wake.ok, wake.park};
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
    rsp.aw_ready = aw_ready_i;
    rsp.w_ready = w_ready_i;
    rsp.b_valid = b_valid_i;
    rsp.b.resp = b_resp_i;
  end

  gw_fault #(
    .Pages(Pages),
    .Banks(Banks)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .req_valid_i,
    .req_ready_o,
    .req_ctx_i,
    .req_generation_i,
    .req_vpn_i,
    .req_write_i,
    .ans_valid_o,
    .ans_ready_i,
    .ans_parked_o,
    .ans_park_o,
    .wake_o                (wake),
    .wake_ready_i,
    .end_i                 ('{valid: end_valid_i, ctx: end_ctx_i}),
    .busy_o,
    .rsp_valid_i,
    .rsp_ready_o,
    .rsp_place_i,
    .rsp_generation_i,
    .rsp_code_i,
    .unsent_cycles_i,
    .sent_cycles_i,
    .irq_count_i,
    .irq_cycles_i,
    .ring_enable_i         (enable_i),
    .ring_stopped_i        (stopped_i),
    .ring_base_i           (base_i),
    .ring_log2_size_less1_i(log2_size_less1_i),
    .ring_head_i           (head_i),
    .ring_tail_o           (tail_o),
    .ring_on_o             (on_o),
    .ring_memory_fault_o   (memory_fault_o),
    .irq_o,
    .stale_o,
    .timeout_o,
    .record_o,
    .record_ctx_o,
    .m_req_o               (req),
    .m_rsp_i               (rsp)
  );

endmodule
