// SPDX-License-Identifier: Apache-2.0
// Tells a hang from a card that has nothing to do.
//
// Contract
//   After `limit` cycles without a handshake on any pin, and past the time for which the memory model or the link has promised
//   an answer, the card is asked what waits. When something does, that is a hang; when nothing does, another `limit` begins.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gw {

class Watchdog {
   public:
    /// 0 cycles: off.
    explicit Watchdog(uint64_t limit_cycles) : limit_(limit_cycles) {}

    bool due(uint64_t cycle, uint64_t last_handshake) const {
        return limit_ != 0 && cycle >= last_handshake + limit_ && cycle >= quiet_since_ + limit_;
    }

    /// What was found in `cycle`. Throws CardError(GW_CARD_EHANG) naming all of `waiting`; counts anew otherwise.
    void judge(uint64_t cycle, uint64_t last_handshake, uint64_t busy_until, const std::vector<std::string>& waiting);

   private:
    uint64_t limit_;
    uint64_t quiet_since_ = 0;
};

}  // namespace gw
