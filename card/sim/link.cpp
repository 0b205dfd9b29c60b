// SPDX-License-Identifier: Apache-2.0
#include "link.hpp"

#include <algorithm>

#include "error.hpp"

namespace gw {
namespace {

constexpr uint64_t kBusEnd = uint64_t{1} << 55;  // bit 55 of a physical address says "host aperture"
constexpr uint64_t kWordBytes = 4;               // what packets carry whole numbers of

}  // namespace

Link::Link(const LinkOptions& options, const Clock& clock)
    : clock_(clock),
      options_(options),
      latency_(from_ns(options.latency_ns)),
      fs_a_byte_to_card_(1e6 / options.bandwidth_gbps),
      fs_a_byte_to_host_(1e6 / (options.to_host_gbps > 0 ? options.to_host_gbps : options.bandwidth_gbps)),
      register_cycles_(clock.first_cycle_from(from_ns(options.register_latency_ns / 2))) {
    if (options.model == LinkOptions::Model::kPackets) packets_.emplace(options);
}

void Link::set_window(uint64_t bus_addr, void* host, uint64_t size_bytes) {
    const auto same = [&](const Window& window) { return window.bus_addr == bus_addr; };
    if (size_bytes == 0) {
        if (std::erase_if(windows_, same) == 0)
            throw CardError(GW_CARD_EINVAL, format("no host window begins at bus address 0x%llx", ull(bus_addr)));
        return;
    }
    if (!host) throw CardError(GW_CARD_EINVAL, "a host window needs host memory, found a null pointer");
    if (bus_addr % kLineBytes != 0 || size_bytes % kLineBytes != 0 || bus_addr >= kBusEnd || size_bytes > kBusEnd - bus_addr)
        throw CardError(GW_CARD_EINVAL, format("a host window must be made of whole 64-byte lines below bus address 2^55, "
                                               "found 0x%llx bytes at 0x%llx", ull(size_bytes), ull(bus_addr)));
    for (const Window& window : windows_)
        if (bus_addr < window.bus_addr + window.size && window.bus_addr < bus_addr + size_bytes)
            throw CardError(GW_CARD_EINVAL, format("host window 0x%llx bytes at 0x%llx overlaps the one of 0x%llx bytes at "
                                                   "0x%llx: remove that first", ull(size_bytes), ull(bus_addr),
                                                   ull(window.size), ull(window.bus_addr)));
    windows_.push_back({bus_addr, size_bytes, static_cast<uint8_t*>(host)});
}

uint8_t* Link::find(uint64_t bus_addr, uint64_t bytes) const {
    for (const Window& window : windows_)
        if (bus_addr >= window.bus_addr && bus_addr - window.bus_addr < window.size &&
            bytes <= window.size - (bus_addr - window.bus_addr))
            return window.host + (bus_addr - window.bus_addr);
    return nullptr;
}

Femtoseconds Link::time_of(uint64_t bytes, bool to_host) const {
    return static_cast<Femtoseconds>(static_cast<double>(bytes) * (to_host ? fs_a_byte_to_host_ : fs_a_byte_to_card_) + 0.5);
}

Femtoseconds Link::transfer_time(uint64_t bytes, bool to_host) const {
    if (bytes == 0) return 0;
    if (!packets_) return latency_ + time_of(bytes, to_host);
    Packets alone(options_);
    if (to_host) return alone.write(0, 0, bytes) + latency_;
    Femtoseconds end = 0;
    alone.read(0, 0, bytes, [&](uint64_t, Femtoseconds time) { end = time; });
    return end;
}

void Link::schedule(Burst& burst, uint64_t cycle) {
    const Femtoseconds now = clock_.start_of(cycle + 1);
    burst.granted = cycle;
    if (packets_) {
        schedule_packets(burst, now);
        return;
    }
    Femtoseconds& free = burst.write ? to_host_free_ : to_card_free_;
    const Femtoseconds start = std::max(now, free);
    if (burst.write) {
        free = start + time_of(burst.bytes(), true);
        burst.ready = clock_.first_cycle_from(free + latency_);
        return;
    }
    const unsigned lines = burst.lines();
    for (unsigned before = 0; before < lines; ++before)
        burst.line_ready[burst.line_after(before)] = clock_.first_cycle_from(start + time_of((before + 1) * kLineBytes, false) + latency_);
    free = start + time_of(lines * kLineBytes, false);
    burst.ready = burst.line_ready[burst.line_of(0)];
}

void Link::schedule_packets(Burst& burst, Femtoseconds now) {
    Femtoseconds left = now;
    const uint64_t first = burst.first_line();
    const auto move = [&](uint64_t begin, uint64_t end) {
        begin &= ~(kWordBytes - 1);
        end = (end + kWordBytes - 1) & ~(kWordBytes - 1);
        if (burst.write) {
            left = packets_->write(now, begin, end);
            return;
        }
        packets_->read(now, begin, end, [&](uint64_t upto, Femtoseconds time) {
            const uint64_t cycle = clock_.first_cycle_from(time);
            for (uint64_t line = (begin - first) / kLineBytes; line <= (upto - 1 - first) / kLineBytes; ++line)
                burst.line_ready[line] = cycle;
            begin = upto;
        });
    };
    if (burst.type == kBurstFixed) {
        for (unsigned beat = 0; beat < burst.beats(); ++beat) move(burst.addr, burst.beat_end(beat));
    } else if (burst.type == kBurstIncr) {
        move(burst.addr, burst.aligned() + burst.bytes());
    } else if (burst.lines() == 1) {
        const uint64_t base = burst.aligned() & ~(burst.bytes() - 1);
        move(base, base + burst.bytes());
    } else {
        const uint64_t wanted = first + burst.line_of(0) * kLineBytes;
        move(wanted, first + burst.lines() * kLineBytes);
        move(first, wanted);
    }
    burst.ready = burst.write ? clock_.first_cycle_from(left + latency_) : burst.line_ready[burst.line_of(0)];
}

}  // namespace gw
