// SPDX-License-Identifier: Apache-2.0
// Exclusive accesses (AXI4 AxLOCK) to device memory: one reservation, as the only master that makes them needs.
//
// Contract
//   An exclusive write is done exactly if the bytes it names are reserved and nobody wrote them since the exclusive read:
//   neither a port of the card nor the host, which stores through its own mapping of the memory. The host's stores come
//   between cycles and are seen by what they leave: one that leaves the bytes as they were changes nothing and is no matter.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "burst.hpp"

namespace gw {

class ExclusiveMonitor {
   public:
    /// Of an exclusive read of `size` bytes at `addr`, in the cycle in which its data are read from `memory`.
    void reserve(uint64_t addr, unsigned size, const uint8_t* memory) {
        addr_ = addr;
        size_ = size;
        std::memcpy(seen_, memory, size);
    }

    /// Before a write to the memory: any overlap ends the reservation.
    void written(uint64_t addr, uint64_t size) {
        if (addr < addr_ + size_ && addr_ < addr + size) size_ = 0;
    }

    /// Of an exclusive write; ends the reservation.
    bool take(uint64_t addr, unsigned size, const uint8_t* memory) {
        const bool held = size_ == size && addr_ == addr && std::memcmp(seen_, memory, size) == 0;
        size_ = 0;
        return held;
    }

   private:
    uint64_t addr_ = 0;
    unsigned size_ = 0;  // 0: nothing is reserved
    uint8_t seen_[std::max(kBusBytes, kLineBytes)] = {};
};

}  // namespace gw
