// SPDX-License-Identifier: Apache-2.0
// AXI4 master on one external port: offers the bursts it is given and stamps the cycles of their handshakes.
//
// Contract
//   Requests are offered in the order given, at most one a cycle, each as soon as its channel (AR or AW) is free, its
//   earliest_cycle has come and no random stall holds it back; W beats follow in the order of the AW, the first in the
//   cycle in which its AW is offered, one a cycle. R and B are always taken at once, but for random stalls.
//   Answers are matched by ID in the order of the requests. An answer nobody asked for, or RLAST in the wrong place, throws
//   CardError(GW_CARD_EDESIGN).
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "shared.hpp"

namespace gw {

/// A finished request and, for reads, its bytes.
struct PortAnswer {
    gw_port_done done;
    std::vector<uint8_t> data;
};

class PortMaster {
   public:
    /// `ext`: index among the external ports. Answers are appended to `answers`, oldest first.
    PortMaster(Shared& shared, unsigned ext, std::deque<PortAnswer>& answers);

    /// Throws CardError(GW_CARD_EINVAL) when this port cannot make such a burst; nothing is kept then.
    void check(const gw_port_req& request) const;
    void submit(const gw_port_req& request);
    void drive(uint64_t cycle);
    void sample(uint64_t cycle);

    /// Requests not answered yet.
    uint64_t pending() const { return pending_; }
    void report_waiting(std::vector<std::string>& out) const;

   private:
    struct Job {
        gw_port_req request;
        gw_port_done done;
        std::vector<uint8_t> data;
        unsigned beat = 0;
    };
    using JobPtr = std::unique_ptr<Job>;
    struct Channel {
        JobPtr offered;  // on the pins, until ready
    };

    void offer(uint64_t cycle);
    void drive_w();
    void sample_r(uint64_t cycle);
    void sample_b(uint64_t cycle);
    Job& oldest(std::deque<JobPtr>& jobs, const char* channel, unsigned id) const;
    void finish(std::deque<JobPtr>& jobs, uint64_t cycle);

    Shared& shared_;
    Model& top_;
    const unsigned ext_;
    const std::string name_;
    std::deque<PortAnswer>& answers_;

    std::deque<JobPtr> queue_;
    Channel ar_, aw_;
    std::deque<Job*> writing_;  // writes offered whose W beats are not all taken
    bool w_valid_ = false;
    uint64_t w_since_ = 0;  // cycle in which the beat on W was first offered
    std::array<std::deque<JobPtr>, 1u << kIdWidth> reads_, writes_;  // accepted, by ID
    uint64_t pending_ = 0;
    bool active_ = false;  // the pins are not idle yet
    uint64_t finished_ = 0;
    uint64_t cycle_ = 0;
};

}  // namespace gw
