// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Page DMA: moves lists of pages and ranges between host and device, clears them, and writes what comes after them. Wiring only.
//
//   ring ─> gw_cq_fetch ─> gw_dma_decode ─> gw_dma_exec ─┬─> lane, reads device ─┬─> writes, device port
//                                              ^         ├─> lane, reads host   ─┤
//                                  gw_dma_slots          ├─> clears             ─┴─> writes, host port
//                                  (done, in order)      └─ entries, fence numbers, answers to the fault unit
//
// Contract
// - Descriptors of 32 bytes in a ring in memory (spec/layout.toml: dma, dma_control); their head, fence numbers, errors and how it
//   stops: gw_dma_exec. A page of a scattered list is a descriptor; they run side by side, up to `Slots`.
// - Both directions at once, each up to one 64-byte line a cycle: a lane reads ahead as far as its buffer goes
//   (`BufferLines` cover latency × lines a cycle), and never holds up the other one. Clears take idle cycles.
// - Two ports, both 512 bits wide: addresses from gw_spec_pkg::HostApertureBase on go to the host port. Bursts of up to 16 lines
//   in 4 KiB; host reads have IDs 0 (data) and 1 (descriptors), all others ID 0.
// - Data of different descriptors is moved in any order. `after` and `wait` order them: what was written is answered before
//   anything behind is begun.
// - An access left to a slave that never answers is waited for, for ever; nothing else makes it wait, but a full ring of answers
//   (respond) and the sequence of a `wait`. Cancelling ends both.
// - Reset: off. No access may be under way on either port.
`include "gw_assert.svh"

module gw_page_dma #(
  /// Descriptors under way, 2 to 64, a power of two.
  parameter int unsigned Slots = 32,
  /// Bursts a lane has read and not yet written, 2 to 128; and bursts written and not yet answered, a port.
  parameter int unsigned Bursts = 32,
  /// Lines of a lane's buffer, a power of two, 32 or more.
  parameter int unsigned BufferLines = 256,
  /// Lines of two descriptors read ahead, 1 or more.
  parameter int unsigned FetchLines = 8,
  /// There is a fault unit that takes answers; without one `respond` is no descriptor.
  parameter bit          Respond = 1
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  gw_pkg::dma_cfg_t     cfg_i,
  output gw_pkg::dma_status_t  status_o,
  /// What a `wait` compares with: such as the number of the latest fence of the command queue.
  input  logic [31:0]          sequence_i,
  /// A fence asked for it, or it has stopped: one cycle.
  output logic                 irq_o,
  /// Answers to the fault unit.
  output logic                 respond_valid_o,
  input  logic                 respond_ready_i,
  output logic [63:0]          respond_o,
  /// Memory of the device, and of the host.
  output gw_axi_pkg::axi_req_t device_req_o,
  input  gw_axi_pkg::axi_rsp_t device_rsp_i,
  output gw_axi_pkg::axi_req_t host_req_o,
  input  gw_axi_pkg::axi_rsp_t host_rsp_i
);

  import gw_pkg::*;
  import gw_axi_pkg::*;

  if (Bursts < 2 || Bursts > 128) begin : gen_bad_bursts
    $fatal(1, "gw_page_dma: Bursts must be 2 to 128");
  end

  // Ports and lanes by what they reach.
  localparam int unsigned Device = 0;
  localparam int unsigned Host = 1;
  localparam int unsigned Clear = 2;
  localparam int unsigned DescriptorWidth = 8 * gw_spec_pkg::DmaBytes;

  logic run, fetch_idle, flush, kill, fetch_valid, fetch_ready, fetch_fault;
  logic [DescriptorWidth-1:0] descriptor;
  logic [31:0] mask;
  logic fetch_ar_valid, fetch_ar_ready, fetch_r_valid;
  axi_r_t fetch_r;
  logic [PaWidth-1:0] fetch_ar_addr;

  // A line that holds the ring is read on the host port or, for a ring in device memory, on the other one.
  logic ring_host;
  assign ring_host = cfg_i.base[gw_spec_pkg::HostApertureBit-PageShift];

  gw_cq_fetch #(
    .Lines   (FetchLines),
    .CmdBytes(gw_spec_pkg::DmaBytes)
  ) u_fetch (
    .clk_i,
    .rst_ni,
    .run_i      (run),
    .idle_o     (fetch_idle),
    .base_i     (cfg_i.base),
    .mask_i     (mask),
    .head_i     (status_o.head),
    .tail_i     (cfg_i.tail),
    .ar_valid_o (fetch_ar_valid),
    .ar_ready_i (fetch_ar_ready),
    .ar_addr_o  (fetch_ar_addr),
    .r_valid_i  (fetch_r_valid),
    .r_data_i   (fetch_r.data),
    .r_fault_i  (fetch_r.resp != RespOkay),
    .cmd_valid_o(fetch_valid),
    .cmd_ready_i(fetch_ready),
    .cmd_o      (descriptor),
    .cmd_fault_o(fetch_fault)
  );

  logic decoded_valid, decoded_ready, is_fence, is_irq, after, legal, fault;
  logic [3:0] op;
  logic [31:0] value;
  logic [63:0] source;
  logic [PaWidth-1:0] dest;
  dma_job_t decoded_job, job;

  gw_dma_decode #(
    .Respond(Respond)
  ) u_decode (
    .clk_i,
    .rst_ni,
    .flush_i    (flush),
    .in_valid_i (fetch_valid),
    .in_ready_o (fetch_ready),
    .in_i       (descriptor),
    .in_fault_i (fetch_fault),
    .out_valid_o(decoded_valid),
    .out_ready_i(decoded_ready),
    .op_o       (op),
    .fence_o    (is_fence),
    .irq_o      (is_irq),
    .after_o    (after),
    .value_o    (value),
    .source_o   (source),
    .dest_o     (dest),
    .job_o      (decoded_job),
    .legal_o    (legal),
    .fault_o    (fault)
  );

  logic [2:0] job_valid, job_ready;
  logic [1:0] word_valid, word_ready, port_fence_done;
  dma_word_t word;
  logic alloc, alloc_ready, alloc_job, alloc_word, empty, oldest_done, oldest_fence, oldest_irq, retire;
  dma_slot_t alloc_slot;
  logic [2:0] alloc_cause, oldest_error;
  logic [31:0] oldest_value;
  dma_done_t [2:0] begun, ended;
  dma_done_t [1:0] dropped, done;

  gw_dma_exec u_exec (
    .clk_i,
    .rst_ni,
    .cfg_i,
    .status_o,
    .sequence_i,
    .irq_o,
    .run_o         (run),
    .fetch_idle_i  (fetch_idle),
    .mask_o        (mask),
    .flush_o       (flush),
    .kill_o        (kill),
    .valid_i       (decoded_valid),
    .ready_o       (decoded_ready),
    .op_i          (op),
    .after_i       (after),
    .source_i      (source),
    .dest_i        (dest),
    .job_i         (decoded_job),
    .legal_i       (legal),
    .fault_i       (fault),
    .job_valid_o   (job_valid),
    .job_ready_i   (job_ready),
    .job_o         (job),
    .word_valid_o  (word_valid),
    .word_ready_i  (word_ready),
    .word_o        (word),
    .fence_done_i  (port_fence_done != '0),
    .fence_fault_i (port_fence_done[Host] ? done[Host].error : done[Device].error),
    .respond_valid_o,
    .respond_ready_i,
    .respond_o,
    .alloc_o       (alloc),
    .alloc_ready_i (alloc_ready),
    .alloc_slot_i  (alloc_slot),
    .alloc_job_o   (alloc_job),
    .alloc_word_o  (alloc_word),
    .alloc_cause_o (alloc_cause),
    .empty_i       (empty),
    .oldest_done_i (oldest_done),
    .oldest_error_i(oldest_error),
    .oldest_fence_i(oldest_fence),
    .oldest_irq_i  (oldest_irq),
    .oldest_value_i(oldest_value),
    .retire_o      (retire)
  );

  gw_dma_slots #(
    .Slots(Slots)
  ) u_slots (
    .clk_i,
    .rst_ni,
    .alloc_i       (alloc),
    .alloc_ready_o (alloc_ready),
    .alloc_slot_o  (alloc_slot),
    .alloc_job_i   (alloc_job),
    .alloc_word_i  (alloc_word),
    .alloc_cause_i (alloc_cause),
    .alloc_fence_i (is_fence),
    .alloc_irq_i   (is_irq),
    .alloc_value_i (value),
    .begin_i       (begun),
    .end_i         (ended),
    .drop_i        (dropped),
    .done_i        (done),
    .empty_o       (empty),
    .oldest_done_o (oldest_done),
    .oldest_error_o(oldest_error),
    .oldest_fence_o(oldest_fence),
    .oldest_irq_o  (oldest_irq),
    .oldest_value_o(oldest_value),
    .retire_i      (retire)
  );

  // Lanes.
  logic [1:0] lane_ar_valid, lane_ar_ready, lane_r_valid, data_valid, data_ready;
  dma_line_t [1:0] lane_ar_line;
  logic [1:0][7:0] lane_ar_len;
  logic [1:0][511:0] data;
  logic [2:0] write_valid, write_host, write_ready;
  dma_write_t [2:0] write;
  axi_r_t [1:0] port_r;
  assign port_r[Device] = device_rsp_i.r;
  assign port_r[Host] = host_rsp_i.r;

  for (genvar i = 0; i < 2; i++) begin : gen_lane
    gw_dma_lane #(
      .Bursts     (Bursts),
      .BufferLines(BufferLines),
      .Jobs       (Slots / 2)
    ) u_lane (
      .clk_i,
      .rst_ni,
      .kill_i       (kill),
      .job_valid_i  (job_valid[i]),
      .job_ready_o  (job_ready[i]),
      .job_i        (job),
      .begin_o      (begun[i]),
      .end_o        (ended[i]),
      .drop_o       (dropped[i]),
      .ar_valid_o   (lane_ar_valid[i]),
      .ar_ready_i   (lane_ar_ready[i]),
      .ar_line_o    (lane_ar_line[i]),
      .ar_len_o     (lane_ar_len[i]),
      .r_valid_i    (lane_r_valid[i]),
      .r_data_i     (port_r[i].data),
      .r_fault_i    (port_r[i].resp != RespOkay),
      .r_last_i     (port_r[i].last),
      .write_valid_o(write_valid[i]),
      .write_host_o (write_host[i]),
      .write_ready_i(write_ready[i]),
      .write_o      (write[i]),
      .data_valid_o (data_valid[i]),
      .data_ready_i (data_ready[i]),
      .data_o       (data[i])
    );
  end

  gw_dma_clear #(
    .Jobs(Slots / 2)
  ) u_clear (
    .clk_i,
    .rst_ni,
    .kill_i       (kill),
    .job_valid_i  (job_valid[Clear]),
    .job_ready_o  (job_ready[Clear]),
    .job_i        (job),
    .begin_o      (begun[Clear]),
    .end_o        (ended[Clear]),
    .write_valid_o(write_valid[Clear]),
    .write_host_o (write_host[Clear]),
    .write_ready_i(write_ready[Clear]),
    .write_o      (write[Clear])
  );

  // Ports. Read addresses are of the lane or, first, of the descriptors.
  typedef struct packed {
    logic fetch;
    logic [PaWidth-1:0] addr;
    logic [7:0] len;
  } read_t;
  axi_req_t [1:0] port_req;
  axi_rsp_t [1:0] port_rsp;
  logic [1:0] port_fetch_ready, port_idle;
  logic [1:0][2:0] port_write_ready;
  logic [1:0][1:0] port_data_ready;
  assign port_rsp = {host_rsp_i, device_rsp_i};
  assign device_req_o = port_req[Device];
  assign host_req_o = port_req[Host];
  assign fetch_ar_ready = port_fetch_ready[ring_host];
  assign fetch_r = port_r[ring_host];
  assign fetch_r_valid = port_rsp[ring_host].r_valid && port_r[ring_host].id[0];
  assign write_ready = port_write_ready[Device] | port_write_ready[Host];
  assign data_ready = port_data_ready[Device] | port_data_ready[Host];

  for (genvar i = 0; i < 2; i++) begin : gen_port
    logic read_ready, fetches, ar_valid, aw_valid, w_valid, w_last;
    logic [PaWidth-1:0] aw_addr;
    logic [7:0] aw_len;
    logic [2:0] aw_size;
    logic [63:0] w_strb;
    logic [511:0] w_data;
    read_t read_in, read;
    assign fetches = fetch_ar_valid && ring_host == 1'(i);
    assign port_fetch_ready[i] = read_ready;
    assign lane_ar_ready[i] = read_ready && !fetches;
    assign lane_r_valid[i] = port_rsp[i].r_valid && !port_r[i].id[0];
    assign read_in = fetches ? '{fetch: 1'b1, addr: fetch_ar_addr, len: '0} :
                               '{fetch: 1'b0, addr: {lane_ar_line[i], DmaLineShift'(0)}, len: lane_ar_len[i]};

    gw_slice #(
      .T(read_t)
    ) u_ar (
      .clk_i,
      .rst_ni,
      .in_valid_i  (read_ready && (fetches || lane_ar_valid[i])),
      .in_ready_o  (read_ready),
      .in_data_i   (read_in),
      .cancel_i    (1'b0),
      .out_valid_o (ar_valid),
      .out_cancel_o(),
      .out_ready_i (port_rsp[i].ar_ready),
      .out_data_o  (read)
    );

    gw_dma_write #(
      .Outstanding(Bursts)
    ) u_write (
      .clk_i,
      .rst_ni,
      .word_valid_i (word_valid[i]),
      .word_ready_o (word_ready[i]),
      .word_i       (word),
      .write_valid_i(write_valid & (write_host ~^ {3{1'(i)}})),
      .write_ready_o(port_write_ready[i]),
      .write_i      (write),
      .data_valid_i (data_valid),
      .data_ready_o (port_data_ready[i]),
      .data_i       (data),
      .aw_valid_o   (aw_valid),
      .aw_ready_i   (port_rsp[i].aw_ready),
      .aw_addr_o    (aw_addr),
      .aw_len_o     (aw_len),
      .aw_size_o    (aw_size),
      .w_valid_o    (w_valid),
      .w_ready_i    (port_rsp[i].w_ready),
      .w_data_o     (w_data),
      .w_strb_o     (w_strb),
      .w_last_o     (w_last),
      .b_valid_i    (port_rsp[i].b_valid),
      .b_fault_i    (port_rsp[i].b.resp != RespOkay),
      .done_o       (done[i]),
      .fence_done_o (port_fence_done[i]),
      .idle_o       (port_idle[i])
    );

    always_comb begin
      port_req[i] = '0;
      port_req[i].ar.id[0] = read.fetch;
      port_req[i].ar.addr = 64'(read.addr);
      port_req[i].ar.len = read.len;
      port_req[i].ar.size = 3'(DmaLineShift);
      port_req[i].ar.burst = BurstIncr;
      port_req[i].ar_valid = ar_valid;
      port_req[i].r_ready = 1'b1;
      port_req[i].aw.addr = 64'(aw_addr);
      port_req[i].aw.len = aw_len;
      port_req[i].aw.size = aw_size;
      port_req[i].aw.burst = BurstIncr;
      port_req[i].aw_valid = aw_valid;
      port_req[i].w = '{last: w_last, strb: w_strb, data: w_data};
      port_req[i].w_valid = w_valid;
      port_req[i].b_ready = 1'b1;
    end

    logic unused;
    assign unused = ^{port_rsp[i].b.id, port_r[i].id[3:1]};
  end

  logic unused;
  assign unused = ^{fetch_r.id, fetch_r.last};

  `GW_INVARIANT(IdleAtRest_A, status_o.on || port_idle == '1)
  `GW_INVARIANT(AnswersToDevice_A, !device_rsp_i.r_valid || device_rsp_i.r.id[3:1] == '0)

endmodule
