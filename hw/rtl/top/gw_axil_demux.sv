// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// One AXI4-Lite master to several slaves by address.
//
// Contract
// - Slave i answers for addresses with (addr & ~Mask[i]) == Base[i]; everything else is answered with DECERR here.
// - One write and one read at a time, independent of each other; the next is taken after the answer of the one before.
//   Address and data go through unchanged, one cycle later.
// - A slave that never answers holds up its own direction only.
`include "gw_assert.svh"

module gw_axil_demux #(
  /// Slaves, at least 1.
  parameter int unsigned NumSlaves = 1,
  /// First address of each slave's region.
  parameter logic [NumSlaves-1:0][31:0] Base = '0,
  /// Address bits inside each slave's region.
  parameter logic [NumSlaves-1:0][31:0] Mask = '0
) (
  input  logic                                  clk_i,
  input  logic                                  rst_ni,
  input  gw_axi_pkg::axil_req_t                 s_req_i,
  output gw_axi_pkg::axil_rsp_t                 s_rsp_o,
  output gw_axi_pkg::axil_req_t [NumSlaves-1:0] m_req_o,
  input  gw_axi_pkg::axil_rsp_t [NumSlaves-1:0] m_rsp_i
);

  // Slave NumSlaves is the error answer.
  localparam int unsigned SelWidth = $clog2(NumSlaves + 1);
  typedef logic [SelWidth-1:0] sel_t;
  localparam sel_t SelError = sel_t'(NumSlaves);

  function automatic sel_t decode(logic [31:0] addr);
    decode = SelError;
    for (int unsigned i = 0; i < NumSlaves; i++) begin
      if ((addr & ~Mask[i]) == Base[i]) decode = sel_t'(i);
    end
  endfunction

  // Write: address and data are taken, each when it comes, then offered to the slave until it takes them.
  typedef enum logic [1:0] {
    WriteTake,
    WriteOffer,
    WriteAnswer
  } write_state_e;

  write_state_e write_state_q;
  sel_t         write_sel_q;
  logic         aw_held_q, w_held_q;
  logic [31:0]  aw_addr_q, w_data_q;
  logic [3:0]   w_strb_q;
  logic [2:0]   aw_prot_q;
  logic [1:0]   b_resp_q;

  // Read
  typedef enum logic [1:0] {
    ReadTake,
    ReadOffer,
    ReadWait,
    ReadAnswer
  } read_state_e;

  read_state_e read_state_q;
  sel_t        read_sel_q;
  logic [31:0] ar_addr_q, r_data_q;
  logic [2:0]  ar_prot_q;
  logic [1:0]  r_resp_q;

  // The chosen slave's answers; the error slave takes everything and answers at once.
  logic        aw_ready, w_ready, b_valid, ar_ready, r_valid;
  logic [1:0]  b_resp, r_resp;
  logic [31:0] r_data;
  always_comb begin
    {aw_ready, w_ready, b_valid, ar_ready, r_valid} = '1;
    b_resp = gw_axi_pkg::RespDecErr;
    r_resp = gw_axi_pkg::RespDecErr;
    r_data = '0;
    for (int unsigned i = 0; i < NumSlaves; i++) begin
      if (write_sel_q == sel_t'(i)) begin
        aw_ready = m_rsp_i[i].aw_ready;
        w_ready = m_rsp_i[i].w_ready;
        b_valid = m_rsp_i[i].b_valid;
        b_resp = m_rsp_i[i].b_resp;
      end
      if (read_sel_q == sel_t'(i)) begin
        ar_ready = m_rsp_i[i].ar_ready;
        r_valid = m_rsp_i[i].r_valid;
        r_data = m_rsp_i[i].r_data;
        r_resp = m_rsp_i[i].r_resp;
      end
    end
  end

  always_comb begin
    for (int unsigned i = 0; i < NumSlaves; i++) begin
      m_req_o[i] = '{
        aw_addr:  aw_addr_q,
        aw_prot:  aw_prot_q,
        aw_valid: write_state_q == WriteOffer && aw_held_q && write_sel_q == sel_t'(i),
        w_data:   w_data_q,
        w_strb:   w_strb_q,
        w_valid:  write_state_q == WriteOffer && w_held_q && write_sel_q == sel_t'(i),
        b_ready:  write_state_q == WriteOffer && !aw_held_q && !w_held_q && write_sel_q == sel_t'(i),
        ar_addr:  ar_addr_q,
        ar_prot:  ar_prot_q,
        ar_valid: read_state_q == ReadOffer && read_sel_q == sel_t'(i),
        r_ready:  read_state_q == ReadWait && read_sel_q == sel_t'(i)
      };
    end
  end

  always_comb begin
    s_rsp_o = '{
      aw_ready: write_state_q == WriteTake && !aw_held_q,
      w_ready:  write_state_q == WriteTake && !w_held_q,
      b_resp:   b_resp_q,
      b_valid:  write_state_q == WriteAnswer,
      ar_ready: read_state_q == ReadTake,
      r_data:   r_data_q,
      r_resp:   r_resp_q,
      r_valid:  read_state_q == ReadAnswer
    };
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      write_state_q <= WriteTake;
      write_sel_q <= SelError;
      {aw_held_q, w_held_q} <= '0;
      {aw_addr_q, aw_prot_q, w_data_q, w_strb_q, b_resp_q} <= '0;
    end else begin
      unique case (write_state_q)
        WriteTake: begin
          if (s_req_i.aw_valid && s_rsp_o.aw_ready) begin
            aw_held_q <= 1'b1;
            aw_addr_q <= s_req_i.aw_addr;
            aw_prot_q <= s_req_i.aw_prot;
            write_sel_q <= decode(s_req_i.aw_addr);
          end
          if (s_req_i.w_valid && s_rsp_o.w_ready) begin
            w_held_q <= 1'b1;
            w_data_q <= s_req_i.w_data;
            w_strb_q <= s_req_i.w_strb;
          end
          if ((aw_held_q || s_req_i.aw_valid) && (w_held_q || s_req_i.w_valid)) write_state_q <= WriteOffer;
        end
        WriteOffer: begin
          if (aw_ready) aw_held_q <= 1'b0;
          if (w_ready) w_held_q <= 1'b0;
          if (!aw_held_q && !w_held_q && b_valid) begin
            b_resp_q <= b_resp;
            write_state_q <= WriteAnswer;
          end
        end
        WriteAnswer: if (s_req_i.b_ready) write_state_q <= WriteTake;
        default: write_state_q <= WriteTake;
      endcase
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      read_state_q <= ReadTake;
      read_sel_q <= SelError;
      {ar_addr_q, ar_prot_q, r_data_q, r_resp_q} <= '0;
    end else begin
      unique case (read_state_q)
        ReadTake: begin
          if (s_req_i.ar_valid) begin
            ar_addr_q <= s_req_i.ar_addr;
            ar_prot_q <= s_req_i.ar_prot;
            read_sel_q <= decode(s_req_i.ar_addr);
            read_state_q <= ReadOffer;
          end
        end
        ReadOffer: if (ar_ready) read_state_q <= ReadWait;
        ReadWait: begin
          if (r_valid) begin
            r_data_q <= r_data;
            r_resp_q <= r_resp;
            read_state_q <= ReadAnswer;
          end
        end
        ReadAnswer: if (s_req_i.r_ready) read_state_q <= ReadTake;
        default: read_state_q <= ReadTake;
      endcase
    end
  end

  `GW_ASSERT(ReadAnswerStable_A, s_rsp_o.r_valid && !s_req_i.r_ready |=> s_rsp_o.r_valid && $stable(s_rsp_o.r_data))
  `GW_ASSERT(WriteAnswerStable_A, s_rsp_o.b_valid && !s_req_i.b_ready |=> s_rsp_o.b_valid && $stable(s_rsp_o.b_resp))

endmodule
