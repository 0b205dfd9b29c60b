// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Body of a kernel's top module: control block and the pins of the memory port. Included after the import of the kernel's
// args package; it makes start, done, args, results and, of the bus, ar/r/aw/w/b with valid and ready. What stays open
// is for the kernel to drive: done, results, ar, ar_valid, aw, aw_valid, w, w_valid. Read data and write responses are
// always taken.

if (C_S_AXI_CONTROL_DATA_WIDTH != 32 || C_M_AXI_GMEM_ADDR_WIDTH != 64 || C_M_AXI_GMEM_DATA_WIDTH != 8 * gw_kernel_pkg::BeatBytes ||
    C_M_AXI_GMEM_ID_WIDTH < 1 || C_M_AXI_GMEM_ID_WIDTH > 6) begin : gen_bad_widths
  $fatal(1, "%m: control data must be 32 bits, memory addresses 64, data %0d, IDs 1 to 6",
         8 * gw_kernel_pkg::BeatBytes);
end

logic start, done;
logic [NumWords-1:0][31:0] args, results;

gw_hls_control #(
  .NumWords   (NumWords),
  .ArgWords   (ArgWords),
  .ResultWords(ResultWords),
  .AddrWidth  (C_S_AXI_CONTROL_ADDR_WIDTH)
) u_control (
  .clk_i      (ap_clk),
  .rst_ni     (ap_rst_n),
  .aw_valid_i (s_axi_control_AWVALID),
  .aw_ready_o (s_axi_control_AWREADY),
  .aw_addr_i  (s_axi_control_AWADDR),
  .w_valid_i  (s_axi_control_WVALID),
  .w_ready_o  (s_axi_control_WREADY),
  .w_data_i   (s_axi_control_WDATA),
  .w_strb_i   (s_axi_control_WSTRB),
  .b_valid_o  (s_axi_control_BVALID),
  .b_ready_i  (s_axi_control_BREADY),
  .ar_valid_i (s_axi_control_ARVALID),
  .ar_ready_o (s_axi_control_ARREADY),
  .ar_addr_i  (s_axi_control_ARADDR),
  .r_valid_o  (s_axi_control_RVALID),
  .r_ready_i  (s_axi_control_RREADY),
  .r_data_o   (s_axi_control_RDATA),
  .interrupt_o(interrupt),
  .start_o    (start),
  .done_i     (done),
  .args_o     (args),
  .results_i  (results)
);

assign s_axi_control_BRESP = 2'b00;
assign s_axi_control_RRESP = 2'b00;

gw_kernel_pkg::burst_t ar, aw;
gw_kernel_pkg::read_beat_t r;
gw_kernel_pkg::write_beat_t w;
gw_kernel_pkg::write_rsp_t b;
logic ar_valid, ar_ready, aw_valid, aw_ready, w_valid, w_ready, r_valid, b_valid;

assign m_axi_gmem_ARVALID = ar_valid;
assign ar_ready = m_axi_gmem_ARREADY;
assign m_axi_gmem_ARADDR = ar.addr;
assign m_axi_gmem_ARID = ar.id[C_M_AXI_GMEM_ID_WIDTH-1:0];
assign m_axi_gmem_ARLEN = ar.len;
assign m_axi_gmem_ARSIZE = 3'(gw_kernel_pkg::BeatShift);
assign m_axi_gmem_ARBURST = 2'b01;
assign m_axi_gmem_ARLOCK = 2'b00;
assign m_axi_gmem_ARCACHE = 4'b0011;
assign m_axi_gmem_ARPROT = 3'b000;
assign m_axi_gmem_ARQOS = 4'b0000;
assign m_axi_gmem_ARREGION = 4'b0000;
assign r_valid = m_axi_gmem_RVALID;
assign m_axi_gmem_RREADY = 1'b1;
assign r = '{
  id: gw_kernel_pkg::id_t'(m_axi_gmem_RID), data: m_axi_gmem_RDATA, error: m_axi_gmem_RRESP[1], last: m_axi_gmem_RLAST
};

assign m_axi_gmem_AWVALID = aw_valid;
assign aw_ready = m_axi_gmem_AWREADY;
assign m_axi_gmem_AWADDR = aw.addr;
assign m_axi_gmem_AWID = aw.id[C_M_AXI_GMEM_ID_WIDTH-1:0];
assign m_axi_gmem_AWLEN = aw.len;
assign m_axi_gmem_AWSIZE = 3'(gw_kernel_pkg::BeatShift);
assign m_axi_gmem_AWBURST = 2'b01;
assign m_axi_gmem_AWLOCK = 2'b00;
assign m_axi_gmem_AWCACHE = 4'b0011;
assign m_axi_gmem_AWPROT = 3'b000;
assign m_axi_gmem_AWQOS = 4'b0000;
assign m_axi_gmem_AWREGION = 4'b0000;
assign m_axi_gmem_WVALID = w_valid;
assign w_ready = m_axi_gmem_WREADY;
assign m_axi_gmem_WDATA = w.data;
assign m_axi_gmem_WSTRB = w.strb;
assign m_axi_gmem_WLAST = w.last;
assign b_valid = m_axi_gmem_BVALID;
assign m_axi_gmem_BREADY = 1'b1;
assign b = '{id: gw_kernel_pkg::id_t'(m_axi_gmem_BID), error: m_axi_gmem_BRESP[1]};

// Reserved words, bit 0 of a response, and ID bits that a narrow port does not have.
logic unused_connect;
assign unused_connect = ^{args, m_axi_gmem_RRESP[0], m_axi_gmem_BRESP[0], ar.id, aw.id};
