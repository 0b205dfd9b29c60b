// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Address translator of one accelerator port: virtual addresses in, physical ones out, AR and AW
// independent of each other.
//
// Contract
// - L1 hit: address taken in cycle t, at the memory side in t+2; one a cycle on each channel. Miss:
//   lookup request in t+1, address at the memory side one cycle after the answer.
// - R, W and B pass combinationally: nothing is added to data.
// - Order: reads keep it per AXI ID, as AXI asks; a hit passes waiting reads of other IDs. Writes
//   keep the order of AW in total, because AXI4 write data is not interleaved; the translations of
//   waiting writes are looked up at once all the same.
// - Every burst gets exactly one response. A burst that may not be translated never reaches the
//   memory: it is answered with SLVERR (len + 1 R beats, or its data swallowed and one B) in the
//   order of its ID, reported with one fault_valid_o pulse, and does not hold up other IDs (writes:
//   while at most 8 faulted ones wait for earlier writes of their ID).
// - ar_ready and aw_ready are registers; up to `Outstanding` bursts a channel are under way, one
//   more may be taken and wait.
// - Write data is offered to the memory no earlier than its address.
// - Invalidation: from the cycle after a pulse of inval_valid_i no translation from before it that
//   inval_i covers is used for an address taken since; cached ones it does not cover stay. Accesses
//   translated, or waiting with a slot, at the pulse are old, whatever its scope: they go on to their
//   end, what is looked up for them is not kept, and inval_busy_o is high from the next cycle until
//   the last that is older than the latest pulse is complete. Pulses may come in any cycle, also while
//   busy. New accesses are not held up.
// - xlate_req_o.src is zero; gw_xlate_mux fills it in. An answer is never refused and must come
//   exactly once a request.
// - Only cfg_i.mode == PortTranslate translates; in any other mode every burst is answered with an
//   error.
// - Reset empties everything; no burst may be under way on the memory side.
//
// All sizes of the blocks inside follow from the parameters here.
`include "gw_assert.svh"
`include "gw_axi_typedef.svh"

module gw_translator #(
  /// Entries of each channel's L1, >= 1.
  parameter int unsigned L1Entries = 16,
  /// Which of them goes: 0 true LRU, 1 bit-PLRU, 2 FIFO, 3 random.
  parameter int unsigned L1Replacement = 1,
  /// Addresses of a channel that can wait, 2 to 256.
  parameter int unsigned MissEntries = 64,
  /// Bursts of a channel under way, >= 1.
  parameter int unsigned Outstanding = 64,
  /// Parked bursts of a channel that do not count among them, 0 to MissEntries - 1.
  parameter int unsigned Parked = MissEntries / 4,
  /// Page-table levels of the widest mode: 3, 4, 5.
  parameter int unsigned Levels = 4,
  /// AXI bundles of the port (`GW_AXI_TYPEDEF).
  parameter type req_t = gw_axi_pkg::axi_req_t,
  parameter type rsp_t = gw_axi_pkg::axi_rsp_t
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  gw_pkg::port_cfg_t cfg_i,
  /// Accelerator side.
  input  req_t s_req_i,
  output rsp_t s_rsp_o,
  /// Memory side.
  output req_t m_req_o,
  input  rsp_t m_rsp_i,
  /// Lookups, [0] of AR, [1] of AW; one bus of answers.
  output logic [1:0]               xlate_want_o,  // gw_translate_channel
  output logic [1:0]               xlate_req_valid_o,
  input  logic [1:0]               xlate_req_ready_i,
  output gw_pkg::xlate_req_t [1:0] xlate_req_o,
  input  logic [1:0]               xlate_rsp_valid_i,
  input  gw_pkg::xlate_rsp_t       xlate_rsp_i,
  /// Invalidation: one-cycle pulse and its scope, in any cycle.
  input  logic           inval_valid_i,
  input  gw_pkg::inval_t inval_i,
  /// Epoch of what begins now; busy: something of the other one is under way.
  input  logic           epoch_i,
  output logic           inval_busy_o,
  /// What a parked access waits for has come, or never will.
  input  gw_pkg::wake_t  wake_i,
  input  gw_pkg::ctx_write_t ctx_write_i,
  /// One-cycle pulses.
  output logic [1:0]                fault_valid_o,
  output gw_pkg::fault_t [1:0]      fault_o,
  output gw_pkg::chan_event_t [1:0] event_o
);

  localparam int unsigned IdWidth = $bits(s_req_i.ar.id);
  localparam int unsigned DataWidth = $bits(s_req_i.w.data);
  localparam int unsigned SlotWidth = $clog2(MissEntries);
  // Bursts under way when parked ones went on.
  localparam int unsigned Bursts = Outstanding + Parked;
  localparam int unsigned CountWidth = $clog2(Bursts + 1);
  localparam int unsigned ParkedWidth = $clog2(MissEntries + 1);
  // Faulted writes that wait for earlier ones of their ID without holding up the channel; there are no more than bursts.
  localparam int unsigned WriteErrors = (Bursts < 8) ? Bursts : 8;

  if (Parked >= MissEntries) begin : gen_bad_parked
    $fatal(1, "gw_translator: Parked must be less than MissEntries");
  end

  `GW_AXI_TYPEDEF(port, IdWidth, DataWidth)

  typedef logic [IdWidth-1:0] id_t;

  // Per channel: [0] AR, [1] AW.
  port_ax_t [1:0] s_ax, m_ax;
  logic [1:0] s_valid, s_ready, m_valid, m_ready;
  logic [1:0] err_valid, err_ready;
  logic [1:0] room, start, done, send, send_old, complete, wait_old, sent_old, some_sent;
  logic [1:0][SlotWidth-1:0] err_slot;
  id_t [1:0] err_id, send_id, complete_id, query_id;
  logic [1:0][7:0] err_len;
  logic [1:0][CountWidth-1:0] sent;
  logic [1:0][ParkedWidth-1:0] parked;
  logic read_err_last, read_err_done, epoch_q, flip;
  logic [SlotWidth-1:0] read_err_slot;
  id_t read_err_id;

  assign s_ax = {s_req_i.aw, s_req_i.ar};
  assign s_valid = {s_req_i.aw_valid, s_req_i.ar_valid};
  assign m_ready = {m_rsp_i.aw_ready, m_rsp_i.ar_ready};

  for (genvar c = 0; c < 2; c++) begin : gen_channel
    gw_translate_channel #(
      .ax_t         (port_ax_t),
      .IdWidth      (IdWidth),
      .L1Entries    (L1Entries),
      .L1Replacement(L1Replacement),
      .MissEntries  (MissEntries),
      .Levels       (Levels),
      .IsWrite      (c == 1)
    ) u_channel (
      .clk_i,
      .rst_ni,
      .cfg_i,
      .s_valid_i        (s_valid[c]),
      .s_ready_o        (s_ready[c]),
      .s_ax_i           (s_ax[c]),
      .m_valid_o        (m_valid[c]),
      .m_ready_i        (m_ready[c]),
      .m_ax_o           (m_ax[c]),
      .xlate_want_o     (xlate_want_o[c]),
      .xlate_req_valid_o(xlate_req_valid_o[c]),
      .xlate_req_ready_i(xlate_req_ready_i[c]),
      .xlate_req_o      (xlate_req_o[c]),
      .xlate_rsp_valid_i(xlate_rsp_valid_i[c]),
      .xlate_rsp_i,
      .wake_i,
      .ctx_write_i,
      .parked_o         (parked[c]),
      .err_valid_o      (err_valid[c]),
      .err_ready_i      (err_ready[c]),
      .err_slot_o       (err_slot[c]),
      .err_id_o         (err_id[c]),
      .err_len_o        (err_len[c]),
      .err_done_i       (c == 0 ? read_err_done : 1'b0),
      .err_done_slot_i  (read_err_slot),
      .err_done_id_i    (read_err_id),
      .room_i           (room[c]),
      .start_o          (start[c]),
      .send_o           (send[c]),
      .send_old_o       (send_old[c]),
      .send_id_o        (send_id[c]),
      .inval_valid_i,
      .inval_i,
      .epoch_i,
      .flip_i           (flip),
      .old_o            (wait_old[c]),
      .fault_valid_o    (fault_valid_o[c]),
      .fault_o          (fault_o[c]),
      .event_o          (event_o[c])
    );

    gw_inflight #(
      .IdWidth(IdWidth),
      .Max    (Outstanding),
      .Parked (Parked),
      .ParkedWidth(ParkedWidth)
    ) u_inflight (
      .clk_i,
      .rst_ni,
      .start_i      (start[c]),
      .done_i       (done[c]),
      .room_o       (room[c]),
      .parked_i     (parked[c]),
      .send_i       (send[c]),
      .send_old_i   (send_old[c]),
      .send_id_i    (send_id[c]),
      .complete_i   (complete[c]),
      .complete_id_i(complete_id[c]),
      .query_id_i   (query_id[c]),
      .sent_o       (sent[c]),
      .some_o       (some_sent[c]),
      .flip_i       (flip),
      .old_o        (sent_old[c])
    );
  end

  // The first cycle of an epoch: what is there is of the one before it.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) epoch_q <= 1'b0;
    else epoch_q <= epoch_i;
  end
  assign flip = epoch_i != epoch_q;
  assign inval_busy_o = |wait_old || |sent_old;

  // Reads: error beats join the memory's.
  logic err_r_valid, err_r_ready, mem_r_ready, r_valid;
  port_r_t err_r, r;
  gw_error_read #(
    .IdWidth(IdWidth),
    .Slots  (MissEntries),
    .r_t    (port_r_t)
  ) u_error_read (
    .clk_i,
    .rst_ni,
    .in_valid_i  (err_valid[0]),
    .in_ready_o  (err_ready[0]),
    .in_slot_i   (err_slot[0]),
    .in_id_i     (err_id[0]),
    .in_len_i    (err_len[0]),
    .query_id_o  (query_id[0]),
    .query_sent_i(some_sent[0]),
    .r_valid_o   (err_r_valid),
    .r_ready_i   (err_r_ready),
    .r_o         (err_r),
    .last_o      (read_err_last),
    .done_o      (read_err_done),
    .done_slot_o (read_err_slot),
    .done_id_o   (read_err_id)
  );

  gw_error_merge #(
    .T(port_r_t)
  ) u_merge_r (
    .clk_i,
    .rst_ni,
    .mem_valid_i(m_rsp_i.r_valid),
    .mem_ready_o(mem_r_ready),
    .mem_data_i (m_rsp_i.r),
    .block_i    (1'b0),
    .err_valid_i(err_r_valid),
    .err_ready_o(err_r_ready),
    .err_data_i (err_r),
    .out_valid_o(r_valid),
    .out_ready_i(s_req_i.r_ready),
    .out_data_o (r)
  );

  assign complete[0] = m_rsp_i.r_valid && mem_r_ready && m_rsp_i.r.last;
  assign complete_id[0] = m_rsp_i.r.id;
  // In the cycle of the last beat, which is the memory's or an error's: a cycle later the memory may end another one.
  assign done[0] = complete[0] || read_err_last;

  // Writes: data follows its address; error answers join the memory's.
  logic w_ready, m_w_valid, swallowed, err_b_valid, err_b_ready, mem_b_ready, b_valid, b_block;
  port_w_t m_w;
  port_b_t err_b, b;
  logic write_err;
  assign write_err = err_valid[1] && err_ready[1];
  // A faulted write holds no slot and answers without its length; a faulted read waits for all of its ID, however many.
  logic unused_err;
  assign unused_err = ^{some_sent[1], sent[0], err_slot[1], err_len[1]};
  gw_write_route #(
    .Max(Bursts),
    .w_t(port_w_t)
  ) u_write_route (
    .clk_i,
    .rst_ni,
    .route_valid_i(send[1] || write_err),
    .route_error_i(write_err),
    .s_valid_i    (s_req_i.w_valid),
    .s_ready_o    (w_ready),
    .s_w_i        (s_req_i.w),
    .m_valid_o    (m_w_valid),
    .m_ready_i    (m_rsp_i.w_ready),
    .m_w_o        (m_w),
    .swallowed_o  (swallowed)
  );

  gw_error_write #(
    .IdWidth   (IdWidth),
    .Entries   (WriteErrors),
    .CountWidth(CountWidth),
    .b_t       (port_b_t)
  ) u_error_write (
    .clk_i,
    .rst_ni,
    .in_valid_i  (err_valid[1]),
    .in_ready_o  (err_ready[1]),
    .in_id_i     (err_id[1]),
    .query_id_o  (query_id[1]),
    .in_earlier_i(sent[1]),
    .swallowed_i (swallowed),
    .mem_done_i  (complete[1]),
    .mem_id_i    (m_rsp_i.b.id),
    .block_o     (b_block),
    .b_valid_o   (err_b_valid),
    .b_ready_i   (err_b_ready),
    .b_o         (err_b)
  );

  gw_error_merge #(
    .T(port_b_t)
  ) u_merge_b (
    .clk_i,
    .rst_ni,
    .mem_valid_i(m_rsp_i.b_valid),
    .mem_ready_o(mem_b_ready),
    .mem_data_i (m_rsp_i.b),
    .block_i    (b_block),
    .err_valid_i(err_b_valid),
    .err_ready_o(err_b_ready),
    .err_data_i (err_b),
    .out_valid_o(b_valid),
    .out_ready_i(s_req_i.b_ready),
    .out_data_o (b)
  );

  assign complete[1] = m_rsp_i.b_valid && mem_b_ready;
  assign complete_id[1] = m_rsp_i.b.id;
  assign done[1] = complete[1] || (err_b_valid && err_b_ready);

  assign s_rsp_o = '{
    aw_ready: s_ready[1],
    w_ready: w_ready,
    b: b,
    b_valid: b_valid,
    ar_ready: s_ready[0],
    r: r,
    r_valid: r_valid
  };
  assign m_req_o = '{
    aw: m_ax[1],
    aw_valid: m_valid[1],
    w: m_w,
    w_valid: m_w_valid,
    b_ready: mem_b_ready,
    ar: m_ax[0],
    ar_valid: m_valid[0],
    r_ready: mem_r_ready
  };

  // Bursts that end are counted one a cycle.
  `GW_INVARIANT(OneReadEnds_A, !(complete[0] && read_err_last))
  `GW_INVARIANT(OneWriteEnds_A, !(complete[1] && err_b_valid && err_b_ready))
  `GW_COVER(MemoryBehindError_C, read_err_done && complete[0])

endmodule
