// SPDX-License-Identifier: Apache-2.0
// A link of packets, as PCI Express: what headers, payload sizes, completion boundaries and tags cost.
//
// Contract
//   Each direction moves one packet at a time, at packet_gbps; a packet is there when all of it is (its checksum stands at its end).
//   Write: packets of at most max_payload_bytes, a header each, none crosses a multiple of that size.
//   Read: requests of at most max_read_request_bytes, cut in the same way, a header each to the host. One needs a tag, which it keeps
//   until its last completion is there; without a free one it waits, and no write waits for it. latency_ns after a request has left,
//   its completions go to the card behind those before: of at most completion_bytes, each but the last ends at a multiple of
//   read_completion_boundary.
//   No read's request passes a write that came before it; completions come in the order of the requests.
//   Credits are not modelled: the host takes every packet.
#pragma once

#include <deque>
#include <functional>
#include <vector>

#include "options.hpp"
#include "time.hpp"

namespace gw {

/// One direction: who has it when. Time that was given away is kept, so a packet that may leave only later blocks nobody before it.
class Wire {
   public:
    /// Gives the first `duration` that is free from `from` on away, and returns its end. Nobody will ask for time before `now`.
    Femtoseconds take(Femtoseconds now, Femtoseconds from, Femtoseconds duration);

   private:
    struct Span {
        Femtoseconds begin, end;
    };
    std::deque<Span> taken_;  // apart from each other, ascending
};

class Packets {
   public:
    /// Told for each completion: bytes up to `end` are there.
    using Arrived = std::function<void(uint64_t end, Femtoseconds time)>;

    explicit Packets(const LinkOptions& options);

    /// Bytes [begin, end) to the host; when the last of them left.
    Femtoseconds write(Femtoseconds now, uint64_t begin, uint64_t end);
    /// Bytes [begin, end) to the card.
    void read(Femtoseconds now, uint64_t begin, uint64_t end, const Arrived& arrived);

   private:
    Femtoseconds time_of(uint64_t bytes) const;

    Femtoseconds latency_;
    double fs_a_byte_;
    uint64_t request_header_, completion_header_;
    uint64_t max_payload_, max_read_request_, completion_, boundary_;

    Wire to_host_;
    Femtoseconds posted_ = 0;   // the last write before is out
    Femtoseconds to_card_free_ = 0;
    std::vector<Femtoseconds> tags_;  // when each is free, oldest request first
    size_t next_tag_ = 0;
};

}  // namespace gw
