// SPDX-License-Identifier: Apache-2.0
// What all parts of one card work on.
#pragma once

#include <array>

#include "exclusive.hpp"
#include "link.hpp"
#include "memory.hpp"
#include "model.hpp"
#include "stall.hpp"
#include "trace.hpp"

namespace gw {

/// What the bursts of one memory port were.
struct PortStats {
    uint64_t reads = 0, writes = 0;
    uint64_t read_bytes = 0, write_bytes = 0;
    uint64_t host_reads = 0, host_writes = 0;

    PortStats& operator+=(const PortStats& other) {
        reads += other.reads;
        writes += other.writes;
        read_bytes += other.read_bytes;
        write_bytes += other.write_bytes;
        host_reads += other.host_reads;
        host_writes += other.host_writes;
        return *this;
    }
};

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
    std::array<PortStats, kNumMem> ports{};
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
