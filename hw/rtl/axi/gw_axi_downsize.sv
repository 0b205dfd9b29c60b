// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// A wide AXI4 master on a narrower bus; bursts are split. Wiring only.
//
// Contract
// - A beat of the narrower bus a cycle, reads and writes at once. AR, AW and W take one cycle more, R two, B none.
// - Bursts whose beats fit the narrower bus go as they are; the others as INCR bursts of full beats, in as many pieces as
//   they need (gw_axi_downsize_ax says how). A burst that stays in its 4 KiB page has pieces that do.
// - IDs are kept, and the order of an ID; data of different IDs may be interleaved. One response a burst: the worst.
// - No deadlock: addresses never wait for data, read data never waits for anything but the master.
module gw_axi_downsize #(
  /// Bits of the master's bus, to 1024, and of the narrower one, from 32: powers of two.
  parameter int unsigned SlvDataWidth = 512,
  parameter int unsigned MstDataWidth = 128,
  /// Bits of an ID on both sides.
  parameter int unsigned IdWidth = 1,
  /// Pieces in flight: reads of an ID, writes of an ID, writes whose data has not left; a power of two.
  parameter int unsigned Bursts = 16,
  /// Bundles (gw_axi_typedef.svh) with these widths.
  parameter type ax_t = gw_axi_pkg::axi_ax_t,
  parameter type slv_w_t = gw_axi_pkg::axi_w_t,
  parameter type mst_w_t = gw_axi_pkg::axi_w_t,
  parameter type b_t = gw_axi_pkg::axi_b_t,
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

  if (MstDataWidth < 32 || SlvDataWidth > 1024 || SlvDataWidth <= MstDataWidth ||
      (SlvDataWidth & (SlvDataWidth - 1)) != 0 || (MstDataWidth & (MstDataWidth - 1)) != 0) begin : gen_bad_width
    $fatal(1, "gw_axi_downsize: widths must be powers of two from 32 to 1024, the master's the larger one");
  end

  ax_t m_ar, m_aw;
  mst_w_t m_w;
  slv_r_t s_r;
  b_t s_b;
  logic m_ar_valid, m_aw_valid, m_w_valid, m_r_ready, m_b_ready;
  logic s_ar_ready, s_aw_ready, s_w_ready, s_r_valid, s_b_valid;

  gw_axi_downsize_read #(
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

  gw_axi_downsize_write #(
    .SlvDataWidth(SlvDataWidth),
    .MstDataWidth(MstDataWidth),
    .IdWidth     (IdWidth),
    .Bursts      (Bursts),
    .ax_t        (ax_t),
    .slv_w_t     (slv_w_t),
    .mst_w_t     (mst_w_t),
    .b_t         (b_t)
  ) u_write (
    .clk_i,
    .rst_ni,
    .s_aw_valid_i(s_req_i.aw_valid),
    .s_aw_ready_o(s_aw_ready),
    .s_aw_i      (s_req_i.aw),
    .s_w_valid_i (s_req_i.w_valid),
    .s_w_ready_o (s_w_ready),
    .s_w_i       (s_req_i.w),
    .s_b_valid_o (s_b_valid),
    .s_b_ready_i (s_req_i.b_ready),
    .s_b_o       (s_b),
    .m_aw_valid_o(m_aw_valid),
    .m_aw_ready_i(m_rsp_i.aw_ready),
    .m_aw_o      (m_aw),
    .m_w_valid_o (m_w_valid),
    .m_w_ready_i (m_rsp_i.w_ready),
    .m_w_o       (m_w),
    .m_b_valid_i (m_rsp_i.b_valid),
    .m_b_ready_o (m_b_ready),
    .m_b_i       (m_rsp_i.b)
  );

  assign m_req_o = '{
    aw:       m_aw,
    aw_valid: m_aw_valid,
    w:        m_w,
    w_valid:  m_w_valid,
    b_ready:  m_b_ready,
    ar:       m_ar,
    ar_valid: m_ar_valid,
    r_ready:  m_r_ready
  };
  assign s_rsp_o = '{
    aw_ready: s_aw_ready,
    w_ready:  s_w_ready,
    b:        s_b,
    b_valid:  s_b_valid,
    ar_ready: s_ar_ready,
    r:        s_r,
    r_valid:  s_r_valid
  };

endmodule
