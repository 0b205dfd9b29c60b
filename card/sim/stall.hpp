// SPDX-License-Identifier: Apache-2.0
// Random back-pressure. One generator a card: the same seed and the same calls give the same cycles.
#pragma once

#include <cstdint>

#include "options.hpp"

namespace gw {

class Stall {
   public:
    explicit Stall(const StallOptions& options)
        // Mixed, or neighbouring seeds would be one sequence a draw apart.
        : state_(mix(options.seed ^ 0x6a09'e667'f3bc'c908)), percent_(options.percent) {}

    /// Whether a channel pauses in this cycle.
    bool now() { return percent_ != 0 && draw() % 100 < percent_; }

   private:
    /// splitmix64
    uint64_t draw() { return mix(state_ += 0x9e37'79b9'7f4a'7c15); }

    static uint64_t mix(uint64_t x) {
        x = (x ^ x >> 30) * 0xbf58'476d'1ce4'e5b9;
        x = (x ^ x >> 27) * 0x94d0'49bb'1331'11eb;
        return x ^ x >> 31;
    }

    uint64_t state_;
    uint32_t percent_;
};

}  // namespace gw
