// SPDX-License-Identifier: Apache-2.0
// What an AxiSlave does once a burst: is it legal, and what does its address mean.
#include "axi_slave.hpp"
#include "error.hpp"

namespace gw {
namespace {

constexpr uint64_t kHostAperture = uint64_t{1} << 55;
constexpr uint64_t kPhysicalEnd = uint64_t{1} << 56;

}  // namespace

void AxiSlave::check_address(const Address& address, bool write) const {
    const unsigned beats = address.len + 1u;
    const uint64_t bytes = uint64_t{beats} << address.size;
    const uint64_t start = address.addr & ~((uint64_t{1} << address.size) - 1);
    const auto refuse = [&](const char* why) {
        violation(format("%s of %u beats of %u bytes at 0x%llx, ID %u: %s", write ? "AW" : "AR", beats, 1u << address.size,
                         ull(address.addr), address.id, why));
    };
    if ((uint64_t{1} << address.size) > kBusBytes)
        refuse(format("a beat is wider than the data bus of %u bytes", static_cast<unsigned>(kBusBytes)).c_str());
    if (address.lock && (beats != 1 || start != address.addr)) refuse("an exclusive access must be one aligned beat here");
    switch (address.type) {
        case kBurstIncr:
            if (start / kPageBytes != (start + bytes - 1) / kPageBytes) refuse("the burst crosses a 4 KiB boundary");
            break;
        case kBurstWrap:
            if ((beats != 2 && beats != 4 && beats != 8 && beats != 16) || start != address.addr)
                refuse("a WRAP burst must be aligned and have 2, 4, 8 or 16 beats");
            break;
        case kBurstFixed:
            if (beats > 16) refuse("a FIXED burst has at most 16 beats");
            break;
        default:
            refuse("burst type 3 is reserved");
    }
}

void AxiSlave::decode(Burst& burst) {
    const uint64_t first = burst.first_line();
    const uint64_t bytes = uint64_t{burst.lines()} * kLineBytes;
    gw_card_stats& stats = shared_.stats;
    PortStats& own = shared_.ports[port_];
    if (shared_.memory.contains(first, bytes)) {
        burst.data = shared_.memory.base() + first;
        if (port_ == kWalkerPort) {
            ++stats.pt_reads;
        } else if (port_ < kNumPorts) {
            ++(burst.write ? stats.writes : stats.reads);
            ++(burst.write ? own.writes : own.reads);
            (burst.write ? stats.write_bytes : stats.read_bytes) += burst.bytes();
            (burst.write ? own.write_bytes : own.read_bytes) += burst.bytes();
        }
        return;
    }
    if (first >= kHostAperture && first < kPhysicalEnd) burst.data = shared_.link.find(first - kHostAperture, bytes);
    burst.on_host = burst.data != nullptr;
    if (burst.on_host) {
        ++(burst.write ? stats.host_writes : stats.host_reads);
        ++(burst.write ? own.host_writes : own.host_reads);
        stats.link_bytes += burst.bytes();
        return;
    }
    burst.resp = kRespDecErr;
    if (shared_.decode_errors++ == 0) shared_.first_decode_error = burst.addr;
}

}  // namespace gw
