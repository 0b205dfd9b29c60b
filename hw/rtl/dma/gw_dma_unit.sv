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

  localparam int unsigned AddrWidth = gw_dma_regs_pkg::GW_DMA_REGS_MIN_ADDR_WIDTH;

  gw_dma_regs_pkg::gw_dma__in_t  hwif_in;
  gw_dma_regs_pkg::gw_dma__out_t hwif_out;

  logic                 reg_req, reg_write, reg_rd_ack, reg_rd_err, reg_wr_ack, reg_wr_err;
  logic [1:0]           reg_stall;
  logic [AddrWidth-1:0] reg_addr;
  logic [31:0]          reg_wdata, reg_wmask, reg_rdata;

  gw_csr_axil #(
    .AddrWidth(AddrWidth)
  ) u_axil (
    .clk_i,
    .rst_ni,
    .axil_req_i,
    .axil_rsp_o,
    .req_o   (reg_req),
    .write_o (reg_write),
    .addr_o  (reg_addr),
    .wdata_o (reg_wdata),
    .wmask_o (reg_wmask),
    .stall_i (reg_stall[reg_write]),
    .rd_ack_i(reg_rd_ack),
    .wr_ack_i(reg_wr_ack),
    .err_i   (reg_write ? reg_wr_err : reg_rd_err),
    .rdata_i (reg_rdata)
  );

  gw_dma_regs u_regs (
    .clk                 (clk_i),
    .arst_n              (rst_ni),
    .s_cpuif_req         (reg_req),
    .s_cpuif_req_is_wr   (reg_write),
    .s_cpuif_addr        (reg_addr),
    .s_cpuif_wr_data     (reg_wdata),
    .s_cpuif_wr_biten    (reg_wmask),
    .s_cpuif_req_stall_wr(reg_stall[1]),
    .s_cpuif_req_stall_rd(reg_stall[0]),
    .s_cpuif_rd_ack      (reg_rd_ack),
    .s_cpuif_rd_err      (reg_rd_err),
    .s_cpuif_rd_data     (reg_rdata),
    .s_cpuif_wr_ack      (reg_wr_ack),
    .s_cpuif_wr_err      (reg_wr_err),
    .hwif_in,
    .hwif_out
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
