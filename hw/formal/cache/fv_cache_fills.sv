// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_cache_fills with two fills and a page ahead, against a count a fill of lines asked for and lines that came: bursts ask for the
// lines of a fill one after the other, the wanted ones first, around its row and across no row's end, a rest in pieces that do not run
// ahead; what comes lands as these lines in this order; a line is covered exactly while it is to come, and a page is busy until the last
// of it has landed; of a page ahead that nobody has met only what was asked for is covered. The link answers what was asked, each ID in
// order, otherwise whenever it likes.
module fv_cache_fills (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       req_i,
  input logic       req_row_i,
  input logic [2:0] req_block_i,
  input logic [5:0] req_first_i,
  input logic [5:0] req_last_i,
  input logic       req_rest_i,
  input logic [5:0] look_line_i,
  input logic [1:0] ask_row_i,
  input logic       ask_here_i,
  input logic       ahead_i,
  input logic       met_i,
  input logic [1:0] met_row_i,
  input logic       stop_i,
  input logic       ar_ready_i,
  input logic       r_valid_i,
  input logic [1:0] r_id_i,
  input logic       r_error_i,
  input logic       land_ready_i
);

  import gw_axi_pkg::*;

  localparam int unsigned RestLines = 5;
  // Its row: the other fills have those before it.
  localparam logic [1:0] Ahead = 2'd2;

  logic past_valid_q = 1'b0;
  always_ff @(posedge clk_i) past_valid_q <= 1'b1;
  always_comb assume (rst_ni == past_valid_q);

  logic ready, ahead_ready, covered, ar_valid, r_ready, land_valid, land_error;
  logic [1:0] land_row;
  logic [3:0] busy;
  logic [5:0] land_line;
  axi_ax_t ar;
  axi_r_t r;

  // Data says whose line of which number it is; the rest of it stands for itself.
  logic [6:0] asked_q[3], came_q[3], landed_q[3];
  always_comb begin
    r = '0;
    r.id = 4'(r_id_i);
    r.resp = r_error_i ? RespSlvErr : RespOkay;
    r.data[8:0] = {r_id_i, came_q[r_id_i]};
  end
  logic [511:0] land_data;

  gw_cache_fills #(
    .Fills     (2),
    .Ahead     (1),
    .RestLines (RestLines),
    .Pages     (4),
    .RowWidth  (2),
    .BlockWidth(3)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .req_i,
    .req_ready_o (ready),
    .req_row_i   ({1'b0, req_row_i}),
    .req_block_i,
    .req_first_i,
    .req_last_i,
    .req_rest_i,
    .ahead_i,
    .ahead_ready_o(ahead_ready),
    .ahead_row_i (Ahead),
    .ahead_block_i({req_block_i[2], Ahead}),
    .met_i,
    .met_row_i,
    .stop_i,
    .look_line_i,
    .ask_row_i,
    .ask_here_i,
    .covered_o   (covered),
    .busy_o      (busy),
    .ar_valid_o  (ar_valid),
    .ar_ready_i,
    .ar_o        (ar),
    .r_valid_i,
    .r_ready_o   (r_ready),
    .r_i         (r),
    .land_valid_o(land_valid),
    .land_ready_i,
    .land_row_o  (land_row),
    .land_line_o (land_line),
    .land_error_o(land_error),
    .land_data_o (land_data)
  );

  logic [2:0] used_q, rest_q;
  logic [2:0] block_q[3];
  logic [5:0] first_q[3], wanted_q[3];
  logic put, begun_q, low_q, sooner_q, stopped_q;
  logic [1:0] put_idx, whose;
  logic [6:0] total[3];
  // A fill a row: rows tell them apart.
  assign put = req_i && ready;
  assign put_idx = {1'b0, req_row_i};
  assign whose = land_row;
  always_comb begin
    for (int unsigned i = 0; i < 3; i++) total[i] = rest_q[i] ? 7'd64 : 7'(wanted_q[i]) + 7'd1;
    if (req_i) assume (ready && req_last_i >= req_first_i && !used_q[req_row_i]);
    if (req_i) assume (req_block_i[1:0] == {1'b0, req_row_i});
    if (ahead_i) assume (ahead_ready && !used_q[Ahead]);
    assume (ask_row_i != 2'd3);
    // No lookup of the cycle in which it was put has found it.
    if (begun_q) assume (ask_row_i != Ahead);
    if (req_i && ask_here_i) assume (ask_row_i == {1'b0, req_row_i});
  end

  // IDs by row, known from the first burst on.
  logic [2:0] known_q;
  logic [1:0] id_q[3];
  logic [1:0] ar_row, r_row;
  assign ar_row = ar.addr[13:12];
  assign r_row = (known_q[2] && id_q[2] == r_id_i) ? 2'd2 : (known_q[1] && id_q[1] == r_id_i) ? 2'd1 : 2'd0;
  always_comb begin
    assume (r_id_i != 2'd3);
    if (r_valid_i) assume (known_q[r_row] && id_q[r_row] == r_id_i && came_q[r_id_i] < asked_q[r_row]);
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      used_q <= '0;
      known_q <= '0;
      begun_q <= 1'b0;
      low_q <= 1'b0;
      sooner_q <= 1'b0;
      stopped_q <= 1'b0;
    end else begin
      if (put) begin
        used_q[put_idx] <= 1'b1;
        known_q[put_idx] <= 1'b0;
        rest_q[put_idx] <= req_rest_i;
        block_q[put_idx] <= req_block_i;
        first_q[put_idx] <= req_first_i;
        wanted_q[put_idx] <= req_last_i - req_first_i;
        asked_q[put_idx] <= '0;
        landed_q[put_idx] <= '0;
      end
      if (ahead_i) begin
        used_q[Ahead] <= 1'b1;
        known_q[Ahead] <= 1'b0;
        rest_q[Ahead] <= 1'b1;
        block_q[Ahead] <= {req_block_i[2], Ahead};
        first_q[Ahead] <= '0;
        asked_q[Ahead] <= '0;
        landed_q[Ahead] <= '0;
      end
      // It may have been cut short: then it ends with what was asked for.
      stopped_q <= !ahead_i && (stopped_q || (stop_i && low_q));
      if (!ahead_i && stopped_q && !busy[Ahead]) begin
        used_q[Ahead] <= 1'b0;
        known_q[Ahead] <= 1'b0;
      end
      low_q <= ahead_i || (low_q && !(met_i && met_row_i == Ahead));
      sooner_q <= low_q;
      begun_q <= ahead_i;
      if (ar_valid && ar_ready_i) begin
        asked_q[ar_row] <= asked_q[ar_row] + 7'(ar.len) + 7'd1;
        if (!known_q[ar_row]) begin
          known_q[ar_row] <= 1'b1;
          id_q[ar_row] <= ar.id[1:0];
          came_q[ar.id[1:0]] <= '0;
        end
      end
      if (r_valid_i && r_ready) came_q[r_id_i] <= came_q[r_id_i] + 7'd1;
      if (land_valid && land_ready_i) begin
        landed_q[whose] <= landed_q[whose] + 7'd1;
        if (landed_q[whose] + 7'd1 == total[whose]) begin
          used_q[whose] <= 1'b0;
          known_q[whose] <= 1'b0;
        end
      end
    end
  end

  // The line asked for came a cycle before its row. Data comes in the cycle after its line was taken.
  logic [5:0] ask_line_q;
  always_ff @(posedge clk_i) ask_line_q <= look_line_i;
  logic taken_q;
  logic [8:0] taken_data_q;
  always_ff @(posedge clk_i) begin
    taken_q <= rst_ni && land_valid && land_ready_i;
    taken_data_q <= {id_q[whose], landed_q[whose]};
  end

  logic [5:0] next_line;
  assign next_line = first_q[ar_row] + 6'(asked_q[ar_row]);
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      if (ar_valid) begin
        Asked_A : assert (used_q[ar_row] && ar.addr[63:12] == 52'(block_q[ar_row]) && ar.addr[11:6] == next_line);
        InRow_A : assert (7'(next_line) + ar.len[6:0] <= 7'd63 && ar.len[7] == 1'b0);
        NotMore_A : assert (asked_q[ar_row] + ar.len[6:0] + 7'd1 <= total[ar_row]);
        if (asked_q[ar_row] == '0 && ar_row != Ahead) WantedFirst_A : assert (ar.len[6:0] == 7'(wanted_q[ar_row]));
        if (asked_q[ar_row] != '0 || ar_row == Ahead) begin
          Piece_A : assert (ar.len < 8'(RestLines));
          if (known_q[ar_row]) Ahead_A : assert (asked_q[ar_row] - came_q[id_q[ar_row]] <= 7'(RestLines));
        end
        if (known_q[ar_row]) OneId_A : assert (ar.id == 4'(id_q[ar_row]));
      end
      if (land_valid) begin
        Lands_A : assert (used_q[whose] && land_line == first_q[whose] + 6'(landed_q[whose]));
      end
      if (taken_q) Data_A : assert (land_data[8:0] == taken_data_q);
      Busy_A : assert (busy[1:0] == used_q[1:0] && !busy[3]);
      BusyAhead_A : assert (busy[Ahead] == !ahead_ready && (busy[Ahead] == used_q[Ahead] || (stopped_q && used_q[Ahead])));
      // It does not end before what was asked for has landed.
      if (used_q[Ahead] && !busy[Ahead]) CutEnds_A : assert (landed_q[Ahead] == asked_q[Ahead] && !(ar_valid && ar_row == Ahead));
      // What was said to be covered is still to land, what has landed is not.
      if (covered) Covered_A : assert (used_q[ask_row_i] && 7'(6'(ask_line_q - first_q[ask_row_i])) < total[ask_row_i]
                                       && 7'(6'(ask_line_q - first_q[ask_row_i])) >= landed_q[ask_row_i]);
      if (used_q[ask_row_i] && 7'(6'(ask_line_q - first_q[ask_row_i])) < total[ask_row_i]
          && 7'(6'(ask_line_q - first_q[ask_row_i])) > landed_q[ask_row_i] + 7'd1 && ask_row_i != Ahead) Told_A : assert (covered);
      // Of a page that nobody has met: what was asked for, or is being.
      if (covered && ask_row_i == Ahead && sooner_q) begin
        AskedOnly_A : assert (7'(ask_line_q) < asked_q[Ahead] + ((ar_valid && ar_row == Ahead) ? ar.len[6:0] + 7'd1 : 7'd0));
      end
      Cut_C : cover (used_q[Ahead] && !busy[Ahead] && asked_q[Ahead] != '0);
      Low_C : cover (ar_valid && ar_row == Ahead && low_q && asked_q[Ahead] != '0);
      Met_C : cover (ar_valid && ar_row == Ahead && !low_q && used_q == '1);
      Around_C : cover (ar_valid && ar.addr[11:6] == '0 && asked_q[ar_row] > 7'd1);
      Both_C : cover (land_valid && land_ready_i && used_q[1:0] == '1 && landed_q[whose] + 7'd1 == total[whose]);
    end
  end

  logic unused;
  assign unused = land_error;

endmodule
