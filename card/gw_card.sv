// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// The reference card: the MMU, kernels in front of it, memory behind it, and heap, page cache and page DMA if the configuration has
// them. Wiring only; sizes come from gw_config_pkg, the kernel slots (gw_kernels) are generated for the configuration's list of
// kernels.
//
// Ports: the first memory bundle of kernel k is accelerator port k, external master e is port NumKernels + e, further bundles
// of kernels are the last ones. Walker, command queue, heap, page cache and page DMA have beats of 64 bytes: their memory ports are adapted
// to the card's. With a page cache what accelerator ports reach in the host aperture goes through it, over one link port.
// Register space (AXI4-Lite): the MMU at 0, the page DMA at DmaBase, the heap at HeapBase, kernel k at KernelBase + k * KernelStride;
// anything else answers DECERR.
module gw_card #(
  /// AXI4 bundles of accelerator and memory ports: gw_config_pkg's ID and data width.
  parameter type req_t = gw_axi_pkg::axi_req_t,
  parameter type rsp_t = gw_axi_pkg::axi_rsp_t,
  /// Those of walker and command queue: IDs as in gw_axi_pkg, gw_config_pkg's data width.
  parameter type pt_req_t = gw_axi_pkg::pt_req_t,
  parameter type pt_rsp_t = gw_axi_pkg::pt_rsp_t,
  parameter type cq_req_t = gw_axi_pkg::cq_req_t,
  parameter type cq_rsp_t = gw_axi_pkg::cq_rsp_t,
  /// Those of the page DMA: IDs as in gw_axi_pkg::axi_req_t, gw_config_pkg's data width.
  parameter type dma_req_t = gw_axi_pkg::axi_req_t,
  parameter type dma_rsp_t = gw_axi_pkg::axi_rsp_t,
  /// That of the heap: IDs as in gw_axi_pkg, gw_config_pkg's data width.
  parameter type heap_req_t = gw_axi_pkg::heap_mem_req_t,
  parameter type heap_rsp_t = gw_axi_pkg::heap_mem_rsp_t,
  /// The page cache's: the same.
  parameter type cache_req_t = gw_axi_pkg::axi_req_t,
  parameter type cache_rsp_t = gw_axi_pkg::axi_rsp_t,
  localparam int unsigned NumPorts = gw_config_pkg::NumPorts,
  localparam int unsigned NumKernels = gw_config_pkg::NumKernels,
  /// Elements of the external ports: one, unused, when there are none.
  localparam int unsigned NumExt = (gw_config_pkg::NumExternal > 0) ? gw_config_pkg::NumExternal : 1
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  gw_axi_pkg::axil_req_t axil_req_i,
  output gw_axi_pkg::axil_rsp_t axil_rsp_o,
  // Memory, one port an accelerator port
  output req_t                  mem_req_o [NumPorts],
  input  rsp_t                  mem_rsp_i [NumPorts],
  // Memory, the walker's port
  output pt_req_t               pt_req_o,
  input  pt_rsp_t               pt_rsp_i,
  // Memory, the command queue's port
  output cq_req_t               cq_req_o,
  input  cq_rsp_t               cq_rsp_i,
  // Memory, the page DMA's ports: device memory, host memory
  output dma_req_t              dma_req_o [2],
  input  dma_rsp_t              dma_rsp_i [2],
  // Memory, the heap's port
  output heap_req_t             heap_req_o,
  input  heap_rsp_t             heap_rsp_i,
  // Memory, the page cache's port: host memory
  output cache_req_t            cache_req_o,
  input  cache_rsp_t            cache_rsp_i,
  // External masters
  input  req_t                  ext_req_i [NumExt],
  output rsp_t                  ext_rsp_o [NumExt],
  // Handshakes of the accelerator ports before translation, to look at: {B, W, AW, R, AR}
  output logic [4:0]            acc_valid_o [NumPorts],
  output logic [4:0]            acc_ready_o [NumPorts],
  // Events of the MMU, to look at
  output gw_pkg::port_event_t   port_event_o [NumPorts],
  output gw_pkg::mmu_event_t    mmu_event_o,
  // Bit 0: MMU, bit 1 + k: kernel k
  output logic [NumKernels:0]   irq_o,
  output logic                  dma_irq_o
);

  localparam bit HasDma = gw_config_pkg::DmaSlots > 0;
  localparam bit HasHeap = gw_config_pkg::HeapSlots > 0;
  localparam bit HasCache = gw_config_pkg::CachePages > 0;
  // The MMU, the kernels, the heap, the page DMA.
  localparam int unsigned NumSlaves = NumKernels + 1 + 32'(HasHeap) + 32'(HasDma);
  localparam int unsigned HeapSlave = HasHeap ? NumKernels + 1 : 0;

  typedef logic [NumSlaves-1:0][31:0] region_t;

  function automatic region_t region_base();
    region_base[0] = gw_spec_pkg::RegisterSpaceMmuBase;
    if (HasHeap) region_base[HeapSlave] = gw_spec_pkg::RegisterSpaceHeapBase;
    if (HasDma) region_base[NumSlaves-1] = gw_spec_pkg::RegisterSpaceDmaBase;
    for (int unsigned i = 1; i <= NumKernels; i++) begin
      region_base[i] = gw_spec_pkg::RegisterSpaceKernelBase + (i - 1) * gw_spec_pkg::RegisterSpaceKernelStride;
    end
  endfunction

  function automatic region_t region_mask();
    region_mask[0] = (32'd1 << gw_csr_regs_pkg::GW_CSR_REGS_MIN_ADDR_WIDTH) - 1;
    if (HasHeap) region_mask[HeapSlave] = (32'd1 << gw_heap_regs_pkg::GW_HEAP_REGS_MIN_ADDR_WIDTH) - 1;
    if (HasDma) region_mask[NumSlaves-1] = (32'd1 << gw_dma_regs_pkg::GW_DMA_REGS_MIN_ADDR_WIDTH) - 1;
    for (int unsigned i = 1; i <= NumKernels; i++) begin
      region_mask[i] = gw_spec_pkg::RegisterSpaceKernelStride - 1;
    end
  endfunction

  gw_axi_pkg::axil_req_t [NumSlaves-1:0] slave_req;
  gw_axi_pkg::axil_rsp_t [NumSlaves-1:0] slave_rsp;

  gw_axil_demux #(
    .NumSlaves(NumSlaves),
    .Base     (region_base()),
    .Mask     (region_mask())
  ) u_axil_demux (
    .clk_i,
    .rst_ni,
    .s_req_i(axil_req_i),
    .s_rsp_o(axil_rsp_o),
    .m_req_o(slave_req),
    .m_rsp_i(slave_rsp)
  );

  req_t port_req[NumPorts];
  rsp_t port_rsp[NumPorts];
  gw_axi_pkg::pt_req_t pt_req;
  gw_axi_pkg::pt_rsp_t pt_rsp;
  gw_axi_pkg::cq_req_t cq_req;
  gw_axi_pkg::cq_rsp_t cq_rsp;
  gw_pkg::heap_to_mmu_t heap_to_mmu;
  gw_pkg::heap_from_mmu_t heap_from_mmu;
  gw_pkg::port_cfg_t [NumPorts-1:0] port_cfg;
  // Kernels' streams to the heap, and how their ports are bound.
  localparam int unsigned NumAgents = (NumKernels > 0) ? NumKernels : 1;
  logic [NumAgents-1:0] agent_cmd_valid, agent_cmd_ready, agent_rsp_valid, agent_rsp_ready;
  logic [NumAgents-1:0][191:0] agent_cmd;
  logic [NumAgents-1:0][127:0] agent_rsp;
  localparam gw_pkg::vpn_t HeapFirst = gw_pkg::vpn_t'(gw_spec_pkg::HeapWindowFirst >> gw_pkg::PageShift);
  localparam gw_pkg::vpn_t HeapSmall = gw_pkg::vpn_t'(gw_spec_pkg::HeapWindowSmall >> gw_pkg::PageShift);
  localparam gw_pkg::vpn_t HeapLast = gw_pkg::vpn_t'(gw_spec_pkg::HeapWindowEnd >> gw_pkg::PageShift) - 1'b1;
  req_t mmu_req[NumPorts];
  rsp_t mmu_rsp[NumPorts];
  logic cache_cmd_valid, cache_cmd_ready;
  gw_pkg::cache_cmd_t cache_cmd;
  gw_pkg::cache_ack_t cache_ack;
  gw_pkg::cache_event_t cache_event;
  gw_pkg::access_req_t access_req;
  gw_pkg::access_rsp_t access_rsp;

  gw_mmu #(
    .NumPorts        (NumPorts),
    .NumContexts     (gw_config_pkg::NumContexts),
    .L1Entries       (gw_config_pkg::L1Entries),
    .L1Replacement   (gw_config_pkg::L1Replacement),
    .MissEntries     (gw_config_pkg::MissEntries),
    .Outstanding     (gw_config_pkg::Outstanding),
    .PortBuffer      (gw_config_pkg::NumPorts'(gw_config_pkg::PortBuffers)),
    .L2Sets          (gw_config_pkg::L2Sets),
    .L2Ways          (gw_config_pkg::L2Ways),
    .L2Policy        (gw_pkg::l2_policy_e'(gw_config_pkg::L2Policy)),
    .L2Replacement   (gw_config_pkg::L2Replacement),
    .L2Clusters      (1'(gw_config_pkg::L2Clusters)),
    .L2FillEntries   (gw_config_pkg::L2FillEntries),
    .L2MissEntries   (gw_config_pkg::L2MissEntries),
    .RangeEntries    (gw_config_pkg::RangeEntries),
    .Levels          (gw_config_pkg::Levels),
    .WalkRequests    (gw_config_pkg::WalkRequests),
    .WalkLines       (gw_config_pkg::WalkLines),
    .WalkLineBeats   (gw_config_pkg::WalkLineBeats),
    .WalkCacheEntries(gw_config_pkg::WalkCacheEntries),
    .WalkPrefetch    (gw_config_pkg::WalkPrefetch != 0),
    .AnyNapot        (gw_config_pkg::AnyNapot != 0),
    .PageRequests    (gw_config_pkg::PageRequests),
    .Heap            (HasHeap),
    .HeapFirst       (HeapFirst),
    .HeapLast        (HeapLast),
    .PageCache       (HasCache),
    .AccessCounters  (HasCache && gw_config_pkg::CacheCounters > 0),
    .req_t           (req_t),
    .rsp_t           (rsp_t)
  ) u_mmu (
    .clk_i,
    .rst_ni,
    .axil_req_i(slave_req[0]),
    .axil_rsp_o(slave_rsp[0]),
    .s_req_i   (port_req),
    .s_rsp_o   (port_rsp),
    .m_req_o   (mmu_req),
    .m_rsp_i   (mmu_rsp),
    .pt_req_o  (pt_req),
    .pt_rsp_i  (pt_rsp),
    .cq_req_o  (cq_req),
    .cq_rsp_i  (cq_rsp),
    .heap_i    (heap_to_mmu),
    .heap_o    (heap_from_mmu),
    .cache_valid_o(cache_cmd_valid),
    .cache_ready_i(cache_cmd_ready),
    .cache_o      (cache_cmd),
    .cache_ack_i  (cache_ack),
    .cache_event_i(cache_event),
    .access_o     (access_req),
    .access_i     (access_rsp),
    .port_cfg_o   (port_cfg),
    .port_event_o,
    .mmu_event_o,
    .irq_o     (irq_o[0])
  );

  if (HasCache) begin : gen_cache
    gw_host_cache #(
      .NumPorts   (NumPorts),
      .IdWidth    (gw_config_pkg::IdWidth),
      .DataWidth  (gw_config_pkg::DataWidth),
      .Bursts     (gw_config_pkg::Outstanding),
      .Pages      (gw_config_pkg::CachePages),
      .PageShift  (gw_config_pkg::CachePageShift),
      .Replacement(gw_config_pkg::CacheReplacement),
      .FillMode   (gw_config_pkg::CacheFill),
      .Spare      (gw_config_pkg::CacheSpare),
      .Reads      (gw_config_pkg::CacheReads),
      .Writes     (gw_config_pkg::CacheWrites),
      .Fills      (gw_config_pkg::CacheFills),
      .Merges     (gw_config_pkg::CacheMerges),
      .RestLines  (gw_config_pkg::CacheRestLines),
      .Ahead      (gw_config_pkg::CacheAhead),
      .Eager      (gw_config_pkg::CacheEager),
      .WalkLines  (gw_config_pkg::WalkLines),
      .WalkLineBeats(gw_config_pkg::WalkLineBeats),
      .Counters   (gw_config_pkg::CacheCounters),
      .req_t      (req_t),
      .rsp_t      (rsp_t),
      .link_req_t (cache_req_t),
      .link_rsp_t (cache_rsp_t)
    ) u_cache (
      .clk_i,
      .rst_ni,
      .s_req_i    (mmu_req),
      .s_rsp_o    (mmu_rsp),
      .m_req_o    (mem_req_o),
      .m_rsp_i    (mem_rsp_i),
      .link_req_o (cache_req_o),
      .link_rsp_i (cache_rsp_i),
      .pt_req_i   (pt_req),
      .pt_rsp_i   (pt_rsp),
      .cmd_valid_i(cache_cmd_valid),
      .cmd_ready_o(cache_cmd_ready),
      .cmd_i      (cache_cmd),
      .ack_o      (cache_ack),
      .event_o    (cache_event),
      .access_req_i(access_req),
      .access_rsp_o(access_rsp)
    );
  end else begin : gen_no_cache
    for (genvar i = 0; i < NumPorts; i++) begin : gen_wire
      assign mem_req_o[i] = mmu_req[i];
      assign mmu_rsp[i] = mem_rsp_i[i];
    end
    assign cache_req_o = '0;
    assign cache_cmd_ready = 1'b0;
    assign cache_ack = '0;
    assign cache_event = '0;
    assign access_rsp = '0;
    logic unused;
    assign unused = ^{cache_rsp_i, cache_cmd_valid, cache_cmd, access_req};
  end

  gw_walker_port #(
    .DataWidth(gw_config_pkg::DataWidth),
    .Lines    (gw_config_pkg::WalkLines),
    .req_t    (pt_req_t),
    .rsp_t    (pt_rsp_t)
  ) u_walker_port (
    .clk_i,
    .rst_ni,
    .s_req_i(pt_req),
    .s_rsp_o(pt_rsp),
    .m_req_o(pt_req_o),
    .m_rsp_i(pt_rsp_i)
  );

  gw_axi_adapt #(
    .SlvDataWidth(512),
    .SlvIdWidth  ($bits(cq_req.ar.id)),
    .MstDataWidth(gw_config_pkg::DataWidth),
    .MstIdWidth  ($bits(cq_req.ar.id)),
    .Bursts      (2),
    .slv_req_t   (gw_axi_pkg::cq_req_t),
    .slv_rsp_t   (gw_axi_pkg::cq_rsp_t),
    .mst_req_t   (cq_req_t),
    .mst_rsp_t   (cq_rsp_t)
  ) u_queue_port (
    .clk_i,
    .rst_ni,
    .s_req_i(cq_req),
    .s_rsp_o(cq_rsp),
    .m_req_o(cq_req_o),
    .m_rsp_i(cq_rsp_i)
  );

  if (HasHeap) begin : gen_heap
    gw_axi_pkg::heap_mem_req_t heap_req;
    gw_axi_pkg::heap_mem_rsp_t heap_rsp;
    // Ports that are no kernel's first.
    logic unused;
    assign unused = ^port_cfg;

    // Clearing is left the cycles in which nobody else asks memory for something, or gets it.
    logic [NumPorts-1:0] port_used;
    logic room_q;
    for (genvar i = 0; i < NumPorts; i++) begin : gen_used
      assign port_used[i] = mem_req_o[i].ar_valid || mem_req_o[i].aw_valid || mem_req_o[i].w_valid || mem_rsp_i[i].r_valid;
    end
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) room_q <= 1'b0;
      else room_q <= port_used == '0 && !(pt_req_o.ar_valid || pt_rsp_i.r_valid) && !(heap_req.ar_valid || heap_rsp.r_valid);
    end

    gw_heap_unit #(
      .NumContexts(gw_config_pkg::NumContexts),
      .Agents     (NumAgents),
      .Regions    (gw_config_pkg::HeapRegions),
      .Blocks     (gw_config_pkg::HeapBlocks),
      .Lines      (gw_config_pkg::HeapLines),
      .Levels     (gw_config_pkg::Levels),
      // Groups that the walker knows as one page.
      .Orders     (gw_config_pkg::AnyNapot != 0 ? 10'h3ff : 10'h011),
      // A narrower port splits wider accesses, and what is split is not exclusive.
      .Together   (gw_config_pkg::DataWidth < 512 ? gw_config_pkg::DataWidth / 64 : 8),
      .Slots      (gw_config_pkg::HeapSlots),
      .LargeBase  (HeapFirst),
      .SmallBase  (HeapSmall),
      .First      (HeapFirst),
      .Last       (HeapLast)
    ) u_heap (
      .clk_i,
      .rst_ni,
      .axil_req_i(slave_req[HeapSlave]),
      .axil_rsp_o(slave_rsp[HeapSlave]),
      .mmu_i     (heap_from_mmu),
      .mmu_o     (heap_to_mmu),
      .agent_port_i     (port_cfg[NumAgents-1:0]),
      .agent_cmd_valid_i(agent_cmd_valid),
      .agent_cmd_ready_o(agent_cmd_ready),
      .agent_cmd_i      (agent_cmd),
      .agent_rsp_valid_o(agent_rsp_valid),
      .agent_rsp_ready_i(agent_rsp_ready),
      .agent_rsp_o      (agent_rsp),
      .room_i    (room_q),
      .m_req_o   (heap_req),
      .m_rsp_i   (heap_rsp)
    );

    gw_axi_adapt #(
      .SlvDataWidth(512),
      .SlvIdWidth  (gw_axi_pkg::HeapIdWidth),
      .MstDataWidth(gw_config_pkg::DataWidth),
      .MstIdWidth  (gw_axi_pkg::HeapIdWidth),
      .Bursts      (8),
      .slv_req_t   (gw_axi_pkg::heap_mem_req_t),
      .slv_rsp_t   (gw_axi_pkg::heap_mem_rsp_t),
      .mst_req_t   (heap_req_t),
      .mst_rsp_t   (heap_rsp_t)
    ) u_port (
      .clk_i,
      .rst_ni,
      .s_req_i(heap_req),
      .s_rsp_o(heap_rsp),
      .m_req_o(heap_req_o),
      .m_rsp_i(heap_rsp_i)
    );
  end else begin : gen_no_heap
    assign heap_req_o = '0;
    assign heap_to_mmu = '0;
    logic unused;
    assign unused = ^{heap_rsp_i, heap_from_mmu, port_cfg, agent_cmd_valid, agent_cmd, agent_rsp_ready};
    assign agent_cmd_ready = '0;
    assign agent_rsp_valid = '0;
    assign agent_rsp = '0;
  end

  if (HasDma) begin : gen_dma
    gw_axi_pkg::axi_req_t dma_req[2];
    gw_axi_pkg::axi_rsp_t dma_rsp[2];
    logic unused;

    gw_dma_unit #(
      .Slots      (gw_config_pkg::DmaSlots),
      .Bursts     (gw_config_pkg::DmaBursts),
      .BufferLines(gw_config_pkg::DmaBufferLines),
      .FetchLines (gw_config_pkg::DmaFetchLines),
      .Respond    (1'b0)
    ) u_dma (
      .clk_i,
      .rst_ni,
      .axil_req_i     (slave_req[NumSlaves-1]),
      .axil_rsp_o     (slave_rsp[NumSlaves-1]),
      .irq_o          (dma_irq_o),
      .respond_valid_o(unused),
      .respond_ready_i(1'b1),
      .respond_o      (),
      .device_req_o   (dma_req[0]),
      .device_rsp_i   (dma_rsp[0]),
      .host_req_o     (dma_req[1]),
      .host_rsp_i     (dma_rsp[1])
    );

    for (genvar i = 0; i < 2; i++) begin : gen_port
      gw_axi_adapt #(
        .SlvDataWidth(512),
        .SlvIdWidth  (gw_axi_pkg::AxiIdWidth),
        .MstDataWidth(gw_config_pkg::DataWidth),
        .MstIdWidth  (gw_axi_pkg::AxiIdWidth),
        .Bursts      (1 << $clog2(gw_config_pkg::DmaBursts)),
        .slv_req_t   (gw_axi_pkg::axi_req_t),
        .slv_rsp_t   (gw_axi_pkg::axi_rsp_t),
        .mst_req_t   (dma_req_t),
        .mst_rsp_t   (dma_rsp_t)
      ) u_port (
        .clk_i,
        .rst_ni,
        .s_req_i(dma_req[i]),
        .s_rsp_o(dma_rsp[i]),
        .m_req_o(dma_req_o[i]),
        .m_rsp_i(dma_rsp_i[i])
      );
    end
  end else begin : gen_no_dma
    assign dma_req_o = '{default: '0};
    assign dma_irq_o = 1'b0;
    logic unused;
    assign unused = ^{dma_rsp_i[0], dma_rsp_i[1]};
  end

  for (genvar i = 0; i < NumPorts; i++) begin : gen_observe
    assign acc_valid_o[i] = {
      port_rsp[i].b_valid, port_req[i].w_valid, port_req[i].aw_valid, port_rsp[i].r_valid, port_req[i].ar_valid
    };
    assign acc_ready_o[i] = {
      port_req[i].b_ready, port_rsp[i].w_ready, port_rsp[i].aw_ready, port_req[i].r_ready, port_rsp[i].ar_ready
    };
  end

  if (NumKernels > 0) begin : gen_kernels
    localparam int unsigned NumBundles = NumKernels + gw_config_pkg::NumExtra;
    req_t kernel_req[NumBundles];
    rsp_t kernel_rsp[NumBundles];

    gw_kernels #(
      .req_t(req_t),
      .rsp_t(rsp_t)
    ) u_kernels (
      .clk_i,
      .rst_ni,
      .axil_req_i(slave_req[NumKernels:1]),
      .axil_rsp_o(slave_rsp[NumKernels:1]),
      .m_req_o   (kernel_req),
      .m_rsp_i   (kernel_rsp),
      .heap_cmd_valid_o(agent_cmd_valid),
      .heap_cmd_ready_i(agent_cmd_ready),
      .heap_cmd_o      (agent_cmd),
      .heap_rsp_valid_i(agent_rsp_valid),
      .heap_rsp_ready_o(agent_rsp_ready),
      .heap_rsp_i      (agent_rsp),
      .irq_o     (irq_o[NumKernels:1])
    );

    for (genvar b = 0; b < NumBundles; b++) begin : gen_bundle
      localparam int unsigned Port = (b < NumKernels) ? b : b + gw_config_pkg::NumExternal;
      assign port_req[Port] = kernel_req[b];
      assign kernel_rsp[b] = port_rsp[Port];
    end
  end else begin : gen_no_kernels
    assign agent_cmd_valid = '0;
    assign agent_cmd = '0;
    assign agent_rsp_ready = '0;
    logic unused;
    assign unused = ^{agent_cmd_ready, agent_rsp_valid, agent_rsp};
  end

  for (genvar e = 0; e < gw_config_pkg::NumExternal; e++) begin : gen_external
    assign port_req[NumKernels+e] = ext_req_i[e];
    assign ext_rsp_o[e] = port_rsp[NumKernels+e];
  end

  if (gw_config_pkg::NumExternal == 0) begin : gen_no_external
    assign ext_rsp_o[0] = '0;
    logic unused;
    assign unused = ^ext_req_i[0];
  end

endmodule
