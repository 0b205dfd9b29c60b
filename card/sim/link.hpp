// SPDX-License-Identifier: Apache-2.0
// The link between card and host: what it costs, and the host memory that the card may reach through it.
//
// Contract
//   Model "rate": the two directions are independent, each moves one thing at a time: bytes leave in the order of the calls,
//   latency_ns is added to each. A read through the aperture has its data after latency + the bytes up to and with that line; a
//   write has its B after latency + all its bytes.
//   Model "packets": those of packets.hpp. A line of a read is there when the completion with its last byte is, a write has its B
//   latency_ns after its last packet left. Bytes are those of the burst, rounded to words of 4 (a WRAP of several lines: lines); each
//   beat of a FIXED burst is an access.
//   transfer_time() stands for a DMA of the whole link, with nothing else on it, while the clock stands still.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "burst.hpp"
#include "options.hpp"
#include "packets.hpp"

namespace gw {

class Link {
   public:
    Link(const LinkOptions& options, const Clock& clock);

    /// Bytes [bus_addr, bus_addr + size_bytes) of the aperture become `host`; size 0 removes the window at bus_addr.
    void set_window(uint64_t bus_addr, void* host, uint64_t size_bytes);
    /// Host memory of the bus addresses, or null when they are not inside one window.
    uint8_t* find(uint64_t bus_addr, uint64_t bytes) const;

    /// Sets the times of a read whose address was accepted, or a write whose last beat was taken, in `cycle`.
    void schedule(Burst& burst, uint64_t cycle);

    Femtoseconds transfer_time(uint64_t bytes, bool to_host) const;
    /// Cycles a register access needs on the link before it reaches the card, and (reads only) on its way back.
    uint64_t register_cycles() const { return register_cycles_; }

   private:
    struct Window {
        uint64_t bus_addr;
        uint64_t size;
        uint8_t* host;
    };

    Femtoseconds time_of(uint64_t bytes, bool to_host) const;
    void schedule_packets(Burst& burst, Femtoseconds now);

    Clock clock_;
    LinkOptions options_;
    std::optional<Packets> packets_;
    Femtoseconds latency_;
    double fs_a_byte_to_card_;
    double fs_a_byte_to_host_;
    uint64_t register_cycles_;
    Femtoseconds to_card_free_ = 0;
    Femtoseconds to_host_free_ = 0;
    std::vector<Window> windows_;
};

}  // namespace gw
