// SPDX-License-Identifier: Apache-2.0
#include "kernel_ports.hpp"

#include <algorithm>

#include "error.hpp"

namespace gw {

void KernelPorts::sample(uint64_t cycle) {
    for (unsigned index = 0; index < kWatched; ++index) {
        const unsigned port = number(index);
        const auto look = [&](unsigned channel, bool valid, bool ready) {
            uint64_t& since = since_[index][channel];
            if (valid && ready) {
                since = kNever;
                shared_.last_handshake = last_[kernel(index)] = cycle;
            } else {
                since = valid ? std::min(since, cycle) : kNever;
            }
        };
        look(0, top_.acc_ar_valid_o[port], top_.acc_ar_ready_o[port]);
        look(1, top_.acc_r_valid_o[port], top_.acc_r_ready_o[port]);
        look(2, top_.acc_aw_valid_o[port], top_.acc_aw_ready_o[port]);
        look(3, top_.acc_w_valid_o[port], top_.acc_w_ready_o[port]);
        look(4, top_.acc_b_valid_o[port], top_.acc_b_ready_o[port]);
    }
}

void KernelPorts::report_waiting(std::vector<std::string>& out) const {
    for (unsigned index = 0; index < kWatched; ++index)
        for (unsigned channel = 0; channel < kChannels.size(); ++channel)
            if (since_[index][channel] != kNever)
                out.push_back(format("port %u (%s) before translation: ", number(index), port_name(number(index)).c_str()) +
                              handshake(kChannels[channel], true, false) +
                              format(" since cycle %llu", static_cast<unsigned long long>(since_[index][channel])));
}

}  // namespace gw
