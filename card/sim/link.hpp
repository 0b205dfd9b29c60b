// SPDX-License-Identifier: Apache-2.0
// The link between card and host: what it costs, and the host memory that the card may reach through it.
//
// Contract
//   The two directions are independent, each moves one thing at a time: bytes leave in the order of the calls, latency_ns is
//   added to each. A read through the aperture has its data after latency + the bytes up to and with that line; a write has
//   its B after latency + all its bytes. transfer_time() stands for a DMA of the whole link while the clock stands still.
#pragma once

#include <cstdint>
#include <vector>

#include "burst.hpp"
#include "options.hpp"

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

    Clock clock_;
    Femtoseconds latency_;
    double fs_a_byte_to_card_;
    double fs_a_byte_to_host_;
    uint64_t register_cycles_;
    Femtoseconds to_card_free_ = 0;
    Femtoseconds to_host_free_ = 0;
    std::vector<Window> windows_;
};

}  // namespace gw
