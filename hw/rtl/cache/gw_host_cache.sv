// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// The page cache as a card has it: between the MMU's memory ports and the host link. Wiring, and what was lost.
//
//   port 0 ─> gw_axi_split ─┬─> device memory 0
//   port 1 ─> gw_axi_split ─┼┬> device memory 1
//                           └┴─> gw_axi_mux ─> gw_axi_adapt ─> gw_page_cache ─> gw_axi_adapt ─> link
//
// Contract
// - What lies in device memory passes as gw_axi_split states: no cycle more for addresses and read data. What lies in the host aperture,
//   of all ports, goes through one cache: a port sees what another one wrote from its answer on.
// - Order per ID and direction stays. The cache knows the ports' IDs, with the port's number in front; a width converter before it has up to
//   16, and more wait.
// - Maintenance: as gw_page_cache states; one command at a time. `error` with the acknowledge: a line could not be written, now or since
//   the acknowledge before.
// - Only what comes through these ports is cached: who reaches the same host memory another way (page DMA, command queue, the host itself)
//   sees it as it was at the last clean, and is seen after the next drop.
// - With access counters (gw_access_counters) every burst over the link is counted for its group; that holds up nothing.
// - Link: reads have IDs 0 to Fills + Ahead - 1, writes ID 0.
// - Reset: empty. No access may be under way on any port.
`include "gw_axi_typedef.svh"

module gw_host_cache #(
  /// Ports, 1 or more.
  parameter int unsigned NumPorts = 1,
  /// Bits of an ID and of data of the ports; the link has the data's.
  parameter int unsigned IdWidth = 4,
  parameter int unsigned DataWidth = 512,
  /// Bursts under way, a port, ID and direction.
  parameter int unsigned Bursts = 64,
  /// Those of gw_page_cache.
  parameter int unsigned Pages = 16,
  parameter int unsigned PageShift = 12,
  parameter int unsigned Replacement = 0,
  parameter int unsigned FillMode = 1,
  parameter int unsigned Spare = 1,
  parameter int unsigned Reads = 8,
  parameter int unsigned Writes = 8,
  parameter int unsigned Fills = 8,
  parameter int unsigned Merges = 4,
  parameter int unsigned RestLines = 64,
  parameter int unsigned Ahead = 0,
  parameter int unsigned Eager = 0,
  parameter int unsigned WalkLines = 32,
  parameter int unsigned WalkLineBeats = 1,
  /// Groups of the access counters, a power of two, 16 or more; 0: there are none.
  parameter int unsigned Counters = 0,
  /// Bundles (gw_axi_typedef.svh) of a port; of the link: IDs as in gw_axi_pkg::axi_req_t.
  parameter type req_t = gw_axi_pkg::axi_req_t,
  parameter type rsp_t = gw_axi_pkg::axi_rsp_t,
  parameter type link_req_t = gw_axi_pkg::axi_req_t,
  parameter type link_rsp_t = gw_axi_pkg::axi_rsp_t
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  /// Translated ports, and their device memory.
  input  req_t                 s_req_i [NumPorts],
  output rsp_t                 s_rsp_o [NumPorts],
  output req_t                 m_req_o [NumPorts],
  input  rsp_t                 m_rsp_i [NumPorts],
  /// The host.
  output link_req_t            link_req_o,
  input  link_rsp_t            link_rsp_i,
  /// The walker's port, to look at (Ahead).
  input  gw_axi_pkg::pt_req_t  pt_req_i,
  input  gw_axi_pkg::pt_rsp_t  pt_rsp_i,
  /// Maintenance.
  input  logic                 cmd_valid_i,
  output logic                 cmd_ready_o,
  input  gw_pkg::cache_cmd_t   cmd_i,
  output gw_pkg::cache_ack_t   ack_o,
  output gw_pkg::cache_event_t event_o,
  /// Registers of the access counters.
  input  gw_pkg::access_req_t  access_req_i,
  output gw_pkg::access_rsp_t  access_rsp_o
);

  req_t host_req[NumPorts];
  rsp_t host_rsp[NumPorts];

  for (genvar i = 0; i < NumPorts; i++) begin : gen_port
    req_t side_req[2];
    rsp_t side_rsp[2];
    gw_axi_split #(
      .Bursts(Bursts),
      .req_t (req_t),
      .rsp_t (rsp_t)
    ) u_split (
      .clk_i,
      .rst_ni,
      .s_req_i(s_req_i[i]),
      .s_rsp_o(s_rsp_o[i]),
      .m_req_o(side_req),
      .m_rsp_i(side_rsp)
    );
    assign m_req_o[i] = side_req[0];
    assign side_rsp[0] = m_rsp_i[i];
    assign host_req[i] = side_req[1];
    assign side_rsp[1] = host_rsp[i];
  end

  // All ports on one.
  localparam int unsigned OneIdWidth = IdWidth + ((NumPorts > 1) ? $clog2(NumPorts) : 0);
  `GW_AXI_TYPEDEF(one, OneIdWidth, DataWidth)
  one_req_t one_req;
  one_rsp_t one_rsp;
  if (NumPorts > 1) begin : gen_mux
    gw_axi_mux #(
      .NumMst   (NumPorts),
      .slv_req_t(req_t),
      .slv_rsp_t(rsp_t),
      .mst_req_t(one_req_t),
      .mst_rsp_t(one_rsp_t),
      .mst_ax_t (one_ax_t),
      .mst_w_t  (one_w_t),
      .mst_r_t  (one_r_t),
      .mst_b_t  (one_b_t)
    ) u_mux (
      .clk_i,
      .rst_ni,
      .s_req_i(host_req),
      .s_rsp_o(host_rsp),
      .m_req_o(one_req),
      .m_rsp_i(one_rsp)
    );
  end else begin : gen_one
    assign one_req = host_req[0];
    assign host_rsp[0] = one_rsp;
  end

  localparam int unsigned UpIdWidth = (DataWidth == 512 || OneIdWidth < gw_axi_pkg::AxiIdWidth) ? OneIdWidth : gw_axi_pkg::AxiIdWidth;
  `GW_AXI_TYPEDEF(up, UpIdWidth, 512)
  up_req_t up_req;
  up_rsp_t up_rsp;
  gw_axi_pkg::axi_req_t down_req;
  gw_axi_pkg::axi_rsp_t down_rsp;
  gw_axi_adapt #(
    .SlvDataWidth(DataWidth),
    .SlvIdWidth  (OneIdWidth),
    .MstDataWidth(512),
    .MstIdWidth  (UpIdWidth),
    .slv_req_t   (one_req_t),
    .slv_rsp_t   (one_rsp_t),
    .mst_req_t   (up_req_t),
    .mst_rsp_t   (up_rsp_t)
  ) u_up (
    .clk_i,
    .rst_ni,
    .s_req_i(one_req),
    .s_rsp_o(one_rsp),
    .m_req_o(up_req),
    .m_rsp_i(up_rsp)
  );

  logic ack, ack_error, lost_q;
  gw_page_cache #(
    .Pages        (Pages),
    .PageShift    (PageShift),
    .Replacement  (Replacement),
    .FillMode     (FillMode),
    .Spare        (Spare),
    .Reads        (Reads),
    .Writes       (Writes),
    .Fills        (Fills),
    .Merges       (Merges),
    .RestLines    (RestLines),
    .Ahead        (Ahead),
    .Eager        (Eager),
    .WalkLines    (WalkLines),
    .WalkLineBeats(WalkLineBeats),
    .IdWidth      (UpIdWidth),
    .up_req_t     (up_req_t),
    .up_rsp_t     (up_rsp_t),
    .up_ax_t      (up_ax_t),
    .up_w_t       (up_w_t),
    .up_r_t       (up_r_t),
    .up_b_t       (up_b_t)
  ) u_cache (
    .clk_i,
    .rst_ni,
    .up_req_i   (up_req),
    .up_rsp_o   (up_rsp),
    .link_req_o (down_req),
    .link_rsp_i (down_rsp),
    .pt_req_i,
    .pt_rsp_i,
    .cmd_valid_i,
    .cmd_ready_o,
    .cmd_clean_i(cmd_i.clean),
    .cmd_drop_i (cmd_i.drop),
    .cmd_first_i(cmd_i.first),
    .cmd_last_i (cmd_i.last),
    .ack_o      (ack),
    .ack_error_o(ack_error),
    .event_o
  );

  gw_axi_adapt #(
    .SlvDataWidth(512),
    .SlvIdWidth  (gw_axi_pkg::AxiIdWidth),
    .MstDataWidth(DataWidth),
    .MstIdWidth  (gw_axi_pkg::AxiIdWidth),
    .mst_req_t   (link_req_t),
    .mst_rsp_t   (link_rsp_t)
  ) u_down (
    .clk_i,
    .rst_ni,
    .s_req_i(down_req),
    .s_rsp_o(down_rsp),
    .m_req_o(link_req_o),
    .m_rsp_i(link_rsp_i)
  );

  if (Counters > 0) begin : gen_counters
    gw_access_counters #(
      .Groups(Counters)
    ) u_counters (
      .clk_i,
      .rst_ni,
      .ar_i     (down_req.ar_valid && down_rsp.ar_ready),
      .ar_addr_i(down_req.ar.addr[gw_pkg::PaWidth-1:0]),
      .ar_len_i (down_req.ar.len),
      .aw_i     (down_req.aw_valid && down_rsp.aw_ready),
      .aw_addr_i(down_req.aw.addr[gw_pkg::PaWidth-1:0]),
      .aw_len_i (down_req.aw.len),
      .req_i    (access_req_i),
      .rsp_o    (access_rsp_o)
    );
  end else begin : gen_no_counters
    assign access_rsp_o = '0;
    logic unused;
    assign unused = ^access_req_i;
  end

  // A victim's line that could not be written is told with the next acknowledge.
  assign ack_o = '{valid: ack, error: ack_error || lost_q};
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) lost_q <= 1'b0;
    else lost_q <= (lost_q && !ack) || event_o.lost;
  end

endmodule
