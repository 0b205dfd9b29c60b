// SPDX-License-Identifier: Apache-2.0
// AXI4-Lite master of the register port: one access at a time.
//
// Contract
//   Address and write data are offered from the next drive() after start(), each until taken; R and B are taken at once.
//   Only drive() sets pins: what sample() sees is what the model sees in that cycle.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shared.hpp"

namespace gw {

class AxilMaster {
   public:
    explicit AxilMaster(Shared& shared) : shared_(shared), top_(shared.top) {}

    /// Only when idle(). `write_value` is the data of a write; none is a read.
    void start(uint32_t offset, std::optional<uint32_t> write_value);
    bool idle() const { return state_ == State::kIdle; }
    void drive(uint64_t cycle);
    void sample(uint64_t cycle);

    /// Of the access that ended last.
    uint32_t value() const { return value_; }
    unsigned resp() const { return resp_; }
    void report_waiting(std::vector<std::string>& out) const;

   private:
    enum class State { kIdle, kRead, kWrite };

    void release();

    Shared& shared_;
    Model& top_;
    State state_ = State::kIdle;
    uint32_t offset_ = 0;
    uint32_t data_ = 0;
    bool address_taken_ = false;
    bool data_taken_ = false;
    uint64_t since_ = kNever;  // first cycle on the pins
    uint32_t value_ = 0;
    unsigned resp_ = 0;
};

}  // namespace gw
