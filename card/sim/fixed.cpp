// SPDX-License-Identifier: Apache-2.0
// Memory model `fixed`: every access takes the same number of cycles, behind an interconnect that takes a given number of
// requests (bursts) a cycle from all ports together.
//
// Contract
//   An address accepted in cycle c that is granted in cycle g >= c: first R beat valid in g + 1 + L, one beat a cycle from
//   there; B valid in max(g, cycle of the last W beat) + 1 + L. L is latency_cycles, or page_table_latency_cycles on the
//   walker's port. Grants: at most requests_per_cycle on average, never more than ceil(requests_per_cycle) in one cycle;
//   channels take turns. g = c when nothing else competes. A channel holds one address that waits for its grant, then
//   deasserts ready: the full rate still flows through one channel.
#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "memory.hpp"

namespace gw {
namespace {

class Fixed final : public MemoryTiming {
   public:
    Fixed(const MemoryOptions& options, unsigned ports, unsigned page_table_port)
        : latency_(2 * ports, options.latency_cycles),
          waiting_(2 * ports, nullptr),
          rate_(options.requests_per_cycle),
          limit_(std::ceil(rate_)),
          credit_(limit_) {
        latency_[2 * page_table_port] = latency_[2 * page_table_port + 1] = options.page_table_latency_cycles;
    }

    bool accepts(unsigned channel) const override { return (mask_ >> channel & 1) == 0; }

    void add(Burst& burst) override {
        waiting_[burst.channel] = &burst;
        mask_ |= uint64_t{1} << burst.channel;
    }

    void complete(Burst& burst) override {
        if (burst.granted != kNever) burst.ready = burst.complete + 1 + latency_[burst.channel];
    }

    void tick(uint64_t cycle) override {
        if (mask_ == 0) return;
        // The allowance of the cycles in which nothing waited, up to one cycle's worth, is added when it matters.
        credit_ = std::min(limit_, credit_ + static_cast<double>(cycle - credited_) * rate_);
        credited_ = cycle;
        // 1e-9: repeated sums of a rate such as 0.1 must not lose a grant to rounding.
        for (; mask_ != 0 && credit_ >= 1.0 - 1e-9; credit_ -= 1.0) {
            const uint64_t after = mask_ & (~uint64_t{0} << next_);
            const unsigned channel = static_cast<unsigned>(std::countr_zero(after ? after : mask_));
            next_ = (channel + 1) % 64;
            mask_ &= ~(uint64_t{1} << channel);
            grant(*waiting_[channel], cycle);
        }
    }

   private:
    void grant(Burst& burst, uint64_t cycle) {
        const uint64_t latency = latency_[burst.channel];
        burst.granted = cycle;
        if (!burst.write) {
            burst.ready = cycle + 1 + latency;
            std::fill_n(burst.line_ready.begin(), burst.lines(), burst.ready);
        } else if (burst.complete != kNever) {
            burst.ready = cycle + 1 + latency;
        }
    }

    std::vector<uint64_t> latency_;
    std::vector<Burst*> waiting_;  // one a channel; bit in mask_ when there is one
    uint64_t mask_ = 0;
    double rate_;
    double limit_;
    double credit_;
    uint64_t credited_ = 0;
    unsigned next_ = 0;
};

}  // namespace

std::unique_ptr<MemoryTiming> make_fixed(const MemoryOptions& options, unsigned ports, unsigned page_table_port) {
    return std::make_unique<Fixed>(options, ports, page_table_port);
}

}  // namespace gw
