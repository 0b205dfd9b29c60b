// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Compares the values of a beat with a constant.
//
// Every type is mapped to unsigned keys of the same order (integers: sign bit inverted; floats: negative ones inverted,
// others with the sign set, both zeros the same), so one unsigned comparison serves all four.
//
// Contract
// - Combinational. Lane l of match_o is element l: 16 of 32 bits or 8 of 64 bits; the other lanes are zero.
// - Floats compare as IEEE 754 says: with a NaN only != is true, and -0.0 == 0.0.
module gw_row_compare
  import gw_kernel_pkg::*;
(
  input  data_t       data_i,
  /// Elements have 64 bits.
  input  logic        wide_i,
  /// Elements are floating point.
  input  logic        float_i,
  /// 0 >, 1 >=, 2 <, 3 <=, 4 ==, 5 !=
  input  logic [2:0]  op_i,
  /// Types of 32 bits use the low half.
  input  logic [63:0] constant_i,
  output logic [15:0] match_o
);

  function automatic logic [31:0] key32(logic [31:0] value, logic is_float);
    if (!is_float) return value ^ 32'h8000_0000;
    if (value[30:0] == '0) return 32'h8000_0000;
    return value[31] ? ~value : value | 32'h8000_0000;
  endfunction

  function automatic logic [63:0] key64(logic [63:0] value, logic is_float);
    if (!is_float) return value ^ 64'h8000_0000_0000_0000;
    if (value[62:0] == '0) return 64'h8000_0000_0000_0000;
    return value[63] ? ~value : value | 64'h8000_0000_0000_0000;
  endfunction

  // NaN: all exponent bits and some fraction bit; the argument is without the sign.
  function automatic logic nan32(logic [30:0] magnitude);
    return magnitude[30:23] == '1 && magnitude[22:0] != '0;
  endfunction

  function automatic logic nan64(logic [62:0] magnitude);
    return magnitude[62:52] == '1 && magnitude[51:0] != '0;
  endfunction

  function automatic logic decide(logic [2:0] op, logic less, logic equal, logic unordered);
    unique case (op)
      3'd0: return !less && !equal && !unordered;
      3'd1: return !less && !unordered;
      3'd2: return less && !unordered;
      3'd3: return (less || equal) && !unordered;
      3'd4: return equal && !unordered;
      default: return !equal || unordered;
    endcase
  endfunction

  // The constant twice for 32 bits, so that both halves of a pair find it in their place.
  logic [63:0] constant_key;
  logic constant_nan;
  assign constant_key = wide_i ? key64(constant_i, float_i) : {2{key32(constant_i[31:0], float_i)}};
  assign constant_nan = float_i && (wide_i ? nan64(constant_i[62:0]) : nan32(constant_i[30:0]));

  logic [7:0] wide_match;
  logic [15:0] narrow_match;

  for (genvar p = 0; p < 8; p++) begin : gen_pair
    logic [63:0] value, key;
    logic less_hi, less_lo, equal_hi, equal_lo;
    assign value = data_i[64*p+:64];
    assign key = wide_i ? key64(value, float_i) : {key32(value[63:32], float_i), key32(value[31:0], float_i)};
    assign less_hi = key[63:32] < constant_key[63:32];
    assign less_lo = key[31:0] < constant_key[31:0];
    assign equal_hi = key[63:32] == constant_key[63:32];
    assign equal_lo = key[31:0] == constant_key[31:0];
    assign wide_match[p] = decide(op_i, less_hi || (equal_hi && less_lo), equal_hi && equal_lo,
                                  constant_nan || (float_i && nan64(value[62:0])));
    assign narrow_match[2*p] = decide(op_i, less_lo, equal_lo, constant_nan || (float_i && nan32(value[30:0])));
    assign narrow_match[2*p+1] = decide(op_i, less_hi, equal_hi, constant_nan || (float_i && nan32(value[62:32])));
  end

  assign match_o = wide_i ? {8'b0, wide_match} : narrow_match;

endmodule
