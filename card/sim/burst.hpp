// SPDX-License-Identifier: Apache-2.0
// One AXI4 burst on a memory port, with the addresses of its beats and the time each of its lines is there.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>

#include "gw_card_config.h"
#include "time.hpp"

namespace gw {

inline constexpr uint64_t kBusBytes = gw_card_config::kDataWidth / 8;  // of the data bus
inline constexpr uint64_t kLineBytes = 64;    // what memory works with, whatever the bus
inline constexpr uint64_t kPageBytes = 4096;  // no AXI burst crosses this boundary
inline constexpr unsigned kMaxLines = kPageBytes / kLineBytes;

enum AxiBurst : uint8_t { kBurstFixed = 0, kBurstIncr = 1, kBurstWrap = 2 };
enum AxiResp : uint8_t { kRespOkay = 0, kRespExOkay = 1, kRespSlvErr = 2, kRespDecErr = 3 };

/// A bit for each byte of the data bus.
using Strobes = std::conditional_t<kBusBytes <= 64, uint64_t, unsigned __int128>;

/// The lowest `count` bytes of the bus.
constexpr Strobes lowest(uint64_t count) { return count == 8 * sizeof(Strobes) ? ~Strobes{0} : (Strobes{1} << count) - 1; }

inline constexpr Strobes kAllBytes = lowest(kBusBytes);

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
        if (type == kBurstFixed) return last_line_of(0) + 1;
        const uint64_t base = type == kBurstWrap ? aligned() & ~(bytes() - 1) : aligned();
        return static_cast<unsigned>((base + bytes() - 1 - first_line()) / kLineBytes + 1);
    }

    /// First address after a beat.
    uint64_t beat_end(unsigned index) const {
        return (beat_addr(index) & ~((uint64_t{1} << size) - 1)) + (uint64_t{1} << size);
    }

    /// The last line that a beat has bytes of: a beat of 128 bytes has two.
    unsigned last_line_of(unsigned index) const {
        return static_cast<unsigned>((beat_end(index) - 1 - first_line()) / kLineBytes);
    }

    unsigned line_of(unsigned index) const {
        return static_cast<unsigned>((beat_addr(index) - first_line()) / kLineBytes);
    }

    /// The line that is needed after `count` others: a WRAP burst begins in the middle of its lines and goes around.
    unsigned line_after(unsigned count) const { return (line_of(0) + count) % lines(); }

    /// Byte lanes of the data bus that the beat may use.
    Strobes lanes(unsigned index) const {
        const uint64_t start = beat_addr(index), word = start & ~(kBusBytes - 1);
        return lowest(beat_end(index) - word) & ~lowest(start - word);
    }

    /// The part of memory that a beat is cut from: whole lines, or words of a narrower bus.
    static constexpr uint64_t kPart = std::min(kBusBytes, kLineBytes);
    uint64_t part_begin(unsigned index) const { return beat_addr(index) & ~(kPart - 1); }
    uint64_t part_end(unsigned index) const { return (beat_end(index) + kPart - 1) & ~(kPart - 1); }

    /// The byte of memory at an address of the burst.
    uint8_t* at(uint64_t address) const { return data + (address - first_line()); }
};

}  // namespace gw
