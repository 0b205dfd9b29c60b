// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_axi_id_table: bursts of one long ID that are in flight together have one short ID, bursts of two long IDs never the same;
// an answer gets back the long ID of its burst; a long ID is taken whenever it is known and has room, or a short one is free.
module fv_axi_id_table #(
  parameter int unsigned InIdWidth = 2,
  parameter int unsigned OutIdWidth = 1,
  parameter int unsigned Bursts = 2,
  localparam int unsigned Shorts = 2 ** OutIdWidth,
  localparam int unsigned Longs = 2 ** InIdWidth
) (
  input logic                  clk_i,
  input logic                  rst_ni,
  input logic                  take_i,
  input logic [InIdWidth-1:0]  in_id_i,
  input logic                  done_i,
  input logic [OutIdWidth-1:0] done_id_i
);

  typedef logic [$clog2(Bursts + 1)-1:0] count_t;

  logic past_valid_q = 1'b0;
  always_ff @(posedge clk_i) past_valid_q <= 1'b1;
  always_comb assume (rst_ni == past_valid_q);

  logic ready;
  logic [OutIdWidth-1:0] out_id;
  logic [InIdWidth-1:0] done_id;

  gw_axi_id_table #(
    .InIdWidth (InIdWidth),
    .OutIdWidth(OutIdWidth),
    .Bursts    (Bursts)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .take_i,
    .ready_o  (ready),
    .in_id_i,
    .out_id_o (out_id),
    .done_i,
    .done_id_i,
    .done_id_o(done_id)
  );

  // Bursts in flight by long and by short ID, and whose a short one is.
  count_t [Longs-1:0] long_q;
  count_t [Shorts-1:0] short_q;
  logic [Shorts-1:0][InIdWidth-1:0] owner_q;
  logic [Longs-1:0][OutIdWidth-1:0] as_q;
  logic [Shorts-1:0] idle;

  // What the contract asks of the user.
  always_comb begin
    if (!ready) assume (!take_i);
    if (short_q[done_id_i] == '0) assume (!done_i);
  end

  for (genvar i = 0; i < Shorts; i++) begin : gen_idle
    assign idle[i] = short_q[i] == '0;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      long_q <= '0;
      short_q <= '0;
    end else begin
      for (int unsigned i = 0; i < Longs; i++) begin
        long_q[i] <= long_q[i] + count_t'(take_i && in_id_i == InIdWidth'(i)) -
                     count_t'(done_i && owner_q[done_id_i] == InIdWidth'(i));
      end
      for (int unsigned i = 0; i < Shorts; i++) begin
        short_q[i] <= short_q[i] + count_t'(take_i && out_id == OutIdWidth'(i)) -
                      count_t'(done_i && done_id_i == OutIdWidth'(i));
      end
      if (take_i) begin
        owner_q[out_id] <= in_id_i;
        as_q[in_id_i] <= out_id;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      if (take_i && long_q[in_id_i] != '0) OneShortId_A : assert (out_id == as_q[in_id_i]);
      if (take_i && long_q[in_id_i] == '0) NobodysElse_A : assert (idle[out_id]);
      if (done_i) Back_A : assert (done_id == owner_q[done_id_i]);
      Ready_A : assert (ready == (long_q[in_id_i] != '0 ? long_q[in_id_i] != count_t'(Bursts) : idle != '0));
      AllInUse_C : cover (!ready && long_q[in_id_i] == '0 && done_i);
      FullId_C : cover (!ready && long_q[in_id_i] != '0 && idle != '0);
    end
  end

endmodule
