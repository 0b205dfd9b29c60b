// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// What the page cache holds: the lines' data, which of them are valid and dirty, and the cycle in which one is written.
//
//   decided: a store, or a line that lands ─> register ─> valid and dirty bits, bytes of the data
//
// Contract
// - What is decided in cycle t, a store (`store_i`) or a landing (`land_i`), is written in t+1, from registers: nothing that is slow to
//   know reaches the memories' enables. A line that becomes valid by it counts as landing in t+1 (`look_landing_o`), as one does that is offered to land, and
//   as valid from t+2 on, when its data is in the memory. A read of the data in t or t+1 gives anything, and is told of in the cycle after (`look_clash_o`).
// - `land_ready_o`: no store is being decided. Data of a store and of a landing are there in the cycle after.
// - A store whose line is not here yet (`put_i`) is written all the same, and the line stays invalid; when it lands it leaves these bytes alone.
//   A line that lands on a valid one is older, and changes nothing.
// - Jobs have the row when nothing is written.
module gw_cache_store #(
  /// Pages of the cache, and rows of 64 lines in all, powers of two.
  parameter int unsigned Rows = 16,
  /// Lines with stores that wait, and bursts of stores.
  parameter int unsigned Merges = 4,
  parameter int unsigned Writes = 8,
  /// Derived.
  localparam int unsigned RowWidth = $clog2(Rows),
  localparam int unsigned WriteWidth = $clog2(Writes)
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  output logic                  ready_o,
  /// The line that is decided.
  input  logic [RowWidth-1:0]   look_row_i,
  input  logic [5:0]            look_line_i,
  output logic                  look_valid_o,
  output logic                  look_clash_o,
  output logic                  look_landing_o,
  output logic                  look_merge_o,
  /// A store is decided: it is stored, or put to wait.
  input  logic                  try_i,
  input  logic                  store_i,
  input  logic                  put_i,
  input  logic [WriteWidth-1:0] slot_i,
  /// ... and, a cycle later, its bytes.
  input  logic [63:0]           strb_i,
  input  logic [511:0]          data_i,
  /// A line from the link, and a cycle later its data.
  input  logic                  land_valid_i,
  output logic                  land_ready_o,
  input  logic [RowWidth-1:0]   land_row_i,
  input  logic [5:0]            land_line_i,
  input  logic                  land_error_i,
  input  logic [511:0]          land_data_i,
  /// It has stores that waited for it. Bursts with such, and those of which one failed.
  output logic                  land_merges_o,
  output logic [Writes-1:0]     pending_o,
  output logic [Writes-1:0]     failed_o,
  /// Jobs' rows.
  input  logic                  job_valid_i,
  output logic                  job_ready_o,
  input  logic [RowWidth-1:0]   job_row_i,
  input  logic [63:0]           job_clean_i,
  input  logic [63:0]           job_drop_i,
  output logic [63:0]           job_dirty_o,
  output logic [63:0]           job_left_o,
  /// A line that is read to be written to the host is written now.
  input  logic [RowWidth+5:0]   job_addr_i,
  output logic                  job_clash_o,
  /// Data.
  input  logic                  read_i,
  input  logic [RowWidth+5:0]   read_addr_i,
  output logic [511:0]          read_data_o
);

  typedef logic [RowWidth+5:0] place_t;

  // What is written.
  logic write_q, land_q, set_q, dirty_q, old, same, land, merges;
  place_t look, place_q, before_q;
  logic before_valid_q;
  logic [63:0] stored;

  assign look = {look_row_i, look_line_i};
  assign land_ready_o = !try_i && ready_o;
  assign land = land_valid_i && land_ready_o;
  assign land_merges_o = land && merges;
  assign look_landing_o = (land_valid_i && {land_row_i, land_line_i} == look) || (same && set_q);
  assign job_clash_o = write_q && place_q == job_addr_i;
  assign look_clash_o = same || (before_valid_q && before_q == look);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      write_q <= 1'b0;
      before_valid_q <= 1'b0;
    end else begin
      write_q <= store_i || put_i || land;
      before_valid_q <= write_q;
    end
  end
  always_ff @(posedge clk_i) begin
    land_q <= !try_i;
    set_q <= try_i ? !put_i : !land_error_i;
    dirty_q <= try_i || merges;
    place_q <= try_i ? look : {land_row_i, land_line_i};
    before_q <= place_q;
  end

  gw_cache_lines #(
    .Rows(Rows)
  ) u_lines (
    .clk_i,
    .rst_ni,
    .ready_o,
    .look_row_i,
    .look_line_i,
    .look_valid_o,
    .look_same_o  (same),
    .write_i      (write_q),
    .write_row_i  (place_q[RowWidth+5:6]),
    .write_line_i (place_q[5:0]),
    .write_land_i (land_q),
    .write_set_i  (set_q),
    .write_dirty_i(dirty_q),
    .write_old_o  (old),
    .job_valid_i,
    .job_ready_o,
    .job_row_i,
    .job_clean_i,
    .job_drop_i,
    .job_dirty_o,
    .job_left_o
  );

  gw_cache_merge #(
    .Entries (Merges),
    .Slots   (Writes),
    .RowWidth(RowWidth)
  ) u_merge (
    .clk_i,
    .rst_ni,
    .ask_row_i   (look_row_i),
    .ask_line_i  (look_line_i),
    .ask_ready_o (look_merge_o),
    .put_i,
    .put_slot_i  (slot_i),
    .land_i      (land),
    .land_error_i,
    .land_row_i,
    .land_line_i,
    .land_any_o  (merges),
    .strb_i,
    .strb_o      (stored),
    .pending_o,
    .failed_o
  );

  gw_cache_data #(
    .Lines(2 ** (RowWidth + 6))
  ) u_data (
    .clk_i,
    .we_i   (write_q && !(land_q && (old || !set_q))),
    .waddr_i(place_q),
    .wstrb_i(land_q ? ~stored : strb_i),
    .wdata_i(land_q ? land_data_i : data_i),
    .re_i   (read_i),
    .raddr_i(read_addr_i),
    .rdata_o(read_data_o)
  );

endmodule
