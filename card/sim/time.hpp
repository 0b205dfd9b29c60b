// SPDX-License-Identifier: Apache-2.0
// Time of a card. Memory and link timings are given in nanoseconds and do not divide the clock's period, so everything
// between two clock edges is counted in femtoseconds (2^63 fs = 9223 s of simulated time).
#pragma once

#include <cmath>
#include <cstdint>

namespace gw {

using Femtoseconds = int64_t;

inline constexpr Femtoseconds kFsPerPs = 1000;

/// "Not known yet" for a cycle; no card runs that long.
inline constexpr uint64_t kNever = ~uint64_t{0};

inline Femtoseconds from_ns(double ns) { return std::llround(ns * 1e6); }

class Clock {
   public:
    explicit Clock(double mhz) : period_(std::llround(1e9 / mhz)) {}

    Femtoseconds period() const { return period_; }

    /// When `cycle` begins, that is when values driven in it appear; its handshakes complete when the next one begins.
    Femtoseconds start_of(uint64_t cycle) const { return static_cast<Femtoseconds>(cycle) * period_; }

    /// First cycle that begins at or after `time`.
    uint64_t first_cycle_from(Femtoseconds time) const {
        return static_cast<uint64_t>((time + period_ - 1) / period_);
    }

    uint64_t to_ps(uint64_t cycles) const {
        return static_cast<uint64_t>(start_of(cycles) / kFsPerPs);
    }

   private:
    Femtoseconds period_;
};

}  // namespace gw
