// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// The page DMA as a card has it: gw_page_dma behind its registers (spec/regs/gw_dma.rdl).
//
// Contract
// - AXI4-Lite: as gw_csr_axil; only the low gw_dma_regs_pkg::GW_DMA_REGS_MIN_ADDR_WIDTH address bits are looked at. Addresses that
//   are no register are answered with SLVERR.
// - The rest is gw_page_dma's. Its interrupt is kept in `csr.ip` until software clears it; irq_o is that, if `csr.ie`.
// - A fence's number is in `fence` (and in memory) before its interrupt; `csr` says stopped before that interrupt.
// - Reset: off. No access may be under way on any port.
module gw_dma_unit #(
  /// Those of gw_page_dma.
  parameter int unsigned Slots = 32,
  parameter int unsigned Bursts = 32,
  parameter int unsigned BufferLines = 256,
  parameter int unsigned FetchLines = 8,
  /// There is a fault unit that takes answers.
  parameter bit          Respond = 1
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  gw_axi_pkg::axil_req_t axil_req_i,
  output gw_axi_pkg::axil_rsp_t axil_rsp_o,
  output logic                  irq_o,
  /// Answers to the fault unit.
  output logic                  respond_valid_o,
  input  logic                  respond_ready_i,
  output logic [63:0]           respond_o,
  /// Memory of the device, and of the host.
  output gw_axi_pkg::axi_req_t  device_req_o,
  input  gw_axi_pkg::axi_rsp_t  device_rsp_i,
  output gw_axi_pkg::axi_req_t  host_req_o,
  input  gw_axi_pkg::axi_rsp_t  host_rsp_i
);

  gw_dma_regs_pkg::gw_dma__in_t  hwif_in;
  gw_dma_regs_pkg::gw_dma__out_t hwif_out;

  gw_dma_front u_front (
    .clk_i,
    .rst_ni,
    .axil_req_i,
    .axil_rsp_o,
    .write_o (),
    .wdata_o (),
    .wmask_o (),
    .hwif_i  (hwif_in),
    .hwif_o  (hwif_out)
  );

  gw_pkg::dma_cfg_t    cfg;
  gw_pkg::dma_status_t status;
  logic                irq;

  assign cfg = '{
    enable:          hwif_out.csr.enable.value,
    cancel:          hwif_out.csr.cancel.value,
    base:            {hwif_out.base.ppn_hi.value, hwif_out.base.ppn_lo.value},
    log2_size_less1: hwif_out.base.log2szm1.value,
    first:           hwif_out.first.index.value,
    tail:            hwif_out.tail.index.value,
    fence_write:     hwif_out.fence_addr.write.value,
    fence_addr:      {hwif_out.fence_addr.hi.value, hwif_out.fence_addr.lo.value}
  };
  assign hwif_in.capabilities.slots.next = 7'(Slots);
  assign hwif_in.capabilities.respond.next = Respond;
  assign hwif_in.head.index.next = status.head;
  assign hwif_in.fence.latest.next = status.fence;
  assign hwif_in.csr.ip.hwset = irq;
  assign hwif_in.csr.on.next = status.on;
  assign hwif_in.csr.stopped.next = status.stopped;
  assign hwif_in.csr.cause.next = status.cause;
  assign irq_o = hwif_out.csr.ip.value && hwif_out.csr.ie.value;

  gw_page_dma #(
    .Slots      (Slots),
    .Bursts     (Bursts),
    .BufferLines(BufferLines),
    .FetchLines (FetchLines),
    .Respond    (Respond)
  ) u_dma (
    .clk_i,
    .rst_ni,
    .cfg_i     (cfg),
    .status_o  (status),
    .sequence_i(hwif_out.reached.latest.value),
    .irq_o     (irq),
    .respond_valid_o,
    .respond_ready_i,
    .respond_o,
    .device_req_o,
    .device_rsp_i,
    .host_req_o,
    .host_rsp_i
  );

endmodule
