// SPDX-License-Identifier: Apache-2.0
// Several memories behind the card's ports: each has its addresses and a model of its own.
//
// Contract
//   A burst goes to the memory that has its first line; no burst has lines of two, as memories end at multiples of 2 MiB.
//   A channel takes an address in a cycle in which every memory would: which one it is for is not known before it is taken, so
//   that a memory that is full keeps those behind it waiting, as a port with one address register does. Answers of one memory do
//   not wait for another's, except for those of one ID (AxiSlave).
#include <algorithm>
#include <numeric>
#include <vector>

#include "memory.hpp"

namespace gw {
namespace {

class Memories final : public MemoryTiming {
   public:
    explicit Memories(std::vector<MemoryPart> parts) : parts_(std::move(parts)) {}

    bool accepts(unsigned channel) const override {
        return std::all_of(parts_.begin(), parts_.end(),
                           [&](const MemoryPart& part) { return part.timing->accepts(channel); });
    }
    void add(Burst& burst) override { of(burst).add(burst); }
    void complete(Burst& burst) override { of(burst).complete(burst); }
    void tick(uint64_t cycle) override {
        for (const MemoryPart& part : parts_) part.timing->tick(cycle);
    }
    MemoryCounts counts() const override {
        return std::accumulate(parts_.begin(), parts_.end(), MemoryCounts{}, [](MemoryCounts sum, const MemoryPart& part) {
            const MemoryCounts counts = part.timing->counts();
            return MemoryCounts{sum.row_hits + counts.row_hits, sum.row_misses + counts.row_misses};
        });
    }

   private:
    MemoryTiming& of(const Burst& burst) const {
        // The last one that begins at or before it: what lies behind all of them is no memory's, and not asked for here.
        const auto after = std::upper_bound(parts_.begin(), parts_.end(), burst.first_line(),
                                            [](uint64_t addr, const MemoryPart& part) { return addr < part.first; });
        return *std::prev(after)->timing;
    }

    std::vector<MemoryPart> parts_;  // by address, the first at 0
};

}  // namespace

std::unique_ptr<MemoryTiming> join_memories(std::vector<MemoryPart> parts) {
    if (parts.size() == 1) return std::move(parts.front().timing);
    return std::make_unique<Memories>(std::move(parts));
}

}  // namespace gw
