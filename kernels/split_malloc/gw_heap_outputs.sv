// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Several outputs that take their memory from the card's heap, through one AXI4-Stream of commands and one of responses.
//
// Contract
// - Outputs are gw_heap_output's. Commands: round robin, one at a time, two cycles behind the output's. TDATA as docs/kernels.md says.
// - error_o: an output was refused; refusal_o: what the heap said to the first of a run, 0 as long as there is none.
// - grown_o: how often memory was given more in a run. clear_i begins one. Reset: nothing taken.
`include "gw_assert.svh"

module gw_heap_outputs
  import gw_kernel_pkg::*;
#(
  /// Outputs, 1 or more.
  parameter int unsigned NumOutputs = 3,
  /// As in gw_heap_output.
  parameter int unsigned StepBytes = 64 << 10
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,
  input  logic                          clear_i,
  input  logic                          abort_i,
  input  logic [3:0]                    granule_i,
  output logic [3:0]                    refusal_o,
  output logic [31:0]                   grown_o,
  output addr_t        [NumOutputs-1:0] pointer_o,

  /// Who fills them.
  input  logic         [NumOutputs-1:0] begin_valid_i,
  output logic         [NumOutputs-1:0] begin_ready_o,
  output logic         [NumOutputs-1:0] busy_o,
  output logic         [NumOutputs-1:0] error_o,
  input  logic         [NumOutputs-1:0] in_valid_i,
  output logic         [NumOutputs-1:0] in_ready_o,
  input  stream_beat_t [NumOutputs-1:0] in_i,

  /// Their writers.
  input  logic         [NumOutputs-1:0] writer_busy_i,
  output logic         [NumOutputs-1:0] addr_valid_o,
  input  logic         [NumOutputs-1:0] addr_ready_i,
  output addr_t        [NumOutputs-1:0] addr_o,
  output logic         [NumOutputs-1:0] out_valid_o,
  input  logic         [NumOutputs-1:0] out_ready_i,
  output stream_beat_t [NumOutputs-1:0] out_o,

  /// The heap.
  output logic                          cmd_tvalid_o,
  input  logic                          cmd_tready_i,
  output logic [191:0]                  cmd_tdata_o,
  input  logic                          rsp_tvalid_i,
  output logic                          rsp_tready_o,
  input  logic [127:0]                  rsp_tdata_i
);

  typedef logic [((NumOutputs > 1) ? $clog2(NumOutputs) : 1)-1:0] sel_t;

  logic [NumOutputs-1:0] cmd_valid, grant, rsp_valid, grew;
  logic [NumOutputs-1:0][2:0][63:0] cmd;
  logic [NumOutputs-1:0][3:0] refusal;
  logic any, idle, valid_q, waits_q;
  sel_t sel, owner_q;
  addr_t rsp_pointer;
  logic [63:0] rsp_status;

  assign {rsp_status, rsp_pointer} = rsp_tdata_i;

  for (genvar i = 0; i < NumOutputs; i++) begin : gen_output
    gw_heap_output #(
      .StepBytes(StepBytes)
    ) u_output (
      .clk_i,
      .rst_ni,
      .clear_i,
      .abort_i,
      .busy_o       (busy_o[i]),
      .refused_o    (error_o[i]),
      .refusal_o    (refusal[i]),
      .grew_o       (grew[i]),
      .pointer_o    (pointer_o[i]),
      .begin_valid_i(begin_valid_i[i]),
      .begin_ready_o(begin_ready_o[i]),
      .granule_i,
      .cmd_valid_o  (cmd_valid[i]),
      .cmd_ready_i  (grant[i] && idle),
      .cmd_o        (cmd[i]),
      .rsp_valid_i  (rsp_valid[i]),
      .rsp_pointer_i(rsp_pointer),
      .rsp_status_i (rsp_status[3:0]),
      .in_valid_i   (in_valid_i[i]),
      .in_ready_o   (in_ready_o[i]),
      .in_i         (in_i[i]),
      .writer_busy_i(writer_busy_i[i]),
      .addr_valid_o (addr_valid_o[i]),
      .addr_ready_i (addr_ready_i[i]),
      .addr_o       (addr_o[i]),
      .out_valid_o  (out_valid_o[i]),
      .out_ready_i  (out_ready_i[i]),
      .out_o        (out_o[i])
    );
    assign rsp_valid[i] = waits_q && rsp_tvalid_i && owner_q == sel_t'(i);
  end

  gw_rr_arbiter #(
    .NumReq(NumOutputs)
  ) u_arbiter (
    .clk_i,
    .rst_ni,
    .req_i  (cmd_valid),
    .gnt_o  (grant),
    .idx_o  (sel),
    .valid_o(any),
    .ready_i(idle)
  );

  assign idle = !valid_q && !waits_q;
  assign cmd_tvalid_o = valid_q;
  assign rsp_tready_o = waits_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= 1'b0;
      waits_q <= 1'b0;
      refusal_o <= '0;
      grown_o <= '0;
    end else begin
      if (any && idle) valid_q <= 1'b1;
      else if (cmd_tready_i) valid_q <= 1'b0;
      if (valid_q && cmd_tready_i) waits_q <= 1'b1;
      else if (rsp_tvalid_i) waits_q <= 1'b0;
      if (clear_i) begin
        refusal_o <= '0;
        grown_o <= '0;
      end else begin
        if (refusal_o == '0) begin
          for (int unsigned i = 0; i < NumOutputs; i++) if (error_o[i]) refusal_o <= refusal[i];
        end
        if (grew != '0) grown_o <= grown_o + 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (idle) begin
      cmd_tdata_o <= cmd[sel];
      owner_q <= sel;
    end
  end

  logic unused;
  assign unused = ^rsp_status[63:4];

  `GW_INVARIANT(ResponseIsWaitedFor_A, !rsp_tvalid_i || waits_q)
  `GW_ASSERT(CommandStable_A, cmd_tvalid_o && !cmd_tready_i |=> cmd_tvalid_o && $stable(cmd_tdata_o))
  `GW_COVER(SeveralAsk_C, idle && $countones(cmd_valid) > 1)

endmodule
