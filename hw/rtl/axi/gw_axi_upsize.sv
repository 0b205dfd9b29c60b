// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// A narrow AXI4 master on a wider bus; sequential bursts are packed. Wiring only.
//
// Contract
// - A beat of the narrow bus a cycle, reads and writes at once: what its master can carry. AR and AW take one cycle more, W
//   one, R two, B none.
// - INCR bursts that may be modified are packed into words of the wider bus (gw_axi_upsize_ax says which and how): reads then
//   fetch whole words, at most to the ends of the words that the burst touches. The others go beat by beat in their lanes.
// - IDs are kept, and the order of an ID; data of different IDs may be interleaved. One response a burst.
// - No deadlock: addresses never wait for data, read data never waits for anything but the master.
module gw_axi_upsize #(
  /// Bits of the master's bus, 32 to 512, and of the wider one, to 1024: powers of two.
  parameter int unsigned SlvDataWidth = 32,
  parameter int unsigned MstDataWidth = 512,
  /// Bits of an ID on both sides.
  parameter int unsigned IdWidth = 1,
  /// Reads of an ID in flight, and writes whose data is not complete; a power of two.
  parameter int unsigned Bursts = 16,
  /// Bundles (gw_axi_typedef.svh) with these widths.
  parameter type ax_t = gw_axi_pkg::axi_ax_t,
  parameter type slv_w_t = gw_axi_pkg::axi_w_t,
  parameter type mst_w_t = gw_axi_pkg::axi_w_t,
  parameter type slv_r_t = gw_axi_pkg::axi_r_t,
  parameter type mst_r_t = gw_axi_pkg::axi_r_t,
  parameter type slv_req_t = gw_axi_pkg::axi_req_t,
  parameter type slv_rsp_t = gw_axi_pkg::axi_rsp_t,
  parameter type mst_req_t = gw_axi_pkg::axi_req_t,
  parameter type mst_rsp_t = gw_axi_pkg::axi_rsp_t
) (
  input  logic     clk_i,
  input  logic     rst_ni,
  input  slv_req_t s_req_i,
  output slv_rsp_t s_rsp_o,
  output mst_req_t m_req_o,
  input  mst_rsp_t m_rsp_i
);

  if (SlvDataWidth < 32 || MstDataWidth > 1024 || SlvDataWidth >= MstDataWidth ||
      (SlvDataWidth & (SlvDataWidth - 1)) != 0 || (MstDataWidth & (MstDataWidth - 1)) != 0) begin : gen_bad_width
    $fatal(1, "gw_axi_upsize: widths must be powers of two from 32 to 1024, the master's the smaller one");
  end

  ax_t m_ar, m_aw;
  mst_w_t m_w;
  slv_r_t s_r;
  logic m_ar_valid, m_aw_valid, m_w_valid, m_r_ready, s_ar_ready, s_aw_ready, s_w_ready, s_r_valid;

  gw_axi_upsize_read #(
    .SlvDataWidth(SlvDataWidth),
    .MstDataWidth(MstDataWidth),
    .IdWidth     (IdWidth),
    .Bursts      (Bursts),
    .ax_t        (ax_t),
    .slv_r_t     (slv_r_t),
    .mst_r_t     (mst_r_t)
  ) u_read (
    .clk_i,
    .rst_ni,
    .s_ar_valid_i(s_req_i.ar_valid),
    .s_ar_ready_o(s_ar_ready),
    .s_ar_i      (s_req_i.ar),
    .s_r_valid_o (s_r_valid),
    .s_r_ready_i (s_req_i.r_ready),
    .s_r_o       (s_r),
    .m_ar_valid_o(m_ar_valid),
    .m_ar_ready_i(m_rsp_i.ar_ready),
    .m_ar_o      (m_ar),
    .m_r_valid_i (m_rsp_i.r_valid),
    .m_r_ready_o (m_r_ready),
    .m_r_i       (m_rsp_i.r)
  );

  gw_axi_upsize_write #(
    .SlvDataWidth(SlvDataWidth),
    .MstDataWidth(MstDataWidth),
    .Bursts      (Bursts),
    .ax_t        (ax_t),
    .slv_w_t     (slv_w_t),
    .mst_w_t     (mst_w_t)
  ) u_write (
    .clk_i,
    .rst_ni,
    .s_aw_valid_i(s_req_i.aw_valid),
    .s_aw_ready_o(s_aw_ready),
    .s_aw_i      (s_req_i.aw),
    .s_w_valid_i (s_req_i.w_valid),
    .s_w_ready_o (s_w_ready),
    .s_w_i       (s_req_i.w),
    .m_aw_valid_o(m_aw_valid),
    .m_aw_ready_i(m_rsp_i.aw_ready),
    .m_aw_o      (m_aw),
    .m_w_valid_o (m_w_valid),
    .m_w_ready_i (m_rsp_i.w_ready),
    .m_w_o       (m_w)
  );

  assign m_req_o = '{
    aw:       m_aw,
    aw_valid: m_aw_valid,
    w:        m_w,
    w_valid:  m_w_valid,
    b_ready:  s_req_i.b_ready,
    ar:       m_ar,
    ar_valid: m_ar_valid,
    r_ready:  m_r_ready
  };
  assign s_rsp_o = '{
    aw_ready: s_aw_ready,
    w_ready:  s_w_ready,
    b:        m_rsp_i.b,
    b_valid:  m_rsp_i.b_valid,
    ar_ready: s_ar_ready,
    r:        s_r,
    r_valid:  s_r_valid
  };

endmodule
