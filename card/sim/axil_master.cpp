// SPDX-License-Identifier: Apache-2.0
#include "axil_master.hpp"

#include <algorithm>

#include "error.hpp"

namespace gw {

void AxilMaster::start(uint32_t offset, std::optional<uint32_t> write_value) {
    state_ = write_value ? State::kWrite : State::kRead;
    offset_ = offset;
    data_ = write_value.value_or(0);
    address_taken_ = data_taken_ = false;
    release();
}

void AxilMaster::drive(uint64_t cycle) {
    if (state_ == State::kIdle) {
        if (since_ != kNever) release();
        return;
    }
    since_ = std::min(since_, cycle);
    if (state_ == State::kRead) {
        top_.axil_ar_addr_i = offset_;
        top_.axil_ar_valid_i = !address_taken_;
        top_.axil_r_ready_i = 1;
    } else {
        top_.axil_aw_addr_i = offset_;
        top_.axil_aw_valid_i = !address_taken_;
        top_.axil_w_data_i = data_;
        top_.axil_w_strb_i = 0xf;
        top_.axil_w_valid_i = !data_taken_;
        top_.axil_b_ready_i = 1;
    }
}

void AxilMaster::sample(uint64_t cycle) {
    if (state_ == State::kIdle) return;
    const auto taken = [&](bool valid, bool ready, bool& flag) {
        if (!valid || !ready) return;
        flag = true;
        shared_.last_handshake = cycle;
    };
    bool answered = false;
    if (state_ == State::kRead) {
        taken(top_.axil_ar_valid_i, top_.axil_ar_ready_o, address_taken_);
        answered = top_.axil_r_valid_o;
        value_ = top_.axil_r_data_o;
        resp_ = top_.axil_r_resp_o;
    } else {
        taken(top_.axil_aw_valid_i, top_.axil_aw_ready_o, address_taken_);
        taken(top_.axil_w_valid_i, top_.axil_w_ready_o, data_taken_);
        answered = top_.axil_b_valid_o;
        resp_ = top_.axil_b_resp_o;
    }
    if (!answered) return;
    shared_.last_handshake = cycle;
    state_ = State::kIdle;
}

void AxilMaster::release() {
    top_.axil_ar_valid_i = top_.axil_aw_valid_i = top_.axil_w_valid_i = 0;
    top_.axil_r_ready_i = top_.axil_b_ready_i = 0;
    since_ = kNever;
}

void AxilMaster::report_waiting(std::vector<std::string>& out) const {
    if (state_ == State::kIdle) return;
    const std::string where = format("register port, %s 0x%08x", state_ == State::kRead ? "read" : "write", offset_);
    const auto stuck = [&](const char* channel, bool valid, bool ready) {
        out.push_back(where + ": " + handshake(channel, valid, ready) +
                      format(" since cycle %llu", static_cast<unsigned long long>(since_)));
    };
    if (!address_taken_) stuck(state_ == State::kRead ? "AR" : "AW", true, false);
    if (state_ == State::kWrite && !data_taken_) stuck("W", true, false);
    if (address_taken_ && (state_ == State::kRead || data_taken_))
        stuck(state_ == State::kRead ? "R" : "B", false, true);
}

}  // namespace gw
