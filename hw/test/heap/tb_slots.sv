// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// gw_slots with plain pins for cocotb: two regions, the second strict; every context has the same quota.
module tb_slots #(
  parameter int unsigned Slots = 1024,
  parameter int unsigned SlotOrder = 21,
  parameter int unsigned SmallOrder = 4
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        cmd_valid_i,
  output logic        cmd_ready_o,
  input  logic [1:0]  cmd_op_i,
  input  logic [7:0]  cmd_ctx_i,
  input  logic [63:0] cmd_pointer_i,
  input  logic [63:0] cmd_size_i,
  input  logic [2:0]  cmd_region_i,
  input  logic [3:0]  cmd_granule_i,
  input  logic        cmd_write_i,
  input  logic        cmd_compact_i,
  output logic        rsp_valid_o,
  input  logic        rsp_ready_i,
  output logic [3:0]  rsp_status_o,
  output logic [63:0] rsp_pointer_o,
  input  logic [$clog2(Slots):0] quota_i,
  input  logic [31:0] free_pages_i,
  output logic        job_valid_o,
  input  logic        job_ready_i,
  output logic [7:0]  job_ctx_o,
  output logic [2:0]  job_region_o,
  output logic [3:0]  job_granule_o,
  output logic [44:0] job_first_o,
  output logic [44:0] job_from_o,
  output logic [44:0] job_to_o,
  input  logic        job_done_i,
  input  logic        look_valid_i,
  output logic        look_ready_o,
  input  logic [7:0]  look_ctx_i,
  input  logic [44:0] look_vpn_i,
  output logic        look_done_o,
  output logic [8:0]  look_page_o  // {live, write, region, granule}
);

  gw_pkg::heap_cmd_t cmd;
  gw_pkg::heap_rsp_t rsp;
  gw_pkg::heap_job_t job;
  gw_pkg::heap_page_t page;

  assign cmd = '{
    op: gw_pkg::heap_op_e'(cmd_op_i),
    ctx: cmd_ctx_i,
    pointer: cmd_pointer_i,
    size: cmd_size_i,
    region: cmd_region_i,
    granule: cmd_granule_i,
    write: cmd_write_i,
    compact: cmd_compact_i
  };
  assign rsp_status_o = rsp.status;
  assign rsp_pointer_o = rsp.pointer;
  assign job_ctx_o = job.ctx;
  assign job_region_o = job.region;
  assign job_granule_o = job.granule;
  assign job_first_o = job.first;
  assign job_from_o = job.from;
  assign job_to_o = job.to;
  assign look_page_o = page;

  gw_slots #(
    .NumContexts(4),
    .Regions    (2),
    .Slots      (Slots),
    .SlotOrder  (SlotOrder),
    .SmallOrder (SmallOrder)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .cmd_valid_i,
    .cmd_ready_o,
    .cmd_i       (cmd),
    .rsp_valid_o,
    .rsp_ready_i,
    .rsp_o       (rsp),
    .quota_i     ({4{quota_i}}),
    .strict_i    (2'b10),
    .free_pages_i({2{free_pages_i}}),
    .job_valid_o,
    .job_ready_i,
    .job_o       (job),
    .job_done_i,
    .idle_o(),
    .look_valid_i,
    .look_ready_o,
    .look_ctx_i,
    .look_vpn_i,
    .look_done_o,
    .look_page_o (page)
  );

endmodule
