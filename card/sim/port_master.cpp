// SPDX-License-Identifier: Apache-2.0
#include "port_master.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "error.hpp"
#include "pins.hpp"

namespace gw {
namespace {

constexpr unsigned kMaxSize = std::countr_zero(kBusBytes);

/// First byte of a beat's container, and where in the request's data that container is.
uint64_t beat_addr(const gw_port_req& request, unsigned beat) {
    return (request.addr & ~((uint64_t{1} << request.size) - 1)) + (uint64_t{beat} << request.size);
}

}  // namespace

PortMaster::PortMaster(Shared& shared, unsigned ext, std::deque<PortAnswer>& answers)
    : shared_(shared), top_(shared.top), ext_(ext), name_(port_name(kNumKernels + ext) + ".port"), answers_(answers) {}

void PortMaster::check(const gw_port_req& request) const {
    const auto refuse = [&](const std::string& why) {
        throw CardError(GW_CARD_EINVAL, format("request with token %llu for port %u (%s): ", ull(request.token),
                                               request.port, name_.c_str()) + why);
    };
    if (request.size > kMaxSize)
        refuse(format("size is log2 of the bytes a beat, 0 to %u, found %u", kMaxSize, request.size));
    if (request.id >> kIdWidth) refuse(format("IDs of this card have %u bits, found %u", kIdWidth, request.id));
    if (request.write && !request.data) refuse("a write needs data, found a null pointer");
}

void PortMaster::submit(const gw_port_req& request) {
    auto job = std::make_unique<Job>(Job{request, {}, {}});
    const uint64_t bytes = (request.len + uint64_t{1}) << request.size;
    job->data.resize(bytes);
    if (request.write) std::memcpy(job->data.data(), request.data, bytes);
    job->request.data = nullptr;
    job->done.token = request.token;
    queue_.push_back(std::move(job));
    ++pending_;
}

void PortMaster::drive(uint64_t cycle) {
    cycle_ = cycle;
    if (pending_ == 0 && !active_) return;
    active_ = pending_ != 0;
    Stall& stall = shared_.stall;
    if (!queue_.empty()) offer(cycle);
    top_.ext_ar_valid_i[ext_] = ar_.offered != nullptr;
    top_.ext_aw_valid_i[ext_] = aw_.offered != nullptr;
    if (!w_valid_ && !writing_.empty() && !stall.now()) drive_w();
    top_.ext_w_valid_i[ext_] = w_valid_;
    top_.ext_r_ready_i[ext_] = !stall.now();
    top_.ext_b_ready_i[ext_] = !stall.now();
}

void PortMaster::offer(uint64_t cycle) {
    const gw_port_req& next = queue_.front()->request;
    Channel& channel = next.write ? aw_ : ar_;
    if (channel.offered || next.earliest_cycle > cycle || shared_.stall.now()) return;
    channel.offered = std::move(queue_.front());
    queue_.pop_front();
    channel.offered->done.offered_cycle = cycle;
    const gw_port_req& request = channel.offered->request;
    if (request.write) {
        top_.ext_aw_addr_i[ext_] = request.addr;
        top_.ext_aw_id_i[ext_] = request.id;
        top_.ext_aw_len_i[ext_] = request.len;
        top_.ext_aw_size_i[ext_] = request.size;
        top_.ext_aw_burst_i[ext_] = kBurstIncr;
        writing_.push_back(channel.offered.get());
    } else {
        top_.ext_ar_addr_i[ext_] = request.addr;
        top_.ext_ar_id_i[ext_] = request.id;
        top_.ext_ar_len_i[ext_] = request.len;
        top_.ext_ar_size_i[ext_] = request.size;
        top_.ext_ar_burst_i[ext_] = kBurstIncr;
    }
}

void PortMaster::drive_w() {
    const Job& job = *writing_.front();
    const uint64_t bytes = uint64_t{1} << job.request.size;
    const uint64_t container = beat_addr(job.request, job.beat) % kBusBytes;
    const uint64_t skipped = job.beat == 0 ? job.request.addr & (bytes - 1) : 0;
    uint8_t* pins = bytes_of(top_.ext_w_data_i[ext_]);
    if (bytes < kBusBytes) std::memset(pins, 0, kBusBytes);
    std::memcpy(pins + container, job.data.data() + job.beat * bytes, bytes);
    set_strobes(top_.ext_w_strb_i[ext_], (lowest(bytes) & ~lowest(skipped)) << container);
    top_.ext_w_last_i[ext_] = job.beat == job.request.len;
    w_valid_ = true;
    w_since_ = cycle_;
}

void PortMaster::sample(uint64_t cycle) {
    if (pending_ == 0) {
        // Nothing is asked for, so nothing may come.
        if (top_.ext_r_valid_o[ext_]) oldest(reads_[0], "R", top_.ext_r_id_o[ext_]);
        if (top_.ext_b_valid_o[ext_]) oldest(writes_[0], "B", top_.ext_b_id_o[ext_]);
        return;
    }
    const auto take_address = [&](Channel& channel, bool write) {
        JobPtr job = std::move(channel.offered);
        shared_.last_handshake = job->done.accepted_cycle = cycle;
        if (shared_.trace.on())
            shared_.trace.address(cycle, name_, write, job->request.id, job->request.addr, job->request.len);
        auto& queue = (write ? writes_ : reads_)[job->request.id];
        queue.push_back(std::move(job));
    };
    if (ar_.offered && top_.ext_ar_ready_o[ext_]) take_address(ar_, false);
    if (aw_.offered && top_.ext_aw_ready_o[ext_]) take_address(aw_, true);
    if (w_valid_ && top_.ext_w_ready_o[ext_]) {
        shared_.last_handshake = cycle;
        if (shared_.trace.on()) shared_.trace.write_beat(cycle, name_);
        w_valid_ = false;
        Job& job = *writing_.front();
        if (job.beat++ == job.request.len) writing_.pop_front();
    }
    if (top_.ext_r_valid_o[ext_] && top_.ext_r_ready_i[ext_]) sample_r(cycle);
    if (top_.ext_b_valid_o[ext_] && top_.ext_b_ready_i[ext_]) sample_b(cycle);
}

void PortMaster::sample_r(uint64_t cycle) {
    const unsigned id = top_.ext_r_id_o[ext_];
    auto& jobs = reads_[id % reads_.size()];
    Job& job = oldest(jobs, "R", id);
    const unsigned resp = top_.ext_r_resp_o[ext_];
    if (shared_.trace.on()) shared_.trace.answer(cycle, name_, false, id, resp);
    const uint64_t bytes = uint64_t{1} << job.request.size;
    const uint8_t* pins = bytes_of(top_.ext_r_data_o[ext_]);
    std::memcpy(job.data.data() + job.beat * bytes, pins + beat_addr(job.request, job.beat) % kBusBytes, bytes);
    if (job.beat == 0) job.done.first_cycle = cycle;
    job.done.resp = std::max(job.done.resp, resp);
    const bool last = job.beat++ == job.request.len;
    if (last != (top_.ext_r_last_o[ext_] != 0))
        throw CardError(GW_CARD_EDESIGN,
                        format("AXI protocol violation in cycle %llu on %s: R beat %u of the %u of the read from 0x%llx, ID %u, "
                               "has RLAST=%d", ull(cycle), name_.c_str(), job.beat, job.request.len + 1u,
                               ull(job.request.addr), id, !last));
    if (last) finish(jobs, cycle);
}

void PortMaster::sample_b(uint64_t cycle) {
    const unsigned id = top_.ext_b_id_o[ext_];
    auto& jobs = writes_[id % writes_.size()];
    Job& job = oldest(jobs, "B", id);
    job.done.resp = top_.ext_b_resp_o[ext_];
    if (shared_.trace.on()) shared_.trace.answer(cycle, name_, true, id, job.done.resp);
    if (job.beat <= job.request.len)
        throw CardError(GW_CARD_EDESIGN,
                        format("AXI protocol violation in cycle %llu on %s: B of the write to 0x%llx, ID %u, came before its "
                               "last W beat", ull(cycle), name_.c_str(), ull(job.request.addr), id));
    job.done.first_cycle = cycle;
    job.data.clear();
    finish(jobs, cycle);
}

PortMaster::Job& PortMaster::oldest(std::deque<JobPtr>& jobs, const char* channel, unsigned id) const {
    if (jobs.empty())
        throw CardError(GW_CARD_EDESIGN, format("AXI protocol violation in cycle %llu on %s: %s with ID %u, which nothing asked "
                                                "for", ull(cycle_), name_.c_str(), channel, id));
    return *jobs.front();
}

void PortMaster::finish(std::deque<JobPtr>& jobs, uint64_t cycle) {
    Job& job = *jobs.front();
    shared_.last_handshake = job.done.done_cycle = cycle;
    job.done.order = finished_++;
    job.done.size_bytes = static_cast<uint32_t>(job.data.size());
    answers_.push_back({job.done, std::move(job.data)});
    jobs.pop_front();
    --pending_;
}

void PortMaster::report_waiting(std::vector<std::string>& out) const {
    const std::string where = format("external port %u (%s)", kNumKernels + ext_, name_.c_str());
    const auto offered = [&](const Channel& channel, const char* name, bool ready) {
        if (channel.offered && !ready)
            out.push_back(where + ": " + handshake(name, true, false) +
                          format(" since cycle %llu: address 0x%llx, ID %u", ull(channel.offered->done.offered_cycle),
                                 ull(channel.offered->request.addr), channel.offered->request.id));
    };
    offered(ar_, "AR", top_.ext_ar_ready_o[ext_]);
    offered(aw_, "AW", top_.ext_aw_ready_o[ext_]);
    if (w_valid_ && !top_.ext_w_ready_o[ext_])
        out.push_back(where + ": " + handshake("W", true, false) + format(" since cycle %llu", ull(w_since_)));
    const auto unanswered = [&](const auto& queues, const char* name, bool valid, const char* what) {
        size_t count = 0;
        const Job* first = nullptr;
        for (const auto& jobs : queues) {
            count += jobs.size();
            if (!jobs.empty() && (!first || jobs.front()->done.accepted_cycle < first->done.accepted_cycle))
                first = jobs.front().get();
        }
        if (first && !valid)
            out.push_back(where + ": " + handshake(name, false, true) +
                          format(": %zu %s without an answer, the oldest from cycle %llu: address 0x%llx, ID %u", count, what,
                                 ull(first->done.accepted_cycle), ull(first->request.addr), first->request.id));
    };
    unanswered(reads_, "R", top_.ext_r_valid_o[ext_], "reads");
    unanswered(writes_, "B", top_.ext_b_valid_o[ext_], "writes");
}

}  // namespace gw
