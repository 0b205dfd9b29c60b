// SPDX-License-Identifier: Apache-2.0
#include "packets.hpp"

#include <algorithm>

namespace gw {
namespace {

/// The next multiple of a power of two, or `end` when that is nearer.
uint64_t cut(uint64_t begin, uint64_t end, uint64_t size) { return std::min(end, (begin | (size - 1)) + 1); }

}  // namespace

Femtoseconds Wire::take(Femtoseconds now, Femtoseconds from, Femtoseconds duration) {
    while (!taken_.empty() && taken_.front().end <= now) taken_.pop_front();
    Femtoseconds begin = from;
    auto behind = taken_.begin();
    for (; behind != taken_.end() && behind->begin < begin + duration; ++behind) begin = std::max(begin, behind->end);
    const Femtoseconds end = begin + duration;
    if (behind != taken_.begin() && std::prev(behind)->end == begin)
        std::prev(behind)->end = end;
    else
        taken_.insert(behind, {begin, end});
    return end;
}

Packets::Packets(const LinkOptions& options)
    : latency_(from_ns(options.latency_ns)),
      fs_a_byte_(1e6 / options.packet_gbps),
      request_header_(options.request_header_bytes),
      completion_header_(options.completion_header_bytes),
      max_payload_(options.max_payload_bytes),
      max_read_request_(options.max_read_request_bytes),
      completion_(options.completion_bytes ? options.completion_bytes : options.max_payload_bytes),
      boundary_(options.read_completion_boundary),
      tags_(options.tags) {}

Femtoseconds Packets::time_of(uint64_t bytes) const {
    return static_cast<Femtoseconds>(static_cast<double>(bytes) * fs_a_byte_ + 0.5);
}

Femtoseconds Packets::write(Femtoseconds now, uint64_t begin, uint64_t end) {
    while (begin < end) {
        const uint64_t next = cut(begin, end, max_payload_);
        posted_ = to_host_.take(now, std::max(now, posted_), time_of(request_header_ + next - begin));
        begin = next;
    }
    return posted_;
}

void Packets::read(Femtoseconds now, uint64_t begin, uint64_t end, const Arrived& arrived) {
    while (begin < end) {
        const uint64_t last = cut(begin, end, max_read_request_);
        Femtoseconds& tag = tags_[next_tag_];
        next_tag_ = (next_tag_ + 1) % tags_.size();
        const Femtoseconds asked = to_host_.take(now, std::max({now, posted_, tag}), time_of(request_header_));
        to_card_free_ = std::max(to_card_free_, asked + latency_);
        while (begin < last) {
            uint64_t next = std::min(last, begin + completion_);
            if (next < last) next = std::max(next & ~(boundary_ - 1), cut(begin, last, boundary_));
            to_card_free_ += time_of(completion_header_ + next - begin);
            arrived(next, to_card_free_);
            begin = next;
        }
        tag = to_card_free_;
    }
}

}  // namespace gw
