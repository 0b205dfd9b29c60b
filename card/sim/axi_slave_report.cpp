// SPDX-License-Identifier: Apache-2.0
// What an AxiSlave tells the watchdog; apart from the code that runs every cycle.
#include <algorithm>

#include "axi_slave.hpp"
#include "error.hpp"

namespace gw {
void AxiSlave::report_waiting(std::vector<std::string>& out) const {
    const auto stuck = [&](const Held& held, const char* channel) {
        if (held.since != kNever)
            out.push_back(where() + ": " + handshake(channel, true, false) + format(" since cycle %llu", ull(held.since)));
    };
    stuck(ar_, "AR");
    stuck(aw_, "AW");
    stuck(w_, "W");
    stuck(r_, "R");
    stuck(b_, "B");
    if (!no_data_.empty() && w_.since == kNever) {
        const Burst& burst = *no_data_.front();
        out.push_back(where() + ": " + handshake("W", false, top_.mem_w_ready_i[port_]) +
                      format(": %u of %u beats of the write to 0x%llx, ID %u, accepted in cycle %llu, are missing",
                             burst.beats() - burst.beat, burst.beats(), ull(burst.addr), burst.id, ull(burst.accepted)));
    }
    if (early_)
        out.push_back(where() + ": " + handshake("AW", top_.mem_aw_valid_o[port_], top_.mem_aw_ready_i[port_]) +
                      format(": the address of the W beat accepted in cycle %llu is missing", ull(early_cycle_)));
}

uint64_t AxiSlave::busy_until() const {
    uint64_t until = 0;
    const auto look = [&](const Burst* burst) {
        if (burst->ready == kNever) return;
        until = std::max(until, burst->ready);
        if (burst->write) return;
        for (unsigned line = 0; line < burst->lines(); ++line)
            if (burst->line_ready[line] != kNever) until = std::max(until, burst->line_ready[line]);
    };
    std::for_each(reads_.begin(), reads_.end(), look);
    std::for_each(writes_.begin(), writes_.end(), look);
    if (reading_) look(reading_);
    return until;
}

}  // namespace gw
