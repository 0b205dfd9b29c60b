// SPDX-License-Identifier: Apache-2.0
#include "launches.hpp"

#include <bit>

namespace gw {

void Launches::started(unsigned k, const gw_card_stats& now) {
    Launch& launch = launches_[k];
    launch.start = own(k, now);
    // A kernel can be done before the write of its start bit is answered.
    if (launch.state == GW_LAUNCH_NONE) launch.state = GW_LAUNCH_RUNNING;
    else launch.end = launch.start;
}

void Launches::interrupted(uint32_t risen, const gw_card_stats& now) {
    for (; risen != 0; risen &= risen - 1) end(static_cast<unsigned>(std::countr_zero(risen)) - 1, GW_LAUNCH_INTERRUPT, now);
}

void Launches::end(unsigned k, uint32_t how, const gw_card_stats& now) {
    if (!(armed_ >> (1 + k) & 1)) return;
    armed_ &= ~(2u << k);
    launches_[k].state = how;
    launches_[k].end = own(k, now);
}

gw_card_stats Launches::own(unsigned k, gw_card_stats now) const {
    PortStats own = shared_.ports[k];
    for (unsigned i = 0; i < kNumExtra; ++i)
        if (gw_card_config::kExtraPorts[i].kernel == k) own += shared_.ports[kNumKernels + kNumExt + i];
    now.reads = own.reads;
    now.writes = own.writes;
    now.read_bytes = own.read_bytes;
    now.write_bytes = own.write_bytes;
    now.host_reads = own.host_reads;
    now.host_writes = own.host_writes;
    return now;
}

gw_launch_times Launches::times(unsigned k, const gw_card_stats& now) const {
    const Launch& launch = launches_[k];
    gw_launch_times times{};
    times.state = launch.state;
    if (launch.state == GW_LAUNCH_NONE) return times;
    const gw_card_stats start = launch.start;
    const gw_card_stats end = launch.state == GW_LAUNCH_RUNNING ? own(k, now) : launch.end;
    times.start_cycle = start.cycles;
    times.end_cycle = end.cycles;
    times.stats = {
        .cycles = end.cycles - start.cycles,
        .time_ps = end.time_ps - start.time_ps,
        .link_ps = end.link_ps - start.link_ps,
        .link_bytes = end.link_bytes - start.link_bytes,
        .reads = end.reads - start.reads,
        .writes = end.writes - start.writes,
        .read_bytes = end.read_bytes - start.read_bytes,
        .write_bytes = end.write_bytes - start.write_bytes,
        .pt_reads = end.pt_reads - start.pt_reads,
        .row_hits = end.row_hits - start.row_hits,
        .row_misses = end.row_misses - start.row_misses,
        .host_reads = end.host_reads - start.host_reads,
        .host_writes = end.host_writes - start.host_writes,
    };
    return times;
}

}  // namespace gw
