// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// An output that nobody sized: memory for a stream of bytes, taken from the card's heap, grown ahead of the stream, and cut to its length.
//
// Contract
// - A run begins with begin_valid_i: malloc of StepBytes, then the address goes to the writer and beats pass. With half of the last step
//   left the memory is given StepBytes more where it is, so a heap that answers within the time of StepBytes / 128 beats stops nobody.
// - No beat passes that does not fit into what the heap has given. No cycle is added to a beat.
// - Behind the last beat the memory gets exactly the stream's bytes; that of an empty stream is freed, and pointer_o is 0 then.
// - Who is refused tells so once: refused_o with refusal_o, and for a growth not before a beat needs it. Someone has to raise abort_i
//   for that. Under abort_i a command that was begun is finished, then, when writer_busy_i is low, what was taken is freed, and pointer_o is 0.
// - busy_o: between begin and end of a run, and under abort_i as long as there is something to free. clear_i, when not busy: what the last
//   run took belongs to someone else. Reset: nothing taken.
`include "gw_assert.svh"

module gw_heap_output
  import gw_kernel_pkg::*;
#(
  /// What a malloc or a growth gives: a power of two, at least two beats.
  parameter int unsigned StepBytes = 64 << 10
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             clear_i,
  input  logic             abort_i,
  output logic             busy_o,
  output logic             refused_o,
  output logic [3:0]       refusal_o,
  /// The memory was given more: a pulse.
  output logic             grew_o,
  output addr_t            pointer_o,
  input  logic             begin_valid_i,
  output logic             begin_ready_o,
  /// log2 of the pages that come together.
  input  logic [3:0]       granule_i,

  /// One command at a time: pointer, size, how; its response comes once, and is taken at once.
  output logic             cmd_valid_o,
  input  logic             cmd_ready_i,
  output logic [2:0][63:0] cmd_o,
  input  logic             rsp_valid_i,
  input  addr_t            rsp_pointer_i,
  input  logic [3:0]       rsp_status_i,

  input  logic             in_valid_i,
  output logic             in_ready_o,
  input  stream_beat_t     in_i,

  /// The writer.
  input  logic             writer_busy_i,
  output logic             addr_valid_o,
  input  logic             addr_ready_i,
  output addr_t            addr_o,
  output logic             out_valid_o,
  input  logic             out_ready_i,
  output stream_beat_t     out_o
);

  localparam int unsigned StepShift = $clog2(StepBytes / BeatBytes);
  if (StepBytes < 2 * BeatBytes || StepBytes != BeatBytes << StepShift) begin : gen_bad_step
    $fatal(1, "gw_heap_output: StepBytes=%0d", StepBytes);
  end

  // Held: nothing to do with what there is. Empty: there is nothing.
  typedef enum logic [2:0] {Empty, Ask, Answer, Place, Open, Held} state_e;
  typedef enum logic [1:0] {
    Malloc  = 2'd0,
    Realloc = 2'd1,
    Free    = 2'd2
  } op_e;
  typedef logic [31-StepShift:0] steps_t;

  state_e state_d, state_q;
  op_e op_d, op_q;
  addr_t pointer_q, size_d, size_q;
  logic live_q, ok;
  // The realloc under way is the last one: to the stream's length.
  logic exact_q;

  // ---- Beats: counted, and stopped where the memory ends
  logic [31:0] beats_q;
  byte_count_t tail_q;
  logic passing_q, ended_q, room, pass, take;
  logic full_q;  // the heap gives no more
  logic [3:0] why_q;
  steps_t given_q;  // steps that the memory has
  steps_t at;

  assign at = beats_q[31:StepShift];
  assign room = at != given_q;
  assign pass = passing_q && !ended_q && (room || in_i.bytes == '0);
  assign out_valid_o = in_valid_i && pass;
  assign in_ready_o = out_ready_i && pass;
  assign out_o = in_i;
  assign take = in_valid_i && in_ready_o;

  logic wants_more, starved;
  assign wants_more = !full_q && (!room || (at + 1'b1 == given_q && beats_q[StepShift-1]));
  assign starved = full_q && in_valid_i && !pass;

  // ---- Commands
  assign ok = rsp_status_i == '0;
  assign cmd_valid_o = state_q == Ask;
  assign cmd_o = {56'd0, op_q == Malloc ? granule_i : 4'd0, 1'b0, op_q == Malloc, op_q, size_q, pointer_q};
  assign addr_valid_o = state_q == Place && !abort_i;
  assign addr_o = pointer_q;
  assign pointer_o = pointer_q;
  assign begin_ready_o = (state_q == Empty || state_q == Held) && !abort_i;
  assign busy_o = !(state_q inside {Empty, Held}) || (abort_i && live_q);
  assign grew_o = state_q == Answer && rsp_valid_i && ok && op_q == Realloc && !ended_q;

  always_comb begin
    state_d = state_q;
    op_d = op_q;
    size_d = size_q;
    refused_o = 1'b0;
    refusal_o = why_q;
    unique case (state_q)
      Empty, Held: begin
        if (abort_i) begin
          if (live_q && !writer_busy_i) begin
            state_d = Ask;
            op_d = Free;
            size_d = '0;
          end
        end else if (begin_valid_i) begin
          state_d = Ask;
          op_d = Malloc;
          size_d = addr_t'(StepBytes);
        end
      end
      Ask: if (cmd_ready_i) state_d = Answer;
      Answer: begin
        if (rsp_valid_i) begin
          refusal_o = rsp_status_i;
          unique case (op_q)
            Malloc: begin
              state_d = ok ? Place : Empty;
              refused_o = !ok && !abort_i;
            end
            Realloc: begin
              state_d = exact_q ? Held : Open;
              refused_o = exact_q && !ok && !abort_i;
            end
            default: state_d = Empty;
          endcase
        end
      end
      Place: begin
        if (abort_i) state_d = Held;
        else if (addr_ready_i) state_d = Open;
      end
      Open: begin
        if (abort_i) begin
          state_d = Held;
        end else if (ended_q) begin
          state_d = Ask;
          op_d = (beats_q == '0 && tail_q == '0) ? Free : Realloc;
          size_d = (addr_t'(beats_q) << BeatShift) + addr_t'(tail_q);
        end else if (wants_more) begin
          state_d = Ask;
          op_d = Realloc;
          size_d = (addr_t'(given_q) + 64'd1) << $clog2(StepBytes);
        end else if (starved) begin
          state_d = Held;
          refused_o = 1'b1;
        end
      end
      default: state_d = Empty;
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Empty;
      live_q <= 1'b0;
      passing_q <= 1'b0;
      pointer_q <= '0;
    end else if (clear_i) begin
      state_q <= Empty;
      live_q <= 1'b0;
      passing_q <= 1'b0;
      pointer_q <= '0;
    end else begin
      state_q <= state_d;
      if (state_q == Place) passing_q <= addr_ready_i && !abort_i;
      else if (state_d inside {Empty, Held}) passing_q <= 1'b0;
      if (state_q == Answer && rsp_valid_i) begin
        if (op_q == Malloc && ok) begin
          live_q <= 1'b1;
          pointer_q <= rsp_pointer_i;
        end else if (op_q == Free) begin
          live_q <= 1'b0;
          pointer_q <= '0;
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    op_q <= op_d;
    size_q <= size_d;
    if (state_q == Open) exact_q <= ended_q;
    if (state_q == Empty || state_q == Held) begin
      beats_q <= '0;
      ended_q <= 1'b0;
      full_q <= 1'b0;
    end
    if (take) begin
      if (!in_i.last) beats_q <= beats_q + 1'b1;
      ended_q <= in_i.last;
      tail_q <= in_i.bytes;
    end
    if (state_q == Answer && rsp_valid_i) begin
      why_q <= rsp_status_i;
      if (op_q == Malloc) given_q <= steps_t'(1);
      else if (op_q == Realloc && ok) given_q <= given_q + 1'b1;
      if (op_q == Realloc && !ok) full_q <= 1'b1;
    end
  end

  `GW_INVARIANT(ResponseToCommand_A, !rsp_valid_i || state_q == Answer)
  `GW_INVARIANT(FitsIntoMemory_A, !passing_q || at <= given_q)
  `GW_INVARIANT(PassesWithMemory_A, !passing_q || live_q)
  `GW_INVARIANT(ClearWhenQuiet_A, !clear_i || state_q inside {Empty, Held})
  `GW_ASSERT(CommandStable_A, cmd_valid_o && !cmd_ready_i && !clear_i |=> cmd_valid_o && $stable(cmd_o))
  `GW_COVER(GrowsAhead_C, grew_o && room)
  `GW_COVER(Starves_C, starved)
  `GW_COVER(EndsWhileItGrows_C, state_q == Answer && op_q == Realloc && !exact_q && ended_q)

endmodule
