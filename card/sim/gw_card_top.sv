// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// The card as the simulation sees it: gw_card with its bundles taken apart into plain signals, parameters from the
// generated gw_config_pkg. Wiring only.
//
// Memory ports: 0 to NumPorts - 1 are the accelerator ports after translation, the next two those of the page DMA if there is one
// (device memory, host memory), then the heap's and the page cache's if there are any, then comes the command queue's, the last one is the
// walker's. External
// ports are the AXI masters the simulation drives; without any, one unused element keeps the interface the same.
`include "gw_axi_typedef.svh"

module gw_card_top #(
  localparam int unsigned NumPorts = gw_config_pkg::NumPorts,
  localparam int unsigned NumDma = (gw_config_pkg::DmaSlots > 0) ? 2 : 0,
  localparam int unsigned NumHeap = 32'(gw_config_pkg::HeapSlots > 0),
  localparam int unsigned NumCache = 32'(gw_config_pkg::CachePages > 0),
  localparam int unsigned NumMem = NumPorts + NumDma + NumHeap + NumCache + 2,
  localparam int unsigned NumExt = (gw_config_pkg::NumExternal > 0) ? gw_config_pkg::NumExternal : 1,
  localparam int unsigned NumIrq = gw_config_pkg::NumKernels + 1,
  localparam int unsigned DataWidth = gw_config_pkg::DataWidth,
  /// IDs are as wide here as the widest of any port.
  localparam int unsigned TopIdWidth = 8
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  // Register access, AXI4-Lite
  input  logic                   axil_aw_valid_i,
  output logic                   axil_aw_ready_o,
  input  logic [31:0]            axil_aw_addr_i,
  input  logic                   axil_w_valid_i,
  output logic                   axil_w_ready_o,
  input  logic [31:0]            axil_w_data_i,
  input  logic [3:0]             axil_w_strb_i,
  output logic                   axil_b_valid_o,
  input  logic                   axil_b_ready_i,
  output logic [1:0]             axil_b_resp_o,
  input  logic                   axil_ar_valid_i,
  output logic                   axil_ar_ready_o,
  input  logic [31:0]            axil_ar_addr_i,
  output logic                   axil_r_valid_o,
  input  logic                   axil_r_ready_i,
  output logic [31:0]            axil_r_data_o,
  output logic [1:0]             axil_r_resp_o,
  // Memory side
  output logic                   mem_ar_valid_o [NumMem],
  input  logic                   mem_ar_ready_i [NumMem],
  output logic [TopIdWidth-1:0]  mem_ar_id_o    [NumMem],
  output logic [63:0]            mem_ar_addr_o  [NumMem],
  output logic [7:0]             mem_ar_len_o   [NumMem],
  output logic [2:0]             mem_ar_size_o  [NumMem],
  output logic [1:0]             mem_ar_burst_o [NumMem],
  output logic                   mem_ar_lock_o  [NumMem],
  input  logic                   mem_r_valid_i  [NumMem],
  output logic                   mem_r_ready_o  [NumMem],
  input  logic [TopIdWidth-1:0]  mem_r_id_i     [NumMem],
  input  logic [DataWidth-1:0]   mem_r_data_i   [NumMem],
  input  logic [1:0]             mem_r_resp_i   [NumMem],
  input  logic                   mem_r_last_i   [NumMem],
  output logic                   mem_aw_valid_o [NumMem],
  input  logic                   mem_aw_ready_i [NumMem],
  output logic [TopIdWidth-1:0]  mem_aw_id_o    [NumMem],
  output logic [63:0]            mem_aw_addr_o  [NumMem],
  output logic [7:0]             mem_aw_len_o   [NumMem],
  output logic [2:0]             mem_aw_size_o  [NumMem],
  output logic [1:0]             mem_aw_burst_o [NumMem],
  output logic                   mem_aw_lock_o  [NumMem],
  output logic                   mem_w_valid_o  [NumMem],
  input  logic                   mem_w_ready_i  [NumMem],
  output logic [DataWidth-1:0]   mem_w_data_o   [NumMem],
  output logic [DataWidth/8-1:0] mem_w_strb_o   [NumMem],
  output logic                   mem_w_last_o   [NumMem],
  input  logic                   mem_b_valid_i  [NumMem],
  output logic                   mem_b_ready_o  [NumMem],
  input  logic [TopIdWidth-1:0]  mem_b_id_i     [NumMem],
  input  logic [1:0]             mem_b_resp_i   [NumMem],
  // External masters
  input  logic                   ext_ar_valid_i [NumExt],
  output logic                   ext_ar_ready_o [NumExt],
  input  logic [TopIdWidth-1:0]  ext_ar_id_i    [NumExt],
  input  logic [63:0]            ext_ar_addr_i  [NumExt],
  input  logic [7:0]             ext_ar_len_i   [NumExt],
  input  logic [2:0]             ext_ar_size_i  [NumExt],
  input  logic [1:0]             ext_ar_burst_i [NumExt],
  output logic                   ext_r_valid_o  [NumExt],
  input  logic                   ext_r_ready_i  [NumExt],
  output logic [TopIdWidth-1:0]  ext_r_id_o     [NumExt],
  output logic [DataWidth-1:0]   ext_r_data_o   [NumExt],
  output logic [1:0]             ext_r_resp_o   [NumExt],
  output logic                   ext_r_last_o   [NumExt],
  input  logic                   ext_aw_valid_i [NumExt],
  output logic                   ext_aw_ready_o [NumExt],
  input  logic [TopIdWidth-1:0]  ext_aw_id_i    [NumExt],
  input  logic [63:0]            ext_aw_addr_i  [NumExt],
  input  logic [7:0]             ext_aw_len_i   [NumExt],
  input  logic [2:0]             ext_aw_size_i  [NumExt],
  input  logic [1:0]             ext_aw_burst_i [NumExt],
  input  logic                   ext_w_valid_i  [NumExt],
  output logic                   ext_w_ready_o  [NumExt],
  input  logic [DataWidth-1:0]   ext_w_data_i   [NumExt],
  input  logic [DataWidth/8-1:0] ext_w_strb_i   [NumExt],
  input  logic                   ext_w_last_i   [NumExt],
  output logic                   ext_b_valid_o  [NumExt],
  input  logic                   ext_b_ready_i  [NumExt],
  output logic [TopIdWidth-1:0]  ext_b_id_o     [NumExt],
  output logic [1:0]             ext_b_resp_o   [NumExt],
  // Observation: handshakes of the accelerator ports before translation, for the watchdog
  output logic                   acc_ar_valid_o [NumPorts],
  output logic                   acc_ar_ready_o [NumPorts],
  output logic                   acc_r_valid_o  [NumPorts],
  output logic                   acc_r_ready_o  [NumPorts],
  output logic                   acc_aw_valid_o [NumPorts],
  output logic                   acc_aw_ready_o [NumPorts],
  output logic                   acc_w_valid_o  [NumPorts],
  output logic                   acc_w_ready_o  [NumPorts],
  output logic                   acc_b_valid_o  [NumPorts],
  output logic                   acc_b_ready_o  [NumPorts],
  // Observation: events as gw_pkg has them; godwit_events.h says where each stands
  output logic [$bits(gw_pkg::port_event_t)-1:0] port_event_o [NumPorts],
  output logic [$bits(gw_pkg::mmu_event_t)-1:0]  mmu_event_o,
  // Bit 0: MMU, bit 1 + k: kernel k, bit 31: the page DMA (layout.toml: irq)
  output logic [31:0]            irq_o
);

  localparam int unsigned IdWidth = gw_config_pkg::IdWidth;

  // The simulation sets the inputs of a cycle before the edge that begins it, and here they follow that edge, as outputs of
  // registers outside would. So no logic hangs on an input pin, and all of it is evaluated once a cycle instead of once for
  // the pins and once for the clock.
  logic axil_aw_valid_q;
  logic [31:0] axil_aw_addr_q;
  logic axil_w_valid_q;
  logic [31:0] axil_w_data_q;
  logic [3:0] axil_w_strb_q;
  logic axil_b_ready_q;
  logic axil_ar_valid_q;
  logic [31:0] axil_ar_addr_q;
  logic axil_r_ready_q;
  logic mem_ar_ready_q [NumMem];
  logic mem_r_valid_q [NumMem];
  logic [TopIdWidth-1:0] mem_r_id_q [NumMem];
  logic [DataWidth-1:0] mem_r_data_q [NumMem];
  logic [1:0] mem_r_resp_q [NumMem];
  logic mem_r_last_q [NumMem];
  logic mem_aw_ready_q [NumMem];
  logic mem_w_ready_q [NumMem];
  logic mem_b_valid_q [NumMem];
  logic [TopIdWidth-1:0] mem_b_id_q [NumMem];
  logic [1:0] mem_b_resp_q [NumMem];
  logic ext_ar_valid_q [NumExt];
  logic [TopIdWidth-1:0] ext_ar_id_q [NumExt];
  logic [63:0] ext_ar_addr_q [NumExt];
  logic [7:0] ext_ar_len_q [NumExt];
  logic [2:0] ext_ar_size_q [NumExt];
  logic [1:0] ext_ar_burst_q [NumExt];
  logic ext_r_ready_q [NumExt];
  logic ext_aw_valid_q [NumExt];
  logic [TopIdWidth-1:0] ext_aw_id_q [NumExt];
  logic [63:0] ext_aw_addr_q [NumExt];
  logic [7:0] ext_aw_len_q [NumExt];
  logic [2:0] ext_aw_size_q [NumExt];
  logic [1:0] ext_aw_burst_q [NumExt];
  logic ext_w_valid_q [NumExt];
  logic [DataWidth-1:0] ext_w_data_q [NumExt];
  logic [DataWidth/8-1:0] ext_w_strb_q [NumExt];
  logic ext_w_last_q [NumExt];
  logic ext_b_ready_q [NumExt];

  always_ff @(posedge clk_i) begin
    axil_aw_valid_q <= axil_aw_valid_i;
    axil_aw_addr_q <= axil_aw_addr_i;
    axil_w_valid_q <= axil_w_valid_i;
    axil_w_data_q <= axil_w_data_i;
    axil_w_strb_q <= axil_w_strb_i;
    axil_b_ready_q <= axil_b_ready_i;
    axil_ar_valid_q <= axil_ar_valid_i;
    axil_ar_addr_q <= axil_ar_addr_i;
    axil_r_ready_q <= axil_r_ready_i;
    mem_ar_ready_q <= mem_ar_ready_i;
    mem_r_valid_q <= mem_r_valid_i;
    mem_r_id_q <= mem_r_id_i;
    mem_r_data_q <= mem_r_data_i;
    mem_r_resp_q <= mem_r_resp_i;
    mem_r_last_q <= mem_r_last_i;
    mem_aw_ready_q <= mem_aw_ready_i;
    mem_w_ready_q <= mem_w_ready_i;
    mem_b_valid_q <= mem_b_valid_i;
    mem_b_id_q <= mem_b_id_i;
    mem_b_resp_q <= mem_b_resp_i;
    ext_ar_valid_q <= ext_ar_valid_i;
    ext_ar_id_q <= ext_ar_id_i;
    ext_ar_addr_q <= ext_ar_addr_i;
    ext_ar_len_q <= ext_ar_len_i;
    ext_ar_size_q <= ext_ar_size_i;
    ext_ar_burst_q <= ext_ar_burst_i;
    ext_r_ready_q <= ext_r_ready_i;
    ext_aw_valid_q <= ext_aw_valid_i;
    ext_aw_id_q <= ext_aw_id_i;
    ext_aw_addr_q <= ext_aw_addr_i;
    ext_aw_len_q <= ext_aw_len_i;
    ext_aw_size_q <= ext_aw_size_i;
    ext_aw_burst_q <= ext_aw_burst_i;
    ext_w_valid_q <= ext_w_valid_i;
    ext_w_data_q <= ext_w_data_i;
    ext_w_strb_q <= ext_w_strb_i;
    ext_w_last_q <= ext_w_last_i;
    ext_b_ready_q <= ext_b_ready_i;
  end

  localparam int unsigned PtIdWidth = gw_axi_pkg::PtIdWidth;
  localparam int unsigned CqIdWidth = gw_axi_pkg::CqIdWidth;
  localparam int unsigned DmaIdWidth = gw_axi_pkg::AxiIdWidth;
  localparam int unsigned HeapIdWidth = gw_axi_pkg::HeapIdWidth;
  localparam int unsigned CacheIdWidth = gw_axi_pkg::AxiIdWidth;
  `GW_AXI_TYPEDEF(port, IdWidth, DataWidth)
  `GW_AXI_TYPEDEF(pt, PtIdWidth, DataWidth)
  `GW_AXI_TYPEDEF(cq, CqIdWidth, DataWidth)
  `GW_AXI_TYPEDEF(dma, DmaIdWidth, DataWidth)
  `GW_AXI_TYPEDEF(heap, HeapIdWidth, DataWidth)
  `GW_AXI_TYPEDEF(cache, CacheIdWidth, DataWidth)

  gw_axi_pkg::axil_req_t axil_req;
  gw_axi_pkg::axil_rsp_t axil_rsp;
  logic [4:0] acc_valid[NumPorts];
  logic [4:0] acc_ready[NumPorts];
  port_req_t mem_req[NumPorts];
  port_rsp_t mem_rsp[NumPorts];
  port_req_t ext_req[NumExt];
  port_rsp_t ext_rsp[NumExt];
  pt_req_t pt_req;
  pt_rsp_t pt_rsp;
  cq_req_t cq_req;
  cq_rsp_t cq_rsp;
  dma_req_t dma_req[2];
  dma_rsp_t dma_rsp[2];
  heap_req_t heap_req;
  heap_rsp_t heap_rsp;
  cache_req_t cache_req;
  cache_rsp_t cache_rsp;
  logic [NumIrq-1:0] irq;
  logic dma_irq;
  gw_pkg::port_event_t port_event[NumPorts];
  gw_pkg::mmu_event_t mmu_event;

  gw_card #(
    .req_t    (port_req_t),
    .rsp_t    (port_rsp_t),
    .pt_req_t (pt_req_t),
    .pt_rsp_t (pt_rsp_t),
    .cq_req_t (cq_req_t),
    .cq_rsp_t (cq_rsp_t),
    .dma_req_t(dma_req_t),
    .dma_rsp_t(dma_rsp_t),
    .heap_req_t(heap_req_t),
    .heap_rsp_t(heap_rsp_t),
    .cache_req_t(cache_req_t),
    .cache_rsp_t(cache_rsp_t)
  ) u_card (
    .clk_i,
    .rst_ni,
    .axil_req_i(axil_req),
    .axil_rsp_o(axil_rsp),
    .mem_req_o (mem_req),
    .mem_rsp_i (mem_rsp),
    .pt_req_o  (pt_req),
    .pt_rsp_i  (pt_rsp),
    .cq_req_o  (cq_req),
    .cq_rsp_i  (cq_rsp),
    .dma_req_o (dma_req),
    .dma_rsp_i (dma_rsp),
    .heap_req_o(heap_req),
    .heap_rsp_i(heap_rsp),
    .cache_req_o(cache_req),
    .cache_rsp_i(cache_rsp),
    .ext_req_i (ext_req),
    .ext_rsp_o (ext_rsp),
    .acc_valid_o(acc_valid),
    .acc_ready_o(acc_ready),
    .port_event_o(port_event),
    .mmu_event_o(mmu_event),
    .irq_o      (irq),
    .dma_irq_o  (dma_irq)
  );

  assign irq_o = {dma_irq, 31'(irq)};

  for (genvar i = 0; i < NumPorts; i++) begin : gen_port_event
    assign port_event_o[i] = port_event[i];
  end
  assign mmu_event_o = mmu_event;

  assign axil_req = '{
    aw_addr:  axil_aw_addr_q,
    aw_prot:  '0,
    aw_valid: axil_aw_valid_q,
    w_data:   axil_w_data_q,
    w_strb:   axil_w_strb_q,
    w_valid:  axil_w_valid_q,
    b_ready:  axil_b_ready_q,
    ar_addr:  axil_ar_addr_q,
    ar_prot:  '0,
    ar_valid: axil_ar_valid_q,
    r_ready:  axil_r_ready_q
  };
  assign axil_aw_ready_o = axil_rsp.aw_ready;
  assign axil_w_ready_o = axil_rsp.w_ready;
  assign axil_b_valid_o = axil_rsp.b_valid;
  assign axil_b_resp_o = axil_rsp.b_resp;
  assign axil_ar_ready_o = axil_rsp.ar_ready;
  assign axil_r_valid_o = axil_rsp.r_valid;
  assign axil_r_data_o = axil_rsp.r_data;
  assign axil_r_resp_o = axil_rsp.r_resp;

  // What all memory ports have in common; the wires of a master, then those of its slave.
  `define GW_MASTER_TO_PINS(__i, __req) \
  assign mem_ar_valid_o[__i] = __req.ar_valid; \
  assign mem_ar_id_o[__i] = TopIdWidth'(__req.ar.id); \
  assign mem_ar_addr_o[__i] = __req.ar.addr; \
  assign mem_ar_len_o[__i] = __req.ar.len; \
  assign mem_ar_size_o[__i] = __req.ar.size; \
  assign mem_ar_burst_o[__i] = __req.ar.burst; \
  assign mem_ar_lock_o[__i] = __req.ar.lock; \
  assign mem_r_ready_o[__i] = __req.r_ready; \
  assign mem_aw_valid_o[__i] = __req.aw_valid; \
  assign mem_aw_id_o[__i] = TopIdWidth'(__req.aw.id); \
  assign mem_aw_addr_o[__i] = __req.aw.addr; \
  assign mem_aw_len_o[__i] = __req.aw.len; \
  assign mem_aw_size_o[__i] = __req.aw.size; \
  assign mem_aw_burst_o[__i] = __req.aw.burst; \
  assign mem_aw_lock_o[__i] = __req.aw.lock; \
  assign mem_w_valid_o[__i] = __req.w_valid; \
  assign mem_w_data_o[__i] = __req.w.data; \
  assign mem_w_strb_o[__i] = __req.w.strb; \
  assign mem_w_last_o[__i] = __req.w.last; \
  assign mem_b_ready_o[__i] = __req.b_ready;

  `define GW_PINS_TO_SLAVE(__i, __rsp, __id_width) \
  assign __rsp = '{ \
    aw_ready: mem_aw_ready_q[__i], \
    w_ready:  mem_w_ready_q[__i], \
    b:        '{id: mem_b_id_q[__i][__id_width-1:0], resp: mem_b_resp_q[__i]}, \
    b_valid:  mem_b_valid_q[__i], \
    ar_ready: mem_ar_ready_q[__i], \
    r:        '{ \
      id:   mem_r_id_q[__i][__id_width-1:0], \
      data: mem_r_data_q[__i], \
      resp: mem_r_resp_q[__i], \
      last: mem_r_last_q[__i] \
    }, \
    r_valid:  mem_r_valid_q[__i] \
  };

  for (genvar i = 0; i < NumPorts; i++) begin : gen_acc
    assign {acc_b_valid_o[i], acc_w_valid_o[i], acc_aw_valid_o[i], acc_r_valid_o[i], acc_ar_valid_o[i]} = acc_valid[i];
    assign {acc_b_ready_o[i], acc_w_ready_o[i], acc_aw_ready_o[i], acc_r_ready_o[i], acc_ar_ready_o[i]} = acc_ready[i];
  end

  for (genvar i = 0; i < NumPorts; i++) begin : gen_mem
    `GW_MASTER_TO_PINS(i, mem_req[i])
    `GW_PINS_TO_SLAVE(i, mem_rsp[i], IdWidth)
  end

  for (genvar i = 0; i < NumDma; i++) begin : gen_dma
    `GW_MASTER_TO_PINS(NumPorts + i, dma_req[i])
    `GW_PINS_TO_SLAVE(NumPorts + i, dma_rsp[i], DmaIdWidth)
  end
  if (NumDma == 0) begin : gen_no_dma
    assign dma_rsp = '{default: '0};
    logic unused;
    assign unused = ^{dma_req[0], dma_req[1]};
  end

  if (NumHeap > 0) begin : gen_heap
    `GW_MASTER_TO_PINS(NumPorts + NumDma, heap_req)
    `GW_PINS_TO_SLAVE(NumPorts + NumDma, heap_rsp, HeapIdWidth)
  end else begin : gen_no_heap
    assign heap_rsp = '0;
    logic unused;
    assign unused = ^heap_req;
  end

  if (NumCache > 0) begin : gen_cache
    `GW_MASTER_TO_PINS(NumPorts + NumDma + NumHeap, cache_req)
    `GW_PINS_TO_SLAVE(NumPorts + NumDma + NumHeap, cache_rsp, CacheIdWidth)
  end else begin : gen_no_cache
    assign cache_rsp = '0;
    logic unused;
    assign unused = ^cache_req;
  end

  `GW_MASTER_TO_PINS(NumMem - 2, cq_req)
  `GW_PINS_TO_SLAVE(NumMem - 2, cq_rsp, CqIdWidth)
  `GW_MASTER_TO_PINS(NumMem - 1, pt_req)
  `GW_PINS_TO_SLAVE(NumMem - 1, pt_rsp, PtIdWidth)

  `undef GW_MASTER_TO_PINS
  `undef GW_PINS_TO_SLAVE

  for (genvar i = 0; i < NumExt; i++) begin : gen_ext
    assign ext_req[i].aw = '{
      id:    ext_aw_id_q[i][IdWidth-1:0],
      addr:  ext_aw_addr_q[i],
      len:   ext_aw_len_q[i],
      size:  ext_aw_size_q[i],
      burst: ext_aw_burst_q[i],
      default: '0
    };
    assign ext_req[i].aw_valid = ext_aw_valid_q[i];
    assign ext_req[i].w = '{data: ext_w_data_q[i], strb: ext_w_strb_q[i], last: ext_w_last_q[i]};
    assign ext_req[i].w_valid = ext_w_valid_q[i];
    assign ext_req[i].b_ready = ext_b_ready_q[i];
    assign ext_req[i].ar = '{
      id:    ext_ar_id_q[i][IdWidth-1:0],
      addr:  ext_ar_addr_q[i],
      len:   ext_ar_len_q[i],
      size:  ext_ar_size_q[i],
      burst: ext_ar_burst_q[i],
      default: '0
    };
    assign ext_req[i].ar_valid = ext_ar_valid_q[i];
    assign ext_req[i].r_ready = ext_r_ready_q[i];
    assign ext_aw_ready_o[i] = ext_rsp[i].aw_ready;
    assign ext_w_ready_o[i] = ext_rsp[i].w_ready;
    assign ext_b_valid_o[i] = ext_rsp[i].b_valid;
    assign ext_b_id_o[i] = TopIdWidth'(ext_rsp[i].b.id);
    assign ext_b_resp_o[i] = ext_rsp[i].b.resp;
    assign ext_ar_ready_o[i] = ext_rsp[i].ar_ready;
    assign ext_r_valid_o[i] = ext_rsp[i].r_valid;
    assign ext_r_id_o[i] = TopIdWidth'(ext_rsp[i].r.id);
    assign ext_r_data_o[i] = ext_rsp[i].r.data;
    assign ext_r_resp_o[i] = ext_rsp[i].r.resp;
    assign ext_r_last_o[i] = ext_rsp[i].r.last;
  end

endmodule
