// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Writes of the page cache: beats with their addresses, in order; answers in order an ID.
//
// Contract
// - Address and data taken in cycle t are a beat that is looked up from t+2 on, one a cycle. A beat that is not stored comes
//   again, and those behind it after it: at once, or with `done_event_i` after the next event. Bytes and data of the beat decided are there
//   in the cycle after (`strb_o`, `data_o`).
// - A burst is answered when each beat is stored, those that wait for their line (`pending_i`, by slot) included; an error of one of
//   them is the burst's. Bursts of different IDs are answered in any order, the others in theirs. Up to `Slots`.
`include "gw_assert.svh"

module gw_cache_writes #(
  /// Bursts, a power of two, 2 to 16.
  parameter int unsigned Slots = 8,
  /// Beats, a power of two, 4 to 16.
  parameter int unsigned Beats = 8,
  /// Bits of the number of 4 KiB in memory.
  parameter int unsigned BlockWidth = 44,
  /// Channels (gw_axi_typedef.svh), of 512 bits.
  parameter type ax_t = gw_axi_pkg::axi_ax_t,
  parameter type w_t = gw_axi_pkg::axi_w_t,
  parameter type b_t = gw_axi_pkg::axi_b_t,
  /// Derived.
  localparam int unsigned SlotWidth = $clog2(Slots)
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  aw_valid_i,
  output logic                  aw_ready_o,
  input  ax_t                   aw_i,
  input  logic                  w_valid_i,
  output logic                  w_ready_o,
  input  w_t                    w_i,
  output logic                  b_valid_o,
  input  logic                  b_ready_i,
  output b_t                    b_o,
  /// The beat that is looked up.
  output logic                  look_valid_o,
  input  logic                  look_go_i,
  output logic [BlockWidth-1:0] look_block_o,
  output logic [5:0]            look_line_o,
  /// The beat decided: the oldest one.
  output logic [SlotWidth-1:0]  slot_o,
  output logic                  full_o,
  output logic                  none_o,
  output logic [63:0]           strb_o,
  output logic [511:0]          data_o,
  input  logic                  done_valid_i,
  input  logic                  done_ok_i,
  input  logic                  done_event_i,
  input  logic                  event_i,
  input  logic [Slots-1:0]      pending_i,
  input  logic [Slots-1:0]      failed_i
);

  import gw_axi_pkg::*;

  if (Slots < 2 || Slots > 16 || (Slots & (Slots - 1)) != 0) begin : gen_bad_slots
    $fatal(1, "gw_cache_writes: Slots must be a power of two, 2 to 16");
  end
  if (Beats < 4 || Beats > 16 || (Beats & (Beats - 1)) != 0) begin : gen_bad_beats
    $fatal(1, "gw_cache_writes: Beats must be a power of two, 4 to 16");
  end

  localparam int unsigned PtrWidth = $clog2(Beats);
  localparam int unsigned IdWidth = $bits(aw_i.id);
  typedef logic [SlotWidth-1:0] slot_t;
  typedef logic [PtrWidth:0] ptr_t;
  typedef struct packed {
    logic [BlockWidth-1:0] block;
    logic [5:0] line;
  } line_t;
  // What is to be known of a beat to decide it, all of its bytes or none among that, and what is written of it.
  typedef struct packed {
    slot_t slot;
    logic last;
    logic full;
    logic none;
  } beat_t;
  typedef struct packed {
    logic [63:0] strb;
    logic [511:0] data;
  } bytes_t;

  // Bursts: used until answered, closed when the last beat is decided.
  logic [Slots-1:0] used_q, closed_q, error_q, can_answer, answered;
  logic [Slots-1:0][IdWidth-1:0] id_q;
  logic [Slots-1:0] behind_q[Slots];
  logic any_free, answer, take;
  slot_t free_idx;

  // The burst that takes data.
  logic current_q, put;
  slot_t slot_q;
  logic [BlockWidth-1:0] block_q;
  logic [11:0] offset_q, wrap_q, stepped;
  logic [2:0] size_q;
  logic [1:0] burst_q;
  ptr_t put_q, look_q, done_q, write_q;
  line_t line_mem[Beats];
  beat_t beat_mem[Beats], beat;
  bytes_t bytes_mem[Beats], bytes;
  line_t line;
  logic full, again, go, valid_q, waits_q, waits;

  gw_first_one #(
    .Width(Slots)
  ) u_free (
    .bits_i(~used_q),
    .any_o (any_free),
    .idx_o (free_idx)
  );
  gw_cache_step u_step (
    .offset_i(offset_q),
    .size_i  (size_q),
    .burst_i (burst_q),
    .wrap_i  (wrap_q),
    .next_o  (stepped)
  );

  assign full = put_q - write_q == ptr_t'(Beats);
  assign w_ready_o = current_q && !full;
  assign put = w_valid_i && w_ready_o;
  assign aw_ready_o = any_free && (!current_q || (put && w_i.last));
  assign take = aw_valid_i && aw_ready_o;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) current_q <= 1'b0;
    else if (take) current_q <= 1'b1;
    else if (put && w_i.last) current_q <= 1'b0;
  end
  always_ff @(posedge clk_i) begin
    if (take) begin
      slot_q <= free_idx;
      block_q <= aw_i.addr[12+:BlockWidth];
      offset_q <= aw_i.addr[11:0];
      size_q <= aw_i.size;
      burst_q <= aw_i.burst;
      wrap_q <= 12'((20'(aw_i.len) << aw_i.size) | ((20'd1 << aw_i.size) - 20'd1));
    end else if (put) begin
      offset_q <= stepped;
    end
    if (put) begin
      line_mem[put_q[PtrWidth-1:0]] <= '{block: block_q, line: offset_q[11:6]};
      beat_mem[put_q[PtrWidth-1:0]] <= '{slot: slot_q, last: w_i.last, full: w_i.strb == '1, none: w_i.strb == '0};
      bytes_mem[put_q[PtrWidth-1:0]] <= '{strb: w_i.strb, data: w_i.data};
    end
  end

  // Lookups run ahead of what is decided by one; a beat that is not stored takes them back.
  assign again = done_valid_i && !done_ok_i;
  assign line = line_mem[look_q[PtrWidth-1:0]];
  assign beat = beat_mem[done_q[PtrWidth-1:0]];
  assign look_valid_o = valid_q;
  assign go = valid_q && look_go_i;
  assign waits = (again && done_event_i) || (waits_q && !event_i);
  assign look_block_o = line.block;
  assign look_line_o = line.line;
  assign bytes = bytes_mem[write_q[PtrWidth-1:0]];
  assign slot_o = beat.slot;
  assign full_o = beat.full;
  assign none_o = beat.none;
  assign strb_o = bytes.strb;
  assign data_o = bytes.data;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      put_q <= '0;
      look_q <= '0;
      done_q <= '0;
      write_q <= '0;
      waits_q <= 1'b0;
      valid_q <= 1'b0;
    end else begin
      put_q <= put_q + ptr_t'(put);
      done_q <= done_q + ptr_t'(done_valid_i && done_ok_i);
      // A place is free a cycle after its beat was decided.
      write_q <= done_q;
      if (again) look_q <= done_q;
      else look_q <= look_q + ptr_t'(go);
      waits_q <= waits;
      // Behind a beat that comes again there is one, that very beat.
      valid_q <= (again || put || (look_q != put_q && !(go && look_q + ptr_t'(1) == put_q))) && !waits;
    end
  end

  // Answers: of those that can be, the first one.
  assign answer = !b_valid_o || b_ready_i;
  for (genvar i = 0; i < Slots; i++) begin : gen_slot
    logic taken;
    logic [Slots-1:0] earlier;
    assign taken = take && free_idx == slot_t'(i);
    assign answered[i] = answer && can_answer[i] && (can_answer & Slots'((32'd1 << i) - 32'd1)) == '0;
    for (genvar j = 0; j < Slots; j++) begin : gen_before
      assign earlier[j] = used_q[j] && id_q[j] == aw_i.id && !answered[j];
    end
    // failed_i comes with the cycle in which pending_i falls.
    assign can_answer[i] = used_q[i] && closed_q[i] && !pending_i[i] && behind_q[i] == '0;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        used_q[i] <= 1'b0;
        closed_q[i] <= 1'b0;
        error_q[i] <= 1'b0;
        behind_q[i] <= '0;
      end else if (taken) begin
        used_q[i] <= 1'b1;
        closed_q[i] <= 1'b0;
        error_q[i] <= 1'b0;
        behind_q[i] <= earlier;
      end else begin
        if (answered[i]) used_q[i] <= 1'b0;
        behind_q[i] <= behind_q[i] & ~answered;
        if (done_valid_i && done_ok_i && beat.last && beat.slot == slot_t'(i)) closed_q[i] <= 1'b1;
        if (failed_i[i]) error_q[i] <= 1'b1;
      end
    end
    always_ff @(posedge clk_i) if (taken) id_q[i] <= aw_i.id;
  end

  b_t answer_b;
  always_comb begin
    answer_b = '{id: '0, resp: RespOkay};
    for (int unsigned i = 0; i < Slots; i++) begin
      if (answered[i]) answer_b.id |= id_q[i];
      if (answered[i] && (error_q[i] || failed_i[i])) answer_b.resp |= RespSlvErr;
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) b_valid_o <= 1'b0;
    else if (answer) b_valid_o <= can_answer != '0;
  end
  always_ff @(posedge clk_i) if (answer) b_o <= answer_b;

  logic unused;
  assign unused = ^{aw_i.addr[63:12+BlockWidth], aw_i.lock, aw_i.cache, aw_i.prot, aw_i.qos, aw_i.region};

  `GW_INVARIANT(DoneWasPut_A, !done_valid_i || done_q != put_q)
  `GW_INVARIANT(Valid_A, valid_q == (look_q != put_q && !waits_q))
  `GW_INVARIANT(LooksAhead_A, (look_q - done_q) <= ptr_t'(2))
  `GW_INVARIANT(FailedIsOpen_A, (failed_i & ~used_q) == '0)
  `GW_ASSERT(AnswerStable_A, b_valid_o && !b_ready_i |=> b_valid_o && $stable(b_o))

endmodule
