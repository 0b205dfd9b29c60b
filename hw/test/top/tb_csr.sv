// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// gw_csr with gw_inval_issue behind it, on plain pins for cocotb: bundles taken apart, one vector a field with one element a port or context.
module tb_csr #(
  parameter int unsigned NumPorts = 2,
  parameter int unsigned NumContexts = 16,
  parameter int unsigned Levels = 4,
  parameter int unsigned PageRequests = 0,
  parameter bit Heap = 1'b0,
  parameter bit PageCache = 1'b0,
  localparam int unsigned NumRanges = 2
) (
  input  logic                         clk_i,
  input  logic                         rst_ni,
  input  logic [31:0]                  s_axil_awaddr,
  input  logic [2:0]                   s_axil_awprot,
  input  logic                         s_axil_awvalid,
  output logic                         s_axil_awready,
  input  logic [31:0]                  s_axil_wdata,
  input  logic [3:0]                   s_axil_wstrb,
  input  logic                         s_axil_wvalid,
  output logic                         s_axil_wready,
  output logic [1:0]                   s_axil_bresp,
  output logic                         s_axil_bvalid,
  input  logic                         s_axil_bready,
  input  logic [31:0]                  s_axil_araddr,
  input  logic [2:0]                   s_axil_arprot,
  input  logic                         s_axil_arvalid,
  output logic                         s_axil_arready,
  output logic [31:0]                  s_axil_rdata,
  output logic [1:0]                   s_axil_rresp,
  output logic                         s_axil_rvalid,
  input  logic                         s_axil_rready,
  // {mode, sade, en_pri, root} of each context
  output logic [50*NumContexts-1:0]    ctx_o,
  // {mode, context} of each port
  output logic [10*NumPorts-1:0]       port_cfg_o,
  output logic                         inval_o,
  input  logic                         inval_busy_i,
  // Bit 2p: AR of port p, bit 2p + 1: AW
  input  logic [2*NumPorts-1:0]        fault_valid_i,
  input  logic [2*NumPorts*12-1:0]     fault_cause_i,
  input  logic [2*NumPorts*8-1:0]      fault_ctx_i,
  input  logic [2*NumPorts*16-1:0]     fault_id_i,
  input  logic [2*NumPorts*64-1:0]     fault_addr_i,
  // gw_pkg::chan_event_t of each channel
  input  logic [2*NumPorts*$bits(gw_pkg::chan_event_t)-1:0] chan_event_i,
  // gw_pkg::mmu_event_t
  input  logic [$bits(gw_pkg::mmu_event_t)-1:0] mmu_event_i,
  // {enable, stopped, base, log2_size_less1, tail, timeout_cycles} and {head, on, clear, memory_fault, timeout, illegal, fence}
  output logic [114:0]                 cq_cfg_o,
  input  logic [37:0]                  cq_status_i,
  // {enable, stopped, base, log2_size_less1, head, unsent, sent, irq_count, irq_cycles} and {tail, on, memory_fault, timeout, irq}
  output logic [186:0]                 pq_cfg_o,
  input  logic [35:0]                  pq_status_i,
  input  logic [NumRanges-1:0]         range_drop_i,
  output logic [145*NumRanges-1:0]     ranges_o,
  output logic                         irq_o
);

  gw_pkg::fault_t [NumPorts-1:0][1:0]      fault;
  gw_pkg::chan_event_t [NumPorts-1:0][1:0] chan_event;
  gw_pkg::port_cfg_t [NumPorts-1:0]        port_cfg;
  gw_axi_pkg::axil_req_t                   axil_req;
  gw_axi_pkg::axil_rsp_t                   axil_rsp;

  for (genvar c = 0; c < 2 * NumPorts; c++) begin : gen_channel
    assign fault[c/2][c%2] = '{
      cause: fault_cause_i[12*c+:12],
      ctx:   fault_ctx_i[8*c+:8],
      write: c % 2 == 1,
      id:    fault_id_i[16*c+:16],
      addr:  fault_addr_i[64*c+:64]
    };
    assign chan_event[c/2][c%2] = chan_event_i[$bits(gw_pkg::chan_event_t)*c+:$bits(gw_pkg::chan_event_t)];
  end

  for (genvar p = 0; p < NumPorts; p++) begin : gen_port
    assign port_cfg_o[10*p+:10] = {port_cfg[p].mode, port_cfg[p].ctx};
  end

  assign axil_req = '{
    aw_addr:  s_axil_awaddr,
    aw_prot:  s_axil_awprot,
    aw_valid: s_axil_awvalid,
    w_data:   s_axil_wdata,
    w_strb:   s_axil_wstrb,
    w_valid:  s_axil_wvalid,
    b_ready:  s_axil_bready,
    ar_addr:  s_axil_araddr,
    ar_prot:  s_axil_arprot,
    ar_valid: s_axil_arvalid,
    r_ready:  s_axil_rready
  };
  assign s_axil_awready = axil_rsp.aw_ready;
  assign s_axil_wready = axil_rsp.w_ready;
  assign s_axil_bresp = axil_rsp.b_resp;
  assign s_axil_bvalid = axil_rsp.b_valid;
  assign s_axil_arready = axil_rsp.ar_ready;
  assign s_axil_rdata = axil_rsp.r_data;
  assign s_axil_rresp = axil_rsp.r_resp;
  assign s_axil_rvalid = axil_rsp.r_valid;

  logic inval_start, ctx_write, inval_waits, inval_done;
  gw_pkg::cq_cfg_t cq_cfg;
  gw_pkg::inval_t inval;
  assign cq_cfg_o = cq_cfg;

  gw_inval_issue u_issue (
    .clk_i,
    .rst_ni,
    .start_i      (inval_start),
    .ctx_write_i  (ctx_write),
    .busy_o       (inval_waits),
    .done_o       (inval_done),
    .cq_valid_i   (1'b0),
    .cq_ready_o   (),
    .cq_inval_i   ('{scope: gw_pkg::InvalAll, default: '0}),
    .cq_all_i     (1'b0),
    .fence_i      (1'b0),
    .fence_done_o (),
    .heap_valid_i (1'b0),
    .heap_ready_o (),
    .heap_inval_i ('0),
    .heap_fence_i (1'b0),
    .heap_fence_done_o(),
    .inval_valid_o(inval_o),
    .inval_o      (inval),
    .epoch_o      (),
    .port_epoch_o (),
    .port_ctx_i   ('0),
    .inval_busy_i
  );

  logic range_we, range_idx;
  gw_pkg::range_t range_wdata;
  gw_pkg::range_t [NumRanges-1:0] ranges_q;

  gw_csr #(
    .NumPorts   (NumPorts),
    .NumContexts(NumContexts),
    .Levels     (Levels),
    .RangeEntries(NumRanges),
    .PageRequests(PageRequests),
    .Heap(Heap),
    .PageCache   (PageCache)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .axil_req_i   (axil_req),
    .axil_rsp_o   (axil_rsp),
    .ctx_o,
    .port_cfg_o   (port_cfg),
    .inval_start_o(inval_start),
    .ctx_write_o  (ctx_write),
    .ctx_write_ctx_o(),
    .inval_busy_i (inval_waits),
    .inval_done_i (inval_done),
    .cq_cfg_o     (cq_cfg),
    .cq_status_i  (cq_status_i),
    .pq_cfg_o     (pq_cfg_o),
    .pq_status_i  (pq_status_i),
    .fault_valid_i,
    .fault_i      (fault),
    .chan_event_i (chan_event),
    .mmu_event_i,
    .range_we_o   (range_we),
    .range_idx_o  (range_idx),
    .range_o      (range_wdata),
    .ranges_i     (ranges_q),
    .access_o     (),
    .access_i     ('0),
    .irq_o
  );

  // Entries as gw_range_tlb keeps them; those that the bench drops are no longer valid.
  assign ranges_o = ranges_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) ranges_q <= '0;
    else begin
      for (int unsigned i = 0; i < NumRanges; i++) if (range_drop_i[i]) ranges_q[i].valid <= 1'b0;
      if (range_we) ranges_q[range_idx] <= range_wdata;
    end
  end

endmodule
