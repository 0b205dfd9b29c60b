// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Registers of the page-request queue: register file `page_queue` of gw_mmu.rdl.
//
// Contract
// - A request is a pulse, its address, and a write's data, held until `ack_o` in the next cycle; then `rdata_o` is what it asked
//   for. One request at a time.
// - When `pqcsr.pqen` rises, `pqh` and the status bits are zero in the next cycle, with cfg_o.enable.
// - A status bit is set by its pulse of status_i, and wins over software that clears it in the same cycle. cfg_o.stopped is `pqmf`.
// - irq_o is a level: with `pqcsr.pie`, any of the status bits.
// - Without page requests there is nothing: every register reads zero.
// - Reset: all zero.
`include "gw_assert.svh"

module gw_csr_pages #(
  /// There are page requests.
  parameter bit PageRequests = 1'b1
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               req_i,
  input  logic               write_i,
  /// Byte offset in the register file.
  input  logic [5:0]         addr_i,
  input  logic [31:0]        wdata_i,
  input  logic [31:0]        wmask_i,
  output logic               ack_o,
  output logic [31:0]        rdata_o,
  output gw_pkg::pq_cfg_t    cfg_o,
  input  gw_pkg::pq_status_t status_i,
  output logic               irq_o
);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) ack_o <= 1'b0;
    else ack_o <= req_i;
  end

  if (PageRequests) begin : gen_queue
    // 32-bit words. Of those that only software writes, the bits that there are.
    typedef enum logic [3:0] {
      BaseLo   = 4'd0,
      BaseHi   = 4'd1,
      Head     = 4'd2,
      Tail     = 4'd3,
      Control  = 4'd4,
      Unsent   = 4'd5,
      Sent     = 4'd6,
      IrqCount = 4'd7,
      IrqTime  = 4'd8
    } word_e;
    localparam int unsigned PqenBit = 0, PieBit = 1, PqmfBit = 8, PqtoBit = 9, PipBit = 10, PqonBit = 16, BusyBit = 17;

    word_e       word;
    logic [31:0] old, merged, ones;
    logic        write, rises;
    logic [31:0] base_lo_q, base_hi_q, head_q, unsent_q, sent_q, irq_time_q;
    logic [7:0]  irq_count_q;
    logic        enable_q, pie_q, pqmf_q, pqto_q, pip_q;
    assign word = word_e'(addr_i[5:2]);
    assign write = req_i && write_i;
    assign merged = (old & ~wmask_i) | (wdata_i & wmask_i);
    assign ones = (write && word == Control) ? wdata_i & wmask_i : '0;
    assign rises = write && word == Control && merged[PqenBit] && !enable_q;

    always_comb begin
      old = '0;
      case (word)
        BaseLo:   old = base_lo_q;
        BaseHi:   old = base_hi_q;
        Head:     old = head_q;
        Tail:     old = status_i.tail;
        Control: begin
          old[PqenBit] = enable_q;
          old[PieBit] = pie_q;
          old[PqmfBit] = pqmf_q;
          old[PqtoBit] = pqto_q;
          old[PipBit] = pip_q;
          old[PqonBit] = status_i.on;
          old[BusyBit] = status_i.on != enable_q;
        end
        Unsent:   old = unsent_q;
        Sent:     old = sent_q;
        IrqCount: old = 32'(irq_count_q);
        IrqTime:  old = irq_time_q;
        default:  old = '0;
      endcase
    end

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        {base_lo_q, base_hi_q, head_q, unsent_q, sent_q, irq_time_q} <= '0;
        irq_count_q <= '0;
        {enable_q, pie_q, pqmf_q, pqto_q, pip_q} <= '0;
      end else begin
        if (write) begin
          case (word)
            BaseLo:   base_lo_q <= merged & 32'hffff_fc1f;
            BaseHi:   base_hi_q <= merged & 32'h003f_ffff;
            Head:     head_q <= merged;
            Control:  {enable_q, pie_q} <= {merged[PqenBit], merged[PieBit]};
            Unsent:   unsent_q <= merged;
            Sent:     sent_q <= merged;
            IrqCount: irq_count_q <= merged[7:0];
            IrqTime:  irq_time_q <= merged;
            default:  ;
          endcase
        end
        pqmf_q <= !rises && (status_i.memory_fault || (pqmf_q && !ones[PqmfBit]));
        pqto_q <= !rises && (status_i.timeout || (pqto_q && !ones[PqtoBit]));
        pip_q <= !rises && (status_i.irq || (pip_q && !ones[PipBit]));
        if (rises) head_q <= '0;
      end
    end
    always_ff @(posedge clk_i) rdata_o <= old;

    assign cfg_o = '{
      enable: enable_q,
      stopped: pqmf_q,
      base: {base_hi_q[21:0], base_lo_q[31:10]},
      log2_size_less1: base_lo_q[4:0],
      head: head_q,
      unsent_cycles: unsent_q,
      sent_cycles: sent_q,
      irq_count: irq_count_q,
      irq_cycles: irq_time_q
    };
    assign irq_o = pie_q && (pqmf_q || pqto_q || pip_q);

    logic unused;
    assign unused = ^{addr_i[1:0], base_hi_q[31:22], base_lo_q[9:5]};
  end else begin : gen_none
    assign rdata_o = '0;
    assign cfg_o = '0;
    assign irq_o = 1'b0;
    logic unused;
    assign unused = ^{write_i, addr_i, wdata_i, wmask_i, status_i};
  end

  `GW_ASSERT(OneAtATime_A, req_i |-> !ack_o)

endmodule
