// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Whether something done ahead of time pays: believed as long as it did.
//
// Contract
// - One that has paid (`gain_i`) earns one, of 15 at most; one that was in vain (`loss_i`) costs two; both in one cycle: nothing. Eight after
//   reset.
// - `trusted_o` (of registers): there is credit, or it is the turn of one in 16 (`chance_i`: it was taken, or refused), which finds out when it pays
//   again.
module gw_cache_credit (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic gain_i,
  input  logic loss_i,
  input  logic chance_i,
  output logic trusted_o
);

  localparam int unsigned Loss = 2;
  logic [3:0] credit_q, skipped_q;
  assign trusted_o = credit_q != '0 || skipped_q == '1;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      credit_q <= 4'd8;
      skipped_q <= '0;
    end else begin
      if (gain_i && !loss_i && credit_q != '1) credit_q <= credit_q + 4'd1;
      else if (loss_i && !gain_i) credit_q <= (credit_q < 4'(Loss)) ? '0 : credit_q - 4'(Loss);
      if (chance_i) skipped_q <= skipped_q + 4'd1;
    end
  end

endmodule
