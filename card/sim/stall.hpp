// SPDX-License-Identifier: Apache-2.0
// Random back-pressure. One generator a card: the same seed and the same calls give the same cycles.
#pragma once

#include <cstdint>

#include "options.hpp"

namespace gw {

class Stall {
   public:
    explicit Stall(const StallOptions& options)
        : state_(options.seed * 0x9e37'79b9'7f4a'7c15 + 1), percent_(options.percent) {}

    /// Whether a channel pauses in this cycle.
    bool now() { return percent_ != 0 && draw() % 100 < percent_; }

   private:
    /// splitmix64: every seed, 0 included, is a good one.
    uint64_t draw() {
        uint64_t x = state_ += 0x9e37'79b9'7f4a'7c15;
        x = (x ^ x >> 30) * 0xbf58'476d'1ce4'e5b9;
        x = (x ^ x >> 27) * 0x94d0'49bb'1331'11eb;
        return x ^ x >> 31;
    }

    uint64_t state_;
    uint32_t percent_;
};

}  // namespace gw
