// SPDX-License-Identifier: Apache-2.0
// What all parts of one card work on.
#pragma once

#include "exclusive.hpp"
#include "link.hpp"
#include "memory.hpp"
#include "model.hpp"
#include "stall.hpp"
#include "trace.hpp"

namespace gw {

struct Shared {
    Model& top;
    DeviceMemory& memory;
    MemoryTiming& timing;
    Link& link;
    Stall stall;
    Trace trace;
    Events events;
    ExclusiveMonitor monitor{};
    gw_card_stats stats{};
    uint64_t decode_errors = 0;
    uint64_t first_decode_error = 0;  // address; only with decode_errors != 0
    bool answers_in_order;            // what the memory model does; accesses that are not its own may differ
    uint64_t last_handshake = 0;      // cycle of the latest handshake seen on any pin
};

/// Since when a channel has been valid without being taken; kNever while it is not.
struct Held {
    uint64_t since = kNever;
};

inline std::string handshake(const char* channel, bool valid, bool ready) {
    return std::string(channel) + " valid=" + (valid ? '1' : '0') + " ready=" + (ready ? '1' : '0');
}

}  // namespace gw
