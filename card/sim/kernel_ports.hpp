// SPDX-License-Identifier: Apache-2.0
// Watches the kernels' AXI ports before translation. Nothing drives them from here; the watchdog must know whether a kernel
// moves, and which handshake it is stuck at when its access never comes out at the memory side.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "shared.hpp"

namespace gw {

class KernelPorts {
   public:
    explicit KernelPorts(Shared& shared) : shared_(shared), top_(shared.top) {
        since_.fill({kNever, kNever, kNever, kNever, kNever});
        last_.fill(kNever);
    }

    void sample(uint64_t cycle);
    /// Cycle of the latest handshake of kernel k's ports; kNever when there was none.
    uint64_t last_handshake(unsigned k) const { return last_[k]; }
    void report_waiting(std::vector<std::string>& out) const;

   private:
    static constexpr std::array<const char*, 5> kChannels = {"AR", "R", "AW", "W", "B"};

    Shared& shared_;
    Model& top_;
    // Ports of kernels: the first of each, then further ones.
    static constexpr unsigned kWatched = kNumKernels + kNumExtra;
    static constexpr unsigned number(unsigned index) { return index < kNumKernels ? index : index + kNumExt; }
    static constexpr unsigned kernel(unsigned index) {
        return index < kNumKernels ? index : gw_card_config::kExtraPorts[index - kNumKernels].kernel;
    }

    // One more than there are, so that none is legal.
    std::array<std::array<uint64_t, 5>, kWatched + 1> since_;  // valid without ready
    std::array<uint64_t, kNumKernels + 1> last_;
};

}  // namespace gw
