// SPDX-License-Identifier: Apache-2.0
#include "watchdog.hpp"

#include <algorithm>

#include "error.hpp"

namespace gw {

void Watchdog::judge(uint64_t cycle, uint64_t last_handshake, uint64_t busy_until,
                     const std::vector<std::string>& waiting) {
    quiet_since_ = std::max(cycle, busy_until);
    if (busy_until > cycle || waiting.empty()) return;
    std::string message =
        format("hang: no AXI handshake since cycle %llu, it is cycle %llu and this waits:",
               static_cast<unsigned long long>(last_handshake), static_cast<unsigned long long>(cycle));
    for (size_t i = 0; i < waiting.size(); ++i) message += (i == 0 ? " " : "; ") + waiting[i];
    throw CardError(GW_CARD_EHANG, message);
}

}  // namespace gw
