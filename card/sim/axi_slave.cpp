// SPDX-License-Identifier: Apache-2.0
#include "axi_slave.hpp"

#include <algorithm>
#include <bitset>
#include <cstring>

#include "error.hpp"
#include "pins.hpp"

namespace gw {
namespace {

/// Bytes of a word of the bus into memory. `word` is where that begins: the first byte may be none of the burst's.
void merge(const Burst& burst, uint64_t word, const uint8_t* data, Strobes strobe) {
    if (strobe == kAllBytes) {
        std::memcpy(burst.at(word), data, kBusBytes);
        return;
    }
    for (unsigned i = 0; i < kBusBytes; ++i)
        if (strobe >> i & 1) *burst.at(word + i) = data[i];
}

}  // namespace

AxiSlave::AxiSlave(Shared& shared, unsigned port)
    : shared_(shared), top_(shared.top), port_(port), name_(port_name(port)) {}

AxiSlave::Address AxiSlave::ar() const {
    return {top_.mem_ar_addr_o[port_], top_.mem_ar_id_o[port_], top_.mem_ar_len_o[port_], top_.mem_ar_size_o[port_],
            top_.mem_ar_burst_o[port_], top_.mem_ar_lock_o[port_] != 0};
}

AxiSlave::Address AxiSlave::aw() const {
    return {top_.mem_aw_addr_o[port_], top_.mem_aw_id_o[port_], top_.mem_aw_len_o[port_], top_.mem_aw_size_o[port_],
            top_.mem_aw_burst_o[port_], top_.mem_aw_lock_o[port_] != 0};
}

AxiSlave::Beat AxiSlave::beat() const {
    Beat beat{strobes_of(top_.mem_w_strb_o[port_]), top_.mem_w_last_o[port_] != 0, {}};
    std::memcpy(beat.data, bytes_of(top_.mem_w_data_o[port_]), kBusBytes);
    return beat;
}

void AxiSlave::drive(uint64_t cycle) {
    cycle_ = cycle;
    Stall& stall = shared_.stall;
    top_.mem_ar_ready_i[port_] = shared_.timing.accepts(2 * port_) && !stall.now();
    top_.mem_aw_ready_i[port_] = shared_.timing.accepts(2 * port_ + 1) && !stall.now();
    top_.mem_w_ready_i[port_] = (!no_data_.empty() || !early_) && !stall.now();
    if (!r_valid_) drive_r(cycle);
    if (!answering_) drive_b(cycle);
}

Burst* AxiSlave::next_answer(std::deque<Burst*>& bursts, uint64_t cycle) {
    if (bursts.empty()) return nullptr;
    if (bursts.front()->ready <= cycle) {
        Burst* first = bursts.front();
        bursts.pop_front();
        return first;
    }
    if (shared_.answers_in_order && off_model_ == 0) return nullptr;
    std::bitset<256> older_ids;
    for (auto it = bursts.begin(); it != bursts.end(); ++it) {
        Burst* burst = *it;
        if (!older_ids[burst->id] && burst->ready <= cycle) {
            bursts.erase(it);
            return burst;
        }
        older_ids.set(burst->id);
    }
    return nullptr;
}

void AxiSlave::drive_r(uint64_t cycle) {
    if (!reading_) reading_ = next_answer(reads_, cycle);
    if (reading_ && reading_->line_ready[reading_->line_of(reading_->beat)] <= cycle &&
        reading_->line_ready[reading_->last_line_of(reading_->beat)] <= cycle && !shared_.stall.now()) {
        Burst& burst = *reading_;
        r_valid_ = true;
        if (burst.exclusive) {
            shared_.monitor.reserve(burst.addr, 1u << burst.size, burst.at(burst.addr));
            burst.resp = kRespExOkay;
        }
        top_.mem_r_id_i[port_] = burst.id;
        top_.mem_r_resp_i[port_] = burst.resp;
        top_.mem_r_last_i[port_] = burst.beat == burst.len;
        uint8_t* pins = bytes_of(top_.mem_r_data_i[port_]);
        const uint64_t from = burst.part_begin(burst.beat);
        if (burst.data)
            std::memcpy(pins + from % kBusBytes, burst.at(from), burst.part_end(burst.beat) - from);
        else
            std::memset(pins, 0, kBusBytes);
    }
    top_.mem_r_valid_i[port_] = r_valid_;
}

void AxiSlave::drive_b(uint64_t cycle) {
    if (!writes_.empty() && !shared_.stall.now()) answering_ = next_answer(writes_, cycle);
    top_.mem_b_valid_i[port_] = answering_ != nullptr;
    if (!answering_) return;
    top_.mem_b_id_i[port_] = answering_->id;
    top_.mem_b_resp_i[port_] = answering_->resp;
}

void AxiSlave::sample(uint64_t cycle) {
    sample_address(ar_, "AR", top_.mem_ar_valid_o[port_], top_.mem_ar_ready_i[port_], false, cycle);
    sample_address(aw_, "AW", top_.mem_aw_valid_o[port_], top_.mem_aw_ready_i[port_], true, cycle);
    sample_write(cycle);
    if (r_valid_) {
        if (top_.mem_r_ready_o[port_]) {
            shared_.last_handshake = cycle;
            if (shared_.trace.on()) shared_.trace.answer(cycle, name_, false, reading_->id, reading_->resp);
            r_valid_ = false;
            r_.since = kNever;
            if (reading_->beat++ == reading_->len) {
                answered(*reading_);
                reading_ = nullptr;
            }
        } else if (r_.since == kNever) {
            r_.since = cycle;
        }
    }
    if (answering_) {
        if (top_.mem_b_ready_o[port_]) {
            shared_.last_handshake = cycle;
            if (shared_.trace.on()) shared_.trace.answer(cycle, name_, true, answering_->id, answering_->resp);
            b_.since = kNever;
            answered(*answering_);
            answering_ = nullptr;
        } else if (b_.since == kNever) {
            b_.since = cycle;
        }
    }
}

void AxiSlave::sample_address(AddressChannel& channel, const char* name, bool valid, bool ready, bool write,
                              uint64_t cycle) {
    if (!valid) {
        if (channel.since != kNever) violation(std::string(name) + " valid fell before ready came");
        return;
    }
    const Address address = write ? aw() : ar();
    if (channel.since != kNever && address != channel.offered)
        violation(std::string(name) + " changed while valid waited for ready");
    if (!ready) {
        if (channel.since == kNever) channel.since = cycle;
        channel.offered = address;
        return;
    }
    channel.since = kNever;
    shared_.last_handshake = cycle;
    accept(address, write, cycle);
}

void AxiSlave::sample_write(uint64_t cycle) {
    if (!top_.mem_w_valid_o[port_]) {
        if (w_.since != kNever) violation("W valid fell before ready came");
        return;
    }
    const uint8_t* data = bytes_of(top_.mem_w_data_o[port_]);
    const Strobes strobe = strobes_of(top_.mem_w_strb_o[port_]);
    const bool last = top_.mem_w_last_o[port_];
    if (w_.since != kNever && (strobe != w_offered_.strobe || last != w_offered_.last ||
                               std::memcmp(data, w_offered_.data, kBusBytes) != 0))
        violation("W changed while valid waited for ready");
    if (!top_.mem_w_ready_i[port_]) {
        if (w_.since == kNever) w_offered_ = beat();
        w_.since = std::min(w_.since, cycle);
        return;
    }
    w_.since = kNever;
    shared_.last_handshake = cycle;
    if (shared_.trace.on()) shared_.trace.write_beat(cycle, name_);
    if (no_data_.empty()) {
        early_ = std::make_unique<Beat>(beat());
        early_cycle_ = cycle;
    } else {
        take_beat(strobe, last, data, cycle);
    }
}

void AxiSlave::accept(const Address& address, bool write, uint64_t cycle) {
    check_address(address, write);
    Burst& burst = new_burst();
    burst.addr = address.addr;
    burst.id = address.id;
    burst.len = address.len;
    burst.size = address.size;
    burst.type = address.type;
    burst.write = write;
    burst.channel = static_cast<uint8_t>(2 * port_ + write);
    burst.accepted = cycle;
    if (shared_.trace.on()) shared_.trace.address(cycle, name_, write, burst.id, burst.addr, burst.len);
    if (shared_.events.on())
        shared_.events.add({cycle, burst.addr, port_, static_cast<uint8_t>(write), burst.id, burst.len, burst.size});
    decode(burst);
    burst.exclusive = address.lock && burst.data && !burst.on_host;
    const bool off_model = burst.on_host || !burst.data;
    off_model_ += off_model;
    if (!off_model) shared_.timing.add(burst);
    if (write) {
        writes_.push_back(&burst);
        no_data_.push_back(&burst);
        if (early_) {
            const std::unique_ptr<Beat> beat = std::move(early_);
            take_beat(beat->strobe, beat->last, beat->data, cycle);
        }
    } else {
        reads_.push_back(&burst);
        if (burst.on_host) {
            shared_.link.schedule(burst, cycle);
        } else if (!burst.data) {
            burst.ready = cycle + 1;
            std::fill_n(burst.line_ready.begin(), burst.lines(), burst.ready);
        }
    }
}

void AxiSlave::take_beat(Strobes strobe, bool last, const uint8_t* data, uint64_t cycle) {
    Burst& burst = *no_data_.front();
    if (last != (burst.beat == burst.len))
        violation(format("W beat %u of the %u of the write to 0x%llx, ID %u, has WLAST=%d", burst.beat + 1u, burst.beats(),
                         ull(burst.addr), burst.id, last));
    if (strobe & ~burst.lanes(burst.beat))
        violation(format("W beat %u of the write to 0x%llx, ID %u, has strobes %s outside its byte lanes %s",
                         burst.beat + 1u, ull(burst.addr), burst.id, hex(strobe).c_str(), hex(burst.lanes(burst.beat)).c_str()));
    if (burst.data) write_beat(burst, data, strobe);
    if (burst.beat++ < burst.len) return;
    no_data_.pop_front();
    burst.complete = cycle;
    if (burst.on_host)
        shared_.link.schedule(burst, cycle);
    else if (burst.data)
        shared_.timing.complete(burst);
    else
        burst.ready = cycle + 1;
}

void AxiSlave::write_beat(Burst& burst, const uint8_t* data, Strobes strobe) {
    if (burst.exclusive) {
        if (!shared_.monitor.take(burst.addr, 1u << burst.size, burst.at(burst.addr))) return;
        burst.resp = kRespExOkay;
    } else if (!burst.on_host) {
        const uint64_t from = burst.part_begin(burst.beat) & ~(kLineBytes - 1);
        shared_.monitor.written(from, std::max(burst.part_end(burst.beat) - from, kLineBytes));
    }
    merge(burst, burst.beat_addr(burst.beat) & ~(kBusBytes - 1), data, strobe);
}

Burst& AxiSlave::new_burst() {
    if (free_.empty()) {
        storage_.push_back(std::make_unique<Burst>());
        free_.push_back(storage_.back().get());
    }
    Burst& burst = *free_.back();
    free_.pop_back();
    return burst;
}

void AxiSlave::answered(Burst& burst) {
    off_model_ -= burst.on_host || !burst.data;
    // line_ready stays as it is: it is written before it is read, and it is most of the object.
    burst.resp = kRespOkay;
    burst.data = nullptr;
    burst.on_host = burst.exclusive = false;
    burst.beat = 0;
    burst.complete = burst.granted = burst.ready = kNever;
    free_.push_back(&burst);
}

std::string AxiSlave::where() const { return format("memory port %u (%s)", port_, name_.c_str()); }

void AxiSlave::violation(const std::string& what) const {
    throw CardError(GW_CARD_EDESIGN, format("AXI protocol violation in cycle %llu on %s: ", ull(cycle_), where().c_str()) +
                                         what);
}

}  // namespace gw
