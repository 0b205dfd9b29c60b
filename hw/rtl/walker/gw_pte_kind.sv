// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// What a page-table entry is by its own bits: a pointer to the next table, a leaf, or neither (then any access faults).
//
// Contract: combinational. The rules are those of the RISC-V privileged specification: V; W without R is reserved; reserved
// bits, Svpbmt's and (in a pointer) N, D, A and U must be zero. Level, alignment and permissions are gw_pte_check's.
module gw_pte_kind (
  input logic [63:0] pte_i,
  output logic pointer_o,
  output logic leaf_o
);

  import gw_spec_pkg::*;

  logic legal;
  assign legal = pte_i[PteV] && (pte_i[PteR] || !pte_i[PteW]) &&
      pte_i[PteReservedLsb +: PteReservedWidth] == '0 && pte_i[PtePbmtLsb +: PtePbmtWidth] == '0;
  assign leaf_o = legal && (pte_i[PteR] || pte_i[PteX]);
  assign pointer_o = legal && !pte_i[PteR] && !pte_i[PteX] && !pte_i[PteN] && !pte_i[PteD] && !pte_i[PteA] &&
      !pte_i[PteU];

endmodule
