// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_cache_fills with two fills, against a count a fill of lines asked for and lines that came: bursts ask for the
// lines of a fill one after the other, the wanted ones first, around its row and across no row's end, a rest in pieces that do not run
// ahead; what comes lands as these lines in this order; a line is covered exactly while it is to come, and a page is busy until the last
// of it has landed. The link answers what was asked, each ID in order, otherwise whenever it likes.
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
  input logic       ask_row_i,
  input logic       ar_ready_i,
  input logic       r_valid_i,
  input logic       r_id_i,
  input logic       r_error_i,
  input logic       land_ready_i
);

  import gw_axi_pkg::*;

  localparam int unsigned RestLines = 5;

  logic past_valid_q = 1'b0;
  always_ff @(posedge clk_i) past_valid_q <= 1'b1;
  always_comb assume (rst_ni == past_valid_q);

  logic ready, covered, ar_valid, r_ready, land_valid, land_row, land_error;
  logic [1:0] busy;
  logic [5:0] land_line;
  axi_ax_t ar;
  axi_r_t r;

  // Data says whose line of which number it is; the rest of it stands for itself.
  logic [6:0] asked_q[2], came_q[2], landed_q[2];
  always_comb begin
    r = '0;
    r.id = 4'(r_id_i);
    r.resp = r_error_i ? RespSlvErr : RespOkay;
    r.data[7:0] = {r_id_i, came_q[r_id_i]};
  end
  logic [511:0] land_data;

  gw_cache_fills #(
    .Fills     (2),
    .RestLines (RestLines),
    .Pages     (2),
    .RowWidth  (1),
    .BlockWidth(3)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .req_i,
    .req_ready_o (ready),
    .req_row_i,
    .req_block_i,
    .req_first_i,
    .req_last_i,
    .req_rest_i,
    .look_line_i,
    .ask_row_i,
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

  logic [1:0] used_q, rest_q;
  logic [2:0] block_q[2];
  logic [5:0] first_q[2], wanted_q[2];
  logic put, put_idx, whose;
  logic [6:0] total[2];
  // A fill a row: rows tell them apart.
  assign put = req_i && ready;
  assign put_idx = req_row_i;
  assign whose = land_row;
  always_comb begin
    for (int unsigned i = 0; i < 2; i++) total[i] = rest_q[i] ? 7'd64 : 7'(wanted_q[i]) + 7'd1;
    if (req_i) assume (ready && req_last_i >= req_first_i && !used_q[req_row_i]);
    if (req_i) assume (req_block_i[0] == req_row_i);
  end

  // IDs by row, known from the first burst on.
  logic [1:0] id_q, known_q;
  logic ar_row, r_row;
  assign ar_row = ar.addr[12];
  assign r_row = (known_q[1] && id_q[1] == r_id_i) ? 1'b1 : 1'b0;
  always_comb begin
    if (r_valid_i) assume (known_q[r_row] && id_q[r_row] == r_id_i && came_q[r_id_i] < asked_q[r_row]);
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      used_q <= '0;
      known_q <= '0;
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
      if (ar_valid && ar_ready_i) begin
        asked_q[ar_row] <= asked_q[ar_row] + 7'(ar.len) + 7'd1;
        if (!known_q[ar_row]) begin
          known_q[ar_row] <= 1'b1;
          id_q[ar_row] <= ar.id[0];
          came_q[ar.id[0]] <= '0;
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
  logic [7:0] taken_data_q;
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
        if (asked_q[ar_row] == '0) WantedFirst_A : assert (ar.len[6:0] == 7'(wanted_q[ar_row]));
        if (asked_q[ar_row] != '0) begin
          Piece_A : assert (ar.len < 8'(RestLines));
          Ahead_A : assert (asked_q[ar_row] - came_q[id_q[ar_row]] <= 7'(RestLines));
        end
        if (known_q[ar_row]) OneId_A : assert (ar.id == 4'(id_q[ar_row]));
      end
      if (land_valid) begin
        Lands_A : assert (used_q[whose] && land_line == first_q[whose] + 6'(landed_q[whose]));
      end
      if (taken_q) Data_A : assert (land_data[7:0] == taken_data_q);
      Busy_A : assert (busy == used_q);
      // What was said to be covered is still to land, what has landed is not.
      if (covered) Covered_A : assert (used_q[ask_row_i] && 7'(6'(ask_line_q - first_q[ask_row_i])) < total[ask_row_i]
                                       && 7'(6'(ask_line_q - first_q[ask_row_i])) >= landed_q[ask_row_i]);
      if (used_q[ask_row_i] && 7'(6'(ask_line_q - first_q[ask_row_i])) < total[ask_row_i]
          && 7'(6'(ask_line_q - first_q[ask_row_i])) > landed_q[ask_row_i] + 7'd1) Told_A : assert (covered);
      Around_C : cover (ar_valid && ar.addr[11:6] == '0 && asked_q[ar_row] > 7'd1);
      Both_C : cover (land_valid && land_ready_i && used_q == '1 && landed_q[whose] + 7'd1 == total[whose]);
    end
  end

  logic unused;
  assign unused = land_error;

endmodule
