// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// heap_list: builds a linked list of blocks that it allocates, reads it back, and frees it, as an example of a kernel that the host gives
// nothing: it asks the card's heap on two AXI4-Streams, as hls::stream makes of the structs of godwit_heap.hpp.
//
//   malloc, (realloc,) write {next, value} at the block's beginning: count times; then from the head on: read, add up, free
//
// A block holds the address of the one before it, 0 in the first, and its number. What the heap refuses ends the run; blocks of before
// stay until their context ends. One command and one burst at a time.
module heap_list
  import heap_list_args_pkg::*;
  import gw_kernel_pkg::*;
#(
  `include "gw_hls_params.svh"
) (
  output logic         heap_command_TVALID,
  input  logic         heap_command_TREADY,
  output logic [191:0] heap_command_TDATA,
  input  logic         heap_response_TVALID,
  output logic         heap_response_TREADY,
  input  logic [127:0] heap_response_TDATA,
  `include "gw_hls_ports.svh"
);

  `include "gw_hls_connect.svh"

  typedef enum logic [1:0] {
    Malloc  = 2'd0,
    Realloc = 2'd1,
    Free    = 2'd2
  } op_e;
  typedef enum logic [3:0] {Idle, Next, Command, Response, Write, Written, Read, Data, Done} state_e;
  state_e state_q;
  op_e op_q;
  logic [31:0] left_q, number_q, keep_q, cycles_q, status_q;
  logic [2:0][31:0] longest_q;
  logic [63:0] bytes_q, grown_q, head_q, block_q, follows_q, sum_q;
  logic [5:0] how_q;
  logic reading_q, aw_done_q, w_done_q;

  // ---- The heap
  logic [63:0] answer, refusal;
  assign heap_command_TVALID = state_q == Command;
  assign heap_command_TDATA = {
    56'd0, op_q == Malloc ? how_q : 6'd0, op_q, op_q == Malloc ? bytes_q : grown_q, block_q
  };
  assign heap_response_TREADY = state_q == Response;
  assign {refusal, answer} = heap_response_TDATA;

  // ---- Memory: one beat, of which 16 bytes are ours
  assign ar_valid = state_q == Read;
  assign ar = '{addr: block_q, id: '0, len: '0};
  assign aw_valid = state_q == Write && !aw_done_q;
  assign aw = '{addr: block_q, id: '0, len: '0};
  assign w_valid = state_q == Write && !w_done_q;
  assign w = '{data: 512'({32'd0, number_q, head_q}), strb: 64'hffff, last: 1'b1};

  assign done = state_q == Done;
  always_comb begin
    results = '0;
    results[word(HeadOffset)+:2] = (keep_q != '0) ? head_q : '0;
    results[word(SumOffset)+:2] = sum_q;
    results[word(MallocCyclesOffset)] = longest_q[Malloc];
    results[word(ReallocCyclesOffset)] = longest_q[Realloc];
    results[word(FreeCyclesOffset)] = longest_q[Free];
    results[word(StatusOffset)] = status_q;
  end

  always_ff @(posedge ap_clk or negedge ap_rst_n) begin
    if (!ap_rst_n) begin
      state_q <= Idle;
    end else begin
      unique case (state_q)
        Idle: if (start) state_q <= Next;
        // What is next: a block more, the next one to be read, or the end.
        Next: state_q <= (status_q != '0) ? Done : !reading_q ? (left_q != '0 ? Command : Next) : (block_q != '0) ? Read : Done;
        Command: if (heap_command_TREADY) state_q <= Response;
        Response: begin
          if (heap_response_TVALID) begin
            if (refusal != '0 || op_q == Free) state_q <= Next;
            else state_q <= (op_q == Malloc && grown_q != '0) ? Command : Write;
          end
        end
        Write: if ((aw_done_q || aw_ready) && (w_done_q || w_ready)) state_q <= Written;
        Written: if (b_valid) state_q <= Next;
        Read: if (ar_ready) state_q <= Data;
        Data: if (r_valid) state_q <= (keep_q != '0 || r.error) ? Next : Command;
        default: state_q <= Idle;
      endcase
    end
  end

  always_ff @(posedge ap_clk) begin
    cycles_q <= (state_q == Command && heap_command_TREADY) ? 32'd1 : cycles_q + 1'b1;
    unique case (state_q)
      Idle: begin
        left_q <= args[word(CountOffset)];
        bytes_q <= args[word(BytesOffset)+:2];
        how_q <= args[word(HowOffset)][7:2] | 6'd1;  // writable
        keep_q <= args[word(KeepOffset)];
        grown_q <= args[word(GrownOffset)+:2];
        op_q <= Malloc;
        if (start) {number_q, head_q, block_q, sum_q, longest_q, status_q, reading_q} <= '0;
      end
      Next: begin
        {aw_done_q, w_done_q} <= '0;
        if (!reading_q && left_q == '0) begin
          reading_q <= 1'b1;
          block_q <= head_q;
        end
        if (!reading_q) op_q <= Malloc;
        number_q <= number_q + 32'(!reading_q && left_q != '0);
        left_q <= left_q - 32'(!reading_q && left_q != '0);
      end
      Response: begin
        if (heap_response_TVALID) begin
          if (cycles_q > longest_q[op_q]) longest_q[op_q] <= cycles_q;
          if (refusal != '0) status_q <= 32'd16 + 32'(refusal);
          if (op_q == Malloc) {op_q, block_q} <= {Realloc, answer};
          if (op_q == Free) block_q <= follows_q;
        end
      end
      Write: begin
        if (aw_ready) aw_done_q <= 1'b1;
        if (w_ready) w_done_q <= 1'b1;
      end
      Written: begin
        if (b_valid) begin
          head_q <= block_q;
          if (b.error) status_q <= 32'd2;
        end
      end
      Data: begin
        if (r_valid) begin
          follows_q <= r.data[63:0];
          sum_q <= sum_q + r.data[127:64];
          op_q <= Free;
          if (keep_q != '0) block_q <= r.data[63:0];
          if (r.error) status_q <= 32'd1;
        end
      end
      default: ;
    endcase
  end

  logic unused;
  assign unused = ^{r.id, r.last, b.id, how_q};

endmodule
