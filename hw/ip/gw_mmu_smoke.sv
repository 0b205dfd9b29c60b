// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// A first look at the IP in somebody's own project: registers answer, a port that is off refuses, a bound port translates,
// a second access hits, an address without a translation is an error. Prints PASSED, or ends with what is wrong.
//
// Not a verification bench: those are in hw/test.
module gw_mmu_smoke;
  import gw_config_pkg::NumPorts;
  import gw_config_pkg::Levels;

  localparam logic [63:0] VirtualAddr = 64'h0000_0000_1234_5040;
  localparam logic [63:0] Frame       = 64'h0000_0002_0000_0000;  // of a page of 1 GiB
  localparam logic [63:0] NoAddr      = 64'h0080_0000_0000_0000;  // not canonical
  localparam logic [63:0] Flags       = 64'hd7;                   // V, R, W, U, A, D
  localparam int unsigned Limit       = 2000;

  logic clk = 1'b0, rst_n = 1'b0;
  always #5 clk = !clk;

  gw_axi_pkg::axil_req_t axil_req = '0;
  gw_axi_pkg::axil_rsp_t axil_rsp;
  gw_axi_pkg::axi_req_t  s_req [NumPorts], m_req [NumPorts];
  gw_axi_pkg::axi_rsp_t  s_rsp [NumPorts], m_rsp [NumPorts];
  gw_axi_pkg::pt_req_t   pt_req;
  gw_axi_pkg::pt_rsp_t   pt_rsp = '0;
  gw_axi_pkg::cq_req_t   cq_req;
  logic                  irq;

  gw_mmu_configured u_mmu (
    .clk_i       (clk),
    .rst_ni      (rst_n),
    .axil_req_i  (axil_req),
    .axil_rsp_o  (axil_rsp),
    .s_req_i     (s_req),
    .s_rsp_o     (s_rsp),
    .m_req_o     (m_req),
    .m_rsp_i     (m_rsp),
    .pt_req_o    (pt_req),
    .pt_rsp_i    (pt_rsp),
    .cq_req_o    (cq_req),
    .cq_rsp_i    ('0),
    .port_event_o(),
    .mmu_event_o (),
    .irq_o       (irq)
  );

  // Page tables: the root in frame 1, the table below it in frame 2, and so on; every entry of a table is the same.
  function automatic logic [63:0] entry(input logic [63:0] address);
    if (int'(address[15:12]) + 2 == Levels) return (Frame >> 12 << 10) | Flags;
    return ((address >> 12) + 64'd1) << 10 | 64'h1;
  endfunction

  int unsigned pt_reads = 0;
  initial begin
    forever begin
      pt_rsp.ar_ready = 1'b1;
      do @(posedge clk); while (!pt_req.ar_valid);
      pt_reads += 1;
      pt_rsp.r.id = pt_req.ar.id;
      pt_rsp.r.data = {8{entry(pt_req.ar.addr)}};
      for (int beat = 0; beat <= int'(pt_req.ar.len); beat++) begin
        #1 pt_rsp.ar_ready = 1'b0;
        pt_rsp.r.last = beat == int'(pt_req.ar.len);
        pt_rsp.r_valid = 1'b1;
        do @(posedge clk); while (!pt_req.r_ready);
      end
      #1 pt_rsp.r_valid = 1'b0;
    end
  end

  // Memory behind port 0: the data of an address are the address.
  initial begin
    for (int port = 0; port < NumPorts; port++) m_rsp[port] = '0;
    forever begin
      m_rsp[0].ar_ready = 1'b1;
      do @(posedge clk); while (!m_req[0].ar_valid);
      m_rsp[0].r = '{id: m_req[0].ar.id, resp: 2'b00, last: 1'b1, data: 512'(m_req[0].ar.addr)};
      #1 m_rsp[0].ar_ready = 1'b0;
      m_rsp[0].r_valid = 1'b1;
      do @(posedge clk); while (!m_req[0].r_ready);
      #1 m_rsp[0].r_valid = 1'b0;
    end
  end

  task automatic check(input logic ok, input string what);
    if (!ok) $fatal(1, "gw_mmu_smoke: %s", what);
  endtask

  task automatic register_write(input logic [31:0] address, input logic [31:0] value);
    #1 axil_req.aw_addr = address;
    axil_req.w_data = value;
    axil_req.w_strb = 4'hf;
    axil_req.aw_valid = 1'b1;
    axil_req.w_valid = 1'b1;
    axil_req.b_ready = 1'b1;
    while (axil_req.aw_valid || axil_req.w_valid) begin
      @(posedge clk);
      begin
        automatic logic aw_taken = axil_rsp.aw_ready, w_taken = axil_rsp.w_ready, done = axil_rsp.b_valid;
        #1 if (aw_taken) axil_req.aw_valid = 1'b0;
        if (w_taken) axil_req.w_valid = 1'b0;
        if (done) return;
      end
    end
    do @(posedge clk); while (!axil_rsp.b_valid);
    check(axil_rsp.b_resp == 2'b00, "a register refused a write");
  endtask

  task automatic register_read(input logic [31:0] address, output logic [31:0] value);
    #1 axil_req.ar_addr = address;
    axil_req.ar_valid = 1'b1;
    axil_req.r_ready = 1'b1;
    do @(posedge clk); while (!axil_rsp.ar_ready);
    if (!axil_rsp.r_valid) begin
      #1 axil_req.ar_valid = 1'b0;
      do @(posedge clk); while (!axil_rsp.r_valid);
    end
    value = axil_rsp.r_data;
    check(axil_rsp.r_resp == 2'b00, "a register refused a read");
    #1 axil_req.ar_valid = 1'b0;
    @(posedge clk);
  endtask

  task automatic port_read(input logic [63:0] address, output logic [63:0] data, output logic [1:0] resp);
    #1 s_req[0].ar = '{addr: address, size: 3'd6, burst: 2'b01, default: '0};
    s_req[0].ar_valid = 1'b1;
    s_req[0].r_ready = 1'b1;
    do @(posedge clk); while (!s_rsp[0].ar_ready);
    #1 s_req[0].ar_valid = 1'b0;
    while (!s_rsp[0].r_valid) @(posedge clk);
    data = s_rsp[0].r.data[63:0];
    resp = s_rsp[0].r.resp;
    check(s_rsp[0].r.last, "a read of one beat has more");
    @(posedge clk);
  endtask

  logic [31:0] value;
  logic [63:0] data;
  logic [1:0]  resp;
  int unsigned reads;

  initial begin
    for (int port = 0; port < NumPorts; port++) s_req[port] = '0;
    repeat (4) @(posedge clk);
    #1 rst_n = 1'b1;
    repeat (2) @(posedge clk);

    register_read(32'h0, value);
    check(value[31:16] == 16'h4757, "the identification register is another");
    port_read(VirtualAddr, data, resp);
    check(resp != 2'b00, "a port that is off let an access pass");

    // Context 1: the root in frame 1. Port 0 translates with it.
    register_write(32'h4008, 32'h1);
    register_write(32'h400c, (32'd5 + Levels) << 28);
    register_write(32'h0400, 32'h100 | 32'(gw_spec_pkg::PortModeTranslate));
    port_read(VirtualAddr, data, resp);
    check(resp == 2'b00, "a mapped address was refused");
    check(data == (Frame | VirtualAddr), "an address was translated to another");
    reads = pt_reads;
    check(reads > 0, "translated without a page table");
    port_read(VirtualAddr + 64'd64, data, resp);
    check(resp == 2'b00 && data == (Frame | VirtualAddr) + 64'd64, "the second access went elsewhere");
    check(pt_reads == reads, "the second access walked again");
    port_read(NoAddr, data, resp);
    check(resp != 2'b00, "an address without a translation passed");

    $display("gw_mmu_smoke: PASSED, %0d page-table reads", pt_reads);
    $finish;
  end

  initial begin
    repeat (Limit) @(posedge clk);
    $fatal(1, "gw_mmu_smoke: not done after %0d cycles", Limit);
  end

endmodule
