// SPDX-License-Identifier: Apache-2.0
// AXI4 slave on one memory port of the card: device memory below, the host aperture above, DECERR elsewhere.
//
// Contract
//   Once a cycle drive(), then the model settles, then sample(): what sample() sees is the handshakes of that cycle. Only
//   drive() sets pins: what sample() sees is what the model sees in that cycle.
//   Order: R and B of one ID in the order of their addresses; different IDs as their data come. Beats of different bursts
//   are never mixed. When several bursts could answer, the one accepted first does.
//   Data: a read beat is read from memory in the cycle in which R valid rises with it; a write beat is in memory from the
//   cycle in which both its address and the beat were accepted. One W beat may come before its address.
//   Exclusive accesses: one reservation for all ports (exclusive.hpp); only device memory has them, elsewhere they are answered
//   as plain ones.
//   Protocol: throws CardError(GW_CARD_EDESIGN) on a changed or dropped offer, a burst that crosses 4 KiB or is otherwise
//   illegal, WLAST in the wrong place, or a strobe outside the beat's lanes.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "shared.hpp"

namespace gw {

class AxiSlave {
   public:
    AxiSlave(Shared& shared, unsigned port);

    void drive(uint64_t cycle);
    void sample(uint64_t cycle);

    /// One line for each handshake that is missing; none when the port is idle.
    void report_waiting(std::vector<std::string>& out) const;
    /// Last cycle for which the memory model or the link has promised an answer; 0 when there is none.
    uint64_t busy_until() const;

   private:
    struct Address {
        uint64_t addr;
        uint8_t id, len, size, type;
        bool lock;
        bool operator==(const Address&) const = default;
    };
    struct AddressChannel : Held {
        Address offered{};
    };
    struct Beat {
        Strobes strobe;
        bool last;
        alignas(64) uint8_t data[kBusBytes];
    };

    Address ar() const;
    Address aw() const;
    Beat beat() const;
    void sample_address(AddressChannel& channel, const char* name, bool valid, bool ready, bool write, uint64_t cycle);
    void sample_write(uint64_t cycle);
    void accept(const Address& address, bool write, uint64_t cycle);
    void check_address(const Address& address, bool write) const;
    void decode(Burst& burst);
    void take_beat(Strobes strobe, bool last, const uint8_t* data, uint64_t cycle);
    void drive_r(uint64_t cycle);
    void drive_b(uint64_t cycle);
    Burst* next_answer(std::deque<Burst*>& bursts, uint64_t cycle);
    void write_beat(Burst& burst, const uint8_t* data, Strobes strobe);
    void answered(Burst& burst);
    Burst& new_burst();
    std::string where() const;
    [[noreturn]] void violation(const std::string& what) const;

    Shared& shared_;
    Model& top_;
    const unsigned port_;
    const std::string name_;

    AddressChannel ar_, aw_;
    Held w_, r_, b_;
    Beat w_offered_{};
    std::unique_ptr<Beat> early_;  // a W beat that came before its address
    uint64_t early_cycle_ = 0;
    std::deque<Burst*> reads_;    // waiting for their first R beat, in order of acceptance
    std::deque<Burst*> writes_;   // waiting for B
    std::deque<Burst*> no_data_;  // writes whose W beats are missing
    Burst* reading_ = nullptr;    // the burst on R
    Burst* answering_ = nullptr;  // the burst on B
    bool r_valid_ = false;
    unsigned off_model_ = 0;  // outstanding bursts whose time the memory model does not decide
    uint64_t cycle_ = 0;

    std::vector<std::unique_ptr<Burst>> storage_;
    std::vector<Burst*> free_;
};

}  // namespace gw
