// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// The writer of page-table entries: changes an entry from the value that a client saw to the one it wants, by an AXI4 exclusive read, a
// comparison, and an exclusive write. Whoever else writes the entry meanwhile is never undone.
//
// Contract
// - A command is answered once, by a pulse to its client: Stored, it was `expected` and is `wanted` now; Changed, it was something else
//   (`found_o`), or was written between read and write; Denied, memory refused an access, or knows no exclusive ones. Nothing was
//   written then.
// - A command for a group fills `Together` naturally aligned entries with one value, by one access: all of them, if all are 0, or none.
//   `found_o` is their OR then, 0 if and only if all were empty. One that expects all ones, which no entry is, only reads.
// - So of several that want to fill an empty entry exactly one is told Stored.
// - Commands are served one after the other, clients in turn; a client's in order. Entries of one address therefore change in that order.
// - Latency: acceptance to answer, with memory that takes at once and answers n and m cycles later: 4 + n + m; 3 + n without a write.
// - One access at a time, one ID, 8 bytes or those of a group.
`include "gw_assert.svh"

module gw_pte_unit #(
  /// Who writes entries, >= 1.
  parameter int unsigned Clients = 3,
  /// Entries of a group: 1, 2, 4 or 8, as many as a beat of memory has.
  parameter int unsigned Together = 8,
  parameter logic [gw_axi_pkg::PtIdWidth-1:0] Id = '0,
  /// Bundles of the port.
  parameter type req_t = gw_axi_pkg::pt_req_t,
  parameter type rsp_t = gw_axi_pkg::pt_rsp_t,
  /// Derived: bits of an entry's address.
  localparam int unsigned EntryWidth = gw_pkg::PaWidth - $clog2(gw_spec_pkg::PtEntryBytes)
) (
  input  logic                               clk_i,
  input  logic                               rst_ni,
  input  logic [Clients-1:0]                 cmd_valid_i,
  output logic [Clients-1:0]                 cmd_ready_o,
  /// A group of empty entries; else one.
  input  logic [Clients-1:0]                 cmd_group_i,
  input  logic [Clients-1:0][EntryWidth-1:0] cmd_entry_i,
  input  logic [Clients-1:0][63:0]           cmd_expected_i,
  input  logic [Clients-1:0][63:0]           cmd_wanted_i,
  output logic [Clients-1:0]                 rsp_valid_o,
  output gw_pkg::pte_result_e                rsp_result_o,
  /// What was read, before the command's own write.
  output logic [63:0]                        found_o,
  output req_t                               m_req_o,
  input  rsp_t                               m_rsp_i
);

  import gw_pkg::*;
  import gw_axi_pkg::*;
  import gw_spec_pkg::*;

  if (Clients < 1) begin : gen_bad_clients
    $fatal(1, "gw_pte_unit: Clients must be at least 1");
  end
  if (!(Together inside {1, 2, 4, 8})) begin : gen_bad_together
    $fatal(1, "gw_pte_unit: Together must be 1, 2, 4 or 8");
  end

  localparam int unsigned ClientWidth = (Clients > 1) ? $clog2(Clients) : 1;
  localparam int unsigned LaneWidth = $clog2(PtBeatEntries);
  localparam int unsigned GroupWidth = $clog2(Together);

  typedef enum logic [2:0] {
    Idle,
    Read,
    Data,
    Compare,
    Write,
    Reply,
    Answer
  } state_e;
  state_e state_q, state_d;
  logic [ClientWidth-1:0] client_q, chosen;
  logic [Clients-1:0] granted;
  logic [EntryWidth-1:0] entry;
  logic [63:0] expected, wanted, read_word;
  logic [EntryWidth-1:0] entry_q;
  logic [63:0] expected_q, wanted_q, found_q;
  logic exclusive_q, aw_done_q, w_done_q, same, group, group_q;
  pte_result_e result_q;
  logic [LaneWidth-1:0] lane;
  logic [PtBeatEntries-1:0] lanes;  // of the beat, those of the command

  gw_rr_arbiter #(
    .NumReq(Clients)
  ) u_clients (
    .clk_i,
    .rst_ni,
    .req_i  (cmd_valid_i),
    .gnt_o  (granted),
    .idx_o  (chosen),
    .valid_o(),
    .ready_i(state_q == Idle)
  );
  always_comb begin
    for (int unsigned c = 0; c < Clients; c++) begin
      cmd_ready_o[c] = state_q == Idle && cmd_valid_i[c] && chosen == ClientWidth'(c);
      rsp_valid_o[c] = state_q == Answer && client_q == ClientWidth'(c);
    end
  end

  // The one chosen, and the word of the beat that is the entry.
  always_comb begin
    entry = '0;
    expected = '0;
    wanted = '0;
    group = 1'b0;
    for (int unsigned c = 0; c < Clients; c++) begin
      entry |= {EntryWidth{granted[c]}} & cmd_entry_i[c];
      expected |= {64{granted[c]}} & cmd_expected_i[c];
      wanted |= {64{granted[c]}} & cmd_wanted_i[c];
      group |= granted[c] & cmd_group_i[c];
    end
    read_word = '0;
    for (int unsigned i = 0; i < PtBeatEntries; i++) begin
      if (lanes[i]) read_word |= m_rsp_i.r.data[64*i +: 64];
    end
  end

  assign same = found_q == expected_q;
  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Idle: if (cmd_valid_i != '0) state_d = Read;
      Read: if (m_rsp_i.ar_ready) state_d = Data;
      Data: if (m_rsp_i.r_valid) state_d = Compare;
      Compare: state_d = (exclusive_q && same) ? Write : Answer;
      Write: if ((aw_done_q || m_rsp_i.aw_ready) && (w_done_q || m_rsp_i.w_ready)) state_d = Reply;
      Reply: if (m_rsp_i.b_valid) state_d = Answer;
      default: state_d = Idle;
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      aw_done_q <= 1'b0;
      w_done_q <= 1'b0;
    end else begin
      state_q <= state_d;
      aw_done_q <= state_q == Write && (aw_done_q || m_rsp_i.aw_ready);
      w_done_q <= state_q == Write && (w_done_q || m_rsp_i.w_ready);
    end
  end

  always_ff @(posedge clk_i) begin
    if (state_q == Idle) begin
      client_q <= chosen;
      group_q <= group && Together > 1;
      entry_q <= entry;
      expected_q <= expected;
      wanted_q <= wanted;
    end
    if (state_q == Data) begin
      found_q <= read_word;
      exclusive_q <= m_rsp_i.r.resp == RespExOkay;
    end
    if (state_q == Compare) result_q <= exclusive_q ? PteChanged : PteDenied;
    if (state_q == Reply) begin
      unique case (m_rsp_i.b.resp)
        RespExOkay: result_q <= PteStored;
        RespOkay: result_q <= PteChanged;
        default: result_q <= PteDenied;
      endcase
    end
  end
  assign rsp_result_o = result_q;
  assign found_o = found_q;

  assign lane = entry_q[LaneWidth-1:0];
  for (genvar i = 0; i < PtBeatEntries; i++) begin : gen_lanes
    assign lanes[i] = (group_q ? lane >> GroupWidth : lane) == LaneWidth'(group_q ? i >> GroupWidth : i);
  end
  always_comb begin
    m_req_o = '0;
    m_req_o.ar_valid = state_q == Read;
    m_req_o.ar.id = ($bits(m_req_o.ar.id))'(Id);
    m_req_o.ar.addr = 64'({group_q ? entry_q & ~EntryWidth'(Together - 1) : entry_q, {$clog2(PtEntryBytes){1'b0}}});
    m_req_o.ar.size = 3'($clog2(PtEntryBytes) + (group_q ? GroupWidth : 0));
    m_req_o.ar.burst = BurstIncr;
    m_req_o.ar.lock = 1'b1;
    m_req_o.ar.cache = 4'b0011;  // normal memory, bufferable: the host's writes are visible there
    m_req_o.ar.prot = 3'b001;  // privileged data
    m_req_o.aw = m_req_o.ar;
    m_req_o.aw_valid = state_q == Write && !aw_done_q;
    m_req_o.w_valid = state_q == Write && !w_done_q;
    m_req_o.w.data = {PtBeatEntries{wanted_q}};
    for (int unsigned i = 0; i < PtBeatEntries; i++) m_req_o.w.strb[PtEntryBytes*i +: PtEntryBytes] = {PtEntryBytes{lanes[i]}};
    m_req_o.w.last = 1'b1;
    m_req_o.r_ready = state_q == Data;
    m_req_o.b_ready = state_q == Reply;
  end

  logic unused;
  assign unused = ^{m_rsp_i.r.id, m_rsp_i.r.last, m_rsp_i.b.id};

  `GW_INVARIANT(GroupsAreFilled_A, !group_q || state_q == Idle || expected_q inside {'0, '1})
  `GW_COVER(ChangedMeanwhile_C, state_q == Compare && exclusive_q && !same)
  `GW_COVER(LostReservation_C, state_q == Reply && m_rsp_i.b_valid && m_rsp_i.b.resp == RespOkay)

endmodule
