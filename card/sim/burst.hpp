// SPDX-License-Identifier: Apache-2.0
// One AXI4 burst on a memory port, with the addresses of its beats and the time each of its lines is there.
#pragma once

#include <array>
#include <cstdint>

#include "time.hpp"

namespace gw {

inline constexpr uint64_t kLineBytes = 64;   // the data bus: 512 bits
inline constexpr uint64_t kPageBytes = 4096;  // no AXI burst crosses this boundary
inline constexpr unsigned kMaxLines = kPageBytes / kLineBytes;

enum AxiBurst : uint8_t { kBurstFixed = 0, kBurstIncr = 1, kBurstWrap = 2 };
enum AxiResp : uint8_t { kRespOkay = 0, kRespExOkay = 1, kRespSlvErr = 2, kRespDecErr = 3 };

struct Burst {
    uint64_t addr = 0;
    uint8_t id = 0;
    uint8_t len = 0;   // beats - 1
    uint8_t size = 0;  // log2 bytes a beat
    uint8_t type = kBurstIncr;
    bool write = false;
    bool exclusive = false;
    uint8_t resp = kRespOkay;
    uint8_t channel = 0;     // memory model's: 2 * port + write
    uint8_t* data = nullptr;  // simulator's memory that holds the line at first_line(); null with DECERR
    bool on_host = false;

    uint16_t beat = 0;             // next beat to be served or taken
    uint16_t lines_left = 0;       // lines whose time is not known yet
    uint64_t accepted = 0;         // cycle of the address handshake
    uint64_t complete = kNever;    // writes: cycle of the last W handshake
    uint64_t granted = kNever;     // cycle in which the memory model took it on
    uint64_t ready = kNever;       // first beat, or B, may be valid from this cycle on
    std::array<uint64_t, kMaxLines> line_ready;  // reads: the same for each line

    unsigned beats() const { return len + 1u; }
    uint64_t bytes() const { return uint64_t{beats()} << size; }
    uint64_t aligned() const { return addr & ~((uint64_t{1} << size) - 1); }

    uint64_t beat_addr(unsigned index) const {
        if (index == 0 || type == kBurstFixed) return addr;
        const uint64_t next = aligned() + (uint64_t{index} << size);
        if (type == kBurstIncr) return next;
        const uint64_t base = aligned() & ~(bytes() - 1);
        return base + ((next - base) & (bytes() - 1));
    }

    uint64_t first_line() const {
        const uint64_t base = type == kBurstWrap ? aligned() & ~(bytes() - 1) : addr;
        return base & ~(kLineBytes - 1);
    }

    unsigned lines() const {
        if (type == kBurstFixed) return 1;
        const uint64_t base = type == kBurstWrap ? aligned() & ~(bytes() - 1) : aligned();
        return static_cast<unsigned>((base + bytes() - 1 - first_line()) / kLineBytes + 1);
    }

    unsigned line_of(unsigned index) const {
        return static_cast<unsigned>((beat_addr(index) - first_line()) / kLineBytes);
    }

    /// The line that is needed after `count` others: a WRAP burst begins in the middle of its lines and goes around.
    unsigned line_after(unsigned count) const { return (line_of(0) + count) % lines(); }

    /// Byte lanes of the data bus that the beat may use.
    uint64_t lanes(unsigned index) const {
        const uint64_t start = beat_addr(index);
        const uint64_t bytes_from = start & (kLineBytes - 1);
        const uint64_t end = ((start & ~((uint64_t{1} << size) - 1)) & (kLineBytes - 1)) + (uint64_t{1} << size);
        const uint64_t below_end = end == kLineBytes ? ~uint64_t{0} : (uint64_t{1} << end) - 1;
        return below_end & ~((uint64_t{1} << bytes_from) - 1);
    }
};

}  // namespace gw
