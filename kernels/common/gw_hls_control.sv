// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Control block of a kernel as Vitis HLS makes it: AXI4-Lite slave, start and done, interrupts, arguments, results.
//
// Contract
// - Registers: 0x00 ap_ctrl (bit 0 start, 1 done, 2 idle, 3 ready, 7 auto-restart), 0x04 global interrupt enable, 0x08
//   interrupt enable (bit 0 done, 1 ready), 0x0c interrupt status (write 1 to toggle), words from 0x10 on. Everything
//   else reads 0 and ignores writes; every answer is OKAY.
// - start: writing 1 sets it, writing 0 does nothing; it reads 1 until the kernel is done, then becomes auto-restart.
//   done and ready: set when the kernel is done, cleared by reading ap_ctrl; a read in that very cycle leaves them set.
// - start_o is high for one cycle, one cycle after the start bit is set while no run is going on; done_i ends the run.
// - Arguments are what the host wrote last: a kernel keeps what it needs in the cycle of start_o. Results are taken in the
//   cycle of done_i and stay until the next.
// - Latency: write answer one cycle after the later of address and data; read data one cycle after the address. One
//   write and one read at a time. The arguments' write strobes count by byte.
// - Reset: idle, arguments and results zero, interrupts off.
`include "gw_assert.svh"

module gw_hls_control #(
  /// 32-bit words from 0x10 on, >= 1.
  parameter int unsigned NumWords = 4,
  /// Words the host writes.
  parameter logic [NumWords-1:0] ArgWords = '1,
  /// Words the kernel writes and the host reads.
  parameter logic [NumWords-1:0] ResultWords = '0,
  /// Address bits.
  parameter int unsigned AddrWidth = 12
) (
  input  logic clk_i,
  input  logic rst_ni,

  input  logic                 aw_valid_i,
  output logic                 aw_ready_o,
  input  logic [AddrWidth-1:0] aw_addr_i,
  input  logic                 w_valid_i,
  output logic                 w_ready_o,
  input  logic [31:0]          w_data_i,
  input  logic [3:0]           w_strb_i,
  output logic                 b_valid_o,
  input  logic                 b_ready_i,
  input  logic                 ar_valid_i,
  output logic                 ar_ready_o,
  input  logic [AddrWidth-1:0] ar_addr_i,
  output logic                 r_valid_o,
  input  logic                 r_ready_i,
  output logic [31:0]          r_data_o,

  output logic interrupt_o,

  /// Begin a run: one cycle.
  output logic                      start_o,
  /// The run is over: one cycle, and only during a run.
  input  logic                      done_i,
  /// Arguments; words that are none are zero.
  output logic [NumWords-1:0][31:0] args_o,
  /// Results; words that are none are ignored.
  input  logic [NumWords-1:0][31:0] results_i
);

  localparam int unsigned IdxWidth = AddrWidth - 2;
  typedef logic [IdxWidth-1:0] idx_t;  // word index in the register space
  localparam idx_t ApCtrl = idx_t'(0);
  localparam idx_t GlobalIrqEnable = idx_t'(1);
  localparam idx_t IrqEnable = idx_t'(2);
  localparam idx_t IrqStatus = idx_t'(3);
  localparam int unsigned FirstWord = 4;

  if (NumWords < 1 || AddrWidth < 5 || FirstWord + NumWords > 2 ** IdxWidth) begin : gen_bad_words
    $fatal(1, "gw_hls_control: %0d words do not fit in %0d address bits", NumWords, AddrWidth);
  end
  if ((ArgWords & ResultWords) != '0) begin : gen_bad_masks
    $fatal(1, "gw_hls_control: a word is either an argument or a result");
  end

  // ---- Write channel: address and data are joined; both are taken in the same cycle.
  logic write;
  idx_t write_idx;
  logic b_valid_q;

  assign write = aw_valid_i && w_valid_i && !b_valid_q;
  assign write_idx = aw_addr_i[AddrWidth-1:2];
  assign aw_ready_o = write;
  assign w_ready_o = write;
  assign b_valid_o = b_valid_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) b_valid_q <= 1'b0;
    else if (write) b_valid_q <= 1'b1;
    else if (b_ready_i) b_valid_q <= 1'b0;
  end

  // ---- Run state, interrupts
  logic start_q, running_q, done_q, ready_q, auto_restart_q;
  logic global_enable_q;
  logic [1:0] enable_q, irq_q;  // bit 0 done, bit 1 ready
  logic write_ctrl, read_ctrl;

  assign write_ctrl = write && write_idx == ApCtrl && w_strb_i[0];
  assign start_o = start_q && !running_q;
  assign interrupt_o = global_enable_q && irq_q != '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      start_q <= 1'b0;
      running_q <= 1'b0;
      done_q <= 1'b0;
      ready_q <= 1'b0;
      auto_restart_q <= 1'b0;
      global_enable_q <= 1'b0;
      enable_q <= '0;
      irq_q <= '0;
    end else begin
      if (write_ctrl && w_data_i[0]) start_q <= 1'b1;
      else if (done_i) start_q <= auto_restart_q;

      if (start_o) running_q <= 1'b1;
      else if (done_i) running_q <= 1'b0;

      if (done_i) begin
        done_q <= 1'b1;
        ready_q <= 1'b1;
      end else if (read_ctrl) begin
        done_q <= 1'b0;
        ready_q <= 1'b0;
      end

      if (write_ctrl) auto_restart_q <= w_data_i[7];
      if (write && write_idx == GlobalIrqEnable && w_strb_i[0]) global_enable_q <= w_data_i[0];
      if (write && write_idx == IrqEnable && w_strb_i[0]) enable_q <= w_data_i[1:0];
      // An event wins over a toggle of the same cycle: no interrupt is lost.
      irq_q <= (irq_q ^ (write && write_idx == IrqStatus && w_strb_i[0] ? w_data_i[1:0] : 2'b00))
               | (enable_q & {2{done_i}});
    end
  end

  // ---- Arguments and results
  logic [NumWords-1:0][31:0] words;

  for (genvar i = 0; i < int'(NumWords); i++) begin : gen_word
    if (ArgWords[i]) begin : gen_arg
      logic [31:0] arg_q;
      always_ff @(posedge clk_i or negedge rst_ni) begin
        if (!rst_ni) arg_q <= '0;
        else if (write && write_idx == idx_t'(FirstWord + i)) begin
          for (int b = 0; b < 4; b++) if (w_strb_i[b]) arg_q[8*b+:8] <= w_data_i[8*b+:8];
        end
      end
      assign words[i] = arg_q;
      assign args_o[i] = arg_q;
    end else if (ResultWords[i]) begin : gen_result
      logic [31:0] result_q;
      always_ff @(posedge clk_i or negedge rst_ni) begin
        if (!rst_ni) result_q <= '0;
        else if (done_i) result_q <= results_i[i];
      end
      assign words[i] = result_q;
      assign args_o[i] = '0;
    end else begin : gen_reserved
      assign words[i] = '0;
      assign args_o[i] = '0;
    end
  end

  // ---- Read channel
  logic r_valid_q;
  logic [31:0] r_data_d, r_data_q;
  idx_t read_idx;

  assign ar_ready_o = !r_valid_q;
  assign read_idx = ar_addr_i[AddrWidth-1:2];
  assign read_ctrl = ar_valid_i && ar_ready_o && read_idx == ApCtrl;
  assign r_valid_o = r_valid_q;
  assign r_data_o = r_data_q;

  always_comb begin
    r_data_d = '0;
    unique case (read_idx)
      ApCtrl: begin
        r_data_d[0] = start_q;
        r_data_d[1] = done_q;
        r_data_d[2] = !start_q && !running_q;
        r_data_d[3] = ready_q;
        r_data_d[7] = auto_restart_q;
      end
      GlobalIrqEnable: r_data_d[0] = global_enable_q;
      IrqEnable: r_data_d[1:0] = enable_q;
      IrqStatus: r_data_d[1:0] = irq_q;
      default: begin
        for (int unsigned i = 0; i < NumWords; i++) begin
          if (read_idx == idx_t'(FirstWord + i)) r_data_d = words[i];
        end
      end
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      r_valid_q <= 1'b0;
      r_data_q <= '0;
    end else if (ar_valid_i && ar_ready_o) begin
      r_valid_q <= 1'b1;
      r_data_q <= r_data_d;
    end else if (r_ready_i) begin
      r_valid_q <= 1'b0;
    end
  end

  // Byte addresses are rounded down, and not every word is a result.
  logic unused;
  assign unused = ^{aw_addr_i[1:0], ar_addr_i[1:0], results_i};

  `GW_INVARIANT(DoneOnlyInRun_A, !done_i || running_q)
  `GW_ASSERT(StartIsPulse_A, start_o |=> !start_o)
  `GW_ASSERT(ReadStable_A, r_valid_o && !r_ready_i |=> r_valid_o && $stable(r_data_o))
  `GW_COVER(DoneWhileRead_C, done_i && read_ctrl)
  `GW_COVER(StartWhileDone_C, done_i && write_ctrl && w_data_i[0])

endmodule
