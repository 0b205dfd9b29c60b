// SPDX-License-Identifier: Apache-2.0
#include "card.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "error.hpp"
#include "verilator_print.hpp"

namespace gw {
namespace {

constexpr unsigned kResetCycles = 16;
// A register access ends after this many cycles even when the watchdog is off: nothing else could end the call.
constexpr uint64_t kRegisterLimit = 100'000;

// ap_ctrl of a kernel (Vitis HLS): start, done, idle.
constexpr uint32_t kApStart = 1, kApDone = 2, kApIdle = 4;

std::unique_ptr<MemoryTiming> make_timing(const MemoryOptions& options, const Clock& clock) {
    if (options.model == MemoryOptions::Model::kLiteDram) return make_litedram(options, clock);
    if (options.model == MemoryOptions::Model::kBanked) return make_banked(options, kNumMem, clock);
    return make_fixed(options, kNumMem, kWalkerPort);
}

std::unique_ptr<MemoryTiming> make_timings(const std::vector<MemoryOptions>& memories, const Clock& clock) {
    std::vector<MemoryPart> parts;
    uint64_t first = 0;
    for (const MemoryOptions& memory : memories) {
        parts.push_back({first, make_timing(memory, clock)});
        first += memory.bytes;
    }
    return join_memories(std::move(parts));
}

}  // namespace

Card::Card(const Options& options)
    : clock_(options.clock_mhz),
      watchdog_limit_(options.watchdog_cycles),
      model_(std::make_unique<Model>(&context_)),
      memory_(options.memory_bytes),
      link_(options.link, clock_),
      timing_(make_timings(options.memories, clock_)),
      shared_{.top = *model_,
              .memory = memory_,
              .timing = *timing_,
              .link = link_,
              .stall = Stall(options.stall),
              .trace = Trace(options.axi_trace),
              .events = {},
              .answers_in_order =
                  options.memories.size() == 1 && options.memories.front().model == MemoryOptions::Model::kFixed},
      watchdog_(options.watchdog_cycles),
      axil_(shared_),
      kernel_ports_(shared_),
      launches_(shared_) {
    context_.fatalOnError(false);
    context_.timeunit(-12);
    context_.timeprecision(-12);
    if (!options.waves.empty()) waves_ = std::make_unique<Waves>(*model_, context_, options.waves);
    slaves_.reserve(kNumMem);
    for (unsigned port = 0; port < kNumMem; ++port) slaves_.emplace_back(shared_, port);
    masters_.reserve(kNumExt);
    if (!options.events.empty()) event_stream_ = std::make_unique<EventStream>(*model_, options.events, options.clock_mhz);
    for (unsigned ext = 0; ext < kNumExt; ++ext) masters_.emplace_back(shared_, ext, answers_);
    reset();
}

Card::~Card() {
    model_->final();
    take_model_output();
}

void Card::reset() {
    model_->rst_ni = 0;
    for (unsigned i = 0; i < kResetCycles; ++i) {
        evaluate(1);
        evaluate(0);
    }
    model_->rst_ni = 1;
    check_model();
}

void Card::evaluate(int clock) {
    model_->clk_i = static_cast<uint8_t>(clock);
    model_->eval();
    if (waves_) waves_->dump(clock_.to_ps(cycle_) + (clock ? 0 : static_cast<uint64_t>(clock_.period() / kFsPerPs / 2)));
}

void Card::step() {
    for (AxiSlave& slave : slaves_) slave.drive(cycle_);
    for (PortMaster& master : masters_) master.drive(cycle_);
    axil_.drive(cycle_);
    evaluate(1);
    try {
        for (AxiSlave& slave : slaves_) slave.sample(cycle_);
        for (PortMaster& master : masters_) master.sample(cycle_);
    } catch (const CardError& error) {
        broken_ = error.what();
        throw;
    }
    axil_.sample(cycle_);
    kernel_ports_.sample(cycle_);
    timing_->tick(cycle_);
    if (event_stream_) [[unlikely]]
        event_stream_->sample(cycle_);
    evaluate(0);
    ++cycle_;
    if (const uint32_t risen = launches_.risen(irq())) [[unlikely]]
        launches_.interrupted(risen, stats());
    if (context_.gotError() || context_.gotFinish()) [[unlikely]]
        check_model();
    if (watchdog_.due(cycle_, shared_.last_handshake)) [[unlikely]]
        inspect();
}

void Card::check_model() {
    if (!context_.gotError() && !context_.gotFinish()) return;
    broken_ = format("the RTL stopped in cycle %llu: ", ull(cycle_)) + take_model_output();
    throw CardError(GW_CARD_EDESIGN, broken_);
}

void Card::check_files() const {
    shared_.trace.check();
    if (event_stream_) event_stream_->check();
}

void Card::require_working() const {
    if (!broken_.empty()) throw CardError(GW_CARD_EDESIGN, broken_ + " (the card cannot go on: open it again)");
}

void Card::inspect() {
    uint64_t busy_until = 0;
    std::vector<std::string> waiting;
    for (const AxiSlave& slave : slaves_) {
        busy_until = std::max(busy_until, slave.busy_until());
        slave.report_waiting(waiting);
    }
    for (const PortMaster& master : masters_) master.report_waiting(waiting);
    axil_.report_waiting(waiting);
    kernel_ports_.report_waiting(waiting);
    for (unsigned k = 0; k < kNumKernels; ++k) {
        if (!kernels_[k].started || !(waited_irqs_ >> (1 + k) & 1)) continue;
        const uint64_t last = kernel_ports_.last_handshake(k);
        std::string text = format("kernel %u (%s) was started in cycle %llu and has not raised its interrupt", k,
                                  port_name(k).c_str(), ull(kernels_[k].since));
        text += last == kNever || last < kernels_[k].since
                    ? std::string(": it has done nothing at all on its AXI port")
                    : format(": the last handshake on its AXI port was in cycle %llu", ull(last));
        waiting.push_back(text + " (if it only computes, raise watchdog_cycles; if it has finished, enable its interrupt)");
    }
    watchdog_.judge(cycle_, shared_.last_handshake, busy_until, waiting);
}

void Card::register_access(uint64_t offset, std::optional<uint32_t> write_value) {
    if (offset % 4 != 0 || offset >> 32 != 0)
        throw CardError(GW_CARD_EINVAL, format("register offset 0x%llx: must be a multiple of 4 below 2^32", ull(offset)));
    require_working();
    const auto end_access = [&] {
        const uint64_t limit = cycle_ + kRegisterLimit;
        while (!axil_.idle()) {
            step();
            if (watchdog_limit_ != 0 || cycle_ < limit) continue;
            std::vector<std::string> waiting;
            axil_.report_waiting(waiting);
            if (!waiting.empty()) throw CardError(GW_CARD_EHANG, "hang: " + waiting.front());
        }
    };
    waited_irqs_ = 0;
    end_access();  // of an access that an earlier call gave up
    for (uint64_t i = 0; i < link_.register_cycles(); ++i) step();
    const std::optional<unsigned> kernel = control_of(offset);
    if (kernel && write_value && (*write_value & kApStart)) launches_.arm(*kernel);
    axil_.start(static_cast<uint32_t>(offset), write_value);
    end_access();
    const unsigned resp = axil_.resp();
    if (kernel) note_kernel(*kernel, write_value);
    if (!write_value)
        for (uint64_t i = 0; i < link_.register_cycles(); ++i) step();
    check_files();
    if (resp != kRespOkay)
        throw CardError(GW_CARD_EBUS, format("%s of register 0x%08llx was answered with %s: there is no such register, or it "
                                             "does not allow this", write_value ? "write" : "read", ull(offset),
                                             resp == kRespDecErr ? "DECERR" : "SLVERR"));
}

uint32_t Card::reg_read(uint64_t offset) {
    register_access(offset, std::nullopt);
    return axil_.value();
}

void Card::reg_write(uint64_t offset, uint32_t value) { register_access(offset, value); }

std::optional<unsigned> Card::control_of(uint64_t offset) {
    if (offset < kKernelRegisters || offset % kKernelWindow != 0) return std::nullopt;
    const uint64_t k = (offset - kKernelRegisters) / kKernelWindow;
    return k < kNumKernels ? std::optional(static_cast<unsigned>(k)) : std::nullopt;
}

void Card::note_kernel(unsigned k, std::optional<uint32_t> written) {
    if (written && (*written & kApStart)) {
        kernels_[k] = {true, cycle_};
        launches_.started(k, stats());
    } else if (!written && (axil_.value() & (kApDone | kApIdle))) {
        kernels_[k].started = false;
        if (axil_.value() & kApDone) launches_.polled(k, stats());
    }
}

gw_launch_times Card::launch_times(uint32_t kernel) const {
    if (kernel >= kNumKernels)
        throw CardError(GW_CARD_EINVAL, format("kernel %u: this card has %u", kernel, kNumKernels));
    return launches_.times(kernel, stats());
}

uint32_t Card::run(uint64_t max_cycles, uint32_t irq_mask) {
    require_working();
    waited_irqs_ = irq_mask;
    for (uint64_t i = 0; i < max_cycles && !(irq() & irq_mask); ++i) step();
    note_interrupts();
    check_files();
    return irq();
}

void Card::note_interrupts() {
    for (uint32_t lines = irq() >> 1 & ((uint64_t{1} << kNumKernels) - 1); lines != 0; lines &= lines - 1)
        kernels_[static_cast<size_t>(std::countr_zero(lines))].started = false;
}

void Card::transfer(bool to_device, uint64_t device_addr, void* host, uint64_t size_bytes) {
    if (!memory_.contains(device_addr, size_bytes))
        throw CardError(GW_CARD_EINVAL, format("transfer of 0x%llx bytes at device address 0x%llx: device memory has 0x%llx bytes",
                                               ull(size_bytes), ull(device_addr), ull(memory_.size())));
    if (size_bytes == 0) return;
    uint8_t* device = memory_.base() + device_addr;
    if (host) std::memcpy(to_device ? device : host, to_device ? host : device, size_bytes);
    link_time_ += link_.transfer_time(size_bytes, !to_device);
    shared_.stats.link_bytes += size_bytes;
}

void Card::host_window(uint64_t bus_addr, void* host, uint64_t size_bytes) {
    link_.set_window(bus_addr, host, size_bytes);
}

void Card::submit(const gw_port_req* requests, size_t count) {
    require_working();
    const auto master_of = [&](const gw_port_req& request) -> PortMaster& {
        if (request.port < kNumKernels || request.port - kNumKernels >= kNumExt)
            throw CardError(GW_CARD_EINVAL,
                            kNumExt == 0 ? format("port %u: this card has no external ports; set card.external_ports", request.port)
                                         : format("port %u is no external port: those of this card are %u to %u", request.port,
                                                  kNumKernels, kNumKernels + kNumExt - 1));
        return masters_[request.port - kNumKernels];
    };
    for (size_t i = 0; i < count; ++i) master_of(requests[i]).check(requests[i]);
    for (size_t i = 0; i < count; ++i) master_of(requests[i]).submit(requests[i]);
}

uint64_t Card::pending() const {
    uint64_t count = 0;
    for (const PortMaster& master : masters_) count += master.pending();
    return count;
}

uint64_t Card::drain(uint64_t max_cycles, uint32_t irq_mask) {
    require_working();
    waited_irqs_ = irq_mask;
    for (uint64_t i = 0; i < max_cycles && pending() != 0 && !(irq() & irq_mask); ++i) step();
    note_interrupts();
    check_files();
    return pending();
}

size_t Card::poll(gw_port_done* out, size_t max, void* data, size_t data_size) {
    size_t count = 0, used = 0;
    while (count < max && !answers_.empty()) {
        const PortAnswer& answer = answers_.front();
        if (data) {
            if (answer.data.size() > data_size - used) break;
            std::memcpy(static_cast<uint8_t*>(data) + used, answer.data.data(), answer.data.size());
            used += answer.data.size();
        }
        out[count++] = answer.done;
        answers_.pop_front();
    }
    return count;
}

gw_card_stats Card::stats() const {
    gw_card_stats stats = shared_.stats;
    const MemoryCounts counts = timing_->counts();
    stats.cycles = cycle_;
    stats.link_ps = static_cast<uint64_t>(link_time_ / kFsPerPs);
    stats.time_ps = clock_.to_ps(cycle_) + stats.link_ps;
    stats.row_hits = counts.row_hits;
    stats.row_misses = counts.row_misses;
    return stats;
}

uint64_t Card::decode_errors(uint64_t& first_addr) const {
    first_addr = shared_.first_decode_error;
    return shared_.decode_errors;
}

}  // namespace gw
