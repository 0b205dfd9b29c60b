// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// A card without an MMU, to test the simulation around a card on its own: the external ports go to the memory ports
// combinationally, so a handshake on one side is the same handshake in the same cycle on the other. It can be told to
// break in a chosen way.
//
// External ports 0 and 1: to their own memory ports; port 0 through the faults below. Port 2: reads to the walker's port,
// writes to its own. Kernel 0 (`sleeper`) has registers and never does anything.
//
// Registers: 0x00 scratch; 0x04 faults (bits below); 0x08 interrupt lines; 0x0c cycles after which line 0 is raised;
// 0x10_0000 the sleeper's ap_ctrl. Anything else answers SLVERR.
module gw_card #(
  parameter type req_t = logic,
  parameter type rsp_t = logic,
  parameter type pt_req_t = logic,
  parameter type pt_rsp_t = logic,
  parameter type cq_req_t = logic,
  parameter type cq_rsp_t = logic,
  parameter type dma_req_t = logic,
  parameter type dma_rsp_t = logic,
  parameter type heap_req_t = logic,
  parameter type heap_rsp_t = logic,
  parameter type cache_req_t = logic,
  parameter type cache_rsp_t = logic,
  localparam int unsigned NumPorts = gw_config_pkg::NumPorts,
  localparam int unsigned NumExt = gw_config_pkg::NumExternal,
  localparam int unsigned NumIrq = gw_config_pkg::NumKernels + 1
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  gw_axi_pkg::axil_req_t axil_req_i,
  output gw_axi_pkg::axil_rsp_t axil_rsp_o,
  output req_t                  mem_req_o [NumPorts],
  input  rsp_t                  mem_rsp_i [NumPorts],
  output pt_req_t               pt_req_o,
  input  pt_rsp_t               pt_rsp_i,
  output cq_req_t               cq_req_o,
  input  cq_rsp_t               cq_rsp_i,
  output dma_req_t              dma_req_o [2],
  input  dma_rsp_t              dma_rsp_i [2],
  output heap_req_t             heap_req_o,
  input  heap_rsp_t             heap_rsp_i,
  output cache_req_t            cache_req_o,
  input  cache_rsp_t            cache_rsp_i,
  input  req_t                  ext_req_i [NumExt],
  output rsp_t                  ext_rsp_o [NumExt],
  output logic [4:0]            acc_valid_o [NumPorts],  // B, W, AW, R, AR
  output logic [4:0]            acc_ready_o [NumPorts],
  output gw_pkg::port_event_t   port_event_o [NumPorts],
  output gw_pkg::mmu_event_t    mmu_event_o,
  output logic [NumIrq-1:0]     irq_o,
  output logic                  dma_irq_o
);

  localparam logic [31:0] ApCtrl = 32'h0010_0000;

  // One fault a bit.
  typedef struct packed {
    logic wrap_ar;      // 10: reads go out as WRAP bursts of the same length
    logic stuck_kernel; // 9: the sleeper offers AR before translation and is not heard
    logic strb_all;     // 8: all strobes set, whatever the beat's lanes
    logic flip_wlast;   // 7: WLAST inverted
    logic wander_ar;    // 6: the AR address changes every cycle
    logic assertion;    // 5: an assertion fails
    logic mute_axil;    // 4: register accesses are taken and never answered
    logic block_b;      // 3: B is not passed on
    logic block_r;      // 2: R is not passed on
    logic block_w;      // 1: W is not passed on
    logic block_ar;     // 0: AR is not passed on
  } faults_t;

  faults_t faults_q;
  logic [31:0] scratch_q, delay_q, ap_ctrl_q, cycle_q;
  logic [NumIrq-1:0] irq_q;

  assign dma_req_o = '{default: '0};
  assign heap_req_o = '0;
  assign cache_req_o = '0;
  assign dma_irq_o = 1'b0;

  // Port 0: everything except the faults.
  always_comb begin
    mem_req_o[1] = ext_req_i[0];
    ext_rsp_o[0] = mem_rsp_i[1];
    if (faults_q.wander_ar) mem_req_o[1].ar.addr[11:6] = cycle_q[5:0];
    if (faults_q.wrap_ar) mem_req_o[1].ar.burst = gw_axi_pkg::BurstWrap;
    if (faults_q.flip_wlast) mem_req_o[1].w.last = !ext_req_i[0].w.last;
    if (faults_q.strb_all) mem_req_o[1].w.strb = '1;
    if (faults_q.block_ar) begin
      mem_req_o[1].ar_valid = 1'b0;
      ext_rsp_o[0].ar_ready = 1'b0;
    end
    if (faults_q.block_w) begin
      mem_req_o[1].w_valid = 1'b0;
      ext_rsp_o[0].w_ready = 1'b0;
    end
    if (faults_q.block_r) begin
      mem_req_o[1].r_ready = 1'b0;
      ext_rsp_o[0].r_valid = 1'b0;
    end
    if (faults_q.block_b) begin
      mem_req_o[1].b_ready = 1'b0;
      ext_rsp_o[0].b_valid = 1'b0;
    end
  end

  assign mem_req_o[2] = ext_req_i[1];
  assign ext_rsp_o[1] = mem_rsp_i[2];

  // Port 2: reads to the walker's port, whose IDs are wider.
  always_comb begin
    mem_req_o[3] = ext_req_i[2];
    mem_req_o[3].ar_valid = 1'b0;
    pt_req_o = '0;
    pt_req_o.ar.id = $bits(pt_req_o.ar.id)'(ext_req_i[2].ar.id);
    pt_req_o.ar.addr = ext_req_i[2].ar.addr;
    pt_req_o.ar.len = ext_req_i[2].ar.len;
    pt_req_o.ar.size = ext_req_i[2].ar.size;
    pt_req_o.ar.burst = ext_req_i[2].ar.burst;
    pt_req_o.ar_valid = ext_req_i[2].ar_valid;
    pt_req_o.r_ready = ext_req_i[2].r_ready;
    ext_rsp_o[2] = mem_rsp_i[3];
    ext_rsp_o[2].ar_ready = pt_rsp_i.ar_ready;
    ext_rsp_o[2].r_valid = pt_rsp_i.r_valid;
    ext_rsp_o[2].r.id = $bits(ext_rsp_o[2].r.id)'(pt_rsp_i.r.id);
    ext_rsp_o[2].r.data = pt_rsp_i.r.data;
    ext_rsp_o[2].r.resp = pt_rsp_i.r.resp;
    ext_rsp_o[2].r.last = pt_rsp_i.r.last;
  end

  assign mem_req_o[0] = '0;
  // No command queue.
  assign cq_req_o = '0;
  logic unused_cq;
  assign unused_cq = ^cq_rsp_i;
  assign acc_valid_o[0] = {4'b0, faults_q.stuck_kernel};
  assign acc_ready_o[0] = '0;
  for (genvar i = 1; i < NumPorts; i++) begin : gen_acc
    // The external ports' masters are in the simulation, which watches them itself.
    assign acc_valid_o[i] = '0;
    assign acc_ready_o[i] = '0;
  end
  // The scratch register's low bits are misses of reads of port 1, so that events can be made.
  for (genvar i = 0; i < NumPorts; i++) begin : gen_event
    assign port_event_o[i] = '{
      ctx: 8'd5, read: '{miss: i == 1 && scratch_q[0], default: '0}, write: '{stall: i == 1 && scratch_q[1], default: '0}
    };
  end
  assign mmu_event_o = '{
    l2:          '{hit: scratch_q[9], lookup_of: '{src: 6'd3, ctx: 8'd6}, invalidated: scratch_q[8:4], default: '0},
    walk:        '{done: scratch_q[2], done_of: '{src: 6'd2, ctx: 8'd4}, latency: 16'd9, default: '0},
    inval:       scratch_q[3],
    inval_scope: gw_pkg::InvalContext,
    inval_ctx:   8'd7,
    default:     '0
  };
  assign irq_o = irq_q;

  // Registers: a write is taken when address and data are there, one answer at a time.
  logic write, read, b_valid_q, r_valid_q, bad_write, bad_read;
  logic [1:0] b_resp_q, r_resp_q;
  logic [31:0] r_data_q, r_data;

  assign write = axil_req_i.aw_valid && axil_req_i.w_valid && !b_valid_q;
  assign read = axil_req_i.ar_valid && !r_valid_q;
  assign bad_write = !(axil_req_i.aw_addr inside {32'h0, 32'h4, 32'h8, 32'hc, ApCtrl});

  always_comb begin
    r_data = '0;
    bad_read = 1'b0;
    unique case (axil_req_i.ar_addr)
      32'h0:   r_data = scratch_q;
      32'h4:   r_data = 32'(faults_q);
      32'h8:   r_data = 32'(irq_q);
      32'hc:   r_data = delay_q;
      ApCtrl:  r_data = ap_ctrl_q;
      default: bad_read = 1'b1;
    endcase
  end

  assign axil_rsp_o = '{
    aw_ready: write,
    w_ready:  write,
    b_resp:   b_resp_q,
    b_valid:  b_valid_q && !faults_q.mute_axil,
    ar_ready: read,
    r_data:   r_data_q,
    r_resp:   r_resp_q,
    r_valid:  r_valid_q && !faults_q.mute_axil
  };

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {faults_q, scratch_q, delay_q, ap_ctrl_q, cycle_q, irq_q} <= '0;
      {b_valid_q, r_valid_q, b_resp_q, r_resp_q, r_data_q} <= '0;
    end else begin
      assert (!faults_q.assertion) else $error("the assertion that was asked for");
      cycle_q <= cycle_q + 1;
      if (delay_q != 0) begin
        delay_q <= delay_q - 1;
        if (delay_q == 1) irq_q[0] <= 1'b1;
      end
      if (axil_req_i.b_ready) b_valid_q <= 1'b0;
      if (axil_req_i.r_ready) r_valid_q <= 1'b0;
      if (read) begin
        r_valid_q <= 1'b1;
        r_data_q <= r_data;
        r_resp_q <= bad_read ? gw_axi_pkg::RespSlvErr : gw_axi_pkg::RespOkay;
      end
      if (write) begin
        b_valid_q <= 1'b1;
        b_resp_q <= bad_write ? gw_axi_pkg::RespSlvErr : gw_axi_pkg::RespOkay;
        unique case (axil_req_i.aw_addr)
          32'h0:   scratch_q <= axil_req_i.w_data;
          32'h4:   faults_q <= $bits(faults_t)'(axil_req_i.w_data);
          32'h8:   irq_q <= NumIrq'(axil_req_i.w_data);
          32'hc:   delay_q <= axil_req_i.w_data;
          ApCtrl:  ap_ctrl_q <= axil_req_i.w_data;
          default: ;
        endcase
      end
    end
  end

endmodule
