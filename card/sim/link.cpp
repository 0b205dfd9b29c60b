// SPDX-License-Identifier: Apache-2.0
#include "link.hpp"

#include <algorithm>

#include "error.hpp"

namespace gw {
namespace {

constexpr uint64_t kBusEnd = uint64_t{1} << 55;  // bit 55 of a physical address says "host aperture"

}  // namespace

Link::Link(const LinkOptions& options, const Clock& clock)
    : clock_(clock),
      latency_(from_ns(options.latency_ns)),
      fs_a_byte_to_card_(1e6 / options.bandwidth_gbps),
      fs_a_byte_to_host_(1e6 / (options.to_host_gbps > 0 ? options.to_host_gbps : options.bandwidth_gbps)),
      register_cycles_(clock.first_cycle_from(from_ns(options.register_latency_ns / 2))) {}

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
    return bytes == 0 ? 0 : latency_ + time_of(bytes, to_host);
}

void Link::schedule(Burst& burst, uint64_t cycle) {
    const Femtoseconds now = clock_.start_of(cycle + 1);
    Femtoseconds& free = burst.write ? to_host_free_ : to_card_free_;
    const Femtoseconds start = std::max(now, free);
    burst.granted = cycle;
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

}  // namespace gw
