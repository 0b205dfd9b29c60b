// SPDX-License-Identifier: Apache-2.0
// Takes the times of kernels where they happen, whatever the host does meanwhile.
//
// Contract
//   A launch begins with the cycle that follows the answer to the write of its start bit, and ends with the cycle in which the
//   kernel's interrupt line has risen; without an interrupt, with the answer of the first read of ap_ctrl that says done. Of
//   both moments the card's statistics are kept, with the bursts of the kernel's own ports in place of those of all ports.
//   One launch a kernel is known: the latest.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "gw_card.h"
#include "shared.hpp"

namespace gw {

class Launches {
   public:
    explicit Launches(Shared& shared) : shared_(shared) {}

    /// The start bit of kernel k is about to be written. A rise of the line from here on ends this launch.
    void arm(unsigned k) {
        launches_[k] = {};
        armed_ |= 2u << k;
    }
    /// The write of the start bit was answered; `now` is the card's statistics.
    void started(unsigned k, const gw_card_stats& now);
    /// A read of ap_ctrl said done.
    void polled(unsigned k, const gw_card_stats& now) { end(k, GW_LAUNCH_POLLED, now); }

    /// Lines that rose in this cycle and end a launch. Once a cycle.
    uint32_t risen(uint32_t lines) {
        const uint32_t rise = lines & ~lines_;
        lines_ = lines;
        rises_ |= rise;
        return rise & armed_;
    }
    /// Lines that rose since the last call, launch or not.
    uint32_t take_rises() { return std::exchange(rises_, 0); }
    void interrupted(uint32_t risen, const gw_card_stats& now);

    gw_launch_times times(unsigned k, const gw_card_stats& now) const;

   private:
    struct Launch {
        uint32_t state = GW_LAUNCH_NONE;
        gw_card_stats start{}, end{};
    };

    void end(unsigned k, uint32_t how, const gw_card_stats& now);
    gw_card_stats own(unsigned k, gw_card_stats now) const;

    Shared& shared_;
    uint32_t lines_ = 0;
    uint32_t rises_ = 0;
    uint32_t armed_ = 0;  // kernels whose end is not known yet, by their interrupt line
    std::array<Launch, kNumKernels + 1> launches_{};  // one more, so that none is legal
};

}  // namespace gw
