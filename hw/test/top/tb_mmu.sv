// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// gw_mmu with two ports for cocotb: masters, memories and registers on plain pins.
module tb_mmu #(
  parameter int unsigned PageRequests = 0
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  /// The context that a heap asks for, and its root.
  input  logic [7:0]  heap_ctx_id_i,
  output logic [43:0] heap_root_o,
  output logic        irq_o
);

  localparam int unsigned NumPorts = 2;

  gw_axi_pkg::axil_req_t axil_req;
  gw_axi_pkg::axil_rsp_t axil_rsp;
  gw_axi_pkg::axi_req_t s_req[NumPorts], m_req[NumPorts];
  gw_axi_pkg::axi_rsp_t s_rsp[NumPorts], m_rsp[NumPorts];
  gw_axi_pkg::pt_req_t pt_req;
  gw_axi_pkg::pt_rsp_t pt_rsp;

  tb_axil_master_pins u_registers (
    .clk_i,
    .req_o(axil_req),
    .rsp_i(axil_rsp)
  );

  for (genvar i = 0; i < NumPorts; i++) begin : gen_port
    tb_axi_master_pins u_master (
      .clk_i,
      .req_o(s_req[i]),
      .rsp_i(s_rsp[i])
    );
    tb_axi_slave_pins u_memory (
      .clk_i,
      .req_i(m_req[i]),
      .rsp_o(m_rsp[i])
    );
  end

  // Page tables: IDs in order, so the memory sees ID 0 and the answers get theirs from a queue.
  gw_axi_pkg::axi_req_t tables_req;
  gw_axi_pkg::axi_rsp_t tables_rsp;
  logic [$bits(pt_req.ar.id)-1:0] table_id;
  logic id_ready, id_valid;
  logic [5:0] id_usage;

  tb_axi_slave_pins u_tables (
    .clk_i,
    .req_i(tables_req),
    .rsp_o(tables_rsp)
  );

  gw_fifo #(
    .T    (logic [$bits(pt_req.ar.id)-1:0]),
    .Depth(32)
  ) u_ids (
    .clk_i,
    .rst_ni,
    .in_valid_i (pt_req.ar_valid && tables_rsp.ar_ready && id_ready),
    .in_ready_o (id_ready),
    .in_data_i  (pt_req.ar.id),
    .out_valid_o(id_valid),
    .out_ready_i(tables_rsp.r_valid && pt_req.r_ready && tables_rsp.r.last),
    .out_data_o (table_id),
    .usage_o    (id_usage)
  );

  always_comb begin
    tables_req = '0;
    tables_req.ar.addr = pt_req.ar.addr;
    tables_req.ar.len = pt_req.ar.len;
    tables_req.ar.size = pt_req.ar.size;
    tables_req.ar.burst = pt_req.ar.burst;
    tables_req.ar_valid = pt_req.ar_valid && id_ready;
    tables_req.r_ready = pt_req.r_ready;
    pt_rsp = '0;
    pt_rsp.ar_ready = tables_rsp.ar_ready && id_ready;
    pt_rsp.r_valid = tables_rsp.r_valid;
    pt_rsp.r = '{id: table_id, data: tables_rsp.r.data, resp: tables_rsp.r.resp, last: tables_rsp.r.last};
  end

  // The command queue has one ID.
  gw_axi_pkg::axi_req_t queue_req;
  gw_axi_pkg::axi_rsp_t queue_rsp;
  gw_axi_pkg::cq_req_t cq_req;
  gw_axi_pkg::cq_rsp_t cq_rsp;

  tb_axi_slave_pins u_queue (
    .clk_i,
    .req_i(queue_req),
    .rsp_o(queue_rsp)
  );

  always_comb begin
    queue_req = '0;
    queue_req.ar.addr = cq_req.ar.addr;
    queue_req.ar.size = cq_req.ar.size;
    queue_req.ar.burst = cq_req.ar.burst;
    queue_req.ar_valid = cq_req.ar_valid;
    queue_req.r_ready = cq_req.r_ready;
    queue_req.aw.addr = cq_req.aw.addr;
    queue_req.aw.size = cq_req.aw.size;
    queue_req.aw.burst = cq_req.aw.burst;
    queue_req.aw_valid = cq_req.aw_valid;
    queue_req.w = '{data: cq_req.w.data, strb: cq_req.w.strb, last: cq_req.w.last};
    queue_req.w_valid = cq_req.w_valid;
    queue_req.b_ready = cq_req.b_ready;
    cq_rsp = '{
      aw_ready: queue_rsp.aw_ready,
      w_ready: queue_rsp.w_ready,
      b: '{id: '0, resp: queue_rsp.b.resp},
      b_valid: queue_rsp.b_valid,
      ar_ready: queue_rsp.ar_ready,
      r: '{id: '0, data: queue_rsp.r.data, resp: queue_rsp.r.resp, last: queue_rsp.r.last},
      r_valid: queue_rsp.r_valid
    };
  end

  gw_pkg::heap_to_mmu_t heap_in;
  gw_pkg::heap_from_mmu_t heap_out;
  always_comb begin
    heap_in = '0;
    heap_in.ctx_id = heap_ctx_id_i;
  end
  assign heap_root_o = heap_out.ctx.root;

  gw_mmu #(
    .NumPorts        (NumPorts),
    .NumContexts     (16),
    .L1Entries       (4),
    .MissEntries     (8),
    .Outstanding     (8),
    .L2Sets          (4),
    .L2Ways          (2),
    .L2FillEntries   (4),
    .L2MissEntries   (4),
    .RangeEntries    (2),
    .Levels          (4),
    .WalkRequests    (8),
    .WalkLines       (4),
    .WalkCacheEntries(2),
    .PageRequests    (PageRequests)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .axil_req_i(axil_req),
    .axil_rsp_o(axil_rsp),
    .s_req_i   (s_req),
    .s_rsp_o   (s_rsp),
    .m_req_o   (m_req),
    .m_rsp_i   (m_rsp),
    .pt_req_o  (pt_req),
    .pt_rsp_i  (pt_rsp),
    .cq_req_o  (cq_req),
    .cq_rsp_i  (cq_rsp),
    .heap_i      (heap_in),
    .heap_o      (heap_out),
    .cache_valid_o(),
    .cache_ready_i(1'b0),
    .cache_o  (),
    .cache_ack_i  ('0),
    .cache_event_i('0),
    .access_o     (),
    .access_i     ('0),
    .port_cfg_o  (),
    .port_event_o(),
    .mmu_event_o(),
    .irq_o
  );

endmodule
